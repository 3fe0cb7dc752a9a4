"""Long histories of each dialect, step by step as a loop makes them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

Messages = list[dict[str, Any]]
Steps = Iterator[Messages]
"""What each step adds: a prompt, or a reply with the results of its calls."""


def openai_chat(turns: int, *, calls: int = 2, characters: int = 2_000) -> Steps:
    yield [{"role": "system", "content": "Rules of the house."}]
    for turn in range(turns):
        yield [{"role": "user", "content": f"Prompt {turn}: mend src/part_{turn}.py please."}]
        ids = [f"call_{turn}_{number}" for number in range(calls)]
        reply = {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {
                    "id": one,
                    "type": "function",
                    "function": {"name": "read", "arguments": json.dumps({"path": one})},
                }
                for one in ids
            ],
        }
        results = [
            {"role": "tool", "tool_call_id": one, "content": output(one, characters)} for one in ids
        ]
        yield [reply, *results]
        yield [{"role": "assistant", "content": f"Part {turn} is mended."}]


def anthropic(turns: int, *, calls: int = 2, characters: int = 2_000) -> Steps:
    for turn in range(turns):
        yield [{"role": "user", "content": f"Prompt {turn}: mend src/part_{turn}.py please."}]
        ids = [f"toolu_{turn}_{number}" for number in range(calls)]
        thinking = {"type": "thinking", "thinking": f"Hm {turn}.", "signature": f"sig{turn}=="}
        search: Messages = [
            {"type": "server_tool_use", "id": f"srv_{turn}", "name": "web_search", "input": {}},
            {"type": "web_search_tool_result", "tool_use_id": f"srv_{turn}", "content": []},
        ]
        uses = [{"type": "tool_use", "id": one, "name": "read", "input": {"p": 1}} for one in ids]
        results = [
            {
                "type": "tool_result",
                "tool_use_id": one,
                "content": [{"type": "text", "text": output(one, characters)}],
            }
            for one in ids
        ]
        yield [
            {"role": "assistant", "content": [thinking, *search, *uses]},
            {"role": "user", "content": results},
        ]
        yield [{"role": "assistant", "content": f"Part {turn} is mended."}]


def responses(turns: int, *, calls: int = 2, characters: int = 2_000) -> Steps:
    for turn in range(turns):
        yield [{"role": "user", "content": f"Prompt {turn}: mend src/part_{turn}.py please."}]
        ids = [f"call_{turn}_{number}" for number in range(calls)]
        thought = {"type": "reasoning", "id": f"rs_{turn}", "summary": [], "encrypted_content": "e"}
        made = [
            {"type": "function_call", "call_id": one, "name": "read", "arguments": "{}"}
            for one in ids
        ]
        done = [
            {"type": "function_call_output", "call_id": one, "output": output(one, characters)}
            for one in ids
        ]
        yield [thought, *made, *done]
        said = {"type": "output_text", "text": f"Part {turn} is mended.", "annotations": []}
        yield [{"type": "message", "role": "assistant", "id": f"m{turn}", "content": [said]}]


def google(turns: int, *, calls: int = 2, characters: int = 2_000) -> Steps:
    for turn in range(turns):
        yield [{"role": "user", "parts": [{"text": f"Prompt {turn}: mend src/part_{turn}.py."}]}]
        names = [f"read_{number}" for number in range(calls)]
        made: Messages = [
            {"functionCall": {"name": name, "args": {"turn": turn}}, "thoughtSignature": "s=="}
            for name in names
        ]
        done = [
            {
                "functionResponse": {
                    "name": name,
                    "response": {"result": output(f"{name} {turn}", characters)},
                }
            }
            for name in names
        ]
        yield [{"role": "model", "parts": made}, {"role": "user", "parts": done}]
        yield [{"role": "model", "parts": [{"text": f"Part {turn} is mended."}]}]


def output(name: str, characters: int) -> str:
    return f"{name}: " + "value = 1\n" * (characters // 10)


HISTORIES: dict[str, Callable[..., Steps]] = {
    "openai-chat": openai_chat,
    "anthropic-messages": anthropic,
    "openai-responses": responses,
    "google-contents": google,
}
