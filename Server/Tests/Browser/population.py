"""A shop with some tens of customers over eight months. The same seed gives the same shop.

Among them: anna, who pays and buys seeds; ben, who was refunded; cleo, whose card was refused and
who is in grace; dora, to whom support granted `pro`; emma, whose purchase moved to another account;
yola, who pays for a group in which yuri has a seat. A webhook has failed since the last week."""

import random

from world import Receiver

SEED = 7
MONTHS = 8
NAMES = """
    frida greta hana ida jana kira lena mara nora olga paula rosa sara tilda vera wilma arne bruno
    carl david emil felix gustav hugo ivo jonas karl leo max nils oskar paul quentin ralf simon tom
""".split()
STOREFRONTS = ["USA"] * 6 + ["DEU"] * 3 + ["GBR", "FRA"]
SUBSCRIPTIONS = ["pro.monthly"] * 6 + ["pro.yearly"] * 3 + ["plus.monthly"] * 2 + ["premium.monthly"]


class Population:
    """Lives `months` months in a world. `receiver` stops answering in the last month."""

    def __init__(self, world, seed=SEED, months=MONTHS):
        self.world = world
        self.random = random.Random(seed)
        self.devices = {}
        self.receiver = Receiver()
        self.failing = Receiver()
        self.months = months

    def stop(self):
        self.receiver.stop()
        self.failing.stop()

    def live(self):
        self._add_webhooks()
        newcomers = list(NAMES)
        self.random.shuffle(newcomers)
        each = -(-len(newcomers) // self.months)
        for month in range(self.months):
            self._cast(month)
            for name in newcomers[month * each : (month + 1) * each]:
                self._come(name)
            for _ in range(4):
                self.world.advance("P1W")
                self._change_minds()
            self.world.advance("P2D")
        self._last_days()
        return self

    def _add_webhooks(self):
        for receiver, types in [(self.receiver, None), (self.failing, None)]:
            body = {"url": receiver.url, **({"types": types} if types else {})}
            self.world.api("/v1/webhooks", body)

    def _buy(self, name, product, **more):
        storefront = more.pop("storefront", "USA")
        if name not in self.devices:
            self.devices[name] = self.world.device(name, storefront=storefront)
        return self.world.buy(self.devices[name], product, name, **more)

    def _come(self, name):
        product = self.random.choice(SUBSCRIPTIONS)
        self._buy(name, product, storefront=self.random.choice(STOREFRONTS))
        if self.random.random() < 0.3:
            self._buy(name, self.random.choice(["seeds.100", "guide", "season.spring"]))
        self.world.advance("PT5H")

    def _change_minds(self):
        """Some customers cancel, some cards fail and recover, some customers want a refund."""
        for name in sorted(self.devices):
            if name in ("anna", "ben", "cleo", "emma"):
                continue
            chance = self.random.random()
            for purchase in self._running(name):
                subscription = purchase["original_transaction_id"]
                if chance < 0.02 and purchase["will_renew"]:
                    self.world.act(subscription, "cancel")
                elif chance < 0.03 and purchase["state"] == "paid":
                    self.world.act(subscription, "refund")
                elif chance < 0.05:
                    self.world.act(subscription, "fail-billing")
                elif chance < 0.2 and purchase["state"] in ("grace", "retry"):
                    self.world.act(subscription, "recover-billing")

    def _running(self, name):
        return [
            purchase
            for purchase in self.world.sim(f"truth/{name}")["purchases"]
            if purchase.get("will_renew") is not None
            and purchase["state"] in ("trial", "offer", "paid", "grace", "retry")
            and purchase.get("period")
        ]

    def _cast(self, month):
        world = self.world
        if month == 0:
            self._buy("anna", "pro.monthly")
            self._buy("anna", "seeds.100")
        if month == 1:
            self._buy("cleo", "pro.monthly", storefront="DEU")
            self._buy("emma", "pro.monthly")
            self._buy("ben", "pro.yearly")
            self._buy("anna", "guide")
        if month == self.months - 1:
            world.grant("dora", reason="she found a bug")
            world.act("ben:pro.yearly", "refund")

    def _last_days(self):
        """Cleo's card fails, emma's purchase moves, the second webhook starts to fail."""
        world = self.world
        world.act("cleo:pro.monthly", "fail-billing")
        self._until_state("cleo", "grace")
        self.failing.status = 500
        emmas = world.sim("truth/emma")["purchases"][0]["original_transaction_id"]
        moved = {"original_transaction_id": emmas, "reason": "she has a new account"}
        world.api("/v1/customers/emma-work/transfers", moved)
        self._buy("yara", "pro.yearly")
        self._buy("zoe", "pro.monthly", storefront="DEU")
        self._buy("anna", "seeds.100")
        self._found_group()
        world.api("/v1/customers/anna/aliases", {"customer_id": "anna@example.com"})
        world.advance("PT2H")

    def _found_group(self):
        """Yola buys five seats and adds two; yuri and a customer with a hostile id join."""
        world = self.world
        bought = self._buy("yola", "pro.monthly", seats=5)
        self._buy("yola", "pro.monthly", seats=7)
        purchase = bought["original_transaction_id"]
        for member in ["yuri", "<b>uli</b>"]:
            claim = {"customer_id": member, "original_transaction_id": purchase}
            world.api("/v1/seats/claims", claim)
        for invitation in [{}, {"customer_id": "arne", "expires_in_seconds": 86_400}]:
            world.api(f"/v1/purchases/{purchase}/invitations", invitation)

    def _until_state(self, name, state):
        """Advances the clock day by day until a purchase of the account is in the state."""
        for _ in range(40):
            purchases = self.world.sim(f"truth/{name}")["purchases"]
            if any(purchase["state"] == state for purchase in purchases):
                return
            self.world.advance("P1D")
        raise RuntimeError(f"{name} has not come to {state} in forty days")
