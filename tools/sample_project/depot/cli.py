"""The command line."""

from __future__ import annotations

import argparse
import sys
from datetime import date
from pathlib import Path

from depot.billing import bill
from depot.errors import DepotError
from depot.importer import problems, read_records
from depot.money import Money
from depot.records.customer import Customer, CustomerBook
from depot.records.order import Order, OrderBook
from depot.records.order_line import OrderLine
from depot.records.product import Product, ProductBook
from depot.records.shipment import Shipment
from depot.records.stock_movement import StockMovement
from depot.records.supplier import Supplier, SupplierBook
from depot.records.warehouse import Warehouse, WarehouseBook
from depot.reorder import purchases, suggest
from depot.reports import bill_report, reorder_report, stock_report

DATA = Path("data")
TODAY = date(2025, 4, 22)

FILES = {
    "products.csv": Product.from_row,
    "suppliers.csv": Supplier.from_row,
    "warehouses.csv": Warehouse.from_row,
    "customers.csv": Customer.from_row,
    "orders.csv": Order.from_row,
    "order_lines.csv": OrderLine.from_row,
    "shipments.csv": Shipment.from_row,
    "stock_movements.csv": StockMovement.from_row,
}


def _products() -> ProductBook:
    return ProductBook(read_records(DATA / "products.csv", Product.from_row))


def _stock() -> list[str]:
    warehouses = WarehouseBook(read_records(DATA / "warehouses.csv", Warehouse.from_row))
    movements = read_records(DATA / "stock_movements.csv", StockMovement.from_row)
    return stock_report(_products(), warehouses, movements)


def _reorder() -> list[str]:
    suggestions = suggest(
        _products(),
        read_records(DATA / "stock_movements.csv", StockMovement.from_row),
        OrderBook(read_records(DATA / "orders.csv", Order.from_row)),
        read_records(DATA / "order_lines.csv", OrderLine.from_row),
        read_records(DATA / "shipments.csv", Shipment.from_row),
    )
    suppliers = SupplierBook(read_records(DATA / "suppliers.csv", Supplier.from_row))
    return reorder_report(purchases(suggestions, suppliers))


def _bill(order_number: str) -> list[str]:
    order = OrderBook(read_records(DATA / "orders.csv", Order.from_row)).get(order_number)
    customers = CustomerBook(read_records(DATA / "customers.csv", Customer.from_row))
    lines = [
        line
        for line in read_records(DATA / "order_lines.csv", OrderLine.from_row)
        if line.order_number == order_number
    ]
    customer = customers.get(order.customer_number)
    revenue = Money(customer.revenue_minor, order.currency)
    return bill_report(bill(order, lines, _products(), customer, revenue, TODAY))


def _check() -> list[str]:
    return problems((DATA / name, make) for name, make in FILES.items()) or ["All files are fine."]


def main(arguments: list[str] | None = None) -> int:
    """Run one command and give its exit status."""
    parser = argparse.ArgumentParser(prog="depot", description="Stock and billing.")
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("stock", help="what lies where")
    commands.add_parser("reorder", help="what to order, from whom")
    commands.add_parser("bill", help="the invoice of one order").add_argument("order")
    commands.add_parser("check", help="read every file and say what is wrong")
    chosen = parser.parse_args(arguments)
    try:
        match chosen.command:
            case "stock":
                lines = _stock()
            case "reorder":
                lines = _reorder()
            case "bill":
                lines = _bill(chosen.order)
            case _:
                lines = _check()
    except DepotError as error:
        print(f"depot: {error}", file=sys.stderr)
        return 1
    print("\n".join(lines))
    return 0
