import unittest
from datetime import date

from depot.discounts import CAMPAIGNS, discount_permille, tier_permille
from depot.money import Money

QUIET_DAY = date(2025, 6, 1)


class TierTest(unittest.TestCase):
    def test_d1_a_tier_starts_at_its_threshold(self):
        for minor, permille in ((499_999, 0), (500_000, 20), (2_000_000, 40), (7_500_000, 70)):
            with self.subTest(minor=minor):
                self.assertEqual(permille, tier_permille(Money(minor)))


class CampaignTest(unittest.TestCase):
    def test_both_days_belong_to_a_campaign(self):
        spring = CAMPAIGNS["SPRING"]
        self.assertTrue(spring.applies("tools", spring.first_day))
        self.assertTrue(spring.applies("garden", spring.last_day))
        self.assertFalse(spring.applies("books", spring.first_day))

    def test_d2_tier_and_campaign_are_capped(self):
        self.assertEqual(120, discount_permille(Money(9_000_000), "food", date(2025, 12, 31)))
        self.assertEqual(50, discount_permille(Money(600_000), "tools", date(2025, 3, 9)))

    def test_d4_deposits_are_never_discounted(self):
        self.assertEqual(0, discount_permille(Money(9_000_000), "deposit", date(2025, 12, 31)))

    def test_a_quiet_day_leaves_the_tier(self):
        self.assertEqual(70, discount_permille(Money(9_000_000), "books", QUIET_DAY))
