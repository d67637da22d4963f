import unittest

from buyer import Buyer
from sandbox import Sandbox


class BuyerTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.sandbox = Sandbox()
        cls.addClassCleanup(cls.sandbox.close)
        cls.buyer = Buyer(cls.sandbox.url, cls.sandbox.keys["agent"])

    def setUp(self):
        self.sandbox.reset()

    def buy(self, price):
        return self.buyer.buy("order 1", "Example Store", price, budget=5000)

    def available(self):
        return self.sandbox.call("GET", "/wallets")[0]["attributes"]["balance"]["available"]

    def test_buyer_pays(self):
        self.assertEqual(self.buy(4250)["status"], "authorized")
        self.assertEqual(self.available(), 245_750)

    def test_each_test_begins_with_the_full_balance(self):
        self.assertEqual(self.available(), 250_000)

    def test_buyer_reports_why_the_card_is_declined(self):
        self.assertEqual(self.buy(5001)["decline"]["code"], "single_use_amount_over_maximum")

    def test_buyer_pays_only_once_even_if_an_answer_is_lost(self):
        lost = {"operation": "simulate_card_authorization", "fault": "effect_then_lost", "when": {"times": 1}}
        self.sandbox.call("POST", "/simulations/faults", lost)
        self.assertEqual(self.buy(4250)["status"], "authorized")
        self.assertEqual(self.available(), 245_750)


if __name__ == "__main__":
    unittest.main()
