"""A view as pydantic-ai messages: rows and edits applied, originals untouched."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any, assert_never, cast

from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ToolReturnPart,
    UserPromptPart,
)

from palimpsest.core.summary import summary_message_text
from palimpsest.core.trimming import trimmed_text
from palimpsest.core.view import (
    REPAIR_TEXT,
    Cleared,
    Edit,
    FoldedRow,
    Hidden,
    MessageRow,
    RepairRow,
    Row,
    SummaryRow,
    Trimmed,
)
from palimpsest.formats.pydantic_ai import answers, tool_return_text

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
"""Timestamp of messages a view makes up, so that the same view gives the same bytes."""


def project(messages: Sequence[ModelMessage], rows: Iterable[Row]) -> list[ModelMessage]:
    """Give the messages of a view.

    Args:
        messages: the whole history; a row's index points into it.
        rows: the view's rows. Untouched messages are passed on as they are, not copied.
    """
    shown: list[ModelMessage] = []
    repairs: list[ToolReturnPart[str]] = []
    for row in rows:
        if isinstance(row, RepairRow):
            repairs.append(_repair(row))
            continue
        message = _shown(messages, row)
        if repairs and any(map(answers, message.parts)):
            message = _replaced(message, [*repairs, *message.parts])
        elif repairs:
            shown.append(ModelRequest(parts=repairs, timestamp=EPOCH))
        repairs = []
        if message.parts:
            shown.append(message)
    return shown


def summary_message(summary: str) -> ModelRequest:
    """Give the user-role message that carries a summary in a view."""
    part = UserPromptPart(content=summary_message_text(summary), timestamp=EPOCH)
    return ModelRequest(parts=[part], timestamp=EPOCH)


def _shown(
    messages: Sequence[ModelMessage], row: MessageRow | FoldedRow | SummaryRow
) -> ModelMessage:
    match row:
        case MessageRow(index=index, edits=edits):
            return _edited(messages[index], edits)
        case FoldedRow(index=index, parts=kept):
            message = messages[index]
            return _replaced(message, [message.parts[part] for part in kept])
        case SummaryRow(text=text):
            return summary_message(text)
        case _:
            assert_never(row)


def _edited(message: ModelMessage, edits: tuple[Edit, ...]) -> ModelMessage:
    if not edits:
        return message
    by_part = {edit.part: edit for edit in edits}
    parts: list[object] = []
    for index, part in enumerate(message.parts):
        match by_part.get(index):
            case None:
                parts.append(part)
            case Hidden():
                continue
            case Cleared(placeholder=placeholder):
                parts.append(_with_content(part, placeholder))
            case Trimmed(head_characters=head, tail_characters=tail):
                parts.append(_trimmed(part, head, tail))
    return _replaced(message, parts)


def _trimmed(part: object, head_characters: int, tail_characters: int) -> object:
    if not isinstance(part, ToolReturnPart):
        raise TypeError(f"only tool returns are trimmed, not {type(part).__name__}")
    output = cast("ToolReturnPart[object]", part)
    text = trimmed_text(tool_return_text(output), head_characters, tail_characters)
    return _with_content(output, [text, *output.files] if output.files else text)


def _with_content(part: object, content: object) -> object:
    return dataclasses.replace(cast("Any", part), content=content)


def _replaced(message: ModelMessage, parts: Sequence[object]) -> ModelMessage:
    return dataclasses.replace(message, parts=cast("Any", list(parts)))


def _repair(row: RepairRow) -> ToolReturnPart[str]:
    return ToolReturnPart(
        tool_name=row.tool_name,
        content=REPAIR_TEXT,
        tool_call_id=row.call_id,
        timestamp=EPOCH,
        outcome="interrupted",
    )
