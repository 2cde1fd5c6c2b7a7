"""Apple's verifier must accept every kind of signed document of every row of the lifecycle, and must
refuse every forgery."""

import base64
import json

from appstoreserverlibrary.receipt_utility import ReceiptUtility
from appstoreserverlibrary.signed_data_verifier import VerificationStatus

from life import with_a_changed_payload
from rows import ROWS
from shop import SHOP

NOON = "2026-01-10T20:00:00Z"


def run(claims, simulator):
    simulator.reset(seed=7002, now=NOON, shop=SHOP, notification_url=None)
    check_rows(claims, simulator)
    check_that_no_row_is_missing(claims)
    check_device(claims, simulator)
    check_forgeries(claims, simulator)
    check_revocation(claims, simulator)
    check_spoiled(claims, simulator)
    check_receipts(claims, simulator)


class Readers:
    """Apple's verifiers of both environments, offline and online, for all parts of a document."""

    def __init__(self, simulator):
        self.verifiers = {
            environment: [
                simulator.verifier(sandbox=environment == "sandbox", online=online)
                for online in (False, True)
            ]
            for environment in ("production", "sandbox")
        }

    def read(self, sent):
        """Reads a notification and the documents in it. Throws if the verifier refuses one of them."""
        for verifier in self.verifiers[sent["environment"]]:
            found = verifier.verify_and_decode_notification(sent["signed_payload"])
            data, app = found.data, found.appData
            if data and data.signedTransactionInfo:
                verifier.verify_and_decode_signed_transaction(data.signedTransactionInfo)
            if data and data.signedRenewalInfo:
                verifier.verify_and_decode_renewal_info(data.signedRenewalInfo)
            if app:
                verifier.verify_and_decode_app_transaction(app.signedAppTransactionInfo)
            if (found.rawNotificationType, found.rawSubtype) != (sent["type"], sent["subtype"]):
                return f"reads {found.rawNotificationType} {found.rawSubtype}"
        return None


def check_rows(claims, simulator):
    readers = Readers(simulator)
    for number, (name, steps) in sorted(ROWS.items()):

        def play(number=number, steps=steps):
            simulator.reset(seed=7100 + number, now=NOON, shop=SHOP, **steps.settings)
            steps.play(simulator, f"row{number}")
            sent = simulator.notifications()
            wrong = [w for w in map(readers.read, sent) if w]
            played = number in {n["row"] for n in sent}
            if wrong or not played:
                return wrong or f"not played: {[(n['type'], n['subtype']) for n in sent]}"

        claims.check(f"row {number}, {name}: every document verifies, offline and online", play)
    simulator.reset(seed=7002, now=NOON, shop=SHOP)


def check_that_no_row_is_missing(claims):
    claims.equal("these are all 57 rows", sorted(ROWS), list(range(1, 58)))


def check_device(claims, simulator):
    device = simulator.device("anna")
    bought = simulator.buy(device, "pro")
    simulator.buy(device, "lifetime")
    place = f"/_sim/devices/{device}"
    restored = simulator.post(place + "/restore")
    status = simulator.get(place + "/statuses")["statuses"][0]
    for online in (False, True):
        read, how = simulator.verifier(online=online), "online" if online else "offline"
        for name, reader, documents in [
            (
                "bought transaction",
                read.verify_and_decode_signed_transaction,
                [bought["signed_transaction"]],
            ),
            (
                "transactions",
                read.verify_and_decode_signed_transaction,
                simulator.get(place + "/transactions")["signed_transactions"],
            ),
            (
                "entitlements",
                read.verify_and_decode_signed_transaction,
                simulator.get(place + "/entitlements")["signed_transactions"],
            ),
            (
                "restored transactions",
                read.verify_and_decode_signed_transaction,
                restored["signed_transactions"],
            ),
            (
                "restored renewal infos",
                read.verify_and_decode_renewal_info,
                restored["signed_renewal_infos"],
            ),
            ("status", read.verify_and_decode_renewal_info, [status["signed_renewal_info"]]),
            (
                "app transaction",
                read.verify_and_decode_app_transaction,
                [simulator.get(place + "/app-transaction")["signed_app_transaction"]],
            ),
        ]:
            claims.check(
                f"a device's {name} verify {how}",
                lambda r=reader, d=documents: None if [r(one) for one in d] else "there is none",
            )


def with_header(jws, **changes):
    """Returns the document with a changed header; a member with the value None is left out."""
    header, payload, signature = jws.split(".")
    members = json.loads(base64.urlsafe_b64decode(header + "=="))
    members = {k: v for k, v in {**members, **changes}.items() if v is not None}
    text = base64.urlsafe_b64encode(json.dumps(members).encode()).rstrip(b"=").decode()
    return ".".join([text, payload, signature])


def check_forgeries(claims, simulator):
    device = simulator.device("ben")
    jws = simulator.buy(device, "pro")["signed_transaction"]
    other = simulator.buy(device, "gems")["signed_transaction"]
    sandbox = simulator.buy(simulator.device("cleo", environment="sandbox"), "pro")
    notification = simulator.notifications()[-2]["signed_payload"]
    header, payload, signature = jws.split(".")
    chain = json.loads(base64.urlsafe_b64decode(header + "=="))["x5c"]
    read = simulator.verifier().verify_and_decode_signed_transaction
    reason = VerificationStatus
    for claim, document, status in [
        ("a changed payload", with_a_changed_payload(jws), reason.VERIFICATION_FAILURE),
        (
            "another document's signature",
            ".".join([header, payload, other.split(".")[2]]),
            reason.VERIFICATION_FAILURE,
        ),
        ("no signature", f"{header}.{payload}.", reason.VERIFICATION_FAILURE),
        ("half a signature", jws[: -len(signature) // 2], reason.VERIFICATION_FAILURE),
        ("the algorithm none", with_header(jws, alg="none"), reason.VERIFICATION_FAILURE),
        ("the algorithm HS256", with_header(jws, alg="HS256"), reason.VERIFICATION_FAILURE),
        ("no certificates", with_header(jws, x5c=None), reason.VERIFICATION_FAILURE),
        ("two certificates", with_header(jws, x5c=chain[:2]), reason.INVALID_CHAIN_LENGTH),
        ("four certificates", with_header(jws, x5c=chain + chain[:1]), reason.INVALID_CHAIN_LENGTH),
        ("the chain upside down", with_header(jws, x5c=chain[::-1]), reason.VERIFICATION_FAILURE),
        (
            "no certificate but the text of one",
            with_header(jws, x5c=["AAAA"] * 3),
            reason.INVALID_CERTIFICATE,
        ),
        ("a document of the sandbox", sandbox["signed_transaction"], reason.INVALID_ENVIRONMENT),
        ("a notification for a transaction", notification, reason.INVALID_APP_IDENTIFIER),
        ("no JWS at all", "birds", reason.VERIFICATION_FAILURE),
    ]:
        claims.refused(f"{claim} is refused", read, document, status)
    for claim, verifier, status in [
        (
            "of another app",
            simulator.verifier(bundle="com.example.fish"),
            reason.INVALID_APP_IDENTIFIER,
        ),
        ("in the sandbox", simulator.verifier(sandbox=True), reason.INVALID_ENVIRONMENT),
        (
            "under another root",
            simulator.verifier(root=base64.b64decode(chain[1])),
            reason.VERIFICATION_FAILURE,
        ),
    ]:
        claims.refused(
            f"a true document is refused {claim}",
            verifier.verify_and_decode_signed_transaction,
            jws,
            status,
        )
    claims.refused(
        "a true notification is refused for another number of the app",
        simulator.verifier(app=1).verify_and_decode_notification,
        notification,
        reason.INVALID_APP_IDENTIFIER,
    )


def check_revocation(claims, simulator):
    device = simulator.device("dora")
    jws = simulator.buy(device, "pro")["signed_transaction"]
    for name in ("leaf", "intermediate"):
        simulator.reset(revoked_certificates=[name])
        claims.refused(
            f"with its {name} revoked a document is refused online",
            simulator.verifier(online=True).verify_and_decode_signed_transaction,
            jws,
            VerificationStatus.VERIFICATION_FAILURE,
        )
        claims.check(
            f"with its {name} revoked it is still accepted offline",
            lambda: simulator.verifier().verify_and_decode_signed_transaction(jws) and None,
        )
    simulator.reset(revoked_certificates=[])
    claims.check(
        "with none revoked it is accepted online",
        lambda: simulator.verifier(online=True).verify_and_decode_signed_transaction(jws) and None,
    )


def check_spoiled(claims, simulator):
    """Tests the faults with which the simulator sends a forged notification beside the genuine one."""
    device = simulator.device("emma")
    for fault in ("forged", "tampered", "truncated", "expired", "wrong_app", "wrong_environment"):
        simulator.post("/_sim/faults", {"next": {"notifications": fault}})
        simulator.buy(device, "gems")
        sent = simulator.get("/_sim/notifications")
        read = simulator.verifier().verify_and_decode_notification
        claims.check(
            f"beside one that is {fault} the true notification is accepted",
            lambda: read(sent["notifications"][-1]["signed_payload"]) and None,
        )
        claims.refused(
            f"and the one that is {fault} is refused", read, sent["strays"][-1]["signed_payload"]
        )


def check_receipts(claims, simulator):
    device = simulator.device("finn")
    bought = simulator.buy(device, "pro")
    utility = ReceiptUtility()
    claims.equal(
        "Apple's utility finds the transaction in an app receipt",
        lambda: utility.extract_transaction_id_from_app_receipt(bought["app_receipt"]),
        bought["transaction_id"],
    )
    restored = simulator.post(f"/_sim/devices/{device}/restore")["app_receipt"]
    claims.equal(
        "and in a restored one",
        lambda: utility.extract_transaction_id_from_app_receipt(restored),
        bought["transaction_id"],
    )
    old = simulator.get(f"/_sim/transactions/{bought['transaction_id']}/receipt")
    claims.equal(
        "and in a transaction receipt",
        lambda: utility.extract_transaction_id_from_transaction_receipt(old["transaction_receipt"]),
        bought["transaction_id"],
    )
    claims.equal(
        "and the API knows that id",
        lambda: simulator.verifier()
        .verify_and_decode_signed_transaction(
            simulator.client()
            .get_transaction_info(utility.extract_transaction_id_from_app_receipt(restored))
            .signedTransactionInfo
        )
        .productId,
        "pro",
    )
