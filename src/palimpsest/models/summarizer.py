"""What every summariser takes and gives, and the one that needs no model."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias

from palimpsest.core.calibration import Calibration
from palimpsest.core.errors import SummaryRejectedError
from palimpsest.core.extractive import extractive_summary
from palimpsest.core.ledger import Ledger
from palimpsest.core.records import SummaryUsage
from palimpsest.core.summary import MAX_SUMMARY_TOKENS
from palimpsest.core.summary_input import SummaryRow

EXTRACTIVE_PROVIDER = "extractive"

OnCall: TypeAlias = Callable[[int, int], None]
"""Told before each request of a generation: its number from 1, and how many are foreseen."""


def _ignore(call: int, calls: int) -> None:
    del call, calls


@dataclass(frozen=True, slots=True, kw_only=True)
class SummaryJob:
    """One summary to be written.

    Attributes:
        rows: the messages to be replaced, oldest first, and kept ones marked as such.
        ledger: folded from the whole prefix that the summary will stand for.
        previous_summary: what stands for the messages before ``rows``; empty if nothing does.
        focus: what the user asked to attend to; empty if nothing.
        max_tokens: the most the summary may take, so that it fits the session's window.
        calibration: how the summarising model counts.
        on_call: told before each request.
    """

    rows: tuple[SummaryRow, ...]
    ledger: Ledger = field(default_factory=Ledger)
    previous_summary: str = ""
    focus: str = ""
    max_tokens: int = MAX_SUMMARY_TOKENS
    calibration: Calibration = field(default_factory=Calibration)
    on_call: OnCall = field(default=_ignore, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class GeneratedSummary:
    """A summary that may be saved.

    Attributes:
        text: not blank.
        warnings: sentences for the receipt.
        provider: who wrote it; ``extractive`` when no model did.
        model: the model that wrote it, or empty.
        usage: what all calls of the generation cost.
        calls: how many requests were made.
    """

    text: str
    warnings: tuple[str, ...] = ()
    provider: str
    model: str = ""
    usage: SummaryUsage = field(default_factory=SummaryUsage)
    calls: int = 0


class Summarizer(Protocol):
    """Writes summaries. Contract: a generation is all or nothing, and cancellation leaves nothing.

    Raises of ``summarise``:
        SummaryRejectedError: no summary came, or one that cannot be used.
        SummaryTimeoutError: it took too long.
        ContextBudgetExceededError: the input does not fit and may not be split.
    """

    async def summarise(self, job: SummaryJob) -> GeneratedSummary:
        """Write one summary."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractiveSummarizer:
    """Lays out the ledger: deterministic, instant, no model."""

    async def summarise(self, job: SummaryJob) -> GeneratedSummary:
        """Write one summary.

        Raises:
            SummaryRejectedError: ``max_tokens`` is too small for anything.
        """
        text = extractive_summary(
            job.ledger, max_tokens=job.max_tokens, previous=job.previous_summary or None
        )
        if not text:
            raise SummaryRejectedError("there is no room for even the shortest one")
        return GeneratedSummary(text=text, provider=EXTRACTIVE_PROVIDER)
