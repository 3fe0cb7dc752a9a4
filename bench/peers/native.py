"""Histories as pydantic-ai messages, for the two libraries that speak them."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime

from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelRequestPart,
    ModelResponse,
    ModelResponsePart,
    SystemPromptPart,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.usage import RequestUsage

from peers.histories import REPLY, Item, Prompt

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def native(item: Item) -> list[ModelMessage]:
    """One item as messages."""
    if isinstance(item, Prompt):
        return [ModelRequest(parts=[UserPromptPart(item.text, timestamp=NOW)], timestamp=NOW)]
    call = ToolCallPart("read", {"n": item.number}, item.call_id)
    tokens = item.input_tokens
    usage = RequestUsage() if tokens is None else RequestUsage(input_tokens=tokens, output_tokens=9)
    result = ToolReturnPart("read", item.result, item.call_id, timestamp=NOW)
    return [
        ModelResponse(parts=[TextPart(REPLY), call], usage=usage, timestamp=NOW),
        ModelRequest(parts=[result], timestamp=NOW),
    ]


def as_texts(messages: Iterable[ModelMessage]) -> list[str]:
    """What a model sees of messages."""
    return ["\n".join(map(_part_text, message.parts)) for message in messages]


def _part_text(part: ModelRequestPart | ModelResponsePart) -> str:
    match part:
        case ToolCallPart():
            return f"{part.part_kind} {part.tool_call_id} {part.args_as_json_str()}"
        case ToolReturnPart():
            return f"{part.part_kind} {part.tool_call_id} {part.content}"
        case TextPart() | UserPromptPart() | SystemPromptPart():
            return f"{part.part_kind} {part.content}"
        case _:
            return repr(part)


def results(messages: Iterable[ModelMessage]) -> list[str]:
    """The texts of all tool results."""
    parts = (part for message in messages for part in message.parts)
    return [str(part.content) for part in parts if isinstance(part, ToolReturnPart)]
