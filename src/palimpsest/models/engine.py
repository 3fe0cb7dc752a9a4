"""The engine of one conversation: what it holds, how it measures, and how a record takes effect.

The owner appends messages and sends the view. ``preflight``, ``compaction`` and ``restoring`` stand
above: each works on an engine. Everything that must last goes through the owner's ``save`` before
the view changes.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from pydantic_ai.messages import ModelMessage

from palimpsest.core.budget import Budget, Measure
from palimpsest.core.calibration import Meter
from palimpsest.core.planning import Cut, NoCut, plan_cut, plan_split
from palimpsest.core.policy import Keep, PolicySettings, Reading
from palimpsest.core.pruning import ClearingPlan, PruningSettings, plan_pruning
from palimpsest.core.receipt import Receipt
from palimpsest.core.records import Clearing, Record, Trim
from palimpsest.core.view import Row
from palimpsest.models.candidates import CandidateMaker
from palimpsest.models.engine_events import EngineEvent, Pruned
from palimpsest.models.finishing import finish
from palimpsest.models.limits import Limits
from palimpsest.models.summarizer import Summarizer
from palimpsest.models.timeline import Timeline

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


class Engine:
    """One conversation, for one caller at a time.

    Attributes:
        timeline: history, records and view.
        meter: the one number that feeds both the policy and every meter a person sees.
        dispatched: rows of the newest request that was sent; none before the first.
        counter: pressured preflights of this prompt run.
        settings: choices of the conversation.
        candidates: makes summaries, and gives ids and times.
        emit: tells the owner.
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
        self.settings = settings
        self.candidates = candidates
        self._save = save
        self.emit = emit
        self.counter = counter

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
        return self.plan("retention", budget)

    def dispatch(self) -> list[ModelMessage]:
        """Give the view's messages for a request that is sent now."""
        self.dispatched = tuple(self.timeline.view.rows())
        return self.timeline.messages()

    def reading(self, limits: Limits) -> Reading:
        """Give what the policy decides on."""
        view = self.timeline.view
        return Reading(
            pressure=self.meter.pressure(view, limits.fixed),
            comparable=self.meter.local(view, limits.fixed),
        )

    def plan(self, keep: Keep, budget: Budget) -> Cut | NoCut:
        """Ask the planner for a cut that keeps so much."""
        plan = plan_split if keep in {"split", "newest_step"} else plan_cut
        return plan(
            self.timeline.view,
            keep_tokens=budget.retention if keep in {"retention", "split"} else 0,
            calibration=self.meter.calibration,
        )

    # --- pruning -----------------------------------------------------------------------------

    def plan_clearing(self, budget: Budget) -> Clearing | None:
        """Plan the clearing at the start of a prompt; the owner saves it with the prompt."""
        if not self.settings.prunes:
            return None
        plan = plan_pruning(self.timeline.view, self.pruning(budget))
        return None if plan is None else self.clearing(plan, budget)

    def pruning(self, budget: Budget) -> PruningSettings:
        """Give the thresholds of pruning in a budget's window."""
        return self.settings.pruning or PruningSettings.for_window(budget.window)

    def clearing(self, plan: ClearingPlan, budget: Budget) -> Clearing:
        """Make the record of planned clearings."""
        text = self.pruning(budget).placeholder
        return Clearing(
            id=self.candidates.new_id(),
            timestamp=self.candidates.now_ms(),
            placeholders=tuple((position, text) for position in plan.positions),
            tokens_reclaimed=plan.tokens_reclaimed,
        )

    # --- records -----------------------------------------------------------------------------

    async def save_record(self, record: Record, receipt: Receipt | None = None) -> bool:
        """Save a record and show it; say whether a cancellation arrived meanwhile, which waited.

        Raises:
            SaveFailedError: it stays pending, and is shown.
        """
        self.timeline.check(record)
        try:
            _, cancelled = await finish(self._save(record, receipt))
        finally:
            # What could not be saved stays pending, and is shown as such.
            self.applied(record)
        return cancelled

    def applied(self, record: Record) -> None:
        """Take in a record that the owner saved."""
        self.timeline.apply(record)
        self.meter = self.meter.after_record()
        if isinstance(record, Clearing):
            self.emit(
                Pruned(outputs=len(record.placeholders), tokens_reclaimed=record.tokens_reclaimed)
            )
        elif isinstance(record, Trim):
            self.emit(Pruned(outputs=1, tokens_reclaimed=0))

    def use_summarizer(self, summarizer: Summarizer, *, price: str) -> None:
        """Have summaries written by another summariser from now on."""
        self.candidates = self.candidates.with_summarizer(summarizer, price=price)

    def begin_run(self) -> None:
        """Start a prompt run: pressured preflights are counted anew."""
        self.counter = 0
