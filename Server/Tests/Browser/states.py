"""Pages in a state that must be brought about: an act that was done, an act that failed, a
stream that broke, and the dashboard of `perennial serve` before and after somebody signs in."""

import re

from world import Served

PASSWORD = "correct horse battery staple"


def open_dialog(page, button):
    page.get_by_role("button", name=button, exact=True).first.click()
    dialog = page.locator("dialog:popover-open")
    dialog.wait_for()
    return dialog


def wait_for(page, text):
    page.locator("main").get_by_text(text).first.wait_for()


def live_states(page, world):
    """Yields the name of each state when the page shows it. Changes only its own customers."""
    customer = world.buy(world.device("gina"), "pro.monthly", "gina") and "gina"
    server = world.server
    page.goto(f"{server}/customers/{customer}")
    dialog = open_dialog(page, "Give access")
    dialog.get_by_label("What").select_option("guide")
    dialog.get_by_label("Why").fill("ticket 4711")
    dialog.get_by_role("button", name="access").click()
    wait_for(page, "Access was given.")
    yield "done-granted"
    dialog = open_dialog(page, "Move a purchase here")
    dialog.get_by_label("Number of a transaction").fill("MNOSUCH123")
    dialog.get_by_label("Why").fill("ticket 4712")
    dialog.get_by_role("button", name="Find the purchase").click()
    page.wait_for_load_state()
    yield "wrong-move"
    page.goto(f"{server}/customers/{customer}")
    dialog = open_dialog(page, "Erase this person")
    dialog.get_by_label("Type").fill("somebody else")
    dialog.get_by_role("button", name="for ever").click()
    wait_for(page, "The id that was typed is not this customer’s.")
    yield "wrong-erase"
    page.goto(f"{server}/customers?query=MNOSUCH123")
    yield "customers-order-unknown"
    page.goto(f"{server}/events?customer_id=nobody")
    yield "events-none"
    page.goto(f"{server}/customers/{customer}")
    page.locator("#history a[href^='/documents/']").first.click()
    page.wait_for_load_state()
    yield "document"
    page.goto(f"{server}/?environment=sandbox")
    yield "sandbox"
    page.goto(f"{server}/customers/{customer}")
    page.locator("details summary").first.click()
    yield "customer-why"
    page.goto(f"{server}/no-such-page")
    yield "problem-404"
    page.goto(f"{server}/webhooks")
    dialog = open_dialog(page, "Add an endpoint")
    dialog.get_by_label("Address").fill("https://example.com/events")
    dialog.get_by_role("button", name="Add the endpoint").click()
    wait_for(page, "whsec_")
    yield "done-webhook-secret"


def broken_states(page, world):
    """Pages whose stream breaks. `world` is stopped during this time."""
    for path, name in [("/", "not-live-overview"), ("/events", "not-live-events")]:
        page.route("**/live**", lambda route: route.abort())
        page.goto(world.server + path)
        page.locator("#news").get_by_text("Not live").wait_for()
        page.unroute("**/live**")
        yield name


def account_states(page):
    """The dashboard of `perennial serve`, from the first link to a wrong password."""
    served = Served()
    try:
        page.goto(served.server + "/")
        yield "login-first-run"
        page.goto(served.first_link)
        yield "link-first"
        page.get_by_label("User name").fill("mira")
        page.get_by_label("Password, 12 characters or more").fill(PASSWORD)
        page.get_by_label("Once more").fill(PASSWORD)
        page.get_by_role("button", name="Make the account").click()
        wait_for(page, "No purchase yet")
        yield "served-overview"
        page.goto(served.server + "/checks")
        yield "served-health"
        page.goto(served.server + "/operators")
        yield "operators"
        dialog = open_dialog(page, "Invite somebody")
        yield "dialog-invite"
        dialog.get_by_label("Name").fill("vera")
        dialog.locator("select").first.select_option("viewer")
        dialog.get_by_role("button", name="Make the link").click()
        page.wait_for_load_state()
        yield "operators-invited"
        link = re.search(r"http\S+/links/[0-9a-f]+", page.locator("main").inner_text())[0]
        page.goto(served.server + "/account")
        yield "account"
        page.goto(served.server + "/audit")
        yield "audit"
        page.context.clear_cookies()
        page.goto(link)
        yield "link-invited"
        page.goto(link[:-4] + "0000")
        yield "link-ended"
        page.goto(served.server + "/login")
        yield "login"
        page.get_by_label("Name").fill("mira")
        page.get_by_label("Password").fill("wrong")
        page.get_by_role("button", name="Sign in").click()
        wait_for(page, "or the password is wrong")
        yield "login-wrong"
    finally:
        page.context.clear_cookies()
        served.stop()
