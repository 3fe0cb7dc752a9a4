import unittest
from datetime import date

from depot.billing import bill, due_date, invoice_number
from depot.errors import RuleError
from depot.money import Money, total
from depot.records.customer import Customer
from depot.records.order import Order
from depot.records.order_line import OrderLine
from depot.records.product import Product, ProductBook

ON = date(2025, 6, 3)


def product(sku, category):
    return Product(sku, sku.title(), category, 1000, 600, 5, 10, "SUP-01")


PRODUCTS = ProductBook([product("SKU-0001", "tools"), product("SKU-0002", "food"), product("SKU-0003", "deposit")])
CUSTOMER = Customer("K-1001", "Holzer & Co", "DE", 14, 900_000, 2_100_000)


def order(status="shipped"):
    return Order("O-2041", CUSTOMER.number, ON, status, "EUR")


def lines(*amounts):
    return [OrderLine("O-2041", sku, 1, minor) for sku, minor in amounts]


class BillTest(unittest.TestCase):
    def test_b1_only_shipped_orders_are_billed(self):
        with self.assertRaises(RuleError) as caught:
            bill(order("placed"), lines(("SKU-0001", 1000)), PRODUCTS, CUSTOMER, Money(0), ON)
        self.assertEqual(("E_BILL_STATUS", "B-1"), (caught.exception.code, caught.exception.field))

    def test_b3_the_number_follows_the_order(self):
        self.assertEqual("R-2041", invoice_number("O-2041"))

    def test_b4_a_weekend_moves_the_due_date(self):
        self.assertEqual(date(2025, 6, 17), due_date(ON, 14))
        self.assertEqual(date(2025, 6, 9), due_date(ON, 4))
        self.assertEqual(date(2025, 6, 9), due_date(ON, 5))

    def test_d3_the_parts_of_a_discount_add_up(self):
        amounts = (("SKU-0001", 3333), ("SKU-0001", 3333), ("SKU-0002", 3334))
        made = bill(order(), lines(*amounts), PRODUCTS, CUSTOMER, Money(2_000_000), ON)
        self.assertEqual(Money(400), made.discount)

    def test_d4_a_deposit_keeps_its_price(self):
        made = bill(order(), lines(("SKU-0003", 800)), PRODUCTS, CUSTOMER, Money(8_000_000), ON)
        self.assertEqual(Money(0), made.discount)

    def test_each_line_carries_its_own_tax(self):
        made = bill(order(), lines(("SKU-0001", 1000), ("SKU-0002", 1000)), PRODUCTS, CUSTOMER, Money(0), ON)
        self.assertEqual([Money(190), Money(70)], [line.tax for line in made.lines])
        self.assertEqual(Money(2260), made.total)
        self.assertEqual(made.total, total([made.net, made.tax]))
