"""Prices and windows of models, from the offline tables of genai-prices."""

from __future__ import annotations

from dataclasses import dataclass

from genai_prices import Usage
from genai_prices.data_snapshot import get_snapshot
from genai_prices.types import ModelInfo, Provider

from palimpsest.core.budget import DEFAULT_WINDOW_TOKENS


@dataclass(frozen=True, slots=True)
class Pricing:
    """What one model costs and holds."""

    provider: Provider
    model: ModelInfo

    @property
    def name(self) -> str:
        """Provider and model, as ``provider:model``."""
        return f"{self.provider.id}:{self.model.id}"

    @property
    def window(self) -> int | None:
        """Context window in tokens, or None where the table does not know it."""
        return self.model.context_window

    def cost_usd(self, *, cache_read: int, cache_write: int, output: int) -> float:
        """Price one request: all input is either read from the prompt cache or written to it."""
        usage = Usage(
            input_tokens=cache_read + cache_write,
            cache_read_tokens=cache_read,
            cache_write_tokens=cache_write,
            output_tokens=output,
        )
        return float(self.model.calc_price(usage, self.provider).total_price)


def find_pricing(model: str) -> Pricing | None:
    """Find a model by its name, with or without a leading ``provider:`` or ``provider/``.

    Returns:
        None for a model that the tables do not know.
    """
    for separator in (":", "/"):
        provider, found, name = model.partition(separator)
        if found and (pricing := _find(name, provider)) is not None:
            return pricing
    return _find(model, None)


def resolve_window(asked: int | None, pricing: Pricing | None) -> tuple[int, str]:
    """Give the context window to assume, in tokens, and where it comes from."""
    if asked is not None:
        return asked, "as asked"
    if pricing is not None and pricing.window is not None:
        return pricing.window, f"price table, {pricing.name}"
    return DEFAULT_WINDOW_TOKENS, "assumed: the model's window is not known"


def _find(model: str, provider: str | None) -> Pricing | None:
    try:
        return Pricing(*get_snapshot().find_provider_model(model, None, provider, None))
    except LookupError:
        return None
