"""The preflight before a main request: performs what the core's policy decides, step by step."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import assert_never

from palimpsest.core.budget import Measure
from palimpsest.core.errors import ContextBudgetExceededError, FailureError, SaveFailedError
from palimpsest.core.estimate import text_bytes, text_tokens
from palimpsest.core.planning import Cut
from palimpsest.core.policy import (
    Generated,
    GenerationFailed,
    NothingToRelieve,
    Outcome,
    Plan,
    Preflight,
    Reading,
    Refuse,
    Relieve,
    Relieved,
    Save,
    Saved,
    SaveFailed,
    Send,
    Stop,
    Summarise,
    begin,
    step,
)
from palimpsest.core.pruning import plan_relief, plan_trim
from palimpsest.core.receipt import CompactionTrigger
from palimpsest.core.records import Trim
from palimpsest.core.trimming import trim_to
from palimpsest.formats.pydantic_ai import output_text
from palimpsest.models.candidates import Candidate
from palimpsest.models.compaction import Compaction
from palimpsest.models.engine import Engine
from palimpsest.models.engine_events import ContextBudget, Decision
from palimpsest.models.limits import Limits
from palimpsest.models.overflow import Overflow

MOST_TRIMS = 8
"""Outputs that one relief trims at most."""


async def preflight(
    engine: Engine,
    limits: Limits,
    *,
    overflow: Overflow | None = None,
    trigger: CompactionTrigger = "automatic",
) -> None:
    """Make the next request fit, or refuse it.

    Args:
        engine: of the conversation.
        limits: of the request.
        overflow: the provider rejected the request as too long: compacts whatever was decided
            before.
        trigger: what a compaction is put down to where the provider did not reject anything.

    Raises:
        ContextBudgetExceededError: the request does not fit and nothing made it fit.
        SaveFailedError: a record could not be saved; everything stays pending.
        CancelledError: the run was cancelled; a save under way was finished first.
    """
    forced = overflow is not None
    run = _Run(engine, limits, "overflow" if forced else trigger)
    reading = engine.reading(limits)
    if overflow is not None and overflow.request is not None:
        pressure = replace(reading.pressure, tokens=overflow.request)
        reading = replace(reading, pressure=pressure)
    if not engine.settings.automatic:
        run.report_undecided(reading, "automatic compaction is off.", forced=forced)
    elif not limits.budget.fits(engine.meter.scaled(limits.fixed)):
        reason = "system text and tools alone do not fit, and no compaction makes them smaller."
        run.report_undecided(reading, reason, forced=forced)
    else:
        state = begin(
            budget=limits.budget,
            settings=engine.settings.policy,
            counter=engine.counter,
            reading=reading,
            forced=forced,
            held=engine.timeline.view.state.held,
        )
        state = await run.to_the_end(state)
        engine.counter = state.counter
        run.report(state)


class _Run:
    """One preflight."""

    def __init__(self, engine: Engine, limits: Limits, trigger: CompactionTrigger) -> None:
        self._engine = engine
        self._limits = limits
        self._compaction = Compaction(engine, limits, trigger)
        self._candidate: Candidate | None = None
        self._save_error: SaveFailedError | None = None

    async def to_the_end(self, state: Preflight) -> Preflight:
        """Perform effects until the policy says send, refuse or stop."""
        try:
            while not isinstance(state.effect, Send | Refuse | Stop):
                state = step(state, await self._perform(state))
        finally:
            self._compaction.end(state.failure)
        return state

    async def _perform(self, state: Preflight) -> Outcome:
        effect = state.effect
        match effect:
            case Plan(keep=keep):
                return self._engine.plan(keep, self._limits.budget)
            case Relieve():
                return await self._relieve()
            case Summarise(cut=cut, extractive=extractive):
                return await self._summarise(cut, extractive=extractive)
            case Save():
                return await self._save_candidate()
            case Send() | Refuse() | Stop():
                raise AssertionError(effect)
            case _:
                assert_never(effect)

    async def _summarise(self, cut: Cut, *, extractive: bool) -> Outcome:
        try:
            self._candidate = await self._compaction.make(cut, extractive=extractive)
        except (FailureError, ContextBudgetExceededError) as error:
            return GenerationFailed(cause=str(error))
        return Generated(candidate=self._candidate.size)

    async def _save_candidate(self) -> Outcome:
        assert self._candidate is not None
        try:
            cancelled = await self._compaction.save(self._candidate)
        except SaveFailedError as error:
            self._save_error = error
            return SaveFailed()
        return Saved(reading=self._engine.reading(self._limits), cancelled=cancelled)

    # --- the last resort ---------------------------------------------------------------------

    async def _relieve(self) -> Outcome:
        engine = self._engine
        before = len(engine.timeline.records)
        cancelled = False
        try:
            budget = self._limits.budget
            plan = plan_relief(engine.timeline.view, engine.pruning(budget))
            if plan is not None:
                cancelled = await engine.save_record(engine.clearing(plan, budget))
            for _ in range(MOST_TRIMS):
                trim = None if cancelled else self._plan_trim()
                if trim is None:
                    break
                cancelled = await engine.save_record(trim)
        except SaveFailedError as error:
            self._save_error = error
            return SaveFailed()
        if cancelled:
            raise asyncio.CancelledError
        if len(engine.timeline.records) == before:
            return NothingToRelieve()
        return Relieved(reading=engine.reading(self._limits))

    def _plan_trim(self) -> Trim | None:
        engine, budget = self._engine, self._limits.budget
        reading = engine.reading(self._limits)
        size = reading.pressure
        if budget.fits(size):
            return None
        # Saving the trim forgets the provider's count; what is left is then measured locally.
        tokens = max(size.tokens, reading.comparable.tokens)
        excess = (tokens - budget.largest_fitting) / engine.meter.calibration.ratio
        plan = plan_trim(
            engine.timeline.view,
            excess_tokens=max(0, int(excess) + 1),
            excess_bytes=max(0, size.bytes - budget.byte_limit),
        )
        if plan is None:
            return None
        message = engine.timeline.history[plan.position.message]
        trimmed = trim_to(output_text(message, plan.position.part), plan.shown_tokens)
        return Trim(
            id=engine.candidates.new_id(),
            timestamp=engine.candidates.now_ms(),
            position=plan.position,
            head_characters=trimmed.head_characters,
            tail_characters=trimmed.tail_characters,
            shown_tokens=text_tokens(trimmed.text),
            shown_bytes=text_bytes(trimmed.text),
        )

    # --- reporting ---------------------------------------------------------------------------

    def report(self, state: Preflight) -> None:
        """Tell what was decided, and refuse what was refused."""
        match state.effect:
            case Send(why=why, detail=detail):
                self._tell(why, detail)
            case Refuse(cause=cause):
                self._tell("refused", cause)
                raise self._exceeded(state.reading.pressure, cause)
            case Stop(why=why):
                self._tell("stopped", why)
                if self._save_error is not None:
                    raise self._save_error
                raise asyncio.CancelledError
            case _:
                raise AssertionError(state.effect)

    def report_undecided(self, reading: Reading, reason: str, *, forced: bool) -> None:
        """Tell that the policy was not asked, and why; refuse what does not fit as it is."""
        fits = self._limits.budget.fits(reading.pressure) and not forced
        self._tell("calm" if fits else "refused", reason)
        if not fits:
            raise self._exceeded(reading.pressure, reason)

    def _tell(self, decision: Decision, reason: str) -> None:
        engine = self._engine
        engine.emit(
            ContextBudget(
                budget=self._limits.budget,
                size=engine.size(self._limits),
                calibrated=engine.meter.anchor is not None,
                decision=decision,
                reason=reason,
            )
        )

    def _exceeded(self, size: Measure, cause: str) -> ContextBudgetExceededError:
        return ContextBudgetExceededError(
            self._limits.budget,
            size.tokens,
            size.bytes,
            self._engine.meter.calibration.scale(self._limits.fixed.tokens),
            cause or None,
        )
