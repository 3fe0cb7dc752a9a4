"""One conversation as the engine holds it: history, records, and the view they add up to."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence

from pydantic_ai.messages import ModelMessage, ModelRequest

from palimpsest.core.excerpt import Excerpt
from palimpsest.core.ledger import Ledger, LedgerBuilder
from palimpsest.core.outline import Outline
from palimpsest.core.record_codec import check_record
from palimpsest.core.records import Checkpoint, Record, ViewState, fold_records
from palimpsest.core.view import View
from palimpsest.formats.projection import project
from palimpsest.formats.pydantic_ai import excerpts, outline
from palimpsest.models.prompts import injected_parts, is_prompt


class Timeline:
    """History and records, append-only; each message is measured once.

    Attributes:
        history: every message, originals, oldest first. Never edited.
        records: every record, oldest first.
        outline: the measured history.
        view: what the model receives.
    """

    def __init__(
        self, history: Iterable[ModelMessage] = (), records: Iterable[Record] = ()
    ) -> None:
        self.history: list[ModelMessage] = []
        self.outline = Outline()
        for message in history:
            self.append(message)
        self.records: list[Record] = list(records)
        self.view = View(self.outline, fold_records(self.records))
        self._ledger = LedgerBuilder()
        self._ledger_count = 0

    def append(self, message: ModelMessage) -> None:
        """Add the next message; costs that message only."""
        self.history.append(message)
        self.outline.append(outline(message, is_prompt=is_prompt(message)))

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
        """Give the view's messages; the same history and records give the same ones."""
        return project(self.history, self.view.rows())

    def excerpts_between(self, start: int, stop: int) -> list[list[Excerpt]]:
        """Read the messages ``start <= index < stop`` as excerpts, one list a message."""
        return [_excerpts(message) for message in self.history[start:stop]]

    def ledger_before(self, index: int) -> Ledger:
        """Fold the history before ``index``; going on from an earlier cut costs what is new."""
        if index < self._ledger_count:
            self._ledger, self._ledger_count = LedgerBuilder(), 0
        rows: Sequence[list[Excerpt]] = self.excerpts_between(self._ledger_count, index)
        for number, row in enumerate(rows, start=self._ledger_count):
            self._ledger.add(number, row)
        self._ledger_count = index
        return self._ledger.snapshot()


def _excerpts(message: ModelMessage) -> list[Excerpt]:
    """Read a message; what was put in front of a prompt is not the person's word."""
    injected = injected_parts(message)
    if not injected or not isinstance(message, ModelRequest):
        return excerpts(message, is_prompt=is_prompt(message))
    front = dataclasses.replace(message, parts=message.parts[:injected])
    typed = dataclasses.replace(message, parts=message.parts[injected:])
    return [*excerpts(front, is_prompt=False), *excerpts(typed, is_prompt=True)]
