"""Tables for people. A report is a list of lines; printing them is the caller's business."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from depot.billing import Bill
from depot.money import Money
from depot.records.product import ProductBook
from depot.records.stock_movement import StockMovement
from depot.records.warehouse import WarehouseBook
from depot.reorder import Purchase


def table(header: Sequence[str], rows: Iterable[Sequence[str]], right: frozenset[int]) -> list[str]:
    """Columns as wide as their widest cell; those in ``right`` are aligned to the right."""
    cells = [list(header), *(list(row) for row in rows)]
    widths = [max(len(row[column]) for row in cells) for column in range(len(header))]
    lines = []
    for row in cells:
        padded = [
            cell.rjust(width) if column in right else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append("  ".join(padded).rstrip())
    lines.insert(1, "  ".join("-" * width for width in widths))
    return lines


def stock_report(
    products: ProductBook, warehouses: WarehouseBook, movements: Iterable[StockMovement]
) -> list[str]:
    """Stock by article and warehouse (S-1)."""
    stock: dict[tuple[str, str], int] = defaultdict(int)
    for movement in movements:
        stock[movement.sku, movement.warehouse_code] += movement.quantity
    codes = [warehouse.code for warehouse in warehouses.all()]
    rows = [
        [
            product.sku,
            product.name,
            *(str(stock.get((product.sku, code), 0)) for code in codes),
            str(sum(stock.get((product.sku, code), 0) for code in codes)),
        ]
        for product in products.all()
    ]
    return table(["sku", "name", *codes, "all"], rows, frozenset(range(2, 3 + len(codes))))


def bill_report(bill: Bill) -> list[str]:
    """One invoice, line by line."""
    rows = [
        [
            line.sku,
            str(line.quantity),
            str(line.gross_of_discount),
            str(line.discount),
            f"{line.rate.permille / 10:g} %",
            str(line.tax),
        ]
        for line in bill.lines
    ]
    header = ["sku", "quantity", "amount", "discount", "rate", "tax"]
    return [
        f"{bill.number} for {bill.customer_number}, issued {bill.issued_on}, due {bill.due_on}",
        *table(header, rows, frozenset({1, 2, 3, 4, 5})),
        f"net {bill.net}, tax {bill.tax}, total {bill.total}",
        *(f"note: {note}" for note in bill.notes),
    ]


def reorder_report(purchases: Iterable[Purchase]) -> list[str]:
    """What to order, by supplier."""
    lines = []
    for purchase in purchases:
        mark = " (below the supplier's minimum)" if purchase.below_minimum else ""
        lines.append(f"{purchase.supplier_code}: {purchase.cost}{mark}")
        lines += [
            f"  {item.quantity:>4} of {item.sku} ({item.available} available)"
            for item in purchase.suggestions
        ]
    return lines or ["Nothing to order."]


def revenue_by_country(amounts: Iterable[tuple[str, Money]]) -> list[str]:
    """Net revenue by country, largest first."""
    sums: dict[str, int] = defaultdict(int)
    for country, amount in amounts:
        sums[country] += amount.minor
    rows = [
        [country, str(Money(minor))]
        for country, minor in sorted(sums.items(), key=lambda item: (-item[1], item[0]))
    ]
    return table(["country", "revenue"], rows, frozenset({1}))
