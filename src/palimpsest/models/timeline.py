"""One conversation as the engine holds it: history, records, and the view they add up to."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping

from pydantic_ai.messages import ModelMessage, ModelRequest

from palimpsest.core.excerpt import Excerpt
from palimpsest.core.ledger import Ledger, LedgerBuilder
from palimpsest.core.outline import NO_PREFIX, MessageOutline, Outline, Prefix
from palimpsest.core.record_checks import check_record
from palimpsest.core.records import Checkpoint, Record, ViewState, fold_records
from palimpsest.core.view import View
from palimpsest.formats.projection import Projection
from palimpsest.formats.prompts import injected_parts, is_prompt
from palimpsest.formats.pydantic_ai import excerpts, outline
from palimpsest.models.history import History


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Tail:
    """A history, held and measured from a cut on."""

    history: History
    outline: Outline

    @classmethod
    def behind(cls, history: History, cut: int, prefix: Prefix | None) -> Tail:
        """Hold and measure a history from a cut on; reads what is not held, and blocks.

        Args:
            history: as it is held so far.
            cut: where to begin.
            prefix: what is known of the messages before; None has them all measured.
        """
        if prefix is None:
            measured = Outline([measure(message) for message in history]).behind(cut)
            shown = measured.prefix(cut).shown
            return cls(history=history.holding(cut, shown), outline=measured)
        held = history.holding(cut, prefix.shown)
        measured = Outline(
            [measure(message) for message in held.read(cut, len(held))],
            prefix=prefix,
            shown={index: measure(held[index]) for index in prefix.shown},
        )
        return cls(history=held, outline=measured)


class Timeline:
    """History and records, append-only; each message is measured once.

    Attributes:
        history: every message, originals, oldest first. Never edited.
        records: every record, oldest first.
        outline: the measured history.
        view: what the model receives.
        ledger_count: of so many messages the facts are gathered.
    """

    def __init__(
        self,
        history: History | None = None,
        records: Iterable[Record] = (),
        *,
        prefix: Prefix = NO_PREFIX,
    ) -> None:
        """Take a conversation up.

        Args:
            history: its messages; those behind the prefix must be held.
            records: all of them; the active checkpoint's cut is not before the prefix ends.
            prefix: what is known of the messages before.
        """
        taken = History() if history is None else history
        tail = Tail.behind(taken, prefix.count, prefix)
        self.history, self.outline = tail.history, tail.outline
        self.records: list[Record] = list(records)
        self.view = View(self.outline, fold_records(self.records))
        self._projection = Projection()
        self._ledger = LedgerBuilder()
        self.ledger_count = 0

    def append(self, message: ModelMessage) -> None:
        """Add the next message; costs that message only."""
        self.history.append(message)
        self.outline.append(measure(message))

    def tail_from(self, checkpoint: Checkpoint | None) -> Tail:
        """Give what a view under a checkpoint needs; reads what is not held, and blocks.

        It changes nothing, so that it may run in a thread while messages are added.
        """
        cut = 0 if checkpoint is None else checkpoint.first_kept_message_index
        if cut >= self.outline.first:
            return Tail(history=self.history, outline=self.outline)
        prefix = NO_PREFIX if checkpoint is None else checkpoint.prefix
        return Tail.behind(self.history, cut, prefix)

    def adopt(self, tail: Tail) -> None:
        """Go on with more, or less, of the same history held and measured."""
        self.history, self.outline = tail.history, tail.outline
        self.view = View(self.outline, self.view.state)

    def release(self) -> None:
        """Let go of what the view does not show, if it can be read again; it must be stored."""
        cut = self.view.cut
        if self.history.is_stored and cut > self.outline.first:
            measured = self.outline.behind(cut)
            held = self.history.holding(cut, measured.prefix(cut).shown)
            self.adopt(Tail(history=held, outline=measured))

    @property
    def checkpoints(self) -> Mapping[str, Checkpoint]:
        """Every checkpoint by id, oldest first."""
        return {record.id: record for record in self.records if record.kind == "checkpoint"}

    def check(self, record: Record) -> None:
        """Check a record before it is saved.

        Raises:
            InvalidRecordError: naming the field.
        """
        check_record(record, list(self.checkpoints.values()), self.outline)

    def apply(self, record: Record) -> None:
        """Add a record that was checked and saved; the view is the new one from here on."""
        self.view = View(self.outline, self.state_after(record))
        self.records.append(record)

    def state_after(self, record: Record) -> ViewState:
        """Give the state once a record stands behind the others."""
        return self.view.state.after(record, self.checkpoints)

    def messages(self) -> list[ModelMessage]:
        """Give the view's messages; going on after a step costs that step."""
        return self._projection.messages(self.history, self.view)

    def excerpts_between(self, start: int, stop: int) -> list[list[Excerpt]]:
        """Read the messages ``start <= index < stop`` as excerpts, one list a message."""
        return [_excerpts(message) for message in self.history[start:stop]]

    def ledger_before(self, index: int) -> Ledger:
        """Fold the history before ``index``; going on from an earlier cut costs what is new."""
        if index < self.ledger_count:
            self._ledger, self.ledger_count = LedgerBuilder(), 0
        for message in self.history.read(self.ledger_count, index):
            self._ledger.add(self.ledger_count, _excerpts(message))
            self.ledger_count += 1
        return self._ledger.snapshot()


def measure(message: ModelMessage) -> MessageOutline:
    """Measure a message of a session, which says itself whether the person typed it."""
    return outline(message, is_prompt=is_prompt(message))


def _excerpts(message: ModelMessage) -> list[Excerpt]:
    """Read a message; what was put in front of a prompt is not the person's word."""
    injected = injected_parts(message)
    if not injected or not isinstance(message, ModelRequest):
        return excerpts(message, is_prompt=is_prompt(message))
    front = dataclasses.replace(message, parts=message.parts[:injected])
    typed = dataclasses.replace(message, parts=message.parts[injected:])
    return [*excerpts(front, is_prompt=False), *excerpts(typed, is_prompt=True)]
