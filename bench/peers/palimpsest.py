"""Palimpsest: the engine under sessions and wrapped agents, at its defaults, without a model."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from pydantic_ai.messages import ModelMessage

from palimpsest.core.budget import Budget, Measure
from palimpsest.core.calibration import Meter
from palimpsest.core.receipt import Receipt
from palimpsest.core.records import Record
from palimpsest.models.candidates import CandidateMaker
from palimpsest.models.engine import Engine, EngineSettings, Limits
from palimpsest.models.engine_events import EngineEvent
from palimpsest.models.history import History
from palimpsest.models.preflight import preflight
from palimpsest.models.summarizer import ExtractiveSummarizer
from palimpsest.models.timeline import Timeline
from peers.histories import Item, Prompt, Step
from peers.library import MakeLibrary
from peers.native import as_texts, native, results


class EngineLibrary:
    """Clears old results at a prompt, summarises under pressure; every change is a record."""

    def __init__(self, window: int) -> None:
        numbers = itertools.count(1)
        extractive = ExtractiveSummarizer()
        self._limits = Limits(
            budget=Budget(window=window, reserved_output=min(16_000, window // 4)),
            fixed=Measure(tokens=0, bytes=0),
        )
        self._engine = Engine(
            Timeline(History([])),
            settings=EngineSettings(),
            candidates=CandidateMaker(
                summarizer=extractive,
                fallback=extractive,
                now_ms=lambda: 0,
                new_id=lambda: f"00000000-0000-4000-8000-{next(numbers):012d}",
            ),
            save=_saved,
            emit=_heard,
            meter=Meter(),
        )
        self._new: list[Item] = []
        self._sent: list[ModelMessage] = []

    def take(self, items: Sequence[Item]) -> None:
        self._new += items

    async def manage(self) -> None:
        """Measure what is new, prune at a prompt, decide, project."""
        for item in self._new:
            self._add(item)
        self._new.clear()
        await preflight(self._engine, self._limits)
        self._sent = self._engine.dispatch()

    def _add(self, item: Item) -> None:
        engine = self._engine
        if isinstance(item, Prompt):
            engine.begin_run()
            if clearing := engine.plan_clearing(self._limits.budget):
                engine.applied(clearing)
        for message in native(item):
            engine.timeline.append(message)
            if isinstance(item, Step) and item.input_tokens and message.kind == "response":
                engine.after_reply(
                    self._limits,
                    message_count=len(engine.timeline.history) - 1,
                    reported_tokens=item.input_tokens,
                )

    def sent(self) -> list[str]:
        return as_texts(self._sent)

    def declared(self) -> int:
        return len(self._engine.timeline.records)

    def held(self) -> list[str]:
        return results(self._engine.timeline.history)


async def _saved(record: Record, receipt: Receipt | None) -> None:
    del record, receipt


def _heard(event: EngineEvent) -> None:
    del event


LIBRARIES: dict[str, MakeLibrary] = {"engine": EngineLibrary}
