"""What changes on a page while somebody uses it."""

import itertools
import time

import pytest
from playwright.sync_api import expect

numbers = itertools.count(1)
WAIT_SECONDS_MAX = 30


@pytest.fixture
def webhook(world, receiver):
    """A paused webhook."""
    body = {"url": receiver.url, "types": ["granted"], "paused": True}
    webhook = world.api("/v1/webhooks", body)["webhook_id"]
    yield webhook
    world.api(f"/v1/webhooks/{webhook}", method="DELETE")


def wait_until_held_back(page):
    """Waits until the page has received something that it does not show yet."""
    deadline = time.monotonic() + WAIT_SECONDS_MAX
    while not page.evaluate("waiting.size > 0 && timer === null"):
        assert time.monotonic() < deadline, "nothing is held back"
        page.wait_for_timeout(50)


def test_an_answer_changes_while_it_has_the_focus(world, page, say):
    customer = f"lena-{next(numbers)}"
    transaction = world.buy(world.device(customer), "pro.monthly", customer)["transaction_id"]
    page.goto(f"{world.server}/customers/{customer}")
    answer = page.locator("#answer")
    expect(answer).to_contain_text("has access to pro")
    answer.locator("[data-copy]").click()
    expect(answer.locator("[data-copy]")).to_be_focused()
    world.sim(f"transactions/{transaction}/refund", {})
    expect(answer).not_to_contain_text("has access to pro")
    expect(answer.locator("[data-copy]")).to_be_focused()
    say(answer.locator(".line").inner_text())


def test_a_change_during_an_open_dialog_is_shown_after_the_dialog(
    world, page, webhook, say
):
    page.goto(f"{world.server}/webhooks/{webhook}")
    chip = page.locator("#webhook > header .chip")
    expect(chip).to_contain_text("paused")
    page.get_by_role("button", name="Delete", exact=True).click()
    dialog = page.locator("dialog:popover-open")
    dialog.get_by_label("Type").fill("dele")
    world.api(f"/v1/webhooks/{webhook}", {"paused": False}, method="PATCH")
    world.grant(f"wilma-{next(numbers)}")
    wait_until_held_back(page)
    expect(dialog.get_by_label("Type")).to_have_value("dele")
    dialog.get_by_role("button", name="Cancel").click()
    expect(chip).not_to_contain_text("paused")
    say("the chip changed after the dialog was closed")


def test_a_row_added_during_an_open_dialog_is_shown_after_the_dialog(
    world, page, receiver, say
):
    page.goto(f"{world.server}/webhooks")
    page.locator('main [popovertarget="add"]').first.click()
    dialog = page.locator("dialog:popover-open")
    expect(dialog).to_be_visible()
    webhook = world.api("/v1/webhooks", {"url": receiver.url})["webhook_id"]
    world.grant(f"wilma-{next(numbers)}")
    wait_until_held_back(page)
    dialog.get_by_role("button", name="Cancel").click()
    expect(page.locator("main h2")).to_contain_text([receiver.url.removesuffix("/events")])
    say("the endpoint was shown after the dialog was closed")
    world.api(f"/v1/webhooks/{webhook}", method="DELETE")


def test_a_paused_page_shows_new_rows_when_it_resumes(world, page, say):
    page.goto(f"{world.server}/events")
    page.get_by_role("button", name="Pause").click()
    customer = f"wilma-{next(numbers)}"
    world.grant(customer)
    wait_until_held_back(page)
    expect(page.locator("#events")).not_to_contain_text(customer)
    page.get_by_role("button", name="Resume").click()
    expect(page.locator("[data-pause]")).to_have_text("Pause")
    expect(page.locator("#events")).to_contain_text(customer)
    say(f"{customer} came after it went on")


def refuse_first(page, pattern, count, answer):
    """Fails the first requests to an address, and lets the others through."""
    asked = itertools.count(1)

    def respond(route):
        if next(asked) <= count:
            route.fulfill(**answer)
        else:
            route.continue_()

    page.route(pattern, respond)


PROBLEM = {"status": 503, "content_type": "application/problem+json", "body": "{}"}


def test_a_page_reconnects_after_its_stream_was_refused(world, page, say):
    refuse_first(page, "**/live/**", 2, PROBLEM)
    page.goto(f"{world.server}/events")
    expect(page.locator("#news")).to_contain_text("Not live.")
    expect(page.locator("#news")).not_to_contain_text("Not live.")
    expect(page.locator("[data-live]")).to_have_text("Live")
    customer = f"wilma-{next(numbers)}"
    world.grant(customer)
    expect(page.locator("#events")).to_contain_text(customer)
    say(f"{customer} came after two refusals")


def test_the_phone_reconnects_after_its_stream_was_refused(world, page, say):
    refuse_first(page, "**/phone/live", 2, PROBLEM)
    page.goto(f"{world.server}/phone")
    expect(page.locator("#news")).to_contain_text("Not live.")
    expect(page.locator("#news")).not_to_contain_text("Not live.")
    say("the notice went away")


def test_a_page_that_failed_is_shown_once_the_server_answers(world, page, say):
    page.goto(f"{world.server}/customers")
    script = page.locator("head script").first.get_attribute("src")
    body = f'<!doctype html><script src="{script}" defer></script><body data-again>away</body>'
    refuse_first(page, "**/events", 2, {"status": 503, "content_type": "text/html", "body": body})
    page.goto(f"{world.server}/events")
    expect(page.locator("body")).to_have_text("away")
    expect(page.locator("h1")).to_have_text("Events")
    say("the page was loaded again")
