import unittest
from fractions import Fraction

from depot.errors import RuleError
from depot.money import Money, round_half_up, total


class RoundingTest(unittest.TestCase):
    def test_b2_a_half_goes_away_from_zero(self):
        for value, expected in ((5, 3), (-5, -3), (3, 2), (-3, -2), (4, 2), (0, 0)):
            with self.subTest(value=value):
                self.assertEqual(expected, round_half_up(Fraction(value, 2)))

    def test_b2_a_rate_is_rounded_once(self):
        self.assertEqual(Money(190), Money(1000).permille(190))
        self.assertEqual(Money(1), Money(10).permille(55))
        self.assertEqual(Money(-1), Money(-10).permille(55))


class MoneyTest(unittest.TestCase):
    def test_amounts_add_up(self):
        self.assertEqual(Money(300), total([Money(100), Money(250), Money(-50)]))
        self.assertEqual(Money(0, "CHF"), total([], "CHF"))

    def test_b6_currencies_do_not_mix(self):
        with self.assertRaises(RuleError) as caught:
            Money(1, "EUR") + Money(1, "CHF")
        self.assertEqual("E_CURRENCY_MIX", caught.exception.code)

    def test_amounts_are_readable(self):
        self.assertEqual("1 234 567.05 EUR", str(Money(123456705)))
        self.assertEqual("-0.40 CHF", str(Money(-40, "CHF")))
        self.assertEqual("1 200 JPY", str(Money(1200, "JPY")))

    def test_d3_a_split_needs_lines(self):
        with self.assertRaises(RuleError) as caught:
            Money(10).split([])
        self.assertEqual("E_SPLIT_EMPTY", caught.exception.code)

    def test_d3_a_split_that_comes_out_even(self):
        self.assertEqual([Money(25), Money(75)], Money(100).split([1, 3]))
        self.assertEqual([Money(50), Money(50)], Money(100).split([0, 0]))
