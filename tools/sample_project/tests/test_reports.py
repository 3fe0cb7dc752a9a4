import unittest
from datetime import date

from depot.money import Money
from depot.records.product import Product, ProductBook
from depot.records.stock_movement import StockMovement
from depot.records.warehouse import Warehouse, WarehouseBook
from depot.reports import reorder_report, revenue_by_country, stock_report, table


class TableTest(unittest.TestCase):
    def test_columns_are_aligned(self):
        made = table(["a", "number"], [["xyz", "1"]], frozenset({1}))
        self.assertEqual(["a    number", "---  ------", "xyz       1"], made)


class ReportTest(unittest.TestCase):
    def test_s1_stock_is_the_sum_of_movements(self):
        products = ProductBook([Product("SKU-0001", "Saw", "tools", 1900, 1100, 5, 12, "SUP-01")])
        warehouses = WarehouseBook([Warehouse("WH-A", "Hall A", "DE", 500)])
        moves = [
            StockMovement("M-0001", "SKU-0001", "WH-A", 9, date(2025, 1, 2), "delivery"),
            StockMovement("M-0002", "SKU-0001", "WH-A", -2, date(2025, 1, 3), "sale"),
        ]
        self.assertEqual("SKU-0001  Saw      7    7", stock_report(products, warehouses, moves)[-1])

    def test_nothing_to_order_is_said(self):
        self.assertEqual(["Nothing to order."], reorder_report([]))

    def test_revenue_is_sorted(self):
        made = revenue_by_country([("DE", Money(100)), ("FR", Money(900)), ("DE", Money(50))])
        self.assertEqual(["FR", "DE"], [line[:2] for line in made[2:]])
