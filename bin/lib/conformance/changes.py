"""The calls that change something: tokens, consumption, extensions."""

import warnings
from appstoreserverlibrary.models.ConsumptionRequest import ConsumptionRequest
from appstoreserverlibrary.models.ConsumptionRequestV1 import ConsumptionRequestV1
from appstoreserverlibrary.models.DeliveryStatus import DeliveryStatus
from appstoreserverlibrary.models.DeliveryStatusV1 import DeliveryStatusV1
from appstoreserverlibrary.models.ExtendReasonCode import ExtendReasonCode
from appstoreserverlibrary.models.ExtendRenewalDateRequest import ExtendRenewalDateRequest
from appstoreserverlibrary.models.MassExtendRenewalDateRequest import MassExtendRenewalDateRequest
from appstoreserverlibrary.models.RefundPreference import RefundPreference
from appstoreserverlibrary.models.UpdateAppAccountTokenRequest import UpdateAppAccountTokenRequest
from stage import UNKNOWN_ID, REQUEST_ID, TOKEN, DAY


def check_tokens_and_finishing(claims, stage):
    client = stage.client
    original = stage.pro["original_transaction_id"]
    upper = "0CBE3F1B-7A5C-4B5E-8E54-D7C1F2A3B4C5"

    def token():
        client.set_app_account_token(original, UpdateAppAccountTokenRequest(upper))
        signed = client.get_transaction_info(original).signedTransactionInfo
        return stage.transaction(signed).appAccountToken

    claims.equal("an app account token can be set", token, upper.lower())
    claims.error(
        "what is no UUID is refused with 4000183",
        lambda: client.set_app_account_token(original, UpdateAppAccountTokenRequest("anna")),
        400,
        4000183,
    )
    claims.check(
        "a transaction can be finished, twice",
        lambda: [client.finish_transaction(original) for _ in range(2)] and None,
    )
    claims.error(
        "an unknown one cannot (4040010)",
        lambda: client.finish_transaction(UNKNOWN_ID),
        404,
        4040010,
    )


def consumption(**fields):
    return ConsumptionRequest(
        **{
            "customerConsented": True,
            "sampleContentProvided": False,
            "deliveryStatus": DeliveryStatus.DELIVERED,
            **fields,
        }
    )


def check_consumption(claims, stage):
    client, simulator = stage.client, stage.simulator
    gems = simulator.buy(stage.anna, "gems")["transaction_id"]
    simulator.post(f"/_sim/transactions/{gems}/request-refund")
    send = client.send_consumption_information
    claims.check(
        "consumption of a consumable is taken",
        lambda: send(
            gems,
            consumption(consumptionPercentage=40_000, refundPreference=RefundPreference.DECLINE),
        ),
    )
    simulator.advance("P3D")
    claims.equal(
        "and Apple decides as the app prefers",
        lambda: simulator.notifications()[-1]["type"],
        "REFUND_DECLINED",
    )
    pro = stage.pro["transaction_id"]
    for claim, transaction, body, error in [
        ("no consent", gems, consumption(customerConsented=False), 4000035),
        ("over a hundred percent", gems, consumption(consumptionPercentage=100_001), 4000207),
        (
            "something used of what was not delivered",
            gems,
            consumption(deliveryStatus=DeliveryStatus.UNDELIVERED_OTHER, consumptionPercentage=1),
            4000208,
        ),
        ("a percentage of a subscription", pro, consumption(consumptionPercentage=1), 4000209),
    ]:
        claims.error(
            f"{claim} is refused with {error}", lambda t=transaction, b=body: send(t, b), 400, error
        )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        old = ConsumptionRequestV1(
            customerConsented=True,
            sampleContentProvided=False,
            deliveryStatus=DeliveryStatusV1.DELIVERED_AND_WORKING_PROPERLY,
            appAccountToken="",
        )
        claims.check(
            "consumption in its first form is taken",
            lambda: client.send_consumption_data(gems, old),
        )
        lifetime = simulator.buy(stage.anna, "lifetime")["transaction_id"]
        claims.error(
            "but not of what is bought for good (4000047)",
            lambda: client.send_consumption_data(lifetime, old),
            400,
            4000047,
        )


def check_extensions(claims, stage):
    client, simulator = stage.client, stage.simulator
    original = stage.pro["original_transaction_id"]

    def extension(days=30, reason=ExtendReasonCode.SERVICE_ISSUE_OR_OUTAGE):
        return ExtendRenewalDateRequest(days, reason, REQUEST_ID)

    before = stage.transaction(
        client.get_transaction_info(original).signedTransactionInfo
    ).expiresDate
    answer = client.extend_subscription_renewal_date(original, extension())
    claims.check(
        "a renewal date can be put off",
        lambda: answer.success
        and (29 * DAY < answer.effectiveDate - before < 31 * DAY or f"by {answer}"),
    )
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
            days, ExtendReasonCode.CUSTOMER_SATISFACTION, REQUEST_ID, storefronts, product
        )

    for index in range(3):
        simulator.buy(simulator.device(f"dora{index}"), "pro")
    extend_all = client.extend_renewal_date_for_all_active_subscribers
    claims.error(
        "an extension in no storefront is refused with 4000027",
        lambda: extend_all(mass(storefronts=[])),
        400,
        4000027,
    )
    claims.error(
        "one in a storefront of no country with 4000028",
        lambda: extend_all(mass(storefronts=["ZZZ"])),
        400,
        4000028,
    )
    claims.error(
        "one of no product with 4000023", lambda: extend_all(mass(product="eggs")), 400, 4000023
    )
    claims.equal(
        "an extension for all can be ordered",
        lambda: extend_all(mass(storefronts=["USA"])).requestIdentifier,
        REQUEST_ID,
    )
    status = client.get_status_of_subscription_renewal_date_extensions
    claims.equal("it is not complete at once", lambda: status(REQUEST_ID, "pro").complete, False)
    simulator.advance("P1D")
    done = status(REQUEST_ID, "pro")
    claims.equal(
        "then it is, and who was extended twice already has failed",
        (done.complete, done.succeededCount, done.failedCount),
        (True, 3, 1),
    )
    claims.error(
        "an order that nobody gave is unknown (4040009)", lambda: status(TOKEN, "pro"), 404, 4040009
    )
