"""What the model receives: a pure function of outline and records (SPEC section 1).

A view is never stored. It says, row by row, which message stands there and what was done to it;
a format adapter turns rows into messages. Its size comes from the outline's running sums, so
measuring it costs what the records edit, never what the history holds.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate
from typing import Literal, TypeAlias

from palimpsest.core.budget import NOTHING, Measure
from palimpsest.core.estimate import MESSAGE_TOKENS, text_bytes, text_tokens
from palimpsest.core.outline import Content, Outline, Part, Position
from palimpsest.core.records import Checkpoint, Trim, ViewState
from palimpsest.core.summary import summary_message_text

REPAIR_TEXT = "[No result: the call was interrupted and may have had effects]"
"""Stands in for the result of a call that the history has none for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cleared:
    """A part shown as a placeholder."""

    part: int
    placeholder: str
    kind: Literal["cleared"] = "cleared"


@dataclass(frozen=True, slots=True, kw_only=True)
class Trimmed:
    """A part shown by its first and last code points, with a notice of what is left out."""

    part: int
    head_characters: int
    tail_characters: int
    kind: Literal["trimmed"] = "trimmed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Hidden:
    """A tool return left out because no call of the view asks for it."""

    part: int
    kind: Literal["hidden"] = "hidden"


Edit: TypeAlias = Cleared | Trimmed | Hidden


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageRow:
    """A message of the history, with its edits in ascending order of parts."""

    index: int
    edits: tuple[Edit, ...] = ()
    kind: Literal["message"] = "message"


@dataclass(frozen=True, slots=True, kw_only=True)
class FoldedRow:
    """The lasting parts of a summarised message; the head of the view is made of these."""

    index: int
    parts: tuple[int, ...]
    kind: Literal["folded"] = "folded"


@dataclass(frozen=True, slots=True, kw_only=True)
class SummaryRow:
    """The summary of everything before ``summarised_before``."""

    checkpoint: str
    summarised_before: int
    text: str
    kind: Literal["summary"] = "summary"


@dataclass(frozen=True, slots=True, kw_only=True)
class RepairRow:
    """A stand-in result for a call of message ``index`` that the history has no result for."""

    index: int
    call_id: str
    tool_name: str
    kind: Literal["repair"] = "repair"


Row: TypeAlias = MessageRow | FoldedRow | SummaryRow | RepairRow


class View:
    """The view of one outline under one state; it grows with the outline until the next record.

    Attributes:
        outline: the measured history, shared and growing.
        state: what the records add up to.
        cut: first message shown as it is; 0 without a checkpoint.
        prompt_index: the user message that rides along in front of a split turn, or None.
    """

    def __init__(self, outline: Outline, state: ViewState) -> None:
        self.outline = outline
        self.state = state
        self.cut = 0
        self.prompt_index: int | None = None
        self._head = NOTHING
        if state.checkpoint is not None:
            self._place(state.checkpoint)
        # Edits before the cut are not shown, so they weigh nothing.
        live = (at for at in state.cleared.keys() | state.trimmed.keys() if at.message >= self.cut)
        self._edited = sorted(live)
        self._saved_tokens, self._saved_bytes = [0], [0]
        for position in self._edited:
            saved = self._saving(position)
            self._saved_tokens.append(self._saved_tokens[-1] + saved.tokens)
            self._saved_bytes.append(self._saved_bytes[-1] + saved.bytes)
        self._mended_at = 0
        self._mended: list[int] = []
        self._mended_tokens, self._mended_bytes = [0], [0]
        self._settled = list(self._head_rows())
        self._settled_stop = self.cut
        self._settled_repairs: list[Position] = []

    def _place(self, checkpoint: Checkpoint) -> None:
        self.cut = checkpoint.first_kept_message_index
        self._head = summary_measure(checkpoint.summary)
        if checkpoint.split:
            self.prompt_index = self.outline.prompt_of(self.cut - 1)
            if self.prompt_index is not None:
                self._head += self.outline.measure_of(self.prompt_index)
        for row in self._folded_rows():
            message = self.outline[row.index]
            parts = [message.parts[part] for part in row.parts]
            self._head += Measure(
                tokens=message.envelope_tokens + sum(part.tokens for part in parts),
                bytes=sum(part.bytes for part in parts),
            )
            for repair in self._folded_repairs(row):
                self._head += repair_size(repair.tool_name, repair.call_id)

    def _saving(self, position: Position) -> Measure:
        content = self.outline.part(position).content or Content(characters=0, tokens=0, bytes=0)
        placeholder = self.state.cleared.get(position)
        if placeholder is not None:
            shown = Measure(tokens=text_tokens(placeholder), bytes=text_bytes(placeholder))
        else:
            trim = self.state.trimmed[position]
            shown = Measure(tokens=trim.shown_tokens, bytes=trim.shown_bytes)
        return Measure(tokens=content.tokens - shown.tokens, bytes=content.bytes - shown.bytes)

    def measure_between(self, start: int, stop: int) -> Measure:
        """Give the size of the shown messages ``start <= index < stop``, edits applied.

        The checkpoint plays no part: messages before the cut are measured as they were stored, as
        far as the outline knows them.
        """
        whole = self.outline.measure_between(start, stop)
        first = last = 0
        if self._edited:
            first = bisect_left(self._edited, Position(start, 0))
            last = bisect_left(self._edited, Position(stop, 0))
        self._mend()
        mended_first = mended_last = 0
        if self._mended:
            mended_first = bisect_left(self._mended, start)
            mended_last = bisect_left(self._mended, stop)
        return Measure(
            tokens=whole.tokens
            - (self._saved_tokens[last] - self._saved_tokens[first])
            + (self._mended_tokens[mended_last] - self._mended_tokens[mended_first]),
            bytes=whole.bytes
            - (self._saved_bytes[last] - self._saved_bytes[first])
            + (self._mended_bytes[mended_last] - self._mended_bytes[mended_first]),
        )

    def _mend(self) -> None:
        """Sum up what repairs add and hidden orphans take away; anew once the outline grew."""
        if self._mended_at == len(self.outline):
            return
        self._mended_at = len(self.outline)
        changes = [
            (call.message, repair_measure(self.outline.part(call))) for call in self.unanswered()
        ]
        changes += [(at.message, self._hiding(at)) for at in self._unasked()]
        changes.sort(key=lambda change: change[0])
        self._mended = [message for message, _ in changes]
        self._mended_tokens = [0, *accumulate(size.tokens for _, size in changes)]
        self._mended_bytes = [0, *accumulate(size.bytes for _, size in changes)]

    def _unasked(self) -> list[Position]:
        """Give the tool returns that no call of the view asks for."""
        late = [at for at, call in self.outline.late if call < self.cut <= at.message]
        return [*self.outline.orphans, *late] if late else self.outline.orphans

    def _hiding(self, orphan: Position) -> Measure:
        part, saved = self.outline.part(orphan), NOTHING
        if orphan.message >= self.cut and (
            orphan in self.state.cleared or orphan in self.state.trimmed
        ):
            saved = self._saving(orphan)
        return Measure(tokens=saved.tokens - part.tokens, bytes=saved.bytes - part.bytes)

    def measure(self) -> Measure:
        """Give the size of the whole view, without system text and tools of the request."""
        return self._head + self.measure_between(self.cut, len(self.outline))

    def measure_before(self, message: int) -> Measure:
        """Give the size of the rows that stand in front of a shown message."""
        return self._head + self.measure_between(self.cut, max(self.cut, message))

    def unanswered(self) -> list[Position]:
        """Give the calls that need a stand-in result: unanswered, and not in the newest message."""
        if not self.outline.has_open_calls:
            return []
        newest = len(self.outline) - 1
        return [call for call in self.outline.unanswered() if call.message < newest]

    def shows(self, position: Position) -> bool:
        """Whether the original text of a part stands in the view, whole."""
        if position in self.state.cleared or position in self.state.trimmed:
            return False
        return position.message >= self.cut or position.message == self.prompt_index

    def edited_count(self, first: Position, last: Position) -> int:
        """Count the cleared and trimmed parts at ``first <= position <= last``."""
        return bisect_right(self._edited, last) - bisect_left(self._edited, first)

    def rows(self) -> list[Row]:
        """Give the view's rows, first to last; those that stood are not made again.

        Order: lasting parts of the summarised prefix, the summary, the user message of a split
        turn, then the kept messages. A repair follows the message whose call it answers.
        """
        return [*self.settled_rows(), *self.newest_rows()]

    def settled_rows(self) -> list[Row]:
        """Give the rows of all messages but the newest: the same list each time, ever longer.

        It is another list once a call got its result late, or was left without one: repairs among
        the rows that stood here came or went.
        """
        stop, unanswered = max(self.cut, len(self.outline) - 1), self.unanswered()
        if [call for call in unanswered if call.message < self._settled_stop] != (
            self._settled_repairs
        ):
            self._settled, self._settled_stop = list(self._head_rows()), self.cut
        self._settled += self._rows_between(self._settled_stop, stop)
        self._settled_stop, self._settled_repairs = stop, unanswered
        return self._settled

    def newest_rows(self) -> list[Row]:
        """Give what stands behind the settled rows: the newest message, or nothing."""
        return list(self._rows_between(max(self.cut, len(self.outline) - 1), len(self.outline)))

    def _head_rows(self) -> Iterator[Row]:
        checkpoint = self.state.checkpoint
        if checkpoint is None:
            return
        for folded in self._folded_rows():
            yield folded
            yield from self._folded_repairs(folded)
        yield SummaryRow(
            checkpoint=checkpoint.id, summarised_before=self.cut, text=checkpoint.summary
        )
        if self.prompt_index is not None:
            yield MessageRow(index=self.prompt_index)

    def _rows_between(self, start: int, stop: int) -> Iterator[Row]:
        repairs: dict[int, list[RepairRow]] = {}
        for call in self.unanswered():
            part = self.outline.part(call)
            row = RepairRow(index=call.message, call_id=part.call_id, tool_name=part.tool_name)
            repairs.setdefault(call.message, []).append(row)
        edits = self._edits_between(start, stop)
        for index in range(start, stop):
            yield MessageRow(index=index, edits=tuple(edits.get(index, ())))
            yield from repairs.get(index, ())

    def _folded_rows(self) -> Iterator[FoldedRow]:
        folded: dict[int, list[int]] = {}
        for position in self.outline.lasting:
            if position.message < self.cut and position.message != self.prompt_index:
                folded.setdefault(position.message, []).append(position.part)
        for index, parts in folded.items():
            yield FoldedRow(index=index, parts=tuple(parts))

    def _folded_repairs(self, row: FoldedRow) -> Iterator[RepairRow]:
        """Yield a stand-in for each folded call whose result is not folded too."""
        message = self.outline[row.index]
        for part in (message.parts[index] for index in row.parts):
            if part.kind == "tool_call" and not self._answered_before_cut(part.call_id, row.index):
                yield RepairRow(index=row.index, call_id=part.call_id, tool_name=part.tool_name)

    def _answered_before_cut(self, call_id: str, call: int) -> bool:
        return any(
            self.outline.part(at).call_id == call_id
            for at in self.outline.lasting
            if call < at.message < self.cut and self.outline.part(at).kind == "tool_return"
        )

    def _edits_between(self, start: int, stop: int) -> dict[int, list[Edit]]:
        orphans = {at for at in self._unasked() if start <= at.message < stop}
        first = bisect_left(self._edited, Position(start, 0))
        last = bisect_left(self._edited, Position(stop, 0))
        edits: dict[int, list[Edit]] = {}
        for position in sorted({*self._edited[first:last], *orphans}):
            edit = Hidden(part=position.part) if position in orphans else self._edit(position)
            edits.setdefault(position.message, []).append(edit)
        return edits

    def _edit(self, position: Position) -> Edit:
        placeholder = self.state.cleared.get(position)
        if placeholder is not None:
            return Cleared(part=position.part, placeholder=placeholder)
        trim: Trim = self.state.trimmed[position]
        return Trimmed(
            part=position.part,
            head_characters=trim.head_characters,
            tail_characters=trim.tail_characters,
        )


def summary_measure(summary: str) -> Measure:
    """Give the size of the message that carries a summary."""
    text = summary_message_text(summary)
    return Measure(tokens=MESSAGE_TOKENS + text_tokens(text), bytes=text_bytes(text))


def repair_measure(call: Part) -> Measure:
    """Give the size of the stand-in result for a call."""
    return repair_size(call.tool_name, call.call_id)


def repair_size(tool_name: str, call_id: str) -> Measure:
    """Give the size of the stand-in result for a call of that name and id."""
    texts = (REPAIR_TEXT, tool_name, call_id)
    return Measure(
        tokens=MESSAGE_TOKENS + sum(map(text_tokens, texts)), bytes=sum(map(text_bytes, texts))
    )
