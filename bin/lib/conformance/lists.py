"""Tests the calls that return lists, page by page."""

from appstoreserverlibrary.models.NotificationHistoryRequest import NotificationHistoryRequest
from appstoreserverlibrary.models.NotificationTypeV2 import NotificationTypeV2
from appstoreserverlibrary.models.OrderLookupStatus import OrderLookupStatus
from appstoreserverlibrary.models.SendAttemptResult import SendAttemptResult
from appstoreserverlibrary.models.Subtype import Subtype
from appstoreserverlibrary.models.TransactionHistoryRequest import (
    Order,
    ProductType,
    TransactionHistoryRequest,
)
from stage import V1, V2, UNKNOWN_ID, DAY


def pages(ask):
    """Returns all answers of a list that is read by revisions."""
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
    claims.equal(
        "a history comes in pages of twenty", [len(a.signedTransactions) for a in up], [20, 20, 5]
    )
    claims.equal("all pages together have each transaction once", len(set(ids(up))), 45)
    claims.equal(
        "the other way round it is the same backwards",
        lambda: ids(pages(ask(sort=Order.DESCENDING))),
        ids(up)[::-1],
    )
    last = up[-1].revision
    claims.equal(
        "a revision that was kept leads to nothing at first",
        lambda: len(ask()(last).signedTransactions),
        0,
    )
    simulator.post(f"/_sim/transactions/{stage.gems['transaction_id']}/refund")
    claims.equal(
        "and then to what was changed since",
        lambda: ids([ask()(last)]),
        [stage.gems["transaction_id"]],
    )
    count = lambda **wishes: lambda: len(ids(pages(ask(**wishes))))
    for claim, wishes, expected in [
        ("of one product", {"productIds": ["pro"]}, 1),
        ("of two products", {"productIds": ["pro", "gems"]}, 45),
        ("of a type", {"productTypes": [ProductType.AUTO_RENEWABLE]}, 1),
        (
            "of two types",
            {"productTypes": [ProductType.CONSUMABLE, ProductType.AUTO_RENEWABLE]},
            45,
        ),
        ("of a group", {"subscriptionGroupIdentifiers": ["21400001"]}, 1),
        ("revoked only", {"revoked": True}, 1),
        ("not revoked only", {"revoked": False}, 44),
        ("from a time on that is yet to come", {"startDate": simulator.now() + DAY}, 0),
        (
            "before a time",
            {"startDate": simulator.now() - DAY, "endDate": simulator.now() + DAY},
            45,
        ),
    ]:
        claims.equal(f"a history can be asked for {claim}", count(**wishes), expected)
    stage.client.finish_transaction(ids(up)[5])
    claims.equal(
        "the first version leaves out consumables that are finished", count(version=V1), 44
    )
    for claim, any_revision, wishes, error in [
        ("a revision of no answer", "nonsense", {}, 4000005),
        ("an end before its start", None, {"startDate": 2, "endDate": 1}, 4000016),
        ("a date below zero", None, {"startDate": -1}, 4000015),
    ]:
        claims.error(
            f"{claim} is refused with {error}",
            lambda r=any_revision, w=wishes: ask(**w)(r),
            400,
            error,
        )


def check_refunds(claims, stage):
    client, simulator = stage.client, stage.simulator
    bought = [simulator.buy(stage.anna, "gems")["transaction_id"] for _ in range(24)]
    for transaction in reversed(bought):
        simulator.post(f"/_sim/transactions/{transaction}/refund")
    answers = pages(lambda revision: client.get_refund_history(bought[0], revision))
    claims.equal(
        "refunds come in pages of twenty", [len(a.signedTransactions) for a in answers], [20, 5]
    )

    def dates():
        signed = [s for answer in answers for s in answer.signedTransactions]
        return [stage.transaction(s).revocationDate for s in signed]

    claims.equal("in order of refund", dates, sorted(dates()))
    claims.error(
        "refunds of an unknown id are refused with 4040010",
        lambda: client.get_refund_history(UNKNOWN_ID, None),
        404,
        4040010,
    )


def check_orders(claims, stage):
    numbers = stage.account_of(stage.pro["transaction_id"])
    answer = stage.client.look_up_order_id(numbers["order_id"])
    claims.equal("an order is valid", answer.status, OrderLookupStatus.VALID)
    claims.equal(
        "and holds its transaction",
        lambda: [stage.transaction(s).productId for s in answer.signedTransactions],
        ["pro"],
    )
    claims.equal(
        "an order that nobody made is invalid",
        lambda: stage.client.look_up_order_id("M00000000ZZ").status,
        OrderLookupStatus.INVALID,
    )
    claims.error(
        "the sandbox has no orders",
        lambda: stage.sandbox.look_up_order_id(numbers["order_id"]),
        404,
        None,
    )


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
    claims.equal(
        "the history has every notification as it was sent",
        [h.signedPayload for h in history],
        [n["signed_payload"] for n in sent],
    )
    claims.equal(
        "with its attempts",
        {a.sendAttemptResult for h in history for a in h.sendAttempts},
        {SendAttemptResult.SUCCESS},
    )
    claims.equal("in pages of twenty", len(ask().notificationHistory), 20)
    decoded = lambda found: [
        stage.read.verify_and_decode_notification(h.signedPayload) for h in found
    ]
    claims.equal(
        "of one type and subtype",
        {
            (n.notificationType, n.subtype)
            for n in decoded(
                all_of(
                    notificationType=NotificationTypeV2.SUBSCRIBED,
                    notificationSubtype=Subtype.INITIAL_BUY,
                )
            )
        },
        {(NotificationTypeV2.SUBSCRIBED, Subtype.INITIAL_BUY)},
    )
    anna = len([n for n in sent if n["account"] == "anna"])
    claims.equal("of one customer", len(all_of(transactionId=stage.gems["transaction_id"])), anna)
    claims.equal("of failures alone: none", len(all_of(onlyFailures=True)), 0)
    for claim, call, error in [
        (
            "a customer and a type at once",
            lambda: ask(
                transactionId=stage.gems["transaction_id"], notificationType=NotificationTypeV2.TEST
            ),
            (400, 4000019),
        ),
        (
            "a subtype without its type",
            lambda: ask(notificationSubtype=Subtype.INITIAL_BUY),
            (400, 4000018),
        ),
        ("more than 180 days ago", lambda: ask(start=now - 181 * DAY), (400, 4000012)),
        ("an end before its start", lambda: ask(end=now - 101 * DAY), (400, 4000013)),
        ("a token of no answer", lambda: ask("nonsense"), (400, 4000014)),
        ("an unknown customer", lambda: ask(transactionId=UNKNOWN_ID), (404, 4040010)),
    ]:
        claims.error(f"{claim} is refused with {error[1]}", call, *error)
