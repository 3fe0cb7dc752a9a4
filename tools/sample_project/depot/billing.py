"""From an order to an invoice (B-1 to B-4, D-3, T-1)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta

from depot.discounts import discount_permille
from depot.errors import RuleError
from depot.money import Money, total
from depot.records.customer import Customer
from depot.records.order import Order
from depot.records.order_line import OrderLine
from depot.records.product import ProductBook
from depot.tax import Rate, rate_for

SATURDAY = 5


@dataclass(frozen=True)
class BilledLine:
    """One line of an invoice, after discount."""

    sku: str
    quantity: int
    gross_of_discount: Money
    discount: Money
    rate: Rate

    @property
    def net(self) -> Money:
        """What is charged before tax."""
        return self.gross_of_discount - self.discount

    @property
    def tax(self) -> Money:
        """Tax on the net amount of this line."""
        return self.rate.of(self.net)


@dataclass(frozen=True)
class Bill:
    """An invoice with its lines, before it becomes a record."""

    number: str
    order_number: str
    customer_number: str
    issued_on: date
    due_on: date
    lines: tuple[BilledLine, ...]
    currency: str

    @property
    def net(self) -> Money:
        return total((line.net for line in self.lines), self.currency)

    @property
    def tax(self) -> Money:
        return total((line.tax for line in self.lines), self.currency)

    @property
    def discount(self) -> Money:
        return total((line.discount for line in self.lines), self.currency)

    @property
    def total(self) -> Money:
        return self.net + self.tax

    @property
    def notes(self) -> tuple[str, ...]:
        return tuple(sorted({line.rate.note for line in self.lines} - {""}))


def invoice_number(order_number: str) -> str:
    """``R-`` and the order's digits (B-3)."""
    return "R-" + order_number.removeprefix("O-")


def due_date(issued_on: date, terms_days: int) -> date:
    """The customer's own terms; a weekend moves it to Monday (B-4)."""
    due = issued_on + timedelta(days=terms_days)
    if due.weekday() >= SATURDAY:
        due += timedelta(days=7 - due.weekday())
    return due


def bill(
    order: Order,
    lines: Sequence[OrderLine],
    products: ProductBook,
    customer: Customer,
    revenue: Money,
    on: date,
) -> Bill:
    """Bill a shipped order.

    Raises:
        RuleError: B-1, the order has not left the house.
    """
    if order.status != "shipped":
        raise RuleError("E_BILL_STATUS", "B-1", f"cannot bill an order that is {order.status}")
    gross = [Money(line.quantity * line.unit_price_minor, order.currency) for line in lines]
    categories = [products.get(line.sku).category for line in lines]
    discounts = _spread(gross, categories, revenue, order)
    billed = tuple(
        BilledLine(line.sku, line.quantity, amount, discount, rate_for(customer.country, category))
        for line, amount, discount, category in zip(
            lines, gross, discounts, categories, strict=True
        )
    )
    return Bill(
        number=invoice_number(order.number),
        order_number=order.number,
        customer_number=customer.number,
        issued_on=on,
        due_on=due_date(on, customer.terms_days),
        lines=billed,
        currency=order.currency,
    )


def _spread(
    gross: Sequence[Money], categories: Sequence[str], revenue: Money, order: Order
) -> list[Money]:
    """Each line's part of the discount; lines at one rate share one rounding (D-3)."""
    rates = [discount_permille(revenue, category, order.placed_on) for category in categories]
    parts = [Money(0, order.currency)] * len(gross)
    for rate in sorted(set(rates)):
        positions = [index for index, own in enumerate(rates) if own == rate]
        amount = total((gross[index] for index in positions), order.currency).permille(rate)
        shares = amount.split([gross[index].minor for index in positions])
        for index, share in zip(positions, shares, strict=True):
            parts[index] = share
    return parts
