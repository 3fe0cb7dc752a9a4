"""Messages that can be sent, whatever stands in them."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic_ai.messages import (
    BinaryContent,
    ImageUrl,
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelResponse,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)

from palimpsest.formats.encodable import encodable


def messages_with(text: str) -> list[ModelMessage]:
    """A text in every place where a person, a model or a tool may put one."""
    image = BinaryContent(data=b"\x89PNG", media_type="image/png")
    result: Any = {text: [text, (1, text)], "n": None}
    return [
        ModelRequest(parts=[UserPromptPart(content=text)]),
        ModelRequest(
            parts=[UserPromptPart(content=[text, ImageUrl(url="https://a.example"), image])]
        ),
        ModelResponse(parts=[ThinkingPart(content=text), TextPart(content=text)]),
        ModelResponse(parts=[ToolCallPart("read", {"path": text}), ToolCallPart("read", text)]),
        ModelRequest(
            parts=[ToolReturnPart("read", text, "c1"), ToolReturnPart("read", result, "c2")]
        ),
    ]


@pytest.mark.parametrize(
    ("text", "sent"),
    [
        pytest.param("a\ud800b", "a\ufffdb", id="high half"),
        pytest.param("\udcff", "\ufffd", id="low half"),
        pytest.param("\ude00\ud83d", "\ufffd\ufffd", id="halves the wrong way round"),
        pytest.param("\ud83d" + "\ude00", "😀", id="both halves"),
        pytest.param("é😀\ud83d", "é😀\ufffd", id="beside whole characters"),
    ],
)
def test_what_could_not_be_sent_is_replaced_everywhere(text: str, sent: str) -> None:
    given, expected = messages_with(text), messages_with(sent)
    shown = [encodable(message) for message in given]
    assert [m.parts for m in shown] == [
        _same_times(m, e) for m, e in zip(given, expected, strict=True)
    ]
    ModelMessagesTypeAdapter.dump_json(shown)
    assert repr(text)[1:-1] in repr(given[0])


def test_what_can_be_sent_is_passed_on_uncopied() -> None:
    for message in messages_with("plain, é, 😀"):
        assert encodable(message) is message


def _same_times(given: ModelMessage, expected: ModelMessage) -> list[Any]:
    for old, new in zip(given.parts, expected.parts, strict=True):
        for name in ("timestamp", "tool_call_id"):
            if hasattr(old, name):
                object.__setattr__(new, name, getattr(old, name))
    return list(expected.parts)


def test_what_only_says_that_it_is_a_dataclass_is_passed_on() -> None:
    proxied = {"__class__": property(lambda _: UserPromptPart), "content": "\ud800"}
    proxy: object = type("Proxy", (), proxied)()
    assert isinstance(proxy, UserPromptPart)
    assert encodable([proxy])[0] is proxy
