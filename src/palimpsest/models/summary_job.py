"""What a summariser is asked, and what it answers."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

from palimpsest.core.budget import Budget
from palimpsest.core.ledger import Ledger
from palimpsest.core.records import SummaryUsage
from palimpsest.core.summary_input import SummaryRow


@dataclass(frozen=True, slots=True, kw_only=True)
class SummaryJob:
    """One generation.

    Attributes:
        rows: what is to be summarised, oldest first; not what the previous summary covers.
        ledger: exact facts of the whole prefix.
        previous_summary: text of the active summary, or empty.
        focus: what the person asked the summary to attend to, or empty.
        budget: limits of the main request, which bound the summary's length.
    """

    rows: tuple[SummaryRow, ...]
    ledger: Ledger
    previous_summary: str
    focus: str
    budget: Budget


@dataclass(frozen=True, slots=True, kw_only=True)
class GeneratedSummary:
    """A summary, and what it cost: nothing where no model wrote it."""

    text: str
    provider: str
    model: str
    usage: SummaryUsage = field(default_factory=SummaryUsage)
    cost_usd: float | None = None
    warnings: tuple[str, ...] = ()


class Summarizer(Protocol):
    """Writes summaries.

    Contract: all or nothing. It either returns a summary that is not blank or raises; a
    cancellation passes through, and then nothing of it is kept.
    """

    async def summarise(self, job: SummaryJob) -> GeneratedSummary:
        """Write one summary.

        Raises:
            FailureError: no summary was made: rejected, refused, failed or timed out.
        """
        ...
