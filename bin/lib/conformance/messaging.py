"""The calls of Retention Messaging."""

from uuid import UUID

from appstoreserverlibrary.models.BulletPoint import BulletPoint
from appstoreserverlibrary.models.DefaultConfigurationRequest import (
    DefaultConfigurationRequest,
)
from appstoreserverlibrary.models.HeaderPosition import HeaderPosition
from appstoreserverlibrary.models.ImageSize import ImageSize
from appstoreserverlibrary.models.ImageState import ImageState
from appstoreserverlibrary.models.MessageState import MessageState
from appstoreserverlibrary.models.PerformanceTestRequest import PerformanceTestRequest
from appstoreserverlibrary.models.PerformanceTestStatus import PerformanceTestStatus
from appstoreserverlibrary.models.RealtimeUrlRequest import RealtimeUrlRequest
from appstoreserverlibrary.models.UploadMessageImage import UploadMessageImage
from appstoreserverlibrary.models.UploadMessageRequestBody import UploadMessageRequestBody

IMAGE, POINT, MESSAGE, PLAIN, UNKNOWN = (UUID(int=number) for number in range(1, 6))
# The smallest picture that there is.
PNG = bytes.fromhex(
    "89504e470d0a1a0a0000000d49484452000000010000000108000000003a7e9b55"
    "0000000a49444154789c6360000000020001e221bc330000000049454e44ae426082"
)


def check_messaging(claims, stage, box):
    check_uploads(claims, stage.sandbox)
    check_review(claims, stage)
    check_realtime(claims, stage, box)


def check_uploads(claims, sandbox):
    sandbox.upload_image(IMAGE, PNG, ImageSize.FULL_SIZE)
    sandbox.upload_image(POINT, PNG, ImageSize.BULLET_POINT)
    claims.equal(
        "images are listed, approved at once in the sandbox",
        lambda: {
            (i.imageIdentifier, i.imageState, i.imageSize)
            for i in sandbox.get_image_list().imageIdentifiers
        },
        {
            (IMAGE, ImageState.APPROVED, ImageSize.FULL_SIZE),
            (POINT, ImageState.APPROVED, ImageSize.BULLET_POINT),
        },
    )
    message = UploadMessageRequestBody(
        "Stay",
        "There are new birds every week.",
        UploadMessageImage(IMAGE, "A robin"),
        HeaderPosition.ABOVE_IMAGE,
        bulletPoints=[BulletPoint("Songs", POINT, "A note")],
    )
    sandbox.upload_message(MESSAGE, message)
    sandbox.upload_message(PLAIN, UploadMessageRequestBody("Stay", "Please."))
    claims.equal(
        "messages are listed",
        lambda: {
            (m.messageIdentifier, m.messageState)
            for m in sandbox.get_message_list().messageIdentifiers
        },
        {(MESSAGE, MessageState.APPROVED), (PLAIN, MessageState.APPROVED)},
    )
    sandbox.configure_default_message("pro", "en-US", DefaultConfigurationRequest(MESSAGE))
    claims.equal(
        "a default message can be chosen",
        lambda: sandbox.get_default_message("pro", "en-US").messageIdentifier,
        MESSAGE,
    )
    above = UploadMessageRequestBody("Stay", "Please.", headerPosition=HeaderPosition.ABOVE_IMAGE)
    absent = UploadMessageRequestBody("Stay", "Please.", UploadMessageImage(UNKNOWN, "None"))
    for claim, call, error in [
        ("an image twice", lambda: sandbox.upload_image(IMAGE, PNG), (409, 4090000)),
        ("what is no image", lambda: sandbox.upload_image(UNKNOWN, b"GIF89a"), (400, 4000161)),
        ("an image in use, deleted", lambda: sandbox.delete_image(IMAGE), (403, 4030019)),
        ("an unknown image, deleted", lambda: sandbox.delete_image(UNKNOWN), (404, 4040014)),
        ("a message twice", lambda: sandbox.upload_message(MESSAGE, message), (409, 4090001)),
        ("a header above no image", lambda: sandbox.upload_message(UNKNOWN, above), (400, 4000224)),
        (
            "a message with an unknown image",
            lambda: sandbox.upload_message(UNKNOWN, absent),
            (404, 4040014),
        ),
        ("an unknown message, deleted", lambda: sandbox.delete_message(UNKNOWN), (404, 4040015)),
        (
            "a default of no product",
            lambda: sandbox.configure_default_message(
                "eggs", "en-US", DefaultConfigurationRequest(MESSAGE)
            ),
            (400, 4000023),
        ),
        (
            "a default in no language",
            lambda: sandbox.configure_default_message(
                "pro", "1", DefaultConfigurationRequest(MESSAGE)
            ),
            (400, 4000164),
        ),
        (
            "a default that nobody chose",
            lambda: sandbox.get_default_message("pro", "fr-FR"),
            (404, 4040020),
        ),
    ]:
        claims.error(f"{claim} is refused with {error[1]}", call, *error)
    sandbox.delete_default_message("pro", "en-US")
    sandbox.delete_message(MESSAGE)
    sandbox.delete_image(IMAGE)
    claims.equal(
        "what is deleted is gone", lambda: len(sandbox.get_image_list().imageIdentifiers), 1
    )


def check_review(claims, stage):
    """In production Apple looks at uploads first."""
    client = stage.client
    client.upload_message(PLAIN, UploadMessageRequestBody("Stay", "Please."))
    choose = lambda: client.configure_default_message(
        "pro", "en-US", DefaultConfigurationRequest(PLAIN)
    )
    claims.error(
        "a message that waits for its review is refused with 4030017", choose, 403, 4030017
    )
    stage.simulator.advance("P2D")
    claims.check("after it, it can be chosen", choose)


def check_realtime(claims, stage, box):
    client, sandbox = stage.client, stage.sandbox
    url = RealtimeUrlRequest(box.url + "/realtime")
    claims.error("no URL is configured at first (4040021)", sandbox.get_realtime_url, 404, 4040021)
    claims.error(
        "what is no URL is refused with 4000215",
        lambda: sandbox.configure_realtime_url(RealtimeUrlRequest("birds")),
        400,
        4000215,
    )
    claims.error(
        "production takes one only after a test (4030026)",
        lambda: client.configure_realtime_url(url),
        403,
        4030026,
    )
    sandbox.configure_realtime_url(url)
    original = stage.sandbox_pro["original_transaction_id"]
    test = sandbox.initiate_performance_test(PerformanceTestRequest(original))
    result = sandbox.get_performance_test_results(test.requestId)
    claims.equal(
        "a performance test is passed",
        (result.result, result.successRate, result.target),
        (PerformanceTestStatus.PASS, 100, url.realtimeURL),
    )
    asked = box.posted_to("/realtime")
    claims.equal("and has asked as often as it says", len(asked), test.config.totalRequests)
    read = stage.simulator.verifier(sandbox=True)
    claims.equal(
        "with requests that Apple's verifier accepts",
        lambda: {
            read.verify_and_decode_realtime_request(body["signedPayload"]).originalTransactionId
            for body in asked
        },
        {original},
    )
    claims.check("now production takes the URL", lambda: client.configure_realtime_url(url))
    claims.error(
        "an unknown test has no result (4040018)",
        lambda: sandbox.get_performance_test_results(str(UNKNOWN)),
        404,
        4040018,
    )
    client.delete_realtime_url()
    claims.error("what is deleted is gone (4040021)", client.get_realtime_url, 404, 4040021)
