"""Passkeys and recovery codes, with an authenticator that Chromium plays."""

import re

import pytest
from playwright.sync_api import expect

import browser as chromium
from test_accounts import PASSWORD, accept, run_axe, sign_out
from world import Served


@pytest.fixture(scope="module")
def served():
    served = Served(host="localhost")
    yield served
    served.stop()


def authenticator(page):
    """Gives the page a phone that always agrees. Returns the session that controls it, and its id."""
    session = page.context.new_cdp_session(page)
    session.send("WebAuthn.enable")
    options = {
        "protocol": "ctap2",
        "transport": "internal",
        "hasResidentKey": True,
        "hasUserVerification": True,
        "isUserVerified": True,
        "automaticPresenceSimulation": True,
    }
    made = session.send("WebAuthn.addVirtualAuthenticator", {"options": options})
    return session, made["authenticatorId"]


def send_password(page, server, name):
    page.goto(server + "/login")
    page.get_by_label("Name").fill(name)
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in", exact=True).click()
    expect(page.get_by_role("heading", level=1)).to_have_text("One more step")


def test_a_passkey_signs_in_alone_and_after_the_password_and_a_code_replaces_it(
    served, page, say
):
    device, phone = authenticator(page)
    accept(page, served.first_link, "mira")
    page.goto(served.server + "/account")
    page.get_by_role("button", name="Add a passkey").click()
    page.get_by_role("button", name="Go on").click()
    page.get_by_label("Name of the passkey").fill("Phone")
    page.get_by_role("button", name="Add a passkey").click()
    expect(page.locator("main")).to_contain_text("The passkey was added.")
    expect(page.get_by_role("region", name="Passkeys")).to_contain_text("Phone")
    stored = device.send("WebAuthn.getCredentials", {"authenticatorId": phone})["credentials"]
    assert len(stored) == 1 and stored[0]["rpId"] == "localhost", stored
    say("mira adds a passkey")

    page.get_by_role("button", name="Make codes").click()
    page.get_by_role("button", name="Make ten codes").click()
    text = page.locator("pre").inner_text()
    codes = re.findall(r"[0-9a-z]{4}(?:-[0-9a-z]{4}){3}", text)
    assert len(set(codes)) == 10, text
    page.get_by_role("link", name="I have stored them").click()
    expect(page.locator("main")).to_contain_text("10 of your codes are left.")
    say("she makes ten recovery codes")

    sign_out(page, "mira")
    page.get_by_role("link", name="Sign in with a passkey").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Overview")
    say("the passkey alone signs her in, without another click")

    sign_out(page, "mira")
    send_password(page, served.server, "mira")
    page.get_by_role("button", name="Use a passkey").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Overview")
    say("so does the passkey after the password")

    sign_out(page, "mira")
    device.send("WebAuthn.removeVirtualAuthenticator", {"authenticatorId": phone})
    send_password(page, served.server, "mira")
    page.get_by_text("Your passkey is lost").click()
    page.get_by_label("Recovery code").fill(codes[0].upper())
    page.get_by_role("button", name="Use the code").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Overview")
    sign_out(page, "mira")
    send_password(page, served.server, "mira")
    page.get_by_text("Your passkey is lost").click()
    page.get_by_label("Recovery code").fill(codes[0])
    page.get_by_role("button", name="Use the code").click()
    expect(page.get_by_role("alert")).to_contain_text("was used before")
    say("a recovery code replaces the lost passkey once")


def test_the_pages_of_passkeys_fit_and_have_no_accessibility_violation(served, page, say):
    """Uses the account of the test before."""
    axe = chromium.axe_script()
    found = []

    def look(name):
        page.evaluate(axe)
        for width, theme in [(1440, "light"), (390, "dark")]:
            chromium.look(page, width, theme)
            found.extend(f"{name} at {width}, {theme}: {line}" for line in run_axe(page))
            wide = page.evaluate("document.scrollingElement.scrollWidth")
            found.extend([f"{name} is {wide} wide at {width}"] if wide > width else [])

    device, phone = authenticator(page)
    # The person must act, so that the page stays.
    device.send(
        "WebAuthn.setAutomaticPresenceSimulation", {"authenticatorId": phone, "enabled": False}
    )
    page.goto(served.server + "/login/passkey")
    look("the sign-in with a passkey")
    send_password(page, served.server, "mira")
    look("the second step")
    say("two pages")
    assert not found, found


def test_without_scripts_the_page_says_that_a_passkey_needs_them(served, browser, request, say):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    request.node.open_pages = [page]
    page.goto(served.server + "/login/passkey")
    expect(page.get_by_role("button", name="Use a passkey")).to_be_disabled()
    # Chromium does not show the content of noscript if only the test has turned scripts off.
    assert "A passkey needs scripts" in page.content()
    say("the button is off, and the page says why")
    context.close()
