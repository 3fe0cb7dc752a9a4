import unittest

from depot.money import Money
from depot.tax import EXPORT_NOTE, Rate, rate_for


class RateTest(unittest.TestCase):
    def test_t2_standard_rates(self):
        for country, permille in (("AT", 200), ("BE", 210), ("DE", 190), ("FR", 200), ("NL", 210)):
            with self.subTest(country=country):
                self.assertEqual(Rate(permille), rate_for(country, "tools"))

    def test_t3_food_is_reduced(self):
        for country, permille in (("AT", 100), ("BE", 60), ("DE", 70), ("FR", 55), ("NL", 90)):
            with self.subTest(country=country):
                self.assertEqual(Rate(permille), rate_for(country, "food"))

    def test_t6_other_countries_are_export(self):
        self.assertEqual(Rate(0, EXPORT_NOTE), rate_for("CH", "food"))

    def test_a_rate_is_applied_to_the_net_amount(self):
        self.assertEqual(Money(70), rate_for("DE", "food").of(Money(1000)))
