"""Prices and windows of models, from the offline tables of genai-prices."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, field
from datetime import UTC, datetime
from difflib import get_close_matches
from functools import cached_property, lru_cache
from typing import NamedTuple

from genai_prices import Usage
from genai_prices.data_snapshot import get_snapshot
from genai_prices.types import ModelInfo, Provider, TieredPrices

from palimpsest.core.budget import DEFAULT_WINDOW_TOKENS
from palimpsest.core.errors import InvalidSettingError

PRICED_AT = datetime(9999, 1, 1, 12, tzinfo=UTC)
"""The newest prices, at noon: without a clock, and without discounts of the night."""


class _Rates(NamedTuple):
    """USD per token."""

    uncached: float
    cache_read: float
    cache_write: float
    output: float


SMALLEST_WINDOW = 1_000
"""Tokens; in less than this not even a summary has room."""


@dataclass(frozen=True)
class Pricing:
    """What one model costs and holds."""

    provider: Provider
    model: ModelInfo
    _rates: dict[int, _Rates] = field(default_factory=dict[int, _Rates], repr=False, compare=False)

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
        rates = self._rates_of(cache_read + cache_write)
        return (
            cache_read * rates.cache_read + cache_write * rates.cache_write + output * rates.output
        )

    def usage_usd(self, *, total: int, cache_read: int, cache_write: int, output: int) -> float:
        """Price what a provider reported.

        Args:
            total: all input tokens, those read from and written to the cache included.
            cache_read: of these, read from the prompt cache.
            cache_write: of these, written to it.
            output: tokens of the answer.
        """
        rates = self._rates_of(total)
        return (
            max(0, total - cache_read - cache_write) * rates.uncached
            + cache_read * rates.cache_read
            + cache_write * rates.cache_write
            + output * rates.output
        )

    @cached_property
    def _tier_starts(self) -> list[int]:
        """Sizes of the whole input above which some price changes."""
        prices = vars(self.model.get_prices(PRICED_AT)).values()
        tiers = (
            tier for price in prices if isinstance(price, TieredPrices) for tier in price.tiers
        )
        return sorted({tier.start for tier in tiers})

    def _rates_of(self, total: int) -> _Rates:
        tier = bisect_left(self._tier_starts, total)
        rates = self._rates.get(tier)
        if rates is None:
            rates = self._rates.setdefault(tier, self._rates_at(total))
        return rates

    def _rates_at(self, total: int) -> _Rates:
        """Ask the table once a tier: a call of it takes longer than a request's whole replay."""
        size = max(1, total)
        read = self._price(cache_read=size, cache_write=0, output=0)
        return _Rates(
            uncached=self._price(uncached=size, cache_read=0, cache_write=0, output=0) / size,
            cache_read=read / size,
            cache_write=self._price(cache_read=0, cache_write=size, output=0) / size,
            output=(self._price(cache_read=size, cache_write=0, output=1_000_000) - read) / 1e6,
        )

    def _price(self, *, cache_read: int, cache_write: int, output: int, uncached: int = 0) -> float:
        usage = Usage(
            input_tokens=uncached + cache_read + cache_write,
            cache_read_tokens=cache_read,
            cache_write_tokens=cache_write,
            output_tokens=output,
        )
        price = self.model.calc_price(usage, self.provider, genai_request_timestamp=PRICED_AT)
        return float(price.total_price)


@lru_cache(maxsize=64)
def find_pricing(model: str) -> Pricing | None:
    """Find a model by its name, with or without a leading ``provider:`` or ``provider/``.

    Returns:
        None for a model that the tables do not know.
    """
    for separator in (":", "/"):
        provider, found, name = model.partition(separator)
        if found and (pricing := _find(name, provider)) is not None:
            return pricing
    # A gateway writes its own name in front; Bedrock writes the maker's, and a version behind.
    bare = model.rpartition("/")[2]
    return _find(model, None) or _find(bare, None) or _find(bare, "aws")


def choose_pricing(*, asked: str | None, recorded: str | None) -> Pricing | None:
    """Find the model that a person asked for, or else the recording's own.

    Returns:
        None where the recording names no model, or one that the tables do not know.

    Raises:
        InvalidSettingError: the tables do not know the model that was asked for.
    """
    if asked is None:
        return find_pricing(recorded) if recorded else None
    pricing = find_pricing(asked)
    if pricing is None:
        raise InvalidSettingError(
            "model", asked, f"a model that the price table knows{_hint(asked)}"
        )
    return pricing


def _hint(asked: str) -> str:
    names = {model.id for provider in get_snapshot().providers for model in provider.models}
    close = get_close_matches(asked.rpartition(":")[2].lower(), sorted(names), n=1)
    return f" (did you mean {close[0]!r}?)" if close else ""


def resolve_window(asked: int | None, pricing: Pricing | None) -> tuple[int, str]:
    """Give the context window to assume, in tokens, and where it comes from.

    Raises:
        InvalidSettingError: the window that was asked for could hold no conversation.
    """
    if asked is not None:
        if asked < SMALLEST_WINDOW:
            expected = f"a positive whole number of at least {SMALLEST_WINDOW:,}"
            raise InvalidSettingError("window", asked, expected)
        return asked, "as asked"
    if pricing is not None and pricing.window is not None:
        return pricing.window, f"price table, {pricing.name}"
    return DEFAULT_WINDOW_TOKENS, "assumed: the model's window is not known"


def _find(model: str, provider: str | None) -> Pricing | None:
    try:
        return Pricing(*get_snapshot().find_provider_model(model, None, provider, None))
    except LookupError:
        return None
