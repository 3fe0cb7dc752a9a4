"""A server on this machine that speaks enough of the OpenAI chat API for the manual's examples."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

_USAGE = {"prompt_tokens": 600, "completion_tokens": 4, "total_tokens": 604}
_ANSWER = {"role": "assistant", "content": "A fine project."}


class _Handler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.send_response(200)
        if not asked.get("stream"):
            self._answer_whole()
            return
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        for choices, extra in (
            ([{"index": 0, "delta": _ANSWER}], {}),
            ([{"index": 0, "delta": {}, "finish_reason": "stop"}], {}),
            ([], {"usage": _USAGE}),
        ):
            chunk: dict[str, Any] = {"id": "1", "object": "chat.completion.chunk", "created": 0}
            chunk |= {"model": "demo", "choices": choices, **extra}
            self.wfile.write(f"data: {json.dumps(chunk)}\n\n".encode())
        self.wfile.write(b"data: [DONE]\n\n")

    def _answer_whole(self) -> None:
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        choice = {"index": 0, "message": _ANSWER, "finish_reason": "stop"}
        answer: dict[str, Any] = {"id": "1", "object": "chat.completion", "created": 0}
        answer |= {"model": "demo", "choices": [choice], "usage": _USAGE}
        self.wfile.write(json.dumps(answer).encode())

    def log_message(self, format: str, *args: object) -> None:
        del format, args


@contextmanager
def chat_server() -> Iterator[str]:
    """Serve; give the name that the resolver finds the model by."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"openai-compatible:demo@http://127.0.0.1:{server.server_port}/v1"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
