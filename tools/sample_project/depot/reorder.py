"""What to order, from whom (S-2 to S-4)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from depot.money import Money, total
from depot.records.order import OrderBook
from depot.records.order_line import OrderLine
from depot.records.product import Product, ProductBook
from depot.records.shipment import Shipment
from depot.records.stock_movement import StockMovement
from depot.records.supplier import SupplierBook

RESERVING = frozenset({"placed", "confirmed", "picking"})


@dataclass(frozen=True)
class Suggestion:
    """Order this much of that."""

    sku: str
    supplier_code: str
    quantity: int
    available: int
    cost: Money


@dataclass(frozen=True)
class Purchase:
    """All suggestions for one supplier."""

    supplier_code: str
    suggestions: tuple[Suggestion, ...]
    cost: Money
    below_minimum: bool


def stock_by_sku(movements: Iterable[StockMovement]) -> dict[str, int]:
    """Stock is the sum of movements, whatever the warehouse (S-1)."""
    stock: dict[str, int] = defaultdict(int)
    for movement in movements:
        stock[movement.sku] += movement.quantity
    return dict(stock)


def reserved_by_sku(orders: OrderBook, lines: Iterable[OrderLine]) -> dict[str, int]:
    """What open orders hold back (S-2)."""
    reserved: dict[str, int] = defaultdict(int)
    for line in lines:
        if orders.get(line.order_number).status in RESERVING:
            reserved[line.sku] += line.quantity
    return dict(reserved)


def quantity_to_order(product: Product, available: int) -> int:
    """The smallest multiple that brings the article above its reorder point (S-4)."""
    if available > product.reorder_point:
        return 0
    missing = product.reorder_point + 1 - available
    packs = -(-missing // product.reorder_quantity)
    return packs * product.reorder_quantity


def suggest(
    products: ProductBook,
    movements: Iterable[StockMovement],
    orders: OrderBook,
    lines: Iterable[OrderLine],
    shipments: Iterable[Shipment],
) -> list[Suggestion]:
    """Suggestions in the order of article numbers."""
    stock = stock_by_sku(movements)
    reserved = reserved_by_sku(orders, lines)
    found = []
    for product in products.all():
        available = stock.get(product.sku, 0) - reserved.get(product.sku, 0)
        quantity = quantity_to_order(product, available)
        if quantity:
            cost = Money(quantity * product.cost_minor)
            found.append(
                Suggestion(product.sku, product.supplier_code, quantity, available, cost)
            )
    return found


def purchases(suggestions: Iterable[Suggestion], suppliers: SupplierBook) -> list[Purchase]:
    """Suggestions grouped by supplier; a total below the minimum is marked (S-4)."""
    grouped: dict[str, list[Suggestion]] = defaultdict(list)
    for suggestion in suggestions:
        grouped[suggestion.supplier_code].append(suggestion)
    result = []
    for code in sorted(grouped):
        cost = total(suggestion.cost for suggestion in grouped[code])
        minimum = suppliers.get(code).minimum_order_minor
        result.append(Purchase(code, tuple(grouped[code]), cost, cost.minor < minimum))
    return result
