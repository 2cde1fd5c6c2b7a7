"""A webhook that fails, and deliveries that are sent again."""

import itertools
import time

from playwright.sync_api import expect

numbers = itertools.count(1)
WAIT_SECONDS_MAX = 20


def reload_until(page, condition, what):
    deadline = time.monotonic() + WAIT_SECONDS_MAX
    while not condition():
        assert time.monotonic() < deadline, f"after {WAIT_SECONDS_MAX} s not yet: {what}"
        page.reload()


def test_a_failed_delivery_is_sent_again(world, any_page, receiver, say):
    page = any_page
    receiver.status = 500
    webhook = world.api("/v1/webhooks", {"url": receiver.url, "types": ["granted"]})["webhook_id"]
    customer = f"wanda-{next(numbers)}"
    world.grant(customer)
    page.goto(f"{world.server}/webhooks/{webhook}")
    row = page.locator("#deliveries tr").filter(has_text="granted")
    reload_until(page, lambda: row.filter(has_text="500").count() == 1, "an answer 500 is shown")
    say("the receiver answered 500:", " ".join(row.inner_text().split()))
    receiver.status = 200
    row.get_by_role("button", name="Send now").click()
    expect(page.locator("#news .say.ok")).to_contain_text("The event is sent again.")
    row = page.locator("#deliveries tr").filter(has_text="granted").first
    reload_until(page, lambda: row.filter(has_text="delivered").count() == 1, "it is delivered")
    say("it was sent again:", " ".join(row.inner_text().split()))
    ids = [body["data"]["event"]["customer_id"] for body in receiver.bodies]
    assert set(ids) == {customer} and len(ids) >= 2, ids
    world.api(f"/v1/webhooks/{webhook}", method="DELETE")


def test_a_webhook_is_added_paused_and_deleted(world, any_page, receiver, say):
    page = any_page
    page.goto(world.server + "/webhooks")
    page.locator('main [popovertarget="add"], main [popovertarget="new"]').first.click()
    dialog = page.locator("dialog:popover-open")
    dialog.locator("input[name=url]").fill(receiver.url)
    dialog.locator("button[type=submit]").click()
    expect(page.locator("main")).to_contain_text("The secret is shown once.")
    say("added", receiver.url)
    for button, sentence in [("Pause", "is paused"), ("Resume", "is open again")]:
        page.get_by_role("button", name=button, exact=True).first.click()
        opened = page.locator("dialog:popover-open")
        if opened.count():
            opened.locator("button[type=submit]").click()
        expect(page.locator("#news .say.ok")).to_contain_text(sentence)
    page.get_by_role("button", name="Delete", exact=True).click()
    dialog = page.locator("dialog:popover-open")
    dialog.get_by_label("Type").fill("delete")
    dialog.get_by_role("button", name="Delete the endpoint").click()
    expect(page.locator("#news .say.ok")).to_contain_text("The endpoint was deleted.")
    say("paused, gone on, deleted")
