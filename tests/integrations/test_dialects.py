"""What is particular to one dialect: marks for caches, thinking, media, opaque items, ids."""

from __future__ import annotations

import json
from typing import Any

import pytest

from palimpsest.integrations.compactor import CompactedMessages, CompactorSettings
from palimpsest.integrations.messages import message_compactor, run_sync
from palimpsest.models.limits import LimitChoices
from palimpsest.testing.provider_rules import PROVIDER_RULES
from tests.integrations.histories import HISTORIES, output

PIXEL = "iVBORw0KGgo="
SETTINGS = CompactorSettings(limits=LimitChoices(window=16_000, max_output=1_000))


def compacted(dialect: str, history: list[Any], **choices: Any) -> CompactedMessages[Any]:
    compactor = message_compactor(settings=SETTINGS, dialect=dialect)
    return run_sync(compactor.compact(history, **choices))


def whole(dialect: str, turns: int, **choices: int) -> list[dict[str, Any]]:
    return [m for step in list(HISTORIES[dialect](turns, **choices))[:-1] for m in step]


# --- Anthropic ------------------------------------------------------------------------------------


def marked(history: list[Any], *indices: int) -> list[Any]:
    changed = list(history)
    for index in indices:
        message = changed[index]
        content = message["content"]
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else [*content]
        mark = {"type": "ephemeral", "ttl": f"{index}"}
        blocks[-1] = {**blocks[-1], "cache_control": mark}
        changed[index] = {**message, "content": blocks}
    return changed


def marks(messages: list[Any]) -> list[Any]:
    return [
        block["cache_control"]["ttl"]
        for message in messages
        if isinstance(message["content"], list)
        for block in message["content"]
        if "cache_control" in block
    ]


def test_marks_may_move_and_the_last_summarised_one_goes_to_the_summary() -> None:
    history = whole("anthropic-messages", 60)
    first = marked(history, 0, 2, 4, len(history) - 1)
    done = compacted("anthropic-messages", first)
    assert done.receipt is not None
    assert marks(done.messages) == ["4", str(len(history) - 1)]
    assert "<summary>" in done.messages[0]["content"][0]["text"]
    assert done.messages[0]["content"][0]["cache_control"]["ttl"] == "4"
    later = [*marked(history, 6), *whole("anthropic-messages", 1)[:1]]
    later.insert(len(history), {"role": "assistant", "content": "Done."})
    moved = compacted("anthropic-messages", later, state=done.state)
    assert marks(moved.messages) == ["6"]
    assert PROVIDER_RULES["anthropic-messages"](moved.messages) == []


def test_a_cleared_block_keeps_its_mark_and_its_error_flag() -> None:
    history = whole("anthropic-messages", 12)
    history = marked(history, 2)
    history[2]["content"][-1]["is_error"] = True
    pruned = message_compactor(history, settings=SETTINGS).prune(history)
    block = pruned.messages[2]["content"][-1]
    assert block["content"] == "[Old tool result content cleared]"
    assert (block["is_error"], block["cache_control"]["ttl"]) == (True, "2")


def test_replies_are_never_edited_so_thinking_and_native_tools_stay_whole() -> None:
    history = whole("anthropic-messages", 40)
    redacted = {"type": "redacted_thinking", "data": "abc"}
    novel = {"type": "novel_block", "payload": [1, 2]}
    mcp = {"type": "mcp_tool_use", "id": "m", "name": "x", "input": {}, "server_name": "s"}
    history[-3]["content"] = [redacted, novel, mcp, {"type": "text", "text": "so"}]
    done = compacted("anthropic-messages", history)
    kept = [message for message in done.messages if message["role"] == "assistant"]
    assert kept
    assert all(any(message is one for one in history) for message in kept)


def test_results_stand_first_even_behind_a_stand_in() -> None:
    prompt, (reply, results) = [*HISTORIES["anthropic-messages"](1, calls=2)][:2]
    half = {"role": "user", "content": [results["content"][1], {"type": "text", "text": "Go on."}]}
    done = compacted("anthropic-messages", [*prompt, reply, half])
    assert PROVIDER_RULES["anthropic-messages"](done.messages) == []
    assert [block["type"] for block in done.messages[2]["content"]] == [
        "tool_result",
        "tool_result",
        "text",
    ]
    only = compacted("anthropic-messages", [*prompt, reply, {"role": "user", "content": "Stop."}])
    assert only.messages[2]["content"][-1] == {"type": "text", "text": "Stop."}


def test_an_orphan_is_left_out_of_its_message() -> None:
    orphan = {"type": "tool_result", "tool_use_id": "t", "content": "x"}
    said = {"type": "text", "text": "Hello."}
    done = compacted("anthropic-messages", [{"role": "user", "content": [orphan, said]}])
    assert done.messages == [{"role": "user", "content": [said]}]


# --- media ----------------------------------------------------------------------------------------

IMAGES: dict[str, Any] = {
    "anthropic-messages": {
        "type": "image",
        "source": {"type": "base64", "media_type": "image/png", "data": PIXEL},
    },
    "openai-chat": {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PIXEL}"}},
    "openai-responses": {"type": "input_image", "image_url": f"data:image/png;base64,{PIXEL}"},
}


@pytest.mark.parametrize("dialect", IMAGES)
def test_a_trimmed_result_keeps_its_images(dialect: str) -> None:
    history = whole(dialect, 1, calls=1)
    last = history[-1]
    holder = last["content"][0] if dialect == "anthropic-messages" else last
    key = "output" if dialect == "openai-responses" else "content"
    text_type = "input_text" if dialect == "openai-responses" else "text"
    holder[key] = [{"type": text_type, "text": output("x", 90_000)}, IMAGES[dialect]]
    done = compacted(dialect, history)
    shown = json.dumps(done.messages)
    assert "omitted" in shown
    assert PIXEL in shown
    assert len(shown) < 90_000


@pytest.mark.parametrize(
    ("dialect", "block"),
    [
        *IMAGES.items(),
        ("openai-chat", {"type": "image_url", "image_url": {"url": "https://x/y.png"}}),
        ("openai-chat", {"type": "input_audio", "input_audio": {"data": PIXEL, "format": "mp3"}}),
        ("anthropic-messages", {"type": "image", "source": {"type": "url", "url": "https://x"}}),
    ],
)
def test_media_count_flat(dialect: str, block: dict[str, Any]) -> None:
    events: list[Any] = []
    settings = CompactorSettings(on_event=events.append)
    history: list[Any] = [{"role": "user", "content": [block]}]
    run_sync(message_compactor(settings=settings, dialect=dialect).compact(history))
    assert events[-1].size.tokens == 1_216


# --- OpenAI ---------------------------------------------------------------------------------------


def test_custom_tools_and_legacy_functions() -> None:
    custom = {"id": "c", "type": "custom", "custom": {"name": "run", "input": "ls -"}}
    legacy = {
        "role": "assistant",
        "content": None,
        "function_call": {"name": "f", "arguments": "{}"},
    }
    history: list[Any] = [
        {"role": "developer", "content": [{"type": "text", "text": "Rules."}]},
        {"role": "user", "content": "Go."},
        {"role": "assistant", "tool_calls": [custom]},
        {"role": "tool", "tool_call_id": "c", "content": [{"type": "text", "text": "ok"}]},
        legacy,
        {"role": "function", "name": "f", "content": "ok"},
        {"role": "user", "content": "Go on."},
    ]
    assert compacted("openai-chat", history).messages == history


def responses(kind: str, call_id: str, **fields: Any) -> dict[str, Any]:
    return {"type": kind, "call_id": call_id, **fields}


def test_opaque_items_move_with_their_reply() -> None:
    screenshot = {"type": "computer_screenshot", "image_url": "x" * 30_000}
    history: list[Any] = [{"role": "user", "content": "Click."}]
    for turn in range(3):
        history += [
            {"type": "reasoning", "id": f"r{turn}", "summary": [{"type": "x", "text": "hm"}]},
            responses("computer_call", f"c{turn}", action={}),
            responses("computer_call_output", f"c{turn}", output=screenshot),
            {"type": "reasoning", "id": f"s{turn}", "summary": []},
            {"type": "web_search_call", "id": f"w{turn}"},
            {"type": "message", "role": "assistant", "content": "Seen."},
            {"type": "mcp_approval_response", "approve": True},
            {"role": "user", "content": f"Again {turn}."},
        ]
    done = compacted("openai-responses", history)
    assert done.receipt is not None
    assert PROVIDER_RULES["openai-responses"](done.messages) == []


def test_stand_ins_are_of_the_calls_kind() -> None:
    calls = [
        responses("custom_tool_call", "c", name="run", input="ls"),
        responses("function_call", "f", name="read", arguments=""),
    ]
    history: list[Any] = [*calls, {"role": "user", "content": "Go on."}]
    done = compacted("openai-responses", history)
    assert [item.get("type") for item in done.messages[2:4]] == [
        "custom_tool_call_output",
        "function_call_output",
    ]
    assert PROVIDER_RULES["openai-responses"](done.messages) == []


# --- Google ---------------------------------------------------------------------------------------


def test_snake_case_ids_thoughts_and_media() -> None:
    call = {"function_call": {"id": "a", "name": "read", "args": {}}}
    response = {"id": "a", "name": "read", "response": {"rows": ["x" * 30_000] * 2}, "parts": [{}]}
    image = {"inline_data": {"mime_type": "image/png", "data": PIXEL}}
    thought = {"text": "hm", "thought": True}
    history: list[Any] = [
        {"role": "system", "parts": [{"text": "Rules."}]},
        {"role": "user", "parts": [{"text": "Go."}, image, {"file_data": {"file_uri": "x"}}]},
        {
            "role": "model",
            "parts": [thought, call, {"executable_code": {}}],
        },
        {"role": "user", "parts": [{"function_response": response}]},
    ]
    done = compacted("google-contents", history)
    shown = done.messages[-1]["parts"][0]["function_response"]
    assert "omitted" in shown["response"]["result"]
    assert shown["parts"] == [{}]
    assert shown["id"] == "a"
    stopped = compacted(
        "google-contents", [*history[:3], {"role": "user", "parts": [{"text": "No."}]}]
    )
    [stand_in, said] = stopped.messages[-1]["parts"]
    assert stand_in["function_response"]["id"] == "a"
    assert said == {"text": "No."}


def test_calls_of_one_name_are_told_apart_by_their_order() -> None:
    calls = [{"functionCall": {"name": "read", "args": {"n": n}}} for n in range(2)]
    responses = [
        {"functionResponse": {"name": "read", "response": {"error": f"{n}"}}} for n in (0, 1)
    ]
    prompt: dict[str, Any] = {"role": "user", "parts": [{"text": "Go."}]}
    history = [prompt, {"role": "model", "parts": calls}, {"role": "user", "parts": responses}]
    assert compacted("google-contents", history).messages == history
    half = [*history[:2], {"role": "user", "parts": responses[:1]}]
    done = compacted("google-contents", half)
    assert done.messages[-1]["parts"][0] == responses[0]
    assert PROVIDER_RULES["google-contents"](done.messages) == []
    orphan = compacted("google-contents", [prompt, {"role": "user", "parts": [*responses[:1]]}])
    assert orphan.messages == [prompt]
