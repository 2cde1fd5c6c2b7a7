"""Plays a short life against the simulator and the server, and reads its documents with Apple's verifier."""

from control import BUNDLE_ID, Simulator, request

PRODUCT_ID = "pro.monthly"

# The notifications of the life that is played below, according to Apple's table.
LIFE = [
    ("SUBSCRIBED", "INITIAL_BUY"),
    ("DID_RENEW", None),
    ("DID_CHANGE_RENEWAL_STATUS", "AUTO_RENEW_DISABLED"),
    ("EXPIRED", "VOLUNTARY"),
    ("REFUND", None),
]


def with_a_changed_payload(jws):
    header, payload, signature = jws.split(".")
    middle = len(payload) // 2
    other = "A" if payload[middle] != "A" else "B"
    return ".".join([header, payload[:middle] + other + payload[middle + 1 :], signature])


def play(simulator):
    """A device buys; the subscription renews, is cancelled, expires and is refunded. Returns the answers."""

    device = simulator.device("conformance")
    bought = simulator.buy(device, PRODUCT_ID)
    restored = simulator.post(f"/_sim/devices/{device}/restore")
    original = bought["original_transaction_id"]
    simulator.advance("P32D")
    simulator.act(original, "cancel")
    simulator.advance("P32D")
    simulator.act(original, "refund")
    return bought, restored


def check_purchase(claims, verifiers, bought, restored):
    ours, sandbox, foreign = verifiers
    signed = bought["signed_transaction"]
    read = ours.verify_and_decode_signed_transaction

    def names_the_purchase():
        found = read(signed)
        pairs = [
            (found.bundleId, BUNDLE_ID),
            (found.productId, PRODUCT_ID),
            (found.transactionId, bought["transaction_id"]),
            (found.originalTransactionId, bought["original_transaction_id"]),
        ]
        return next((f"{a!r}, not {b!r}" for a, b in pairs if a != b), None)

    claims.equal("a purchase is answered as purchased", bought["result"], "purchased")
    claims.check("the bought transaction verifies and names the purchase", names_the_purchase)
    for claim, verifier, document in [
        (
            "the same transaction with a changed payload is refused",
            ours,
            with_a_changed_payload(signed),
        ),
        ("a production transaction is refused in the sandbox", sandbox, signed),
        ("a transaction of this app is refused for another", foreign, signed),
    ]:
        claims.refused(claim, verifier.verify_and_decode_signed_transaction, document)
    for number, document in enumerate(restored["signed_transactions"], 1):
        claims.check(f"restored transaction {number} verifies", lambda d=document: read(d) and None)
    for number, document in enumerate(restored["signed_renewal_infos"], 1):
        claims.check(
            f"restored renewal info {number} verifies and renews the product",
            lambda d=document: ours.verify_and_decode_renewal_info(d).autoRenewProductId
            == PRODUCT_ID,
        )
    claims.check(
        "a restore brings a transaction and a renewal info",
        lambda: bool(restored["signed_transactions"] and restored["signed_renewal_infos"])
        or "one of the lists is empty",
    )


def check_notifications(claims, verifier, sent):
    decoded = []

    def read(document):
        found = verifier.verify_and_decode_notification(document)
        verifier.verify_and_decode_signed_transaction(found.data.signedTransactionInfo)
        verifier.verify_and_decode_renewal_info(found.data.signedRenewalInfo)
        decoded.append(found)

    for entry in sent:
        name = " ".join(part for part in (entry["type"], entry.get("subtype")) if part)
        claims.check(
            f"notification {name} verifies, with the transaction and the renewal info inside",
            lambda d=entry["signed_payload"]: read(d),
        )
        claims.check(
            f"notification {name} was kept by the server",
            lambda e=entry: e["attempts"][-1].get("status") == 200 or f"attempts: {e['attempts']}",
        )
    found = [(n.rawNotificationType, n.rawSubtype) for n in decoded]
    claims.equal("the life is told in Apple's order", found, LIFE)
    uuids = {n.notificationUUID for n in decoded}
    claims.equal("every notification has a UUID of its own", len(uuids), len(sent))


def run(claims, simulator_url, server_url):
    request(server_url + "/health")
    simulator = Simulator(simulator_url)
    verifiers = (
        simulator.verifier(),
        simulator.verifier(sandbox=True),
        simulator.verifier(bundle="com.example.fish"),
    )

    def life():
        bought, restored = play(simulator)
        check_purchase(claims, verifiers, bought, restored)
        check_notifications(claims, verifiers[0], simulator.notifications())

    claims.check("the whole life could be played", life)
