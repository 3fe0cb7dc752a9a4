"""How fast recordings are read: megabytes a second of processor time, from file to messages.

One file for each shape that is hard on a reader: ordinary lines, many small ones, one that is all
of the file, a tree of branches, a whole document. Below them the JSON parsers that could be used.
"""

from __future__ import annotations

import importlib
import json
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from palimpsest.transcripts import read_recordings

TARGET_MB_S = 40
LINE = "def handler_{0}(request, context): return context.render({0}, request)\n"
AT = "2026-01-01T00:00:00.000Z"
USAGE = {"input_tokens": 900, "output_tokens": 40, "cache_read_input_tokens": 100}


def output(number: int, lines: int) -> str:
    return "".join(LINE.format(number * 100 + line) for line in range(lines))


def claude_code(steps: int, lines: int) -> Iterator[dict[str, Any]]:
    """A prompt every ten steps; results twice, as Claude Code stores them."""
    parent = None
    for number in range(steps):
        call = {"type": "tool_use", "id": f"c{number}", "name": "Read", "input": {"path": "a.py"}}
        text = output(number, lines)
        result = {"type": "tool_result", "tool_use_id": f"c{number}", "content": text}
        reply = {
            "id": f"m{number}",
            "role": "assistant",
            "model": "claude-sonnet-4-5",
            "content": [{"type": "text", "text": "I read it."}, call],
            "usage": USAGE,
        }
        if number % 10 == 0:
            yield _claude(
                parent, parent := f"p{number}", "user", {"role": "user", "content": "Go on."}
            )
        yield _claude(parent, parent := f"a{number}", "assistant", reply)
        yield {
            **_claude(
                parent, parent := f"u{number}", "user", {"role": "user", "content": [result]}
            ),
            "toolUseResult": {"stdout": text},
        }


def _claude(parent: str | None, uuid: str, kind: str, message: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": kind,
        "uuid": uuid,
        "parentUuid": parent,
        "sessionId": "s",
        "timestamp": AT,
        "isSidechain": False,
        "cwd": "/project",
        "version": "2.0.0",
        "message": message,
    }


def pi(steps: int, lines: int) -> Iterator[dict[str, Any]]:
    """A tree without branches."""
    yield {"type": "session", "version": 3, "id": "s", "timestamp": AT, "cwd": "/project"}
    parent = None
    for number in range(steps):
        call = {
            "type": "toolCall",
            "id": f"c{number}",
            "name": "read",
            "arguments": {"path": "a.py"},
        }
        usage = {"input": 900, "output": 40, "cacheRead": 100, "cacheWrite": 0}
        reply = {
            "role": "assistant",
            "content": [{"type": "text", "text": "I read it."}, call],
            "model": "claude-sonnet-4-5",
            "provider": "anthropic",
            "usage": usage,
            "stopReason": "toolUse",
            "timestamp": 1_767_225_600_000,
        }
        result = {
            "role": "toolResult",
            "toolCallId": f"c{number}",
            "toolName": "read",
            "content": [{"type": "text", "text": output(number, lines)}],
            "isError": False,
            "timestamp": 1_767_225_600_000,
        }
        prompt = {"role": "user", "content": "Go on.", "timestamp": 1_767_225_600_000}
        for kind, message in (("p", prompt), ("a", reply), ("r", result))[number % 10 > 0 :]:
            yield {
                "type": "message",
                "id": f"{kind}{number}",
                "parentId": parent,
                "timestamp": AT,
                "message": message,
            }
            parent = f"{kind}{number}"


def openai_chat(steps: int, lines: int) -> list[dict[str, Any]]:
    """A whole document."""
    messages: list[dict[str, Any]] = [{"role": "user", "content": "Go on."}]
    for number in range(steps):
        function = {"name": "read", "arguments": '{"path": "a.py"}'}
        call = {"id": f"c{number}", "type": "function", "function": function}
        messages += [
            {"role": "assistant", "content": "I read it.", "tool_calls": [call]},
            {"role": "tool", "tool_call_id": f"c{number}", "content": output(number, lines)},
        ]
    return messages


def as_lines(values: Iterator[dict[str, Any]]) -> bytes:
    return b"".join(json.dumps(value).encode() + b"\n" for value in values)


FILES: tuple[tuple[str, Callable[[], bytes]], ...] = (
    ("claude-code, results of 5 KB", lambda: as_lines(claude_code(4_000, 70))),
    ("claude-code, results of 150 bytes", lambda: as_lines(claude_code(20_000, 2))),
    ("claude-code, one line of 200 MB", lambda: as_lines(claude_code(1, 1_250_000))),
    ("pi, results of 5 KB", lambda: as_lines(pi(8_000, 70))),
    ("pi, results of 150 bytes", lambda: as_lines(pi(30_000, 2))),
    ("pi, one line of 200 MB", lambda: as_lines(pi(1, 2_500_000))),
    ("openai-chat, results of 5 KB", lambda: json.dumps(openai_chat(8_000, 70)).encode()),
    ("openai-chat, results of 150 bytes", lambda: json.dumps(openai_chat(60_000, 2)).encode()),
)
PARSERS = (
    ("json", "loads"),
    ("pydantic_core", "from_json"),
    ("orjson", "loads"),
    ("msgspec.json", "decode"),
)


def best_s(work: Callable[[], object], runs: int = 3) -> float:
    """The least processor time of a few runs."""
    times: list[float] = []
    for _ in range(runs):
        started = time.process_time()
        work()
        times.append(time.process_time() - started)
    return min(times)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        print(f"{'file':<38}{'size':>9}{'read':>13}   (target {TARGET_MB_S} MB/s or more)")
        parsed: dict[str, list[str]] = {}
        for name, make in FILES:
            path = Path(folder, "recording.jsonl")
            data = make()
            path.write_bytes(data)
            megabytes = len(data) / 1e6
            seconds = best_s(lambda path=path: list(read_recordings(path)))
            print(f"{name:<38}{megabytes:>6.0f} MB{megabytes / seconds:>8.0f} MB/s", flush=True)
            parsed[name] = [_parsing(data, parser, megabytes) for parser in PARSERS]
    print(f"\n{'parsing alone':<38}" + "".join(f"{module:>16}" for module, _ in PARSERS))
    for name, cells in parsed.items():
        print(f"{name:<38}" + "".join(f"{cell:>16}" for cell in cells))


def _parsing(data: bytes, parser: tuple[str, str], megabytes: float) -> str:
    module, function = parser
    try:
        parse = getattr(importlib.import_module(module), function)
    except ImportError:
        return "not installed"
    lines = data.splitlines()
    seconds = best_s(lambda: [parse(line) for line in lines])
    return f"{megabytes / seconds:.0f} MB/s"


if __name__ == "__main__":
    main()
