"""Tiers and campaigns (D-1, D-2, D-4). Rates are thousandths."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date

from depot.money import Money

# Net revenue of the twelve months before the order, in minor units, and what it earns.
TIERS = ((7_500_000, 70), (2_000_000, 40), (500_000, 20))
CEILING_PERMILLE = 120
NEVER_DISCOUNTED = frozenset({"deposit"})


@dataclass(frozen=True)
class Campaign:
    """A discount for a while; both days belong to it."""

    code: str
    first_day: date
    last_day: date
    permille: int
    categories: frozenset[str] = frozenset()

    def applies(self, category: str, on: date) -> bool:
        """Whether an article of ``category`` ordered ``on`` that day takes part."""
        in_time = self.first_day <= on <= self.last_day
        return in_time and (not self.categories or category in self.categories)


CAMPAIGNS: Mapping[str, Campaign] = {
    campaign.code: campaign
    for campaign in (
        Campaign("SPRING", date(2025, 3, 1), date(2025, 4, 15), 30, frozenset({"garden", "tools"})),
        Campaign("READ", date(2025, 4, 20), date(2025, 4, 27), 50, frozenset({"books"})),
        Campaign("YEAR", date(2025, 12, 27), date(2025, 12, 31), 80),
    )
}


def tier_permille(revenue: Money) -> int:
    """What the revenue of the last twelve months earns (D-1)."""
    for threshold, permille in TIERS:
        if revenue.minor >= threshold:
            return permille
    return 0


def discount_permille(revenue: Money, category: str, on: date) -> int:
    """Tier plus the best campaign of the day, capped (D-2); deposits get none (D-4)."""
    if category in NEVER_DISCOUNTED:
        return 0
    running = [c.permille for c in CAMPAIGNS.values() if c.applies(category, on)]
    return min(CEILING_PERMILLE, tier_permille(revenue) + max(running, default=0))
