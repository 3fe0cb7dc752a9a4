"""Value added tax by country and category (T-1 to T-6). Rates are thousandths."""

from __future__ import annotations

from dataclasses import dataclass

from depot.money import Money

STANDARD_PERMILLE = {"AT": 200, "BE": 210, "DE": 190, "FR": 200, "NL": 210}
REDUCED_PERMILLE = {"AT": 100, "BE": 60, "DE": 70, "FR": 55, "NL": 90}

REDUCED_CATEGORIES = {
    "AT": frozenset({"food", "deposit", "books"}),
    "BE": frozenset({"food", "deposit", "books"}),
    "DE": frozenset({"food", "deposit"}),
    "FR": frozenset({"food", "deposit", "books"}),
    "NL": frozenset({"food", "deposit", "books"}),
}

EXPORT_NOTE = "export"


@dataclass(frozen=True)
class Rate:
    """What one line is taxed with, and what the invoice has to say about it."""

    permille: int
    note: str = ""

    def of(self, net: Money) -> Money:
        """The tax on ``net``, rounded half up once."""
        return net.permille(self.permille)


def rate_for(country: str, category: str) -> Rate:
    """The rate for a customer's country and an article's category."""
    if country not in STANDARD_PERMILLE:
        return Rate(0, EXPORT_NOTE)
    if category in REDUCED_CATEGORIES[country]:
        return Rate(REDUCED_PERMILLE[country])
    return Rate(STANDARD_PERMILLE[country])
