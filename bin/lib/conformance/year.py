"""Plays a random year of a hundred accounts. Apple's verifier reads all its documents. At the end, the
states that Apple's client returns are compared with the simulator's books."""

import random

from documents import Readers
from shop import SHOP

SEED = 20_260_101
ACCOUNTS = 100
WEEKS = 52
PRODUCTS = [
    "pro",
    "premium",
    "plus",
    "yearly",
    "trial",
    "discounted",
    "upfront",
    "gems",
    "lifetime",
    "season",
]
SUBSCRIPTIONS = PRODUCTS[:7]
VERBS = [
    "cancel",
    "resume",
    "fail-billing",
    "recover-billing",
    "refund",
    "reverse-refund",
    "request-refund",
    "expire",
    "renew-now",
    "consent",
    "decline",
]
ACTS_EACH_WEEK = 25


def run(claims, simulator):
    simulator.reset(
        seed=SEED,
        now="2026-01-10T20:00:00Z",
        shop=SHOP,
        notification_url=None,
        grace_days=16,
        habits={},
    )
    print(f"a year by the seed {SEED}")
    chains = play(simulator, random.Random(SEED))
    check_documents(claims, simulator)
    check_standing(claims, simulator, chains)
    check_population(claims, simulator)


def play(simulator, dice):
    """Random accounts act again and again. Actions that are impossible at that time are skipped."""
    devices = [simulator.device(f"a{number}") for number in range(ACCOUNTS)]
    chains = {}
    for _ in range(WEEKS):
        for _ in range(ACTS_EACH_WEEK):
            number = dice.randrange(ACCOUNTS)
            mine = sorted(chain for chain, owner in chains.items() if owner == number)
            try:
                if mine and dice.random() < 0.6:
                    act(simulator, dice, dice.choice(mine))
                else:
                    product = dice.choice(PRODUCTS)
                    bought = simulator.buy(devices[number], product)
                    if product in SUBSCRIPTIONS:
                        chains[bought["original_transaction_id"]] = number
            except RuntimeError as refusal:
                if " 409: " not in str(refusal):
                    raise
        simulator.advance("P7D")
    return chains


def act(simulator, dice, chain):
    verb = dice.choice(VERBS + ["change-product", "raise-price", "extend"])
    body = {}
    if verb == "change-product":
        body = {"product_id": dice.choice(["pro", "premium", "plus", "yearly"])}
    elif verb == "raise-price":
        body = {"price": f"{dice.randrange(10, 30)}.99", "consent": dice.random() < 0.5}
    elif verb == "extend":
        body = {"days": dice.randrange(1, 91)}
    try:
        simulator.act(chain, verb, **body)
    except RuntimeError as refusal:
        # Of another group, or not eligible.
        if not any(f" {status}: " in str(refusal) for status in (400, 403, 404, 409)):
            raise


def check_documents(claims, simulator):
    readers = Readers(simulator)
    sent = simulator.notifications()
    wrong = []

    def read_all():
        for one in sent:
            found = readers.read(one)
            if found:
                wrong.append(found)
        return wrong or None

    claims.check(f"all {len(sent)} notifications of the year verify, offline and online", read_all)
    claims.check(
        "the year was eventful",
        lambda: len({n["row"] for n in sent}) > 25 or sorted({n["row"] for n in sent}),
    )
    claims.equal("no two have the same UUID", len({n["uuid"] for n in sent}), len(sent))


def check_standing(claims, simulator, chains):
    client, read = simulator.client(), simulator.verifier()
    different = []
    for chain, number in sorted(chains.items()):
        books = simulator.get(f"/_sim/truth/a{number}")["purchases"]
        truth = next(p for p in books if p["original_transaction_id"] == chain)
        answer = client.get_all_subscription_statuses(chain)
        item = next(
            i for g in answer.data for i in g.lastTransactions if i.originalTransactionId == chain
        )
        renewal = read.verify_and_decode_renewal_info(item.signedRenewalInfo)
        latest = read.verify_and_decode_signed_transaction(item.signedTransactionInfo)
        if latest.productId != truth["product_id"]:
            # This is an older period whose refund was reversed; a status is only about the latest one.
            continue
        # Only active subscriptions, and those in grace, give access.
        found = (item.rawStatus in (1, 4), renewal.rawAutoRenewStatus == 1)
        if found != (truth["open"], truth["will_renew"]):
            different.append((chain, item.rawStatus, renewal.rawAutoRenewStatus, truth))
    claims.equal(f"all {len(chains)} subscriptions stand as the books have them", different, [])


def check_population(claims, simulator):
    """The simulator's own random customers, who also have families, offers and promises."""
    simulator.reset(seed=SEED, now="2026-01-10T20:00:00Z", shop="full")
    simulator.post("/_sim/populations", {"accounts": ACCOUNTS, "within": "P1Y"})
    for _ in range(12):
        simulator.advance("P1M")
    check_documents(claims, simulator)
