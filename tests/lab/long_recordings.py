"""Recordings in every format that are long enough to be compacted in a small window."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from tests.transcripts.samples import (
    PI_HEADER,
    Claude,
    lines,
    pi_call,
    pi_entry,
    pi_reply,
    pi_result,
    text,
    tool_result,
    tool_use,
)

Object = dict[str, Any]

WINDOW = 10_000
"""Keeps 2,000 tokens of turns and of outputs."""

STEPS = 15


def _steps() -> Iterator[tuple[int, str | None, str]]:
    """Four turns: number, the prompt that comes before the step, 500 tokens of output."""
    for number in range(STEPS):
        prompt = f"Task {number}: mend part_{number}.py" if number in {0, 3, 6, 9} else None
        yield number, prompt, f"part_{number:02d} " * 250


def claude_code() -> str:
    file = Claude()
    for number, prompt, output in _steps():
        if prompt:
            file.user(prompt)
        use = tool_use(f"c{number}", name="Read", file_path=f"p_{number}.py")
        file.reply(f"m{number}", text(f"Step {number}."), usage={})
        file.reply(f"m{number}", use, usage={})
        file.user([tool_result(f"c{number}", output)], toolUseResult={"stdout": output})
    file.reply("end", text("Done."), stop_reason="end_turn", usage={})
    return file.text


def _pi_entries() -> Iterator[Object]:
    for number, prompt, output in _steps():
        if prompt:
            yield pi_entry("user", content=prompt)
        yield _uncounted(pi_reply(text(f"Step {number}."), pi_call(f"c{number}")))
        yield pi_result(f"c{number}", output)
    yield _uncounted(pi_reply(text("Done."), stop="stop"))


def _uncounted(reply: Object) -> Object:
    del reply["message"]["usage"]
    return reply


def pi() -> str:
    return lines(PI_HEADER, *_pi_entries())


def pi_tree() -> str:
    tree = [
        {**entry, "id": f"e{number}", "parentId": f"e{number - 1}" if number else None}
        for number, entry in enumerate(_pi_entries())
    ]
    return lines({**PI_HEADER, "version": 3}, *tree)


def openai_messages() -> list[Object]:
    messages: list[Object] = [{"role": "system", "content": "Be brief."}]
    for number, prompt, output in _steps():
        if prompt:
            messages.append({"role": "user", "content": prompt})
        function = {"name": "read", "arguments": json.dumps({"path": f"p_{number}.py"})}
        call = {"id": f"c{number}", "type": "function", "function": function}
        messages += [
            {"role": "assistant", "content": f"Step {number}.", "tool_calls": [call]},
            {"role": "tool", "tool_call_id": f"c{number}", "content": output},
        ]
    return [*messages, {"role": "assistant", "content": "Done."}]


def openhands() -> Object:
    message = {"role": "assistant", "content": "All done."}
    choices = [{"finish_reason": "stop", "message": message}]
    return {
        "messages": openai_messages()[:-1],
        "response": {"id": "r1", "model": "model-z", "choices": choices},
    }


def _one_turn() -> list[Object]:
    messages = openai_messages()[:-1]
    return [*messages[:2], *(item for item in messages[2:] if item["role"] != "user")]


def mini_swe_agent() -> Object:
    ending: Object = {"role": "exit", "content": "", "extra": {"exit_status": "Submitted"}}
    return {
        "trajectory_format": "mini-swe-agent-1.1",
        "instance_id": "task-1",
        "info": {"exit_status": "Submitted"},
        "messages": [*_one_turn(), ending],
    }


def swe_agent() -> Object:
    history: list[Object] = [
        {"role": "system", "content": "SETTING", "agent": "primary"},
        {"role": "user", "content": "The issue"},
    ]
    for number, _, output in _steps():
        thought, action = f"Step {number}.", f"cat p_{number}.py"
        step = {"thought": thought, "action": action, "agent": "primary"}
        content = f"{thought}\n```\n{action}\n```"
        history += [
            {"role": "assistant", "content": content, **step},
            {"role": "user", "content": output},
        ]
    return {
        "environment": "swe_main",
        "trajectory": [{"action": "ls", "observation": "o", "response": "r"}],
        "history": history,
        "info": {"exit_status": "submitted"},
    }


def anthropic_messages() -> list[Object]:
    messages: list[Object] = []
    for number, prompt, output in _steps():
        if prompt:
            messages.append({"role": "user", "content": prompt})
        use = tool_use(f"c{number}", "editor", path=f"p_{number}.py")
        messages += [
            {"role": "assistant", "content": [text(f"Step {number}."), use]},
            {"role": "user", "content": [tool_result(f"c{number}", output)]},
        ]
    return [*messages, {"role": "assistant", "content": "Done."}]


def cline() -> Object:
    messages = [{**item, "ts": number} for number, item in enumerate(anthropic_messages())]
    return {"version": 1, "sessionId": "cline-1", "messages": messages}


def long_texts() -> dict[str, tuple[str, str]]:
    """Name → (format, text of the file)."""
    return {
        "claude": ("claude-code", claude_code()),
        "pi": ("pi", pi()),
        "pi tree": ("pi", pi_tree()),
        "openai list": ("openai-chat", json.dumps(openai_messages())),
        "openhands": ("openai-chat", json.dumps(openhands())),
        "mini": ("mini-swe-agent", json.dumps(mini_swe_agent())),
        "swe": ("swe-agent", json.dumps(swe_agent())),
        "anthropic list": ("anthropic-messages", json.dumps(anthropic_messages())),
        "cline": ("anthropic-messages", json.dumps(cline())),
    }


ONE_TURN = {"mini", "swe"}
KNOWS_SUMMARIES = {"claude", "pi", "pi tree", "cline"}
