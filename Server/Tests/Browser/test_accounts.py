"""The dashboard of `perennial serve`: the first account, an invitation, roles, and signing out."""

import json
import re

import pytest
from playwright.sync_api import expect

import browser as chromium
from world import Served

PASSWORD = "correct horse battery staple"


@pytest.fixture(scope="module")
def served():
    served = Served()
    yield served
    served.stop()


def accept(page, link, name=None):
    page.goto(link)
    if name:
        page.get_by_label("User name").fill(name)
    page.get_by_label("Password, 12 characters or more").fill(PASSWORD)
    page.get_by_label("Once more").fill(PASSWORD)
    page.get_by_role("button", name="Make the account").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Overview")


def sign_in(page, server, name):
    page.goto(server + "/login")
    page.get_by_label("Name").fill(name)
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Overview")


def sign_out(page, name):
    page.get_by_role("button", name=name, exact=True).click()
    page.get_by_role("button", name="Sign out", exact=True).click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Sign in")


def test_the_first_link_creates_an_admin_who_invites_a_viewer(served, page, browser, request, say):
    page.goto(served.server + "/customers")
    expect(page.locator("main")).to_contain_text("There is no account yet.")
    accept(page, served.first_link, "mira")
    say("mira has the first account")
    page.goto(served.server + "/operators")
    page.get_by_role("button", name="Invite somebody").click()
    dialog = page.locator("dialog:popover-open")
    dialog.get_by_label("Name").fill("vera")
    dialog.locator("select").first.select_option("viewer")
    dialog.get_by_role("button", name="Make the link").click()
    text = page.locator("main").inner_text()
    link = re.search(r"http\S+/links/[0-9a-f]+", text)[0]
    say("she invites vera")
    vera = browser.new_context().new_page()
    request.node.open_pages.append(vera)
    accept(vera, link)
    vera.goto(served.server + "/customers/anna")
    expect(vera.get_by_role("button", name="Give access")).to_have_count(0)
    say("vera sees customers, and no button that gives access")
    vera.goto(link)
    expect(vera.get_by_role("heading", level=1)).to_have_text("This link does not work")
    say("the link works once")
    vera.context.close()


# What a viewer could send from the browser's console: a form that no page showed.
FORGE = """async ([path, fields]) => {
    const answer = await fetch(path, {method: 'POST', redirect: 'manual',
        body: new URLSearchParams(fields)});
    return [answer.status, answer.type];
}"""


def test_a_viewer_cannot_act_with_a_forged_form(served, page, say):
    sign_in(page, served.server, "vera")
    token = page.locator("input[name=csrf]").first.input_value()
    acts = {
        "/customers/anna/grants": {"entitlement": "pro", "reason": "x"},
        "/customers/anna/erase": {"confirm": "anna"},
        "/webhooks": {"url": "https://example.com/x"},
        "/operators": {"name": "eve", "role": "admin", "for": "*"},
    }
    for path, fields in acts.items():
        for csrf in [token, "0" * 32, None]:
            body = {**fields, **({"csrf": csrf} if csrf else {})}
            status, kind = page.evaluate(FORGE, [path, body])
            assert status == 403, f"{path} answered {status} {kind}"
    page.goto(served.server + "/events")
    expect(page.locator("main table")).to_have_count(0)
    say(f"{len(acts)} acts are refused, with the token of her own page, too")
    status = page.goto(served.server + "/operators").status
    assert status in (403, 404), status
    sign_out(page, "vera")


def test_signing_out_ends_the_session(served, page, say):
    sign_in(page, served.server, "mira")
    cookies = page.context.cookies()
    assert all(cookie["httpOnly"] for cookie in cookies if cookie["name"].endswith("perennial"))
    sign_out(page, "mira")
    page.goto(served.server + "/customers")
    assert "/login" in page.url
    page.context.add_cookies(cookies)
    page.goto(served.server + "/customers")
    assert "/login" in page.url, "the cookie of a session that ended still works"
    say("the cookie of before is worth nothing")


def test_another_site_cannot_sign_in_or_act(served, page, say):
    sign_in(page, served.server, "mira")
    token = page.locator("input[name=csrf]").first.input_value()
    fields = "".join(
        f'<input name="{name}" value="{value}">'
        for name, value in {"csrf": token, "entitlement": "pro", "reason": "x"}.items()
    )
    form = f'<form method="post" action="{served.server}/customers/anna/grants">{fields}</form>'
    page.route("http://stranger.test/**", lambda route: route.fulfill(
        content_type="text/html", body=f"<!doctype html><title>x</title>{form}"))  # fmt: skip
    page.goto("http://stranger.test/")
    with page.expect_navigation():
        page.evaluate("document.forms[0].submit()")
    assert "Access was given" not in page.content()
    page.goto(served.server + "/events")
    expect(page.locator("main table")).to_have_count(0)
    say("a form of another site, with the right token, did nothing")


def test_the_account_pages_have_no_accessibility_violation(served, page, say):
    axe = chromium.axe_script()
    found = []

    def look(path):
        page.goto(served.server + path)
        page.evaluate(axe)
        for width, theme in [(1440, "light"), (390, "dark")]:
            chromium.look(page, width, theme)
            found.extend(f"{path} at {width}, {theme}: {line}" for line in run_axe(page))
            wide = page.evaluate("document.scrollingElement.scrollWidth")
            found.extend([f"{path} is {wide} wide at {width}"] if wide > width else [])

    look("/login")
    look("/links/" + "0" * 32)
    sign_in(page, served.server, "mira")
    for path in ["/operators", "/account", "/audit"]:
        look(path)
    say("five pages")
    assert not found, json.dumps(found, indent=1)


def run_axe(page):
    return page.evaluate(chromium.RUN_AXE)
