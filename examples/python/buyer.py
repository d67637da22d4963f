"""Issues a card for one order and pays with it, through the payments API."""

import json
from urllib.error import HTTPError
from urllib.request import Request, urlopen


class Buyer:
    def __init__(self, url, key):
        self.url = url
        self.key = key

    def buy(self, order_id, merchant, price, budget):
        """Buys for `price`, with a card for at most `budget` (both in cents). Returns the purchase's attributes."""
        order = {"currency": "USD", "merchant": {"name": merchant}}
        card = self._post("/agent-cards", f"{order_id} card", {**order, "maximumAmount": budget})
        # In the sandbox, this program also simulates the merchant's charge.
        charge = f"/simulations/agent-cards/{card['id']}/authorize"
        return self._post(charge, f"{order_id} payment", {**order, "amount": price})["attributes"]

    def _post(self, path, idempotency_key, attributes):
        """Sends a request. If no answer comes, retries with the same idempotency key, so that nothing is done twice."""
        headers = {
            "Authorization": f"Bearer {self.key}",
            "Content-Type": "application/json",
            "Idempotency-Key": idempotency_key,
            "X-Instance-ID": "buyer",
        }
        body = json.dumps({"data": {"attributes": attributes}}).encode()
        for _ in range(3):
            try:
                with urlopen(Request(self.url + path, body, headers, method="POST")) as response:
                    return json.load(response)["data"]
            except HTTPError as error:
                if error.code < 500:
                    raise RuntimeError(json.load(error)["errors"][0]["detail"]) from error
            except OSError:
                pass
        raise RuntimeError("The payments API is unavailable.")
