"""One conversation as the engine holds it: history, records, and the view they add up to."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from pydantic_ai.messages import ModelMessage

from palimpsest.core.excerpt import Excerpt
from palimpsest.core.ledger import Ledger, LedgerBuilder
from palimpsest.core.outline import MessageOutline, Outline, Prefix
from palimpsest.core.record_codec import check_record
from palimpsest.core.records import Checkpoint, Record, ViewState, fold_records
from palimpsest.core.view import View
from palimpsest.formats.projection import project
from palimpsest.formats.pydantic_ai import excerpts, outline
from palimpsest.models.history import CHUNK, History, Originals
from palimpsest.models.prompts import is_prompt


class Timeline:
    """History and records, append-only; each message is measured once.

    Attributes:
        history: every message, originals, oldest first. Never edited.
        records: every record, oldest first.
        outline: the measured history.
        view: what the model receives.
        ledger_count: messages whose facts were gathered.
    """

    def __init__(
        self,
        history: Iterable[ModelMessage] = (),
        records: Iterable[Record] = (),
        *,
        first: int = 0,
        originals: Originals | None = None,
        prefixes: Mapping[str, Prefix] | None = None,
    ) -> None:
        """Take a conversation up.

        Args:
            history: the messages from ``first`` on.
            records: all of them.
            first: 0, or the cut of the active checkpoint, whose prefix must be known.
            originals: reads stored messages; without it none is ever let go.
            prefixes: what the cuts of checkpoints left to be known, by id.
        """
        self.records: list[Record] = list(records)
        self._prefixes = dict(prefixes or {})
        self.history = History(history, first=first, originals=originals)
        state = fold_records(self.records)
        self.outline = self._measured(state.checkpoint if first else None)
        self.view = View(self.outline, state)
        self._ledger = LedgerBuilder()
        self.ledger_count = 0

    def _measured(self, start: Checkpoint | None) -> Outline:
        """Measure the history from a checkpoint's cut on, or whole where that is not enough."""
        prefix = None if start is None else self._prefixes.get(start.id)
        if prefix is None:
            outline = Outline()
        else:
            known = {index: _measure(self.history[index]) for index in prefix.known}
            outline = Outline.following(prefix, known)
        for begin in range(outline.first, len(self.history), CHUNK):
            for message in self.history[begin : begin + CHUNK]:
                outline.append(_measure(message))
        return outline

    def append(self, message: ModelMessage) -> None:
        """Add the next message; costs that message only."""
        self.history.append(message)
        self.outline.append(_measure(message))

    def release(self) -> None:
        """Let go of the messages before the cut; all must be stored."""
        self.history.forget_before(self.view.cut)

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
        """Add a record that was checked and saved; the view is the new one from here on.

        A restore to an earlier cut reads the messages behind it again.
        """
        state = self.state_after(record)
        if record.kind == "checkpoint":
            self._prefixes[record.id] = self.outline.prefix(record.first_kept_message_index)
        elif record.kind == "restore":
            cut = 0 if state.checkpoint is None else state.checkpoint.first_kept_message_index
            self.history.hold_from(cut)
            if cut < self.outline.first:
                self.outline = self._measured(state.checkpoint)
        self.view = View(self.outline, state)
        self.records.append(record)

    def state_after(self, record: Record) -> ViewState:
        """Give the state once a record stands behind the others."""
        return self.view.state.after(record, self.checkpoints)

    def messages(self) -> list[ModelMessage]:
        """Give the view's messages; the same history and records give the same ones."""
        return project(self.history, self.view.rows())

    def excerpts_between(self, start: int, stop: int) -> list[list[Excerpt]]:
        """Read the messages ``start <= index < stop`` as excerpts, one list a message."""
        return [
            excerpts(message, is_prompt=is_prompt(message)) for message in self.history[start:stop]
        ]

    def ledger_before(self, index: int) -> Ledger:
        """Fold the history before ``index``; going on from an earlier cut costs what is new."""
        if index < self.ledger_count:
            self._ledger, self.ledger_count = LedgerBuilder(), 0
        for start in range(self.ledger_count, index, CHUNK):
            rows = self.excerpts_between(start, min(index, start + CHUNK))
            for number, row in enumerate(rows, start):
                self._ledger.add(number, row)
        self.ledger_count = index
        return self._ledger.snapshot()


def _measure(message: ModelMessage) -> MessageOutline:
    return outline(message, is_prompt=is_prompt(message))
