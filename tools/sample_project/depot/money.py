"""Amounts of money: integers of minor units and a currency. Nothing here is a float."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from depot.errors import RuleError

MINOR_PER_MAJOR = {"EUR": 100, "CHF": 100, "JPY": 1}


def round_half_up(value: Fraction) -> int:
    """The nearest integer; a half goes away from zero (B-2)."""
    if value < 0:
        return -round_half_up(-value)
    return int(value + Fraction(1, 2))


@dataclass(frozen=True, order=True)
class Money:
    """An amount in minor units of one currency."""

    minor: int
    currency: str = "EUR"

    def __post_init__(self) -> None:
        if self.currency not in MINOR_PER_MAJOR:
            raise RuleError("E_CURRENCY", "B-6", f"does not know {self.currency!r}")

    def __add__(self, other: Money) -> Money:
        self._same_currency(other)
        return Money(self.minor + other.minor, self.currency)

    def __sub__(self, other: Money) -> Money:
        self._same_currency(other)
        return Money(self.minor - other.minor, self.currency)

    def __neg__(self) -> Money:
        return Money(-self.minor, self.currency)

    def __str__(self) -> str:
        scale = MINOR_PER_MAJOR[self.currency]
        sign = "-" if self.minor < 0 else ""
        major, minor = divmod(abs(self.minor), scale)
        digits = f".{minor:02d}" if scale > 1 else ""
        return f"{sign}{major:,}{digits} {self.currency}".replace(",", " ")

    def permille(self, rate: int) -> Money:
        """The share of ``rate`` thousandths, rounded half up once (B-2)."""
        return Money(round_half_up(Fraction(self.minor * rate, 1000)), self.currency)

    def split(self, weights: Sequence[int]) -> list[Money]:
        """Parts in proportion to ``weights`` that add up to the whole (D-3).

        All weights zero means equal weights. The order of the parts is that of the weights.
        """
        if not weights:
            raise RuleError("E_SPLIT_EMPTY", "D-3", "has no lines to spread over")
        if any(weight < 0 for weight in weights):
            raise RuleError("E_SPLIT_NEGATIVE", "D-3", "cannot spread over a negative line")
        shares = list(weights) if any(weights) else [1] * len(weights)
        total = sum(shares)
        return [Money(self.minor * share // total, self.currency) for share in shares]

    def _same_currency(self, other: Money) -> None:
        if self.currency != other.currency:
            raise RuleError("E_CURRENCY_MIX", "B-6", f"{self.currency} and {other.currency}")


def total(amounts: Iterable[Money], currency: str = "EUR") -> Money:
    """The sum; of nothing, zero of ``currency``."""
    result = Money(0, currency)
    for amount in amounts:
        result = result + amount
    return result
