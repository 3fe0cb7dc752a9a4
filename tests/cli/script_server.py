"""A server on this machine that speaks the OpenAI chat API and answers from a script.

Requests with tools, or streamed, are the agent's; the others are summaries. Each kind has a script
of its own, and a gate holds any answer back until a test opens it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Lock, Thread
from typing import Any

SUMMARY = "## Goal\nFind the bug.\n## Progress\nThe test was read.\n## Next steps\nFix it."


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What the server says; ``reached`` is set when it waits at ``gate``, before the last chunk."""

    text: str | Sequence[str] = ""
    tool: str = ""
    arguments: dict[str, Any] = field(default_factory=dict)
    status: int = 200
    gate: Event | None = None
    reached: Event = field(default_factory=Event)

    @property
    def chunks(self) -> list[str]:
        return [self.text] if isinstance(self.text, str) else list(self.text)


@dataclass
class Script:
    """Answers in order; when they are used up the last is given again."""

    answers: list[Answer]
    summaries: list[Answer] = field(default_factory=lambda: [Answer(text=SUMMARY)])
    requests: list[dict[str, Any]] = field(default_factory=list)
    lock: Lock = field(default_factory=Lock)

    def take(self, request: dict[str, Any]) -> tuple[int, Answer]:
        with self.lock:
            self.requests.append(request)
            queue = self.answers if request.get("stream") else self.summaries
            return len(self.requests), queue.pop(0) if len(queue) > 1 else queue[0]


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    script: Script


class _Handler(BaseHTTPRequestHandler):
    server: _Server

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        number, answer = self.server.script.take(request)
        counted = len(json.dumps([request["messages"], request.get("tools")])) // 4
        usage = {"prompt_tokens": counted, "completion_tokens": 9, "total_tokens": counted + 9}
        try:
            if request.get("stream"):
                self._stream(number, answer, usage)
            else:
                self._whole(answer, usage)
        except (BrokenPipeError, ConnectionResetError):
            return  # the client stopped listening: aborted

    def _stream(self, number: int, answer: Answer, usage: dict[str, int]) -> None:
        if answer.status != 200:
            self._refuse(answer)
            return
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        for chunk in answer.chunks:
            self._send([{"index": 0, "delta": {"role": "assistant", "content": chunk}}])
        self._wait(answer)
        if answer.tool:
            function = {"name": answer.tool, "arguments": json.dumps(answer.arguments)}
            call = {"index": 0, "id": f"call-{number}", "type": "function", "function": function}
            self._send([{"index": 0, "delta": {"tool_calls": [call]}}])
        reason = "tool_calls" if answer.tool else "stop"
        self._send([{"index": 0, "delta": {}, "finish_reason": reason}])
        self._send([], usage=usage)
        self.wfile.write(b"data: [DONE]\n\n")

    def _send(self, choices: list[Any], **extra: Any) -> None:
        chunk = {"id": "1", "object": "chat.completion.chunk", "created": 0, "model": "scripted"}
        line = json.dumps({**chunk, "choices": choices, **extra})
        self.wfile.write(f"data: {line}\n\n".encode())
        self.wfile.flush()

    def _whole(self, answer: Answer, usage: dict[str, int]) -> None:
        self._wait(answer)
        if answer.status != 200:
            self._refuse(answer)
            return
        message = {"role": "assistant", "content": "".join(answer.chunks)}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        whole = {"id": "1", "object": "chat.completion", "created": 0, "model": "scripted"}
        body = json.dumps({**whole, "choices": [choice], "usage": usage}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        self.wfile.write(body)

    def _refuse(self, answer: Answer) -> None:
        self.send_response(answer.status)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        self.wfile.write(json.dumps({"error": {"message": "".join(answer.chunks)}}).encode())

    def _wait(self, answer: Answer) -> None:
        if answer.gate is not None:
            answer.reached.set()
            answer.gate.wait()

    def log_message(self, format: str, *args: object) -> None:
        del format, args


@contextmanager
def serving(script: Script) -> Iterator[str]:
    """Serve; give the name that the resolver finds the model by."""
    server = _Server(("127.0.0.1", 0), _Handler)
    server.script = script
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield f"openai-compatible:scripted@http://127.0.0.1:{server.server_port}/v1"
    finally:
        for answer in (*script.answers, *script.summaries):
            if answer.gate is not None:
                answer.gate.set()
        server.shutdown()
        server.server_close()
        thread.join()
