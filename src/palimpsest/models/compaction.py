"""One compaction, manual or automatic: what it makes and saves, and what is told of it."""

from __future__ import annotations

import asyncio

from palimpsest.core.errors import (
    ContextBudgetExceededError,
    FailureError,
    NothingToCompactError,
)
from palimpsest.core.planning import Cut, NoCut
from palimpsest.core.receipt import CompactionTrigger
from palimpsest.core.records import Checkpoint
from palimpsest.models.candidates import Candidate
from palimpsest.models.engine import Engine
from palimpsest.models.engine_events import CompactionEnd, CompactionProgress, CompactionStart
from palimpsest.models.limits import Limits


class Compaction:
    """Announced with its first generation, and ended exactly once if it was announced."""

    def __init__(self, engine: Engine, limits: Limits, trigger: CompactionTrigger) -> None:
        self._engine = engine
        self._limits = limits
        self._trigger: CompactionTrigger = trigger
        self._announced = False
        self._saved: Candidate | None = None

    async def make(self, cut: Cut, *, extractive: bool = False, focus: str = "") -> Candidate:
        """Summarise the messages before the cut.

        Raises:
            FailureError: no summary was made; nothing was kept.
            ContextBudgetExceededError: the summariser's own input does not fit.
        """
        engine = self._engine
        if not self._announced:
            self._announced = True
            engine.emit(
                CompactionStart(
                    started_at=engine.candidates.now_ms(),
                    history_message_count=len(engine.timeline.history),
                    trigger=self._trigger,
                )
            )
        return await engine.candidates.make(
            engine.timeline,
            cut,
            limits=self._limits,
            meter=engine.meter,
            trigger=self._trigger,
            on_call=lambda call, calls: engine.emit(CompactionProgress(call=call, calls=calls)),
            extractive=extractive,
            focus=focus,
        )

    async def save(self, candidate: Candidate) -> bool:
        """Save a candidate and show its view; say whether a cancellation arrived meanwhile.

        Raises:
            SaveFailedError: it stays pending.
        """
        cancelled = await self._engine.save_record(candidate.checkpoint, candidate.receipt)
        self._saved = candidate
        return cancelled

    def end(self, error: str) -> None:
        """Tell how it ended: the newest checkpoint that it saved, and what went wrong, if so."""
        if not self._announced:
            return
        saved = self._saved
        self._engine.emit(
            CompactionEnd(
                checkpoint=None if saved is None else saved.checkpoint.id,
                receipt=None if saved is None else saved.receipt,
                error=error,
            )
        )


async def compact(engine: Engine, limits: Limits, *, focus: str = "") -> Checkpoint:
    """Summarise what a manual compaction summarises, and save it even if it did not reduce.

    Raises:
        NothingToCompactError: there is no cut; nothing was called, generated or written.
        FailureError: no summary was made; nothing was kept.
        ContextBudgetExceededError: the summariser's own input does not fit.
        SaveFailedError: it could not be saved; it stays pending.
        CancelledError: a save under way was finished first.
    """
    planned = engine.can_compact(limits.budget)
    if isinstance(planned, NoCut):
        raise NothingToCompactError(str(planned))
    compaction = Compaction(engine, limits, "manual")
    error = ""
    try:
        candidate = await compaction.make(planned, focus=focus)
        cancelled = await compaction.save(candidate)
    except (FailureError, ContextBudgetExceededError) as failure:
        error = str(failure)
        raise
    finally:
        compaction.end(error)
    if cancelled:
        raise asyncio.CancelledError
    return candidate.checkpoint
