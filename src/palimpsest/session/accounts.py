"""Adds up what a session uses: tokens and money of replies and of summaries, failed ones too."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from pydantic_ai.messages import ModelMessage, ModelResponse

from palimpsest.core.records import Record, SummaryUsage
from palimpsest.models.candidates import Spent
from palimpsest.models.pricing import find_pricing
from palimpsest.storage.totals import NO_TOTALS, Totals


class Accounts:
    """Goes on from what was counted before.

    Attributes:
        totals: so far.
    """

    def __init__(self, totals: Totals = NO_TOTALS) -> None:
        self.totals: Totals = totals

    def count_stored(self, messages: Iterable[ModelMessage], records: Iterable[Record]) -> None:
        """Count what the history and the records hold."""
        for message in messages:
            if isinstance(message, ModelResponse):
                self.count_reply(message)
        for record in records:
            if record.kind == "checkpoint" and record.usage != SummaryUsage():
                cost_usd = _cost_usd(record.provider, record.model, record.usage)
                self.count_summary(Spent(usage=record.usage, cost_usd=cost_usd))

    def count_reply(self, response: ModelResponse) -> None:
        """Count a reply of the agent's model."""
        totals, used = self.totals, response.usage
        usage = SummaryUsage(
            input=used.input_tokens,
            output=used.output_tokens,
            cache_read=used.cache_read_tokens,
            cache_write=used.cache_write_tokens,
        )
        self.totals = replace(
            totals,
            requests=totals.requests + 1,
            input_tokens=totals.input_tokens + usage.input,
            cache_read_tokens=totals.cache_read_tokens + usage.cache_read,
            cache_write_tokens=totals.cache_write_tokens + usage.cache_write,
            output_tokens=totals.output_tokens + usage.output,
        )
        self._pay(_cost_usd(response.provider_name or "", response.model_name or "", usage))

    def count_summary(self, spent: Spent) -> None:
        """Count a generation that called a model, whatever came of it."""
        totals = self.totals
        self.totals = replace(
            totals,
            summaries=totals.summaries + 1,
            summary_input_tokens=totals.summary_input_tokens + spent.usage.input,
            summary_output_tokens=totals.summary_output_tokens + spent.usage.output,
        )
        self._pay(spent.cost_usd)

    def _pay(self, cost_usd: float | None) -> None:
        totals = self.totals
        if cost_usd is None:
            self.totals = replace(totals, unpriced=totals.unpriced + 1)
        else:
            self.totals = replace(totals, cost_usd=totals.cost_usd + cost_usd)


def _cost_usd(provider: str, model: str, usage: SummaryUsage) -> float | None:
    pricing = find_pricing(f"{provider}:{model}")
    if pricing is None:
        return None
    return pricing.usage_usd(
        total=usage.input,
        cache_read=usage.cache_read,
        cache_write=usage.cache_write,
        output=usage.output,
    )
