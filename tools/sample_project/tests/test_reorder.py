import unittest
from datetime import date

from depot.records.order import Order, OrderBook
from depot.records.order_line import OrderLine
from depot.records.product import Product, ProductBook
from depot.records.stock_movement import StockMovement
from depot.records.supplier import Supplier, SupplierBook
from depot.reorder import purchases, quantity_to_order, suggest

DAY = date(2025, 4, 1)
SAW = Product("SKU-0001", "Saw", "tools", 1900, 1100, 5, 12, "SUP-01")
JAM = Product("SKU-0002", "Jam", "food", 400, 250, 20, 24, "SUP-01")
PRODUCTS = ProductBook([SAW, JAM])


def moved(sku, quantity):
    return StockMovement(f"M-{len(sku)}{quantity:04d}", sku, "WH-A", quantity, DAY, "count")


class QuantityTest(unittest.TestCase):
    def test_s4_the_smallest_multiple_above_the_point(self):
        for available, quantity in ((6, 0), (5, 12), (0, 12), (-7, 24)):
            with self.subTest(available=available):
                self.assertEqual(quantity, quantity_to_order(SAW, available))


class SuggestTest(unittest.TestCase):
    def test_s2_open_orders_reserve(self):
        orders = OrderBook([Order("O-1", "K-1001", DAY, "placed", "EUR"), Order("O-2", "K-1001", DAY, "shipped", "EUR")])
        lines = [OrderLine("O-1", "SKU-0001", 3, 1900), OrderLine("O-2", "SKU-0002", 9, 400)]
        found = suggest(PRODUCTS, [moved("SKU-0001", 8), moved("SKU-0002", 30)], orders, lines, [])
        self.assertEqual([("SKU-0001", 12, 5)], [(s.sku, s.quantity, s.available) for s in found])

    def test_s4_a_small_purchase_is_marked(self):
        suppliers = SupplierBook([Supplier("SUP-01", "Nord", "DE", 5, 50_000)])
        found = suggest(PRODUCTS, [moved("SKU-0001", 9)], OrderBook([]), [], [])
        made = purchases(found, suppliers)
        self.assertEqual([("SUP-01", True)], [(p.supplier_code, p.below_minimum) for p in made])
