"""The requests that play each row of the lifecycle's table."""

from appstoreserverlibrary.models.ExtendReasonCode import ExtendReasonCode
from appstoreserverlibrary.models.MassExtendRenewalDateRequest import (
    MassExtendRenewalDateRequest,
)


class Steps:
    """The steps of one account: products to buy, times to wait (P1M), and verbs."""

    def __init__(self, *steps, **settings):
        self.steps = steps
        self.settings = {"grace_days": 16, "habits": {}, "notification_url": None, **settings}

    def play(self, simulator, account):
        device = simulator.device(account)
        bought = None
        for step in self.steps:
            if callable(step):
                step(simulator, account, device, bought)
            elif isinstance(step, tuple):
                verb, body = step
                simulator.act(bought["original_transaction_id"], verb, **body)
            elif step.startswith("P"):
                simulator.advance(step)
            elif step.startswith("+"):
                bought = simulator.buy(device, **order(step[1:]))
            else:
                simulator.act(bought["original_transaction_id"], step)


def order(words):
    """Reads a product such as `pro`; with an offer or a plan `pro:code` or `yearly:MONTHLY`."""
    product, _, more = words.partition(":")
    if not more:
        return {"product": product}
    return {"product": product, "billing_plan" if more.isupper() else "offer": more}


def household(simulator, account, device, bought):
    """Makes a family of the account and another one."""
    for name in (account, account + "-child"):
        simulator.device(name, family=account)


def announce(kind, **more):
    return lambda simulator, account, device, bought: simulator.post(
        "/_sim/notifications",
        {"type": kind, **({"account": account} if kind == "RESCIND_CONSENT" else {}), **more},
    )


def mass_extension(simulator, account, device, bought):
    simulator.client().extend_renewal_date_for_all_active_subscribers(
        MassExtendRenewalDateRequest(
            7, ExtendReasonCode.OTHER, "2a1d7a5e-5f0f-4a40-9d0a-0d3c4d1b8f10", None, "pro"
        )
    )


def refund_transaction(simulator, account, device, bought):
    simulator.post(f"/_sim/transactions/{bought['transaction_id']}/refund")


RISE = ("raise-price", {"price": "12.99", "consent": True})
NO_GRACE = {"grace_days": 0}

ROWS = {
    1: ("first purchase", Steps("+pro")),
    2: ("first purchase on trial", Steps("+trial")),
    3: ("first purchase, pay as you go", Steps("+discounted", "P2M")),
    4: ("first purchase, paid up front", Steps("+upfront")),
    5: ("a trial converts", Steps("+trial", "P1W")),
    6: ("renewal", Steps("+pro", "P1M")),
    7: ("renewal off", Steps("+pro", "cancel")),
    8: ("renewal on", Steps("+pro", "cancel", "resume")),
    9: ("the end after that", Steps("+pro", "cancel", "P1M")),
    10: ("billing fails", Steps("+pro", "fail-billing", "P1M", **NO_GRACE)),
    11: ("billing fails into grace", Steps("+pro", "fail-billing", "P1M")),
    12: ("recovered in grace", Steps("+pro", "fail-billing", "P36D", "recover-billing")),
    13: ("grace runs out", Steps("+pro", "fail-billing", "P50D")),
    14: ("recovered in retry", Steps("+pro", "fail-billing", "P60D", "recover-billing")),
    15: ("retry exhausted", Steps("+pro", "fail-billing", "P4M", **NO_GRACE)),
    16: ("cancelled in retry", Steps("+pro", "fail-billing", "P36D", "cancel")),
    17: ("upgrade", Steps("+pro", "P10D", ("change-product", {"product_id": "premium"}))),
    18: ("downgrade chosen", Steps("+pro", ("change-product", {"product_id": "plus"}))),
    19: (
        "downgrade reverted",
        Steps(
            "+pro",
            ("change-product", {"product_id": "plus"}),
            ("change-product", {"product_id": "pro"}),
        ),
    ),
    20: ("downgrade in effect", Steps("+pro", ("change-product", {"product_id": "plus"}), "P1M")),
    21: (
        "crossgrade, same length",
        Steps("+pro", "P10D", ("change-product", {"product_id": "other"})),
    ),
    22: (
        "crossgrade, other length",
        Steps("+pro", ("change-product", {"product_id": "yearly"}), "P1M"),
    ),
    23: ("refund", Steps("+pro", "P3D", "refund")),
    24: ("prorated refund", Steps("+pro", ("refund", {"type": "prorated", "percentage": 25.5}))),
    25: ("refund asked for and granted", Steps("+pro", "request-refund", "P2D")),
    26: (
        "refund asked for and declined",
        Steps("+pro", ("request-refund", {"reason": "LEGAL", "decision": "declined"})),
    ),
    27: ("refund reversed", Steps("+pro", "refund", "P3D", "reverse-refund")),
    28: ("refund of a past period", Steps("+pro", "P1M", refund_transaction)),
    29: ("extension", Steps("+pro", ("extend", {"days": 30}))),
    30: ("extension for all", Steps("+pro", mass_extension, "P1D")),
    31: ("price rise, to be agreed", Steps("+pro", RISE)),
    32: ("price rise agreed", Steps("+pro", RISE, "consent")),
    33: ("price rise not answered", Steps("+pro", RISE, "P1M")),
    34: ("price rise declined", Steps("+pro", RISE, "decline", "P1M")),
    35: (
        "price rise without consent",
        Steps("+pro", ("raise-price", {"price": "10.99", "consent": False})),
    ),
    36: ("an offer code first", Steps("+pro:code")),
    37: ("an offer on an active one", Steps("+pro", "+pro:again")),
    38: ("an offer that upgrades", Steps("+pro", "+premium:code")),
    39: ("an offer that downgrades", Steps("+pro", "+plus:code")),
    40: ("an offer after a lapse", Steps("+pro", "cancel", "P2M", "+pro:back")),
    41: ("the same again", Steps("+pro", "cancel", "P2M", "+pro")),
    42: ("another of the group", Steps("+pro", "cancel", "P2M", "+plus")),
    43: ("family sharing begins", Steps(household, "+pro")),
    44: ("family sharing ends", Steps(household, "+pro", "refund")),
    45: ("not for sale", Steps("+pro", "remove-from-sale", "P1M")),
    46: ("another end", Steps("+pro", "expire")),
    47: ("bought once", Steps("+gems", "+lifetime", "+season")),
    48: ("a family's single purchase", Steps(household, "+lifetime")),
    49: ("bought once and refunded", Steps("+gems", refund_transaction)),
    50: ("consumption asked", Steps("+pro", "request-refund")),
    51: ("external purchase token", Steps(announce("EXTERNAL_PURCHASE_TOKEN"))),
    52: ("consent rescinded", Steps("+pro", announce("RESCIND_CONSENT"))),
    53: (
        "Advanced Commerce",
        Steps(
            "+pro",
            ("advanced-commerce", {"type": "MIGRATION"}),
            ("advanced-commerce", {"type": "METADATA_UPDATE", "display_name": "Birds"}),
            ("advanced-commerce", {"type": "PRICE_CHANGE", "price": "11.99"}),
            "P1M",
        ),
    ),
    54: ("a month of twelve promised", Steps("+yearly:MONTHLY", "P1M")),
    55: ("cancelled among them", Steps("+yearly:MONTHLY", "P1M", "cancel")),
    56: ("billing fails among them", Steps("+yearly:MONTHLY", "fail-billing", "P1M", "P91D")),
    57: ("test", Steps(announce("TEST"), announce("TEST", environment="sandbox"))),
}
