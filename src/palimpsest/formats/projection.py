"""A view as pydantic-ai messages: rows and edits applied, originals untouched."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias, assert_never, cast

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
    View,
)
from palimpsest.formats.content import EPOCH
from palimpsest.formats.encodable import encodable
from palimpsest.formats.pydantic_ai import answers, tool_return_text


def project(messages: Sequence[ModelMessage], rows: Iterable[Row]) -> list[ModelMessage]:
    """Give the messages of a view.

    Args:
        messages: the whole history; a row's index points into it.
        rows: the view's rows. Untouched messages are passed on as they are, not copied; text that
            could not be sent is replaced, see ``encodable``, and the history keeps it.
    """
    shown = _Shown()
    for row in rows:
        shown.add(messages, row)
    return shown.messages


class Projection:
    """The messages of a growing view; what was projected once is not projected again."""

    def __init__(self) -> None:
        self._rows: list[Row] = []
        self._count = 0
        self._shown = _Shown()

    def messages(self, history: Sequence[ModelMessage], view: View) -> list[ModelMessage]:
        """Give the messages of a view, as ``project`` does.

        Args:
            history: the whole history; the same as before, or longer, while the view is the same.
            view: another one begins anew.
        """
        settled = view.settled_rows()
        if settled is not self._rows:
            self._rows, self._count = settled, 0
            self._shown = _Shown(known=self._shown.sendable)
        for row in settled[self._count :]:
            self._shown.add(history, row)
        self._count = len(settled)
        self._shown.known = {}  # what is shown no longer is not held
        shown = _Shown(list(self._shown.messages), self._shown.repairs, known=self._shown.sendable)
        for row in view.newest_rows():
            shown.add(history, row)
        return shown.messages


_Sendable: TypeAlias = dict[int, tuple[ModelMessage, ModelMessage]]
"""Messages and what ``encodable`` makes of them, by the identity of the first."""


@dataclasses.dataclass(slots=True)
class _Shown:
    """Messages that rows add up to, and stand-in results for the message that comes next.

    What an earlier view showed is ``known``: looking through every text is most of the work.
    """

    messages: list[ModelMessage] = dataclasses.field(default_factory=list[ModelMessage])
    repairs: list[ToolReturnPart[str]] = dataclasses.field(
        default_factory=list[ToolReturnPart[str]]
    )
    known: _Sendable = dataclasses.field(default_factory=_Sendable)
    sendable: _Sendable = dataclasses.field(default_factory=_Sendable)

    def add(self, history: Sequence[ModelMessage], row: Row) -> None:
        if isinstance(row, RepairRow):
            self.repairs = [*self.repairs, _repair(row)]
            return
        message = _shown(history, row)
        if self.repairs and any(map(answers, message.parts)):
            message = _replaced(message, [*self.repairs, *message.parts])
        elif self.repairs:
            self.messages.append(ModelRequest(parts=self.repairs, timestamp=EPOCH))
        self.repairs = []
        if message.parts:
            self.messages.append(self._encodable(message))

    def _encodable(self, message: ModelMessage) -> ModelMessage:
        found = self.known.get(id(message)) or (message, encodable(message))
        self.sendable[id(message)] = found
        return found[1]


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
