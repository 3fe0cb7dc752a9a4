"""Small recordings of coding agents: Codex, kimi, Gemini CLI, opencode, aider."""

from __future__ import annotations

import json
from pathlib import Path

from tests.transcripts.samples import PIXEL, Object, openai_call, text


def codex_line(kind: str, **payload: object) -> Object:
    return {"timestamp": "2026-03-01T12:00:00.000Z", "type": kind, "payload": payload}


def codex_item(kind: str, **fields: object) -> Object:
    return codex_line("response_item", type=kind, **fields)


def codex_said(role: str, value: str) -> Object:
    kind = "output_text" if role == "assistant" else "input_text"
    return codex_item("message", role=role, content=[{"type": kind, "text": value}])


def codex_count(tokens: int) -> Object:
    usage = {"input_tokens": tokens, "cached_input_tokens": 40, "output_tokens": 7}
    return codex_line("event_msg", type="token_count", info={"last_token_usage": usage})


def codex_lines() -> list[Object]:
    patch = "*** Begin Patch\n*** End Patch"
    failed = "Wall time: 0.1 seconds\nProcess exited with code 2\nOutput:\nno such file"
    return [
        codex_line("session_meta", id="codex-1", base_instructions={"text": "You are Codex."}),
        codex_said("developer", "Stay in the folder."),
        codex_said("user", "<environment_context>\n</environment_context>"),
        codex_line("turn_context", model="gpt-x", cwd="/p"),
        codex_said("user", "Count the lines"),
        codex_line("event_msg", type="user_message", message="Count the lines"),
        codex_item(
            "reasoning",
            summary=[{"type": "summary_text", "text": "Two files."}],
            content=None,
            encrypted_content="abc",
        ),
        codex_said("assistant", "I count both."),
        codex_item("function_call", name="exec", arguments='{"cmd": "wc a"}', call_id="a"),
        codex_item("custom_tool_call", name="apply_patch", input=patch, call_id="b"),
        codex_count(100),
        codex_count(100),
        codex_item("custom_tool_call_output", call_id="b", output="Success."),
        codex_item("function_call_output", call_id="a", output=failed),
        codex_item("web_search_call", status="completed", action={"query": "wc"}),
        codex_said("assistant", "No such file."),
        codex_line("compacted", message="What was.", replacement_history=[]),
        codex_said("user", "Not this"),
        codex_said("assistant", "Well."),
        codex_line("event_msg", type="thread_rolled_back", num_turns=1),
        codex_said("user", "Go on"),
        codex_item("function_call", name="exec", arguments="{broken", call_id="c"),
        codex_line("event_msg", type="turn_aborted", reason="interrupted"),
        codex_item("ghost_snapshot", ghost_commit={}),
        codex_item("new_kind", value=1),
    ]


def kimi_lines() -> list[Object]:
    mark = "<system>Previous context has been compacted. Here is the compaction output:</system>"
    return [
        {"role": "_system_prompt", "content": "You are Kimi."},
        {"role": "user", "content": [text(mark), text("What was.")]},
        {"role": "_checkpoint", "id": 0},
        {"role": "user", "content": [text("<system>CHECKPOINT 0</system>")]},
        {"role": "user", "content": "Look here"},
        {"role": "_usage", "token_count": 100},
        {
            "role": "assistant",
            "content": [{"type": "think", "think": "Both."}, text("Looking.")],
            "tool_calls": [openai_call("bash:0"), openai_call("bash:1", "{broken")],
        },
        {"role": "_usage", "token_count": 130},
        {
            "role": "tool",
            "tool_call_id": "bash:0",
            "content": [text("<system>ok</system>"), text("a")],
        },
        {"role": "tool", "tool_call_id": "bash:1", "content": "b"},
        {"role": "assistant", "content": "Again", "tool_calls": [openai_call("bash:0")]},
        {
            "role": "tool",
            "tool_call_id": "bash:0",
            "content": [text("<system>Command failed with exit code: 1.</system>"), text("c")],
        },
        {"role": "assistant", "content": "Done."},
    ]


def gemini_messages() -> list[Object]:
    def called(name: str, payload: Object, status: str = "success") -> Object:
        response = {"functionResponse": {"id": name, "name": "read", "response": payload}}
        call = {"id": name, "name": "read", "args": {"path": name}, "status": status}
        return {**call, "result": [response], "resultDisplay": "copy", "timestamp": ""}

    at = {"timestamp": "2026-03-01T12:00:00Z"}
    tokens = {"input": 50, "output": 5, "cached": 40, "thoughts": 3}
    return [
        {"id": "1", "type": "user", "content": "Look here", **at},
        {
            "id": "2",
            "type": "gemini",
            "content": "Looking.",
            "thoughts": [{"subject": "Both", "description": "files"}],
            "tokens": tokens,
            "model": "gemini-x",
            "toolCalls": [
                called("a", {"output": "first"}),
                called("b", {"error": "cancelled"}, "cancelled"),
                {"id": "c", "name": "read", "args": {}, "status": "error", "result": None},
            ],
            **at,
        },
        {"id": "3", "type": "info", "content": "Request cancelled.", **at},
        {
            "id": "4",
            "type": "user",
            "content": [text("And?"), {"inlineData": {"data": PIXEL, "mimeType": "image/png"}}],
            **at,
        },
        {"id": "5", "type": "gemini", "content": [{"text": "Yes."}, {"newPart": 1}], **at},
    ]


def gemini_session() -> Object:
    head = {"sessionId": "gemini-1", "projectHash": "h", "startTime": "", "lastUpdated": ""}
    return {**head, "messages": gemini_messages(), "summary": "A title"}


def gemini_lines() -> list[Object]:
    """The same session as lines: a message that grew, and two that were taken back."""
    head = {"sessionId": "gemini-1", "projectHash": "h", "startTime": "", "lastUpdated": ""}
    first, second, *rest = gemini_messages()
    begun = {**second, "toolCalls": []}
    gone = [
        {"id": "x", "type": "user", "content": "No"},
        {"id": "y", "type": "gemini", "content": "?"},
    ]
    return [
        head,
        first,
        begun,
        second,
        {"$set": {"summary": "A title"}},
        *gone,
        {"$rewindTo": "x"},
        *rest,
    ]


def gemini_contents() -> list[Object]:
    def call(name: str, **more: object) -> Object:
        return {"functionCall": {"name": name, "args": {"p": 1}, **more}}

    def response(name: str, payload: Object, **more: object) -> Object:
        return {"functionResponse": {"name": name, "response": payload, **more}}

    return [
        {"role": "user", "parts": [{"text": "<session_context>\nfiles"}]},
        {"role": "user", "parts": [{"text": "<state_snapshot>\nWhat was."}]},
        {"role": "model", "parts": [{"text": "Got it."}]},
        {"role": "user", "parts": [{"text": "Look here"}]},
        {
            "role": "model",
            "parts": [
                {"text": "Both.", "thought": True},
                call("read"),
                call("read"),
                call("ls", id="z"),
            ],
        },
        {
            "role": "user",
            "parts": [
                response("ls", {"error": "no"}, id="z"),
                response("read", {"output": "first"}, id="other"),
                response("read", {"rows": [1]}),
                {"text": "beside"},
            ],
        },
        {"role": "model", "parts": [{"text": "Done."}, {"newPart": 1}]},
    ]


def opencode_export() -> Object:
    def message(number: int, role: str, *parts: Object, **info: object) -> Object:
        name = f"msg_{number}"
        own = [
            {"id": f"prt_{number}{n}", "messageID": name, "sessionID": "ses_1", **part}
            for n, part in enumerate(parts)
        ]
        time = {"created": 1_772_000_000_000 + number * 1000}
        info = {"id": name, "sessionID": "ses_1", "role": role, "time": time, **info}
        return {"info": info, "parts": own}

    def tool(name: str, status: str, **state: object) -> Object:
        state = {"status": status, "input": {"path": name}, **state}
        return {"type": "tool", "callID": name, "tool": "read", "state": state}

    tokens = {"input": 5, "output": 7, "reasoning": 1, "cache": {"read": 90, "write": 10}}
    model = {"modelID": "model-o", "providerID": "anthropic"}
    start, finish = {"type": "step-start"}, {"type": "step-finish", "tokens": tokens}
    signed = {"type": "reasoning", "text": "Both.", "metadata": {"anthropic": {"signature": "s"}}}
    pruned = {"end": 1_772_000_000_500, "compacted": 1_772_000_004_500}
    picture = {"type": "file", "mime": "image/png", "url": f"data:image/png;base64,{PIXEL}"}
    return {
        "info": {"id": "ses_1", "version": "1.0", "time": {}, "projectID": "p"},
        "messages": [
            message(1, "user", text("Look here"), picture, {**text("A note"), "synthetic": True}),
            message(
                2,
                "assistant",
                start,
                signed,
                text("Looking."),
                tool("a", "completed", output="first", time=pruned, metadata={"copy": 1}),
                tool("b", "error", error="no file"),
                finish,
                start,
                text("Once more."),
                tool("c", "running"),
                finish,
                **model,
            ),
            message(3, "user", {"type": "compaction", "auto": True, "tail_start_id": "msg_2"}),
            message(
                4, "assistant", text("What was."), parentID="msg_3", summary=True, finish="stop"
            ),
            message(5, "user", text("Go on"), {"type": "new-kind", "value": 1}),
            message(
                6, "assistant", start, text("Well"), finish, error={"name": "MessageAbortedError"}
            ),
            message(7, "assistant", start, **model),
        ],
    }


def opencode_records() -> list[Object]:
    """The same session as records of the storage, in the order of a stream."""
    export = opencode_export()
    project = {"id": "p", "worktree": "/p", "time": {}}
    share = {"id": "s", "secret": "none", "url": "https://example.org"}
    own = [record for m in reversed(export["messages"]) for record in (*m["parts"], m["info"])]
    return [project, share, *own, export["info"]]


def storage_folder(folder: Path, records: list[Object]) -> Path:
    """A storage folder with these records in their places."""
    for record in records:
        name = record["id"]
        parent = {
            "ses": "session/p",
            "msg": f"message/{record.get('sessionID')}",
            "prt": f"part/{record.get('messageID')}",
        }.get(name[:3])
        if parent is not None:
            place = folder / "storage" / parent
            place.mkdir(parents=True, exist_ok=True)
            (place / f"{name}.json").write_text(json.dumps(record))
    return folder / "storage"


AIDER = """
# aider chat started at 2026-03-01 12:00:00

> Main model: model-a with diff edit format  
> Git repo: .git with 9 files  

#### /add a.py  

> Added a.py to the chat  

#### Change it  
#### in two lines  

I change it:

a.py
<<<<<<< SEARCH
one
=======
two
>>>>>>> REPLACE

> Tokens: 1k sent, 100 received.  
> Applied edit to a.py  

#### /ask Why?  

Because.

# aider chat started at 2026-03-01 13:00:00

> Nothing was said.  

# aider chat started at 2026-03-01 14:00:00

#### Once more  

Fine.
"""
