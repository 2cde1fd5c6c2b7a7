"""Plays a short life against the simulator and reads every document with Apple's own verifier.

Usage: conformance.py SIMULATOR_URL SERVER_URL. The last line is `N passed, N failed`.
"""

import json
import sys
import urllib.error
import urllib.request

from appstoreserverlibrary.models.Environment import Environment
from appstoreserverlibrary.signed_data_verifier import (
    SignedDataVerifier,
    VerificationException,
)

BUNDLE_ID = "com.example.birds"
APP_APPLE_ID = 1234567890
PRODUCT_ID = "pro.monthly"
ANSWER_SECONDS_MAX = 60

# The life that is played below, as Apple's table of notifications tells it.
LIFE = [
    ("SUBSCRIBED", "INITIAL_BUY"),
    ("DID_RENEW", None),
    ("DID_CHANGE_RENEWAL_STATUS", "AUTO_RENEW_DISABLED"),
    ("EXPIRED", "VOLUNTARY"),
    ("REFUND", None),
]


class Claims:
    """Counts what held and what did not, and prints each."""

    def __init__(self):
        self.passed = 0
        self.failed = 0

    def check(self, claim, test):
        """Runs `test`, which returns None or True where the claim holds."""
        try:
            outcome = test()
        except VerificationException as refusal:
            outcome = f"refused by Apple's verifier: {refusal.status.name}"
        except Exception as error:  # A crash of one claim must not hide the others.
            outcome = f"{type(error).__name__}: {error}"
        if outcome is None or outcome is True:
            self.passed += 1
            print(f"passed  {claim}")
        else:
            self.failed += 1
            print(f"FAILED  {claim}: {outcome}")

    def equal(self, claim, found, expected):
        self.check(claim, lambda: found == expected or f"expected {expected!r}, found {found!r}")


def call(url, body=None):
    """GET, or POST where there is a body. Returns the answer's bytes."""
    request = urllib.request.Request(url)
    if body is not None:
        request.data = json.dumps(body).encode()
        request.add_header("Content-Type", "application/json")
    try:
        with urllib.request.urlopen(request, timeout=ANSWER_SECONDS_MAX) as answer:
            return answer.read()
    except urllib.error.HTTPError as error:
        text = error.read().decode(errors="replace")
        raise RuntimeError(f"{url} answered {error.code}: {text}") from None


def refuses(read, document):
    """True where Apple's verifier refuses; what it read otherwise."""
    try:
        return f"accepted: {read(document)}"
    except VerificationException:
        return True


def with_a_changed_payload(jws):
    header, payload, signature = jws.split(".")
    middle = len(payload) // 2
    other = "A" if payload[middle] != "A" else "B"
    return ".".join([header, payload[:middle] + other + payload[middle + 1 :], signature])


def play(simulator):
    """A device buys, renews, cancels, expires and is refunded. Returns what its purchases say."""

    def post(path, body):
        return json.loads(call(simulator + path, body))

    device = post("/_sim/devices", {"account": "conformance"})["device_id"]
    bought = post(f"/_sim/devices/{device}/purchases", {"product_id": PRODUCT_ID})
    restored = post(f"/_sim/devices/{device}/restore", {})
    original = bought["original_transaction_id"]
    post("/_sim/clock", {"advance": "P32D"})
    post(f"/_sim/subscriptions/{original}/cancel", {})
    post("/_sim/clock", {"advance": "P32D"})
    post(f"/_sim/subscriptions/{original}/refund", {})
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
        ("the same transaction with a changed payload is refused", ours, with_a_changed_payload(signed)),
        ("a production transaction is refused in the sandbox", sandbox, signed),
        ("a transaction of this app is refused for another", foreign, signed),
    ]:
        refused = verifier.verify_and_decode_signed_transaction
        claims.check(claim, lambda r=refused, d=document: refuses(r, d))
    for number, document in enumerate(restored["signed_transactions"], 1):
        claims.check(f"restored transaction {number} verifies", lambda d=document: read(d) and None)
    for number, document in enumerate(restored["signed_renewal_infos"], 1):
        claims.check(
            f"restored renewal info {number} verifies and renews the product",
            lambda d=document: ours.verify_and_decode_renewal_info(d).autoRenewProductId == PRODUCT_ID,
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


def main():
    simulator, server = sys.argv[1], sys.argv[2]
    claims = Claims()
    call(server + "/health")
    root = call(simulator + "/_sim/root.cer")

    def verifier(environment, bundle):
        return SignedDataVerifier([root], False, environment, bundle, APP_APPLE_ID)

    ours = verifier(Environment.PRODUCTION, BUNDLE_ID)
    sandbox = verifier(Environment.SANDBOX, BUNDLE_ID)
    foreign = verifier(Environment.PRODUCTION, "com.example.fish")

    def life():
        bought, restored = play(simulator)
        check_purchase(claims, (ours, sandbox, foreign), bought, restored)
        answer = json.loads(call(simulator + "/_sim/notifications"))
        check_notifications(claims, ours, answer["notifications"])

    claims.check("the whole life could be played", life)
    print(f"{claims.passed} passed, {claims.failed} failed")
    return 1 if claims.failed or not claims.passed else 0


if __name__ == "__main__":
    sys.exit(main())
