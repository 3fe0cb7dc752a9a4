"""The engine around a model's requests: performs what the core's policy decides.

The owner appends messages, asks for a preflight before every main request, and sends the view.
Everything that must last goes through the owner's ``save`` before the view changes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from typing import TypeVar, assert_never

from anyio import to_thread
from pydantic_ai.messages import ModelMessage

from palimpsest.core.budget import Budget, Measure
from palimpsest.core.calibration import Meter
from palimpsest.core.errors import (
    ContextBudgetExceededError,
    FailureError,
    NothingToCompactError,
    SaveFailedError,
    UnknownCheckpointError,
)
from palimpsest.core.estimate import text_bytes, text_tokens
from palimpsest.core.outline import Position
from palimpsest.core.planning import Cut, NoCut, plan_cut, plan_split
from palimpsest.core.policy import (
    Generated,
    GenerationFailed,
    NothingToRelieve,
    Outcome,
    Plan,
    PolicySettings,
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
from palimpsest.core.pruning import (
    ClearingPlan,
    PruningSettings,
    plan_pruning,
    plan_relief,
    plan_trim,
)
from palimpsest.core.receipt import CompactionTrigger, Receipt
from palimpsest.core.records import Checkpoint, Clearing, Record, Restore, Trim
from palimpsest.core.trimming import trim_to
from palimpsest.core.view import Row, View
from palimpsest.formats.pydantic_ai import output_text
from palimpsest.models.candidates import Candidate, CandidateMaker
from palimpsest.models.engine_events import (
    CompactionEnd,
    CompactionProgress,
    CompactionStart,
    ContextBudget,
    Decision,
    EngineEvent,
    Pruned,
)
from palimpsest.models.overflow import Overflow
from palimpsest.models.summarizer import Summarizer
from palimpsest.models.timeline import Tail, Timeline

_T = TypeVar("_T")

MOST_TRIMS = 8
"""Outputs that one relief trims at most."""

SaveRecord = Callable[[Record, Receipt | None], Awaitable[None]]
"""Saves a record, a checkpoint with its receipt, together with whatever of the history is not
saved yet, atomically; raises ``SaveFailedError``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineSettings:
    """Choices of one conversation.

    Attributes:
        automatic: compact before a request that is under pressure. Off means off: a request that
            does not fit is then refused.
        policy: choices of the policy.
        pruning: thresholds of pruning; None takes the defaults for the window.
        prunes: clear old tool outputs at the start of a prompt.
    """

    automatic: bool = True
    policy: PolicySettings = field(default_factory=PolicySettings)
    pruning: PruningSettings | None = None
    prunes: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What one request must keep to, and what it carries besides the view.

    Attributes:
        budget: limits of the request.
        fixed: size of its system text and tools, uncalibrated.
    """

    budget: Budget
    fixed: Measure


@dataclass(frozen=True, slots=True, kw_only=True)
class Restored:
    """What a restore comes to: whether the view it shows fits, and is above the trigger."""

    size: Measure
    fits: bool
    pressured: bool


class Engine:
    """One conversation, for one caller at a time.

    Attributes:
        timeline: history, records and view.
        meter: the one number that feeds both the policy and every meter a person sees.
        dispatched: rows of the newest request that was sent; none before the first.
        counter: pressured preflights of this prompt run.
    """

    def __init__(
        self,
        timeline: Timeline,
        *,
        settings: EngineSettings,
        candidates: CandidateMaker,
        save: SaveRecord,
        emit: Callable[[EngineEvent], None],
        meter: Meter,
        counter: int = 0,
    ) -> None:
        self.timeline = timeline
        self.meter = meter
        self.dispatched: tuple[Row, ...] = ()
        self._settings = settings
        self._candidates = candidates
        self._save = save
        self._emit = emit
        self.counter = counter
        self._candidate: Candidate | None = None
        self._receipt: Receipt | None = None
        self._save_error: SaveFailedError | None = None

    # --- measuring ---------------------------------------------------------------------------

    def size(self, limits: Limits) -> Measure:
        """Give the size of the next request as well as it is known."""
        return self.meter.pressure(self.timeline.view, limits.fixed)

    def after_reply(self, limits: Limits, *, message_count: int, reported_tokens: int) -> None:
        """Learn from the usage of a complete reply to a request of the present view."""
        self.meter = self.meter.after_reply(
            self.timeline.view,
            limits.fixed,
            message_count=message_count,
            reported_tokens=reported_tokens,
        )

    def can_compact(self, budget: Budget) -> Cut | NoCut:
        """Ask the planner what a manual compaction would do; no call, no write."""
        return self._plan("retention", budget)

    def dispatch(self) -> list[ModelMessage]:
        """Give the view's messages for a request that is sent now."""
        self.dispatched = tuple(self.timeline.view.rows())
        return self.timeline.messages()

    # --- pruning -----------------------------------------------------------------------------

    def plan_clearing(self, budget: Budget) -> Clearing | None:
        """Plan the clearing at the start of a prompt; the owner saves it with the prompt."""
        if not self._settings.prunes:
            return None
        plan = plan_pruning(self.timeline.view, self._pruning(budget))
        return None if plan is None else self._clearing(plan, budget)

    def applied(self, record: Record) -> None:
        """Take in a record that the owner saved."""
        self.timeline.apply(record)
        self.meter = self.meter.after_record()
        if isinstance(record, Clearing):
            self._emit(
                Pruned(outputs=len(record.placeholders), tokens_reclaimed=record.tokens_reclaimed)
            )
        elif isinstance(record, Trim):
            self._emit(Pruned(outputs=1, tokens_reclaimed=0))

    def use_summarizer(self, summarizer: Summarizer, *, price: str) -> None:
        """Have summaries written by another summariser from now on."""
        self._candidates = self._candidates.with_summarizer(summarizer, price=price)

    def begin_run(self) -> None:
        """Start a prompt run: pressured preflights are counted anew."""
        self.counter = 0

    # --- automatic compaction ----------------------------------------------------------------

    async def preflight(
        self,
        limits: Limits,
        *,
        overflow: Overflow | None = None,
        trigger: CompactionTrigger = "automatic",
    ) -> None:
        """Make the next request fit, or refuse it.

        Args:
            limits: of the request.
            overflow: the provider rejected the request as too long: compacts whatever was decided
                before.
            trigger: what a compaction is put down to where the provider did not reject anything.

        Raises:
            ContextBudgetExceededError: the request does not fit and nothing made it fit.
            SaveFailedError: a record could not be saved; everything stays pending.
            CancelledError: the run was cancelled; a save under way was finished first.
        """
        reading = self._reading(limits)
        forced = overflow is not None
        if overflow is not None and overflow.request is not None:
            pressure = replace(reading.pressure, tokens=overflow.request)
            reading = replace(reading, pressure=pressure)
        if not self._settings.automatic:
            reason = "automatic compaction is off."
            self._finish_without_policy(limits, reading, reason, forced=forced)
            return
        if not limits.budget.fits(self.meter.scaled(limits.fixed)):
            reason = "system text and tools alone do not fit, and no compaction makes them smaller."
            self._finish_without_policy(limits, reading, reason, forced=forced)
            return
        state = begin(
            budget=limits.budget,
            settings=self._settings.policy,
            counter=self.counter,
            reading=reading,
            forced=forced,
            held=self.timeline.view.state.held,
        )
        state = await self._run(state, limits, "overflow" if forced else trigger)
        self.counter = state.counter
        self._report(state, limits)

    async def _run(self, state: Preflight, limits: Limits, trigger: CompactionTrigger) -> Preflight:
        started = False
        saved = 0
        self._receipt, self._candidate, self._save_error = None, None, None
        try:
            while not isinstance(state.effect, Send | Refuse | Stop):
                if isinstance(state.effect, Summarise) and not started:
                    started = True
                    self._emit_start(trigger)
                state = step(state, await self._perform(state, limits, trigger))
                saved = state.saved
        finally:
            if started:
                self._emit_end(saved, state.failure)
        return state

    async def _perform(
        self, state: Preflight, limits: Limits, trigger: CompactionTrigger
    ) -> Outcome:
        effect = state.effect
        match effect:
            case Plan():
                return self._plan(effect.keep, limits.budget)
            case Relieve():
                return await self._relieve(limits)
            case Summarise(cut=cut, extractive=extractive):
                return await self._summarise(cut, limits, trigger, extractive=extractive)
            case Save():
                return await self._save_candidate(limits)
            case Send() | Refuse() | Stop():
                raise AssertionError(effect)
            case _:
                assert_never(effect)

    def _plan(self, keep: str, budget: Budget) -> Cut | NoCut:
        plan = plan_split if keep in {"split", "newest_step"} else plan_cut
        return plan(
            self.timeline.view,
            keep_tokens=budget.retention if keep in {"retention", "split"} else 0,
            calibration=self.meter.calibration,
        )

    async def _summarise(
        self, cut: Cut, limits: Limits, trigger: CompactionTrigger, *, extractive: bool
    ) -> Outcome:
        try:
            self._candidate = await self._candidates.make(
                self.timeline,
                cut,
                limits=limits,
                meter=self.meter,
                trigger=trigger,
                on_call=self._emit_progress,
                extractive=extractive,
            )
        except (FailureError, ContextBudgetExceededError) as error:
            return GenerationFailed(cause=str(error))
        return Generated(candidate=self._candidate.size)

    async def _save_candidate(self, limits: Limits) -> Outcome:
        candidate = self._candidate
        assert candidate is not None
        try:
            cancelled = await self._save_record(candidate.checkpoint, candidate.receipt)
        except SaveFailedError as error:
            self._save_error = error
            return SaveFailed()
        self._receipt = candidate.receipt
        return Saved(reading=self._reading(limits), cancelled=cancelled)

    async def _save_record(self, record: Record, receipt: Receipt | None = None) -> bool:
        """Save a record and show it; a cancellation meanwhile waits, and is then reported."""
        self.timeline.check(record)
        try:
            _, cancelled = await finish(self._save(record, receipt))
        finally:
            # What could not be saved stays pending, and is shown as such.
            self.applied(record)
        return cancelled

    # --- the last resort ---------------------------------------------------------------------

    async def _relieve(self, limits: Limits) -> Outcome:
        before = len(self.timeline.records)
        cancelled = False
        try:
            plan = plan_relief(self.timeline.view, self._pruning(limits.budget))
            if plan is not None:
                cancelled = await self._save_record(self._clearing(plan, limits.budget))
            for _ in range(MOST_TRIMS):
                trim = None if cancelled else self._plan_trim(limits)
                if trim is None:
                    break
                cancelled = await self._save_record(trim)
        except SaveFailedError as error:
            self._save_error = error
            return SaveFailed()
        if cancelled:
            raise asyncio.CancelledError
        if len(self.timeline.records) == before:
            return NothingToRelieve()
        return Relieved(reading=self._reading(limits))

    def _plan_trim(self, limits: Limits) -> Trim | None:
        reading = self._reading(limits)
        size = reading.pressure
        if limits.budget.fits(size):
            return None
        # Saving the trim forgets the provider's count; what is left is then measured locally.
        tokens = max(size.tokens, reading.comparable.tokens)
        excess = (tokens - limits.budget.largest_fitting) / self.meter.calibration.ratio
        plan = plan_trim(
            self.timeline.view,
            excess_tokens=max(0, int(excess) + 1),
            excess_bytes=max(0, size.bytes - limits.budget.byte_limit),
        )
        if plan is None:
            return None
        trimmed = trim_to(self._output_text(plan.position), plan.shown_tokens)
        return Trim(
            id=self._candidates.new_id(),
            timestamp=self._candidates.now_ms(),
            position=plan.position,
            head_characters=trimmed.head_characters,
            tail_characters=trimmed.tail_characters,
            shown_tokens=text_tokens(trimmed.text),
            shown_bytes=text_bytes(trimmed.text),
        )

    def _output_text(self, position: Position) -> str:
        return output_text(self.timeline.history[position.message], position.part)

    # --- manual operations -------------------------------------------------------------------

    async def compact(self, limits: Limits, *, focus: str = "") -> Checkpoint:
        """Summarise what a manual compaction summarises, and save it even if it did not reduce.

        Raises:
            NothingToCompactError: there is no cut; nothing was called, generated or written.
            FailureError: no summary was made; nothing was kept.
            ContextBudgetExceededError: the summariser's own input does not fit.
            SaveFailedError: it could not be saved; it stays pending.
            CancelledError: a save under way was finished first.
        """
        planned = self._plan("retention", limits.budget)
        if isinstance(planned, NoCut):
            raise NothingToCompactError(str(planned))
        self._emit_start("manual")
        self._receipt, self._candidate = None, None
        error = ""
        saved = 0
        try:
            self._candidate = await self._candidates.make(
                self.timeline,
                planned,
                limits=limits,
                meter=self.meter,
                trigger="manual",
                on_call=self._emit_progress,
                focus=focus,
            )
            cancelled = await self._save_record(self._candidate.checkpoint, self._candidate.receipt)
            saved, self._receipt = 1, self._candidate.receipt
        except (FailureError, ContextBudgetExceededError) as failure:
            error = str(failure)
            raise
        finally:
            self._emit_end(saved, error)
        if cancelled:
            raise asyncio.CancelledError
        return self._candidate.checkpoint

    async def restore(
        self, checkpoint_id: str | None, limits: Limits, *, outputs: bool
    ) -> Restored:
        """Make an earlier checkpoint, or none, the active one; nothing is deleted.

        Raises:
            UnknownCheckpointError: there is no such checkpoint.
            SessionFileError: the messages behind an earlier cut cannot be read.
            SaveFailedError: it could not be saved; it stays pending.
        """
        record = self._restore_record(checkpoint_id, outputs=outputs)
        tail, said = await self._restored(record, limits)
        self.timeline.adopt(tail)
        if await self._save_record(record):
            raise asyncio.CancelledError
        return said

    async def preview_restore(
        self, checkpoint_id: str | None, limits: Limits, *, outputs: bool
    ) -> Restored:
        """Say what ``restore`` would come to; nothing is changed or written.

        Raises:
            UnknownCheckpointError: there is no such checkpoint.
            SessionFileError: the messages behind an earlier cut cannot be read.
        """
        record = self._restore_record(checkpoint_id, outputs=outputs)
        return (await self._restored(record, limits))[1]

    def _restore_record(self, checkpoint_id: str | None, *, outputs: bool) -> Restore:
        if checkpoint_id is not None and checkpoint_id not in self.timeline.checkpoints:
            raise UnknownCheckpointError(checkpoint_id)
        return Restore(
            id=self._candidates.new_id(),
            timestamp=self._candidates.now_ms(),
            active=checkpoint_id,
            outputs_shown=outputs,
        )

    async def _restored(self, record: Restore, limits: Limits) -> tuple[Tail, Restored]:
        """Read what the view behind an earlier cut needs, and measure that view."""
        state = self.timeline.state_after(record)
        tail = await to_thread.run_sync(self.timeline.tail_from, state.checkpoint)
        size = self.meter.local(View(tail.outline, state), limits.fixed)
        return tail, Restored(
            size=size,
            fits=limits.budget.fits(size),
            pressured=limits.budget.pressured(size),
        )

    # --- helpers -----------------------------------------------------------------------------

    def _reading(self, limits: Limits) -> Reading:
        view = self.timeline.view
        return Reading(
            pressure=self.meter.pressure(view, limits.fixed),
            comparable=self.meter.local(view, limits.fixed),
        )

    def _pruning(self, budget: Budget) -> PruningSettings:
        return self._settings.pruning or PruningSettings.for_window(budget.window)

    def _clearing(self, plan: ClearingPlan, budget: Budget) -> Clearing:
        text = self._pruning(budget).placeholder
        return Clearing(
            id=self._candidates.new_id(),
            timestamp=self._candidates.now_ms(),
            placeholders=tuple((position, text) for position in plan.positions),
            tokens_reclaimed=plan.tokens_reclaimed,
        )

    def _finish_without_policy(
        self, limits: Limits, reading: Reading, reason: str, *, forced: bool
    ) -> None:
        fits = limits.budget.fits(reading.pressure) and not forced
        self._emit(self._budget_event(limits, "calm" if fits else "refused", reason))
        if not fits:
            raise self._exceeded(limits, reading.pressure, reason)

    def _report(self, state: Preflight, limits: Limits) -> None:
        match state.effect:
            case Send(why=why, detail=detail):
                self._emit(self._budget_event(limits, why, detail))
            case Refuse(cause=cause):
                self._emit(self._budget_event(limits, "refused", cause))
                raise self._exceeded(limits, state.reading.pressure, cause)
            case Stop(why=why):
                self._emit(self._budget_event(limits, "stopped", why))
                if self._save_error is not None:
                    raise self._save_error
                raise asyncio.CancelledError
            case _:
                raise AssertionError(state.effect)

    def _budget_event(self, limits: Limits, decision: Decision, reason: str) -> ContextBudget:
        return ContextBudget(
            budget=limits.budget,
            size=self.size(limits),
            calibrated=self.meter.anchor is not None,
            decision=decision,
            reason=reason,
        )

    def _exceeded(self, limits: Limits, size: Measure, cause: str) -> ContextBudgetExceededError:
        return ContextBudgetExceededError(
            limits.budget,
            size.tokens,
            size.bytes,
            self.meter.calibration.scale(limits.fixed.tokens),
            cause or None,
        )

    def _emit_start(self, trigger: CompactionTrigger) -> None:
        self._emit(
            CompactionStart(
                started_at=self._candidates.now_ms(),
                history_message_count=len(self.timeline.history),
                trigger=trigger,
            )
        )

    def _emit_progress(self, call: int, calls: int) -> None:
        self._emit(CompactionProgress(call=call, calls=calls))

    def _emit_end(self, saved: int, error: str) -> None:
        newest = self.timeline.view.state.checkpoint if saved else None
        self._emit(
            CompactionEnd(
                checkpoint=None if newest is None else newest.id,
                receipt=self._receipt,
                error=error,
            )
        )


async def finish(work: Awaitable[_T]) -> tuple[_T, bool]:
    """Wait for work to finish even if this task is cancelled meanwhile.

    Returns:
        The work's result, and whether a cancellation arrived; the caller decides when to act on it.
    """
    task = asyncio.ensure_future(work)
    cancelled = False
    while not task.done():
        try:
            await asyncio.shield(task)
        except asyncio.CancelledError:
            if task.cancelled():
                raise
            cancelled = True
    return task.result(), cancelled
