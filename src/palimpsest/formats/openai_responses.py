"""Items of the OpenAI Responses API, as callers keep them.

What the model gave in one reply (reasoning, text, calls) is a run of items that stands or falls
together: reasoning without what it led to is refused.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import cast

from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    SystemPromptPart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)

from palimpsest.core.errors import InvalidMessageError
from palimpsest.core.excerpt import Json
from palimpsest.core.view import RepairRow
from palimpsest.formats.arguments import is_complete
from palimpsest.formats.content import (
    Record,
    as_arguments,
    as_list,
    as_record,
    as_text,
    content_of,
    text_of,
)
from palimpsest.formats.dialect import (
    CallBook,
    OpaqueBlock,
    Scan,
    ShownResult,
    Unit,
    check_content,
    checked_role,
    reply_of,
    request_of,
    shown_content,
)

_ROLES = ("system", "developer", "user", "assistant")
_CALLS: Mapping[str, str] = {
    "function_call": "function_call_output",
    "custom_tool_call": "custom_tool_call_output",
}
"""Calls whose results are text, so that a view may clear them, and the kind of the result."""
_RESULTS = frozenset(_CALLS.values())


class OpenAIResponses:
    """Items of the OpenAI Responses API."""

    name = "openai-responses"

    def scan(self, messages: Sequence[Record]) -> Scan:
        """Check items, and find which of them make one reply."""
        book = CallBook()
        for index, item in enumerate(messages):
            _check(book, index, item)
        book.close()
        starts = [0, *(at for at in range(1, len(messages)) if not _belongs(messages, at))]
        bounds = pairwise([*starts[: len(messages)], len(messages)])
        units = tuple(Unit(start=start, stop=stop) for start, stop in bounds)
        names = book.tool_names
        return Scan(
            units=units,
            read=lambda number: _read(messages[units[number].start : units[number].stop], names),
        )

    def identity(self, message: Record) -> Json:
        """Everything."""
        return message

    def with_results(
        self, unit: Sequence[Record], shown: Mapping[int, ShownResult | None]
    ) -> list[Record]:
        """Edit the one result of an output item."""
        [item] = unit
        result = shown[0]
        if result is None:
            return []
        return [{**item, "output": shown_content(item["output"], result, text_type="input_text")}]

    def summary(self, text: str, replaced: Sequence[Record]) -> Record:
        """Give a user message."""
        del replaced
        return {"role": "user", "content": text}

    def stand_in(self, unit: Sequence[Record], call: RepairRow, text: str) -> Record:
        """Give an output item of the call's kind."""
        made = next(item for item in unit if item.get("call_id") == call.call_id)
        return {"type": _CALLS[as_text(made["type"])], "call_id": call.call_id, "output": text}

    def joined(self, made_up: Record, following: Record) -> None:
        """Nothing has to be joined."""
        del made_up, following


def _kind(item: Record) -> str:
    return as_text(item.get("type")) or "message"


def _check(book: CallBook, index: int, item: object) -> None:
    fields = as_record(cast("Json", item))
    kind = _kind(fields)
    if kind != "message":
        if kind in _CALLS:
            arguments = fields.get("arguments", fields.get("input"))
            if not isinstance(arguments, str):
                name = as_text(fields.get("name"))
                broken = f"holds a call of {name!r} whose arguments are no text"
                raise InvalidMessageError(index, broken)
            complete = kind != "function_call" or is_complete(arguments)
            book.call(index, fields.get("call_id"), fields.get("name"), complete=complete)
        elif kind in _RESULTS:
            if "output" not in fields:
                raise InvalidMessageError(index, "holds a tool result without output")
            book.result(index, fields.get("call_id"))
        return
    checked_role(index, item, _ROLES)
    check_content(index, fields.get("content"))


def _is_reply(item: Record) -> bool:
    """Whether the model gave the item; what a provider's own tools did is part of its reply."""
    kind = _kind(item)
    if kind == "message":
        return item.get("role") == "assistant"
    return kind in {"reasoning", "item_reference"} or kind.endswith("_call")


def _belongs(items: Sequence[Record], at: int) -> bool:
    """Whether an item belongs to the one before it.

    A reply goes on until something else comes. Outputs that a view never edits (screenshots,
    shells) stay with the reply that asked for them.
    """
    before, item = items[at - 1], items[at]
    opaque_output = _kind(item).endswith("_output") and _kind(item) not in _RESULTS
    if opaque_output:
        return _is_reply(before) or _kind(before).endswith("_output")
    plain = "type" not in item and "type" not in before
    return _is_reply(item) and _is_reply(before) and not plain


def _read(unit: Sequence[Record], tool_names: Mapping[str, str]) -> ModelMessage:
    first = unit[0]
    kind = _kind(first)
    if _is_reply(first):
        return reply_of([_reply_part(item) for item in unit])
    if kind in _RESULTS:
        call_id = as_text(first.get("call_id"))
        part = ToolReturnPart[object](
            tool_name=tool_names.get(call_id, "unknown"),
            content=content_of(first.get("output")),
            tool_call_id=call_id,
        )
        return ModelRequest(parts=[part])
    if kind != "message":
        return request_of([OpaqueBlock(block=cast("Json", item)) for item in unit])
    if first.get("role") == "user":
        return ModelRequest(parts=[UserPromptPart(content=content_of(first.get("content")))])
    return ModelRequest(parts=[SystemPromptPart(text_of(first.get("content")))])


def _reply_part(item: Record) -> object:
    match _kind(item):
        case "message":
            return TextPart(content=text_of(item.get("content")))
        case "reasoning":
            text = text_of([*as_list(item.get("summary")), *as_list(item.get("content"))])
            return ThinkingPart(
                content=text, signature=as_text(item.get("encrypted_content")) or None
            )
        case kind if kind in _CALLS:
            return ToolCallPart(
                tool_name=as_text(item.get("name")),
                args=as_arguments(item.get("arguments", item.get("input"))),
                tool_call_id=as_text(item.get("call_id")),
            )
        case _:
            return OpaqueBlock(block=cast("Json", item))
