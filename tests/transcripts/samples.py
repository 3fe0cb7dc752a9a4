"""Small recordings in every format, with every oddity, built in code."""

from __future__ import annotations

import base64
import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from pydantic_ai.messages import ModelRequest, ModelResponse, ToolReturnPart

from palimpsest.transcripts import read_recordings
from palimpsest.transcripts.recording import RecordedMessage, Recording

Object = dict[str, Any]

PIXEL = base64.b64encode(b"\x89PNG pixel").decode()
START = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


def lines(*values: object) -> str:
    return "".join(json.dumps(value, ensure_ascii=False) + "\n" for value in values)


def write(folder: Path, text: str | bytes, name: str = "session.jsonl") -> Path:
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def read(folder: Path, document: object, name: str = "run.json") -> Recording:
    """Write a JSON document and read the one session in it."""
    [recording] = read_recordings(write(folder, json.dumps(document), name))
    return recording


def text(value: str) -> Object:
    return {"type": "text", "text": value}


def image() -> Object:
    source = {"type": "base64", "media_type": "image/png", "data": PIXEL}
    return {"type": "image", "source": source}


def tool_use(call_id: str, name: str = "Bash", **arguments: object) -> Object:
    return {"type": "tool_use", "id": call_id, "name": name, "input": arguments}


def tool_result(call_id: str, content: object = "ok", **more: object) -> Object:
    return {"type": "tool_result", "tool_use_id": call_id, "content": content, **more}


class Claude:
    """Writes Claude Code lines; each hangs on the one before it unless told otherwise."""

    def __init__(self, session: str = "s1") -> None:
        self.session = session
        self.lines: list[Object] = []
        self.last: str | None = None
        self._count = 0

    def add(self, kind: str, parent: str | None = "previous", **fields: object) -> str:
        self._count += 1
        uuid = f"{self.session}-{self._count}"
        at = START + timedelta(seconds=self._count)
        self.lines.append(
            {
                "parentUuid": self.last if parent == "previous" else parent,
                "isSidechain": False,
                "sessionId": self.session,
                "type": kind,
                "uuid": uuid,
                "timestamp": at.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
                **fields,
            }
        )
        self.last = uuid
        return uuid

    def user(self, content: object, parent: str | None = "previous", **fields: object) -> str:
        return self.add("user", parent, message={"role": "user", "content": content}, **fields)

    def reply(
        self, message_id: str, block: Object, parent: str | None = "previous", **fields: object
    ) -> str:
        message = {
            "id": message_id,
            "type": "message",
            "role": "assistant",
            "model": "claude-x",
            "content": [block],
            "stop_reason": None,
            "usage": {
                "input_tokens": 3,
                "cache_read_input_tokens": 100,
                "cache_creation_input_tokens": 20,
                "output_tokens": self._count,
            },
        } | fields
        return self.add("assistant", parent, message=message)

    def boundary(self, summary: str, tokens: int = 150_000) -> None:
        old = self.last
        self.add(
            "system",
            None,
            subtype="compact_boundary",
            logicalParentUuid=old,
            compactMetadata={"trigger": "auto", "preTokens": tokens},
        )
        self.user(summary, isCompactSummary=True, isVisibleInTranscriptOnly=True)

    @property
    def text(self) -> str:
        return lines(*self.lines)


def claude_session() -> str:
    """One of everything that a Claude Code file holds."""
    file = Claude()
    file.lines.append({"type": "summary", "summary": "A title", "leafUuid": "elsewhere"})
    file.lines.append({"type": "file-history-snapshot", "messageId": "m", "snapshot": {}})
    file.user("Count the lines of a.txt and b.txt")
    file.reply("m1", {"type": "thinking", "thinking": "Both.", "signature": "sig"})
    file.reply("m1", text("I count both."))
    first = file.reply("m1", tool_use("a", command="wc -l a.txt"))
    second = file.reply("m1", tool_use("b", command="wc -l b.txt"))
    file.user([tool_result("a", "3 a.txt")], parent=first, toolUseResult={"stdout": "3" * 99})
    file.user([tool_result("b", [text("no file")], is_error=True)], parent=second)
    file.add("progress", data={"type": "bash_progress"}, toolUseID="b")
    file.reply("m2", text("a.txt has 3 lines."), stop_reason="end_turn")
    file.add("system", subtype="turn_duration", durationMs=5)
    file.user([text("And this picture?"), image()])
    file.reply("m3", tool_use("c", name="Read", file_path="p.png"))
    rejected = "The user doesn't want to proceed with this tool use. Rejected."
    file.user([tool_result("c", rejected, is_error=True), text("Not that one.")])
    file.user([text("[Request interrupted by user for tool use]")])
    file.boundary("This session is being continued. Three lines.")
    file.user("<system-reminder>Be kind.</system-reminder>", isMeta=True)
    before = file.user("Go on")
    file.reply("m4", text("A wrong way"), parent=before)
    file.user("Better: go on", parent=before)
    file.add("attachment", attachment={"type": "file", "content": "text of a file"})
    file.reply("m5", tool_use("d", command="make"))
    file.add(
        "system",
        subtype="microcompact_boundary",
        microcompactMetadata={"trigger": "auto", "preTokens": 9, "compactedToolIds": ["a", "b"]},
    )
    file.user([tool_result("d", [text("built"), image()])])
    file.reply("m6", text("API Error"), model="<synthetic>")
    file.user("A side task", isSidechain=True)
    return file.text


def pi_entry(role: str, **fields: object) -> Object:
    message = {"role": role, "timestamp": 1_772_000_000_000, **fields}
    return {"type": "message", "timestamp": "2026-03-01T12:00:00Z", "message": message}


def pi_call(call_id: str, **fields: object) -> Object:
    return {
        "type": "toolCall",
        "id": call_id,
        "name": "bash",
        "arguments": {"command": "ls"},
        **fields,
    }


def pi_reply(*content: object, stop: str = "toolUse", **fields: object) -> Object:
    usage = {"input": 5, "output": 7, "cacheRead": 90, "cacheWrite": 10}
    return pi_entry(
        "assistant",
        content=list(content),
        provider="anthropic",
        model="claude-y",
        usage=usage,
        stopReason=stop,
        **fields,
    )


def pi_result(call_id: str, value: str = "ok", *, failed: bool = False) -> Object:
    return pi_entry(
        "toolResult",
        toolCallId=call_id,
        toolName="bash",
        content=[text(value)],
        details={"copy": value * 9},
        isError=failed,
    )


PI_HEADER: Object = {
    "type": "session",
    "id": "pi-1",
    "timestamp": "2026-03-01T12:00:00Z",
    "provider": "anthropic",
    "modelId": "claude-y",
}


def pi_entries() -> list[Object]:
    """A version 1 session with a compaction; its first kept entry is the second prompt."""
    picture = {"type": "image", "data": PIXEL, "mimeType": "image/png"}
    return [
        PI_HEADER,
        {"type": "model_change", "timestamp": "", "provider": "anthropic", "modelId": "claude-y"},
        pi_entry("user", content=[text("First task"), picture]),
        pi_reply(
            {"type": "thinking", "thinking": "Hm.", "thinkingSignature": "s"},
            text("Looking."),
            pi_call("a"),
            pi_call("b"),
        ),
        pi_result("b", "second"),
        pi_result("a", "first", failed=True),
        pi_entry("user", content="Second task"),
        pi_reply(text("Done."), stop="stop"),
        {
            "type": "compaction",
            "timestamp": "",
            "summary": "What was.",
            "firstKeptEntryIndex": 6,
            "tokensBefore": 1000,
        },
        pi_entry("bashExecution", command="ls", output="a", exitCode=2, cancelled=False),
        pi_entry("user", content="Third task"),
        pi_reply(pi_call("c", partialJson='{"command": "rm'), stop="aborted", errorMessage="gone"),
    ]


def pi_tree() -> list[Object]:
    """A version 3 session: an abandoned branch, a compaction, entries of extensions."""
    entries: list[Object] = [
        pi_entry("user", content="First task"),
        pi_reply(text("Done."), stop="stop"),
        pi_entry("user", content="Second task"),
        {
            "type": "compaction",
            "timestamp": "",
            "summary": "What was.",
            "firstKeptEntryId": "e2",
            "tokensBefore": 1000,
        },
        {"type": "custom_message", "customType": "note", "content": "A note", "timestamp": ""},
        pi_reply(text("A wrong way"), stop="stop"),
        {"type": "branch_summary", "summary": "It went wrong.", "timestamp": ""},
        {"type": "label", "targetId": "e2", "label": "x", "timestamp": ""},
        pi_reply(text("Better"), stop="stop"),
    ]
    parents = [None, "e0", "e1", "e2", "e3", "e4", "e4", "e6", "e7"]
    tree = [
        {**entry, "id": f"e{number}", "parentId": parent}
        for number, (entry, parent) in enumerate(zip(entries, parents, strict=True))
    ]
    return [{**PI_HEADER, "version": 3}, *tree]


def openai_call(call_id: str, arguments: str = '{"command": "ls"}') -> Object:
    function = {"name": "bash", "arguments": arguments}
    return {"id": call_id, "type": "function", "function": function}


def openai_messages() -> list[Object]:
    url = {"url": f"data:image/png;base64,{PIXEL}"}
    return [
        {"role": "system", "content": [text("Be brief.")]},
        {"role": "user", "content": [text("Look here"), {"type": "image_url", "image_url": url}]},
        {
            "role": "assistant",
            "content": None,
            "reasoning_content": "Both.",
            "tool_calls": [openai_call("a"), openai_call("b", "{broken")],
        },
        {"role": "tool", "tool_call_id": "b", "name": "bash", "content": "second"},
        {"role": "tool", "tool_call_id": "a", "name": "bash", "content": [text("first")]},
        {"role": "assistant", "content": [text("Now again")], "tool_calls": [openai_call("a")]},
        {"role": "tool", "tool_call_id": "a", "content": "third"},
        {"role": "user", "content": "EXECUTION RESULT of [bash]:\nok"},
        {"role": "system", "content": "A late word"},
    ]


def openhands() -> Object:
    usage = {
        "prompt_tokens": 50,
        "completion_tokens": 5,
        "prompt_tokens_details": {"cached_tokens": 40},
    }
    message = {"role": "assistant", "content": "All done.", "tool_calls": None}
    declaration = {"name": "bash", "description": "Runs", "parameters": {"type": "object"}}
    return {
        "messages": openai_messages(),
        "response": {
            "id": "r1",
            "model": "model-z",
            "usage": usage,
            "choices": [{"finish_reason": "stop", "message": message}],
        },
        "args": [],
        "kwargs": {"tools": [{"type": "function", "function": declaration}]},
        "timestamp": 1_772_000_000.5,
    }


def tau_results() -> list[Object]:
    traj = openai_messages()
    return [{"task_id": number, "trial": 0, "reward": 1.0, "traj": traj} for number in range(2)]


def mini_swe() -> Object:
    response = {
        "model": "model-m",
        "created": 1_772_000_000,
        "usage": {"prompt_tokens": 9},
        "choices": [{"finish_reason": "tool_calls"}],
    }
    return {
        "trajectory_format": "mini-swe-agent-1.1",
        "instance_id": "task-1",
        "info": {"exit_status": "LimitsExceeded", "config": {"model": {"model_name": "m"}}},
        "messages": [
            {"role": "system", "content": "You can use a shell."},
            {"role": "user", "content": "Fix it."},
            {
                "role": "assistant",
                "content": "Looking.",
                "tool_calls": [openai_call("a")],
                "extra": {"response": response},
            },
            {
                "role": "tool",
                "tool_call_id": "a",
                "content": "<returncode>1</returncode><output>no</output>",
                "extra": {"returncode": 1, "timestamp": 1_772_000_003.5},
            },
            {"role": "user", "content": "Tool call error: none", "extra": {}},
            {"role": "exit", "content": "", "extra": {"exit_status": "LimitsExceeded"}},
        ],
    }


def swe_step(thought: str, action: str, **fields: object) -> Object:
    content = f"{thought}\n```\n{action}\n```"
    return {
        "role": "assistant",
        "content": content,
        "thought": thought,
        "action": action,
        "agent": "primary",
        **fields,
    }


def swe_agent() -> Object:
    steps = [{"action": a, "observation": "o", "response": "r"} for a in ("ls", "cat x", "submit")]
    return {
        "environment": "swe_main",
        "trajectory": steps,
        "history": [
            {"role": "system", "content": "SETTING", "agent": "primary"},
            {"role": "user", "content": "A demonstration", "is_demo": True},
            swe_step("Try.", "submit", is_demo=True),
            {"role": "user", "content": "The issue"},
            swe_step("List.", "ls"),
            {"role": "user", "content": "a b"},
            {"role": "assistant", "content": "Words that no thought holds. x", "action": "x"},
            {"role": "user", "content": "Not understood"},
            {"role": "assistant", "content": "Call.", "tool_calls": [openai_call("f")]},
            {"role": "tool", "tool_call_ids": ["f"], "content": "by id"},
            swe_step("", "submit"),
        ],
        "info": {"exit_status": "submitted (exit_cost)"},
    }


def roo_messages() -> list[Object]:
    details = text("<environment_details>\ntabs\n</environment_details>")
    return [
        {"role": "user", "content": [text("<task>\nDo it\n</task>"), details], "ts": 1},
        {"role": "assistant", "content": "What was.", "isSummary": True, "ts": 2},
        {"role": "assistant", "content": [text("<read_file>x</read_file>")], "ts": 3},
        {
            "role": "user",
            "content": [text("[read_file for 'x'] Result:"), text("text of x"), details],
            "ts": 4,
        },
        {"role": "assistant", "content": "Done?", "ts": 5},
        {"role": "user", "content": [text("<feedback>\nNo\n</feedback>"), details], "ts": 6},
    ]


def cline_session() -> Object:
    metrics = {"inputTokens": 120, "outputTokens": 8, "cacheReadTokens": 100, "cacheWriteTokens": 5}
    attached = {"type": "file", "path": "a.py", "content": "x = 1"}
    return {
        "version": 1,
        "sessionId": "cline-1",
        "system_prompt": "You are Cline.",
        "messages": [
            {"role": "user", "content": [text("Change it"), attached], "ts": 1_772_000_000_000},
            {
                "role": "assistant",
                "content": [text("Yes."), tool_use("a", "editor", path="a.py")],
                "modelInfo": {"id": "claude-z"},
                "metrics": metrics,
            },
            {"role": "user", "content": [tool_result("a", [{"query": "q", "result": "r"}])]},
            {"role": "assistant", "content": "Changed."},
        ],
    }


DOCUMENTS: dict[str, object] = {
    "openai-chat": openhands(),
    "mini-swe-agent": mini_swe(),
    "swe-agent": swe_agent(),
    "anthropic-messages": cline_session(),
}


def outline(recording: Recording) -> list[str]:
    """One readable line a message."""
    return [_line(recorded) for recorded in recording.messages]


def _line(recorded: RecordedMessage) -> str:
    message = recorded.message
    who = "PROMPT" if recorded.is_prompt else message.kind
    return f"{who}: " + " | ".join(_part(part) for part in message.parts)


def _part(part: object) -> str:
    content = getattr(part, "content", None)
    if not isinstance(content, str | None):
        content = [item if isinstance(item, str) else type(item).__name__ for item in content]
    match part:
        case ToolReturnPart():
            mark = "" if part.outcome == "success" else f" ({part.outcome})"
            return f"{part.tool_name} {part.tool_call_id} = {content}{mark}"
        case _ if content is None:
            return f"call {getattr(part, 'tool_call_id', '')} {getattr(part, 'args', '')}"
        case _:
            return str(content)


def requests(recording: Recording) -> list[ModelRequest]:
    return [m.message for m in recording.messages if isinstance(m.message, ModelRequest)]


def replies(recording: Recording) -> list[ModelResponse]:
    return [m.message for m in recording.messages if isinstance(m.message, ModelResponse)]
