"""The customers and purchases for the tests of the calls."""

from appstoreserverlibrary.api_client import AppStoreServerAPIClient, GetTransactionHistoryVersion

V1, V2 = GetTransactionHistoryVersion.V1, GetTransactionHistoryVersion.V2
UNKNOWN_ID = "999999999999999"
REQUEST_ID = "758883e8-151b-47b7-abd0-60c4d804c2f5"
TOKEN = "9f7a0d8e-6c0b-4f0e-8a3c-2f1d5b6a7c88"
NOON = "2026-01-10T20:00:00Z"
DAY = 86_400_000


class CountedClient(AppStoreServerAPIClient):
    """Apple's client, which also records the names of the calls that were made."""

    used = set()

    def __getattribute__(self, name):
        if not name.startswith("_"):
            CountedClient.used.add(name)
        return super().__getattribute__(name)


class Stage:
    """Anna, who buys in production, and ben, who buys in the sandbox."""

    def __init__(self, simulator, client, sandbox):
        self.simulator, self.client, self.sandbox = simulator, client, sandbox
        self.read = simulator.verifier()
        self.anna = simulator.device("anna", app_account_token=TOKEN)
        self.ben = simulator.device("ben", environment="sandbox")
        self.pro = simulator.buy(self.anna, "pro")
        self.gems = simulator.buy(self.anna, "gems", quantity=3)
        self.sandbox_pro = simulator.buy(self.ben, "pro")

    def transaction(self, signed):
        return self.read.verify_and_decode_signed_transaction(signed)

    def account_of(self, transaction_id):
        return self.simulator.get(f"/_sim/transactions/{transaction_id}")
