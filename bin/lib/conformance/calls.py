"""Every call that Apple's client has, against the simulator, and what it decodes."""

import warnings

from appstoreserverlibrary.api_client import (
    AppStoreServerAPIClient,
    GetTransactionHistoryVersion,
)
from appstoreserverlibrary.models.ConsumptionRequest import ConsumptionRequest
from appstoreserverlibrary.models.ConsumptionRequestV1 import ConsumptionRequestV1
from appstoreserverlibrary.models.DeliveryStatus import DeliveryStatus
from appstoreserverlibrary.models.DeliveryStatusV1 import DeliveryStatusV1
from appstoreserverlibrary.models.ExtendReasonCode import ExtendReasonCode
from appstoreserverlibrary.models.ExtendRenewalDateRequest import ExtendRenewalDateRequest
from appstoreserverlibrary.models.MassExtendRenewalDateRequest import (
    MassExtendRenewalDateRequest,
)
from appstoreserverlibrary.models.NotificationHistoryRequest import NotificationHistoryRequest
from appstoreserverlibrary.models.NotificationTypeV2 import NotificationTypeV2
from appstoreserverlibrary.models.OrderLookupStatus import OrderLookupStatus
from appstoreserverlibrary.models.RefundPreference import RefundPreference
from appstoreserverlibrary.models.SendAttemptResult import SendAttemptResult
from appstoreserverlibrary.models.Status import Status
from appstoreserverlibrary.models.Subtype import Subtype
from appstoreserverlibrary.models.TransactionHistoryRequest import (
    Order,
    ProductType,
    TransactionHistoryRequest,
)
from appstoreserverlibrary.models.UpdateAppAccountTokenRequest import (
    UpdateAppAccountTokenRequest,
)

from control import LetterBox
from messaging import check_messaging
from shop import SHOP

V1, V2 = GetTransactionHistoryVersion.V1, GetTransactionHistoryVersion.V2
UNKNOWN_ID = "999999999999999"
REQUEST_ID = "758883e8-151b-47b7-abd0-60c4d804c2f5"
TOKEN = "9f7a0d8e-6c0b-4f0e-8a3c-2f1d5b6a7c88"
NOON = "2026-01-10T20:00:00Z"
DAY = 86_400_000


class CountedClient(AppStoreServerAPIClient):
    """Apple's client, which notes the names of its calls that were used."""

    used = set()

    def __getattribute__(self, name):
        if not name.startswith("_"):
            CountedClient.used.add(name)
        return super().__getattribute__(name)


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
        claims.check(f"{part.__name__[6:].replace('_', ' ')} could be tried",
                     lambda p=part: p(claims, stage))
    claims.check("messaging could be tried",
                 lambda: check_messaging(claims, stage, box))
    check_authorization(claims, simulator)
    check_limits(claims, simulator)
    check_that_all_were_called(claims)


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
        ("a sandbox id in production",
         lambda: client.get_transaction_info(stage.sandbox_pro["transaction_id"]), (404, 4040010)),
        ("a production id in the sandbox",
         lambda: stage.sandbox.get_transaction_info(pro), (404, 4040010)),
        ("an app transaction of an unknown id",
         lambda: client.get_app_transaction_info(UNKNOWN_ID), (404, 4040010)),
    ]:
        claims.error(f"{claim} is refused with {error[1]}", call, *error)


def pages(ask):
    """All answers of a list that is read by revisions."""
    answers, revision = [], None
    while True:
        answer = ask(revision)
        answers.append(answer)
        revision = answer.revision
        if not answer.hasMore:
            return answers


def check_histories(claims, stage):
    client, simulator = stage.client, stage.simulator
    # 45 transactions: two pages and a half.
    for _ in range(43):
        simulator.buy(stage.anna, "gems")
    any_id = stage.gems["transaction_id"]

    def ask(version=V2, **wishes):
        request = TransactionHistoryRequest(**wishes)
        return lambda revision: client.get_transaction_history(any_id, revision, request, version)

    def ids(answers):
        signed = [s for answer in answers for s in answer.signedTransactions]
        return [stage.transaction(s).transactionId for s in signed]

    up = pages(ask())
    claims.equal("a history comes in pages of twenty",
                 [len(a.signedTransactions) for a in up], [20, 20, 5])
    claims.equal("all pages together have each transaction once", len(set(ids(up))), 45)
    claims.equal("the other way round it is the same backwards",
                 lambda: ids(pages(ask(sort=Order.DESCENDING))), ids(up)[::-1])
    last = up[-1].revision
    claims.equal("a revision that was kept leads to nothing at first",
                 lambda: len(ask()(last).signedTransactions), 0)
    simulator.post(f"/_sim/transactions/{stage.gems['transaction_id']}/refund")
    claims.equal("and then to what was changed since",
                 lambda: ids([ask()(last)]), [stage.gems["transaction_id"]])
    count = lambda **wishes: lambda: len(ids(pages(ask(**wishes))))
    for claim, wishes, expected in [
        ("of one product", {"productIds": ["pro"]}, 1),
        ("of two products", {"productIds": ["pro", "gems"]}, 45),
        ("of a type", {"productTypes": [ProductType.AUTO_RENEWABLE]}, 1),
        ("of two types",
         {"productTypes": [ProductType.CONSUMABLE, ProductType.AUTO_RENEWABLE]}, 45),
        ("of a group", {"subscriptionGroupIdentifiers": ["21400001"]}, 1),
        ("revoked only", {"revoked": True}, 1),
        ("not revoked only", {"revoked": False}, 44),
        ("from a time on that is yet to come", {"startDate": simulator.now() + DAY}, 0),
        ("before a time", {"startDate": simulator.now() - DAY,
                           "endDate": simulator.now() + DAY}, 45),
    ]:
        claims.equal(f"a history can be asked for {claim}", count(**wishes), expected)
    stage.client.finish_transaction(ids(up)[5])
    claims.equal("the first version leaves out consumables that are finished",
                 count(version=V1), 44)
    for claim, any_revision, wishes, error in [
        ("a revision of no answer", "nonsense", {}, 4000005),
        ("an end before its start", None, {"startDate": 2, "endDate": 1}, 4000016),
        ("a date below zero", None, {"startDate": -1}, 4000015),
    ]:
        claims.error(f"{claim} is refused with {error}",
                     lambda r=any_revision, w=wishes: ask(**w)(r), 400, error)


def check_refunds(claims, stage):
    client, simulator = stage.client, stage.simulator
    bought = [simulator.buy(stage.anna, "gems")["transaction_id"] for _ in range(24)]
    for transaction in reversed(bought):
        simulator.post(f"/_sim/transactions/{transaction}/refund")
    answers = pages(lambda revision: client.get_refund_history(bought[0], revision))
    claims.equal("refunds come in pages of twenty",
                 [len(a.signedTransactions) for a in answers], [20, 5])

    def dates():
        signed = [s for answer in answers for s in answer.signedTransactions]
        return [stage.transaction(s).revocationDate for s in signed]

    claims.equal("in order of refund", dates, sorted(dates()))
    claims.error("refunds of an unknown id are refused with 4040010",
                 lambda: client.get_refund_history(UNKNOWN_ID, None), 404, 4040010)


def check_orders(claims, stage):
    numbers = stage.account_of(stage.pro["transaction_id"])
    answer = stage.client.look_up_order_id(numbers["order_id"])
    claims.equal("an order is valid", answer.status, OrderLookupStatus.VALID)
    claims.equal("and holds its transaction",
                 lambda: [stage.transaction(s).productId for s in answer.signedTransactions],
                 ["pro"])
    claims.equal("an order that nobody made is invalid",
                 lambda: stage.client.look_up_order_id("M00000000ZZ").status,
                 OrderLookupStatus.INVALID)
    claims.error("the sandbox has no orders",
                 lambda: stage.sandbox.look_up_order_id(numbers["order_id"]), 404, None)


def check_statuses(claims, stage):
    client = stage.client
    ask = lambda *wanted: client.get_all_subscription_statuses(
        stage.gems["transaction_id"], list(wanted) or None)

    def found(answer):
        return [(group.subscriptionGroupIdentifier, item.status)
                for group in answer.data for item in group.lastTransactions]

    claims.equal("a status is found by any id of the customer",
                 lambda: found(ask()), [("21400001", Status.ACTIVE)])
    item = ask().data[0].lastTransactions[0]
    claims.equal("with a signed transaction",
                 lambda: stage.transaction(item.signedTransactionInfo).productId, "pro")
    claims.equal("and a signed renewal info",
                 lambda: stage.read.verify_and_decode_renewal_info(
                     item.signedRenewalInfo).autoRenewProductId, "pro")
    claims.equal("statuses can be filtered",
                 lambda: found(ask(Status.EXPIRED, Status.REVOKED)), [])
    claims.error("statuses of an unknown id are refused with 4040010",
                 lambda: client.get_all_subscription_statuses(UNKNOWN_ID), 404, 4040010)


def check_tokens_and_finishing(claims, stage):
    client = stage.client
    original = stage.pro["original_transaction_id"]
    upper = "0CBE3F1B-7A5C-4B5E-8E54-D7C1F2A3B4C5"

    def token():
        client.set_app_account_token(original, UpdateAppAccountTokenRequest(upper))
        signed = client.get_transaction_info(original).signedTransactionInfo
        return stage.transaction(signed).appAccountToken

    claims.equal("an app account token can be set", token, upper.lower())
    claims.error("what is no UUID is refused with 4000183",
                 lambda: client.set_app_account_token(
                     original, UpdateAppAccountTokenRequest("anna")), 400, 4000183)
    claims.check("a transaction can be finished, twice",
                 lambda: [client.finish_transaction(original) for _ in range(2)] and None)
    claims.error("an unknown one cannot (4040010)",
                 lambda: client.finish_transaction(UNKNOWN_ID), 404, 4040010)


def consumption(**fields):
    return ConsumptionRequest(**{
        "customerConsented": True, "sampleContentProvided": False,
        "deliveryStatus": DeliveryStatus.DELIVERED, **fields})


def check_consumption(claims, stage):
    client, simulator = stage.client, stage.simulator
    gems = simulator.buy(stage.anna, "gems")["transaction_id"]
    simulator.post(f"/_sim/transactions/{gems}/request-refund")
    send = client.send_consumption_information
    claims.check("consumption of a consumable is taken", lambda: send(gems, consumption(
        consumptionPercentage=40_000, refundPreference=RefundPreference.DECLINE)))
    simulator.advance("P3D")
    claims.equal("and Apple decides as the app prefers",
                 lambda: simulator.notifications()[-1]["type"], "REFUND_DECLINED")
    pro = stage.pro["transaction_id"]
    for claim, transaction, body, error in [
        ("no consent", gems, consumption(customerConsented=False), 4000035),
        ("over a hundred percent", gems, consumption(consumptionPercentage=100_001), 4000207),
        ("something used of what was not delivered", gems, consumption(
            deliveryStatus=DeliveryStatus.UNDELIVERED_OTHER, consumptionPercentage=1), 4000208),
        ("a percentage of a subscription", pro, consumption(consumptionPercentage=1), 4000209),
    ]:
        claims.error(f"{claim} is refused with {error}",
                     lambda t=transaction, b=body: send(t, b), 400, error)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        old = ConsumptionRequestV1(
            customerConsented=True, sampleContentProvided=False,
            deliveryStatus=DeliveryStatusV1.DELIVERED_AND_WORKING_PROPERLY, appAccountToken="")
        claims.check("consumption in its first form is taken",
                     lambda: client.send_consumption_data(gems, old))
        lifetime = simulator.buy(stage.anna, "lifetime")["transaction_id"]
        claims.error("but not of what is bought for good (4000047)",
                     lambda: client.send_consumption_data(lifetime, old), 400, 4000047)


def check_extensions(claims, stage):
    client, simulator = stage.client, stage.simulator
    original = stage.pro["original_transaction_id"]

    def extension(days=30, reason=ExtendReasonCode.SERVICE_ISSUE_OR_OUTAGE):
        return ExtendRenewalDateRequest(days, reason, REQUEST_ID)

    before = stage.transaction(
        client.get_transaction_info(original).signedTransactionInfo).expiresDate
    answer = client.extend_subscription_renewal_date(original, extension())
    claims.check("a renewal date can be put off", lambda: answer.success and (
        29 * DAY < answer.effectiveDate - before < 31 * DAY or f"by {answer}"))
    client.extend_subscription_renewal_date(original, extension())
    extend = client.extend_subscription_renewal_date
    gems = stage.gems["transaction_id"]
    trial = simulator.buy(simulator.device("cleo"), "trial")["transaction_id"]
    for claim, call, error in [
        ("a third time within a year", lambda: extend(original, extension()), (403, 4030005)),
        ("in a free trial", lambda: extend(trial, extension()), (403, 4030004)),
        ("by 91 days", lambda: extend(original, extension(days=91)), (400, 4000009)),
        ("of no subscription", lambda: extend(gems, extension()), (403, 4030004)),
        ("of an unknown one", lambda: extend(UNKNOWN_ID, extension()), (404, 4040005)),
    ]:
        claims.error(f"{claim} it is refused with {error[1]}", call, *error)

    def mass(days=7, product="pro", storefronts=None):
        return MassExtendRenewalDateRequest(
            days, ExtendReasonCode.CUSTOMER_SATISFACTION, REQUEST_ID, storefronts, product)

    for index in range(3):
        simulator.buy(simulator.device(f"dora{index}"), "pro")
    extend_all = client.extend_renewal_date_for_all_active_subscribers
    claims.error("an extension in no storefront is refused with 4000027",
                 lambda: extend_all(mass(storefronts=[])), 400, 4000027)
    claims.error("one in a storefront of no country with 4000028",
                 lambda: extend_all(mass(storefronts=["ZZZ"])), 400, 4000028)
    claims.error("one of no product with 4000023",
                 lambda: extend_all(mass(product="eggs")), 400, 4000023)
    claims.equal("an extension for all can be ordered",
                 lambda: extend_all(mass(storefronts=["USA"])).requestIdentifier, REQUEST_ID)
    status = client.get_status_of_subscription_renewal_date_extensions
    claims.equal("it is not complete at once", lambda: status(REQUEST_ID, "pro").complete, False)
    simulator.advance("P1D")
    done = status(REQUEST_ID, "pro")
    claims.equal("then it is, and who was extended twice already has failed",
                 (done.complete, done.succeededCount, done.failedCount), (True, 3, 1))
    claims.error("an order that nobody gave is unknown (4040009)",
                 lambda: status(TOKEN, "pro"), 404, 4040009)


def check_test_notifications(claims, stage):
    token = stage.client.request_test_notification().testNotificationToken
    answer = stage.client.get_test_notification_status(token)
    claims.equal("a test notification arrives",
                 [a.sendAttemptResult for a in answer.sendAttempts], [SendAttemptResult.SUCCESS])
    claims.equal("and is one",
                 lambda: stage.read.verify_and_decode_notification(
                     answer.signedPayload).notificationType, NotificationTypeV2.TEST)
    status = stage.client.get_test_notification_status
    claims.error("a token of another form is refused with 4000020",
                 lambda: status("nonsense"), 400, 4000020)
    claims.error("an unknown one with 4040008",
                 lambda: status(f"{REQUEST_ID}_1700000000000"), 404, 4040008)


def check_notification_history(claims, stage):
    client, simulator = stage.client, stage.simulator
    now = simulator.now()

    def ask(token=None, start=now - 100 * DAY, end=now + DAY, **more):
        request = NotificationHistoryRequest(startDate=start, endDate=end, **more)
        return client.get_notification_history(token, request)

    def all_of(**more):
        found, token = [], None
        while True:
            answer = ask(token, **more)
            found += answer.notificationHistory
            token = answer.paginationToken
            if not answer.hasMore:
                return found

    sent = [n for n in simulator.notifications() if n["environment"] == "production"]
    history = all_of()
    claims.equal("the history has every notification as it was sent",
                 [h.signedPayload for h in history], [n["signed_payload"] for n in sent])
    claims.equal("with its attempts",
                 {a.sendAttemptResult for h in history for a in h.sendAttempts},
                 {SendAttemptResult.SUCCESS})
    claims.equal("in pages of twenty", len(ask().notificationHistory), 20)
    decoded = lambda found: [
        stage.read.verify_and_decode_notification(h.signedPayload) for h in found]
    claims.equal("of one type and subtype",
                 {(n.notificationType, n.subtype) for n in decoded(all_of(
                     notificationType=NotificationTypeV2.SUBSCRIBED,
                     notificationSubtype=Subtype.INITIAL_BUY))},
                 {(NotificationTypeV2.SUBSCRIBED, Subtype.INITIAL_BUY)})
    anna = len([n for n in sent if n["account"] == "anna"])
    claims.equal("of one customer",
                 len(all_of(transactionId=stage.gems["transaction_id"])), anna)
    claims.equal("of failures alone: none", len(all_of(onlyFailures=True)), 0)
    for claim, call, error in [
        ("a customer and a type at once", lambda: ask(
            transactionId=stage.gems["transaction_id"],
            notificationType=NotificationTypeV2.TEST), (400, 4000019)),
        ("a subtype without its type",
         lambda: ask(notificationSubtype=Subtype.INITIAL_BUY), (400, 4000018)),
        ("more than 180 days ago", lambda: ask(start=now - 181 * DAY), (400, 4000012)),
        ("an end before its start", lambda: ask(end=now - 101 * DAY), (400, 4000013)),
        ("a token of no answer", lambda: ask("nonsense"), (400, 4000014)),
        ("an unknown customer", lambda: ask(transactionId=UNKNOWN_ID), (404, 4040010)),
    ]:
        claims.error(f"{claim} is refused with {error[1]}", call, *error)


def check_authorization(claims, simulator):
    id = simulator.buy(simulator.device("emma"), "pro")["transaction_id"]
    for claim, key in [
        ("a key that nobody knows", {"key_id": "UNKNOWNKEY"}),
        ("another issuer", {"issuer_id": REQUEST_ID}),
        ("another app", {"bundle_id": "com.example.fish"}),
    ]:
        client = simulator.client(**key)
        claims.error(f"{claim} is refused with 401 and no number",
                     lambda c=client: c.get_transaction_info(id), 401, None)


def check_limits(claims, simulator):
    simulator.reset(api_rate_limits="virtual", notification_url=None)
    sandbox = simulator.client(sandbox=True)
    id = simulator.buy(simulator.device("finn", environment="sandbox"), "pro")["transaction_id"]
    for _ in range(5):
        sandbox.get_transaction_info(id)
    claims.error("the sixth call in a second of the sandbox is refused with 4290000",
                 lambda: sandbox.get_transaction_info(id), 429, 4290000)
    simulator.advance("PT1S")
    claims.check("a second later it is answered",
                 lambda: sandbox.get_transaction_info(id) and None)
    simulator.reset(api_rate_limits="off")


def check_that_all_were_called(claims):
    """By their names in Apple's code: a call that a new version adds fails here."""
    calls = {name for name in dir(AppStoreServerAPIClient) if not name.startswith("_")}
    claims.equal(f"all {len(calls)} calls of Apple's client were used",
                 calls - CountedClient.used, set())
