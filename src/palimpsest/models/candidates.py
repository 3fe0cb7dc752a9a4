"""Makes the candidate of one compaction: summary, checkpoint, receipt, and its measured view."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from anyio import to_thread
from pydantic_ai.messages import ModelResponse

from palimpsest.core.atoms import string_leaves
from palimpsest.core.budget import Measure
from palimpsest.core.calibration import Meter
from palimpsest.core.errors import SummaryRejectedError, SummaryTimeoutError
from palimpsest.core.excerpt import Excerpt
from palimpsest.core.planning import Cut
from palimpsest.core.receipt import (
    CompactionFigures,
    CompactionTrigger,
    Receipt,
    build_receipt,
)
from palimpsest.core.records import Checkpoint, SummaryUsage
from palimpsest.core.summary import summary_output_cap
from palimpsest.core.summary_input import SummaryRow, summary_row
from palimpsest.core.view import View
from palimpsest.formats.projection import project
from palimpsest.formats.pydantic_ai import excerpts
from palimpsest.models.limits import Limits
from palimpsest.models.pricing import find_pricing
from palimpsest.models.summarizer import GeneratedSummary, OnCall, Summarizer, SummaryJob
from palimpsest.models.timeline import Timeline

MANY_MESSAGES = 1_000
"""Facts of more messages than this are gathered in a thread: the first time after opening."""


def _ignore(spent: object) -> None:
    del spent


@dataclass(frozen=True, slots=True, kw_only=True)
class Spent:
    """What the calls of one generation cost; ``cost_usd`` is None where no price is known."""

    usage: SummaryUsage
    cost_usd: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A compaction that was generated and measured, but not saved.

    Attributes:
        size: of the whole request with it, locally measured and scaled.
    """

    checkpoint: Checkpoint
    receipt: Receipt
    size: Measure


class CandidateMaker:
    """Turns a cut into a candidate."""

    def __init__(
        self,
        *,
        summarizer: Summarizer,
        fallback: Summarizer,
        now_ms: Callable[[], int],
        new_id: Callable[[], str],
        on_spent: Callable[[Spent], None] = _ignore,
        price: str = "",
    ) -> None:
        """Take what candidates are made with.

        Args:
            summarizer: writes the summaries.
            fallback: writes them where that failed and the policy allows it.
            now_ms: the clock.
            new_id: gives UUIDs.
            on_spent: told of every generation that called a model, failed ones included.
            price: ``provider:model`` that a generation is priced as where it does not say.
        """
        self.now_ms = now_ms
        self.new_id = new_id
        self._summarizer = summarizer
        self._fallback = fallback
        self._on_spent = on_spent
        self._price = price

    def with_summarizer(self, summarizer: Summarizer, *, price: str = "") -> CandidateMaker:
        """Give a maker that is the same but for who writes the summaries."""
        return CandidateMaker(
            summarizer=summarizer,
            fallback=self._fallback,
            now_ms=self.now_ms,
            new_id=self.new_id,
            on_spent=self._on_spent,
            price=price,
        )

    async def make(
        self,
        timeline: Timeline,
        cut: Cut,
        *,
        limits: Limits,
        meter: Meter,
        trigger: CompactionTrigger,
        on_call: OnCall,
        extractive: bool = False,
        focus: str = "",
    ) -> Candidate:
        """Summarise the messages before the cut and measure what would be sent.

        Raises:
            FailureError: no summary was made.
        """
        started = self.now_ms()
        if cut.first_kept_message_index - timeline.ledger_count > MANY_MESSAGES:
            await to_thread.run_sync(timeline.ledger_before, cut.first_kept_message_index)
        summarizer = self._fallback if extractive else self._summarizer
        job = replace(_job(timeline, cut, limits, meter, focus), on_call=on_call)
        summary, cost_usd = await self._generated(summarizer, job)
        active = timeline.view.state.checkpoint
        checkpoint = Checkpoint(
            id=self.new_id(),
            base=None if active is None else active.id,
            first_kept_message_index=cut.first_kept_message_index,
            history_message_count=len(timeline.history),
            summary=summary.text,
            timestamp=self.now_ms(),
            provider=summary.provider,
            model=summary.model,
            usage=summary.usage,
            split=cut.split,
            prefix=timeline.outline.prefix(cut.first_kept_message_index),
        )
        view = View(timeline.outline, timeline.state_after(checkpoint))
        size = meter.local(view, limits.fixed)
        receipt = build_receipt(
            _figures(
                timeline,
                view,
                summary,
                trigger=trigger,
                before=meter.local(timeline.view, limits.fixed).tokens,
                after=size.tokens,
                duration_ms=self.now_ms() - started,
                cost_usd=cost_usd,
            ),
            job.ledger,
            _view_text(timeline, view),
        )
        return Candidate(
            checkpoint=checkpoint,
            receipt=receipt,
            size=size,
        )

    async def _generated(
        self, summarizer: Summarizer, job: SummaryJob
    ) -> tuple[GeneratedSummary, float | None]:
        try:
            summary = await summarizer.summarise(job)
        except (SummaryRejectedError, SummaryTimeoutError) as error:
            if error.usage is not None:
                self._spent(error.usage, self._price)
            raise
        if not summary.calls:
            return summary, None
        name = f"{summary.provider}:{summary.model}" if summary.model else self._price
        return summary, self._spent(summary.usage, name)

    def _spent(self, usage: SummaryUsage, name: str) -> float | None:
        pricing = find_pricing(name)
        cost_usd = None
        if pricing is not None:
            cost_usd = pricing.usage_usd(
                total=usage.input,
                cache_read=usage.cache_read,
                cache_write=usage.cache_write,
                output=usage.output,
            )
        self._on_spent(Spent(usage=usage, cost_usd=cost_usd))
        return cost_usd


def _job(timeline: Timeline, cut: Cut, limits: Limits, meter: Meter, focus: str) -> SummaryJob:
    budget = limits.budget
    active = timeline.view.state.checkpoint
    stop = cut.first_kept_message_index
    return SummaryJob(
        rows=tuple(_rows(timeline, timeline.view.cut, stop, split=cut.split)),
        ledger=timeline.ledger_before(stop),
        previous_summary="" if active is None else active.summary,
        focus=focus,
        max_tokens=summary_output_cap(window=budget.window, max_output=budget.window),
        calibration=meter.calibration,
    )


def _rows(timeline: Timeline, start: int, stop: int, *, split: bool) -> Iterator[SummaryRow]:
    kept_prompt = timeline.outline.prompt_of(stop - 1) if split else None
    indices = list(range(start, stop))
    if kept_prompt is not None and kept_prompt < start:
        indices.insert(0, kept_prompt)
    for index in indices:
        message = timeline.history[index]
        if isinstance(message, ModelResponse) and message.state == "interrupted":
            continue
        for row in timeline.excerpts_between(index, index + 1)[0]:
            yield summary_row(row, kept=index == kept_prompt)


def _figures(
    timeline: Timeline,
    view: View,
    summary: GeneratedSummary,
    *,
    trigger: CompactionTrigger,
    before: int,
    after: int,
    duration_ms: int,
    cost_usd: float | None,
) -> CompactionFigures:
    outline = timeline.outline
    turns = outline.turns_before(view.cut)
    steps = outline.steps_before(view.cut)
    return CompactionFigures(
        trigger=trigger,
        tokens_before=before,
        tokens_after=after,
        messages_summarised=view.cut,
        messages_kept=len(outline) - view.cut,
        turns_summarised=turns,
        turns_kept=outline.turns - turns,
        steps_summarised=steps,
        steps_kept=outline.steps - steps,
        outputs_cleared=sum(position.message >= view.cut for position in view.state.cleared),
        duration_ms=duration_ms,
        cost_usd=cost_usd,
        warnings=summary.warnings,
    )


def _view_text(timeline: Timeline, view: View) -> str:
    """Give every text that the model reads in a view."""
    shown = project(timeline.history, view.rows())
    return "\n".join(text for message in shown for row in excerpts(message) for text in texts(row))


def texts(row: Excerpt) -> list[str]:
    """Give the texts of one excerpt that a model reads."""
    match row.kind:
        case "tool_call":
            return [row.tool_name, *string_leaves(row.arguments)]
        case "marker":
            return []
        case _:
            return [row.text]
