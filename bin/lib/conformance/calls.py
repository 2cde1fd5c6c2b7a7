"""Makes every call that Apple's client has, against the simulator, and checks what the client decodes."""

from appstoreserverlibrary.api_client import AppStoreServerAPIClient
from appstoreserverlibrary.models.NotificationTypeV2 import NotificationTypeV2
from appstoreserverlibrary.models.SendAttemptResult import SendAttemptResult
from appstoreserverlibrary.models.Status import Status
from control import LetterBox
from messaging import check_messaging
from shop import SHOP
from stage import UNKNOWN_ID, REQUEST_ID, NOON, CountedClient, Stage
from lists import check_histories, check_refunds, check_orders, check_notification_history
from changes import check_tokens_and_finishing, check_consumption, check_extensions


def run(claims, simulator):
    box = LetterBox()
    simulator.reset(seed=7001, now=NOON, shop=SHOP, notification_url=box.url + "/apple")
    client = simulator.client(kind=CountedClient)
    sandbox = simulator.client(sandbox=True, kind=CountedClient)
    stage = Stage(simulator, client, sandbox)
    for part in (
        check_transactions,
        check_histories,
        check_refunds,
        check_orders,
        check_statuses,
        check_tokens_and_finishing,
        check_consumption,
        check_extensions,
        check_test_notifications,
        check_notification_history,
    ):
        claims.check(
            f"{part.__name__[6:].replace('_', ' ')} could be tried", lambda p=part: p(claims, stage)
        )
    claims.check("messaging could be tried", lambda: check_messaging(claims, stage, box))
    check_authorization(claims, simulator)
    check_limits(claims, simulator)
    check_that_all_were_called(claims)


def check_transactions(claims, stage):
    pro, gems = stage.pro["transaction_id"], stage.gems["transaction_id"]
    app_id = stage.account_of(pro)["app_transaction_id"]
    client = stage.client

    def quantity():
        return stage.transaction(client.get_transaction_info(gems).signedTransactionInfo).quantity

    claims.equal("a transaction is given, signed", quantity, 3)
    for name, any_id in [("transaction", pro), ("app transaction", app_id)]:
        claims.equal(
            f"an app transaction is found by the id of a {name}",
            lambda i=any_id: stage.read.verify_and_decode_app_transaction(
                client.get_app_transaction_info(i).signedAppTransactionInfo
            ).appTransactionId,
            app_id,
        )
    read_sandbox = stage.simulator.verifier(sandbox=True)
    claims.equal(
        "the sandbox gives its own transactions",
        lambda: read_sandbox.verify_and_decode_signed_transaction(
            stage.sandbox.get_transaction_info(
                stage.sandbox_pro["transaction_id"]
            ).signedTransactionInfo
        ).productId,
        "pro",
    )
    for claim, call, error in [
        ("an unknown id", lambda: client.get_transaction_info(UNKNOWN_ID), (404, 4040010)),
        ("no id", lambda: client.get_transaction_info("x12"), (400, 4000006)),
        ("an app transaction's id", lambda: client.get_transaction_info(app_id), (400, 4000048)),
        (
            "a sandbox id in production",
            lambda: client.get_transaction_info(stage.sandbox_pro["transaction_id"]),
            (404, 4040010),
        ),
        (
            "a production id in the sandbox",
            lambda: stage.sandbox.get_transaction_info(pro),
            (404, 4040010),
        ),
        (
            "an app transaction of an unknown id",
            lambda: client.get_app_transaction_info(UNKNOWN_ID),
            (404, 4040010),
        ),
    ]:
        claims.error(f"{claim} is refused with {error[1]}", call, *error)


def check_statuses(claims, stage):
    client = stage.client
    ask = lambda *wanted: client.get_all_subscription_statuses(
        stage.gems["transaction_id"], list(wanted) or None
    )

    def found(answer):
        return [
            (group.subscriptionGroupIdentifier, item.status)
            for group in answer.data
            for item in group.lastTransactions
        ]

    claims.equal(
        "a status is found by any id of the customer",
        lambda: found(ask()),
        [("21400001", Status.ACTIVE)],
    )
    item = ask().data[0].lastTransactions[0]
    claims.equal(
        "with a signed transaction",
        lambda: stage.transaction(item.signedTransactionInfo).productId,
        "pro",
    )
    claims.equal(
        "and a signed renewal info",
        lambda: stage.read.verify_and_decode_renewal_info(
            item.signedRenewalInfo
        ).autoRenewProductId,
        "pro",
    )
    claims.equal("statuses can be filtered", lambda: found(ask(Status.EXPIRED, Status.REVOKED)), [])
    claims.error(
        "statuses of an unknown id are refused with 4040010",
        lambda: client.get_all_subscription_statuses(UNKNOWN_ID),
        404,
        4040010,
    )


def check_test_notifications(claims, stage):
    token = stage.client.request_test_notification().testNotificationToken
    answer = stage.client.get_test_notification_status(token)
    claims.equal(
        "a test notification arrives",
        [a.sendAttemptResult for a in answer.sendAttempts],
        [SendAttemptResult.SUCCESS],
    )
    claims.equal(
        "and is one",
        lambda: stage.read.verify_and_decode_notification(answer.signedPayload).notificationType,
        NotificationTypeV2.TEST,
    )
    status = stage.client.get_test_notification_status
    claims.error(
        "a token of another form is refused with 4000020", lambda: status("nonsense"), 400, 4000020
    )
    claims.error(
        "an unknown one with 4040008", lambda: status(f"{REQUEST_ID}_1700000000000"), 404, 4040008
    )


def check_authorization(claims, simulator):
    id = simulator.buy(simulator.device("emma"), "pro")["transaction_id"]
    for claim, key in [
        ("a key that nobody knows", {"key_id": "UNKNOWNKEY"}),
        ("another issuer", {"issuer_id": REQUEST_ID}),
        ("another app", {"bundle_id": "com.example.fish"}),
    ]:
        client = simulator.client(**key)
        claims.error(
            f"{claim} is refused with 401 and no number",
            lambda c=client: c.get_transaction_info(id),
            401,
            None,
        )


def check_limits(claims, simulator):
    simulator.reset(api_rate_limits="virtual", notification_url=None)
    sandbox = simulator.client(sandbox=True)
    id = simulator.buy(simulator.device("finn", environment="sandbox"), "pro")["transaction_id"]
    for _ in range(5):
        sandbox.get_transaction_info(id)
    claims.error(
        "the sixth call in a second of the sandbox is refused with 4290000",
        lambda: sandbox.get_transaction_info(id),
        429,
        4290000,
    )
    simulator.advance("PT1S")
    claims.check("a second later it is answered", lambda: sandbox.get_transaction_info(id) and None)
    simulator.reset(api_rate_limits="off")


def check_that_all_were_called(claims):
    """By their names in Apple's code: a call that a new version adds fails here."""
    calls = {name for name in dir(AppStoreServerAPIClient) if not name.startswith("_")}
    claims.equal(
        f"all {len(calls)} calls of Apple's client were used", calls - CountedClient.used, set()
    )
