"""The phone of `perennial dev`, without and with a browser."""

from playwright.sync_api import expect

import browser as chromium

# A step takes a few taps. More taps mean that the tour is stuck.
TAPS_MAX = 30


def done_count(page):
    return page.locator("#try .done").count()


def tap_hint(page):
    """Taps the button that the page hints at, and waits for the result. Returns the button's label."""
    hint = page.locator("#sim button.hint")
    expect(hint).to_have_count(1)
    word = " ".join(hint.inner_text().split())
    chromium.tap(page, hint)
    return word


def test_a_newcomer_who_follows_the_hints_completes_all_five_steps(world, any_page, say):
    page = any_page
    page.goto(world.server + "/phone")
    if done_count(page):
        chromium.tap(page, page.get_by_role("button", name="Start over"))
    expect(page.locator("#try .done")).to_have_count(0)
    steps = [" ".join(step.split()) for step in page.locator("#try li").all_inner_texts()]
    assert len(steps) == 5, steps
    tapped, done = [], 0
    while done < len(steps):
        assert len(tapped) < TAPS_MAX, f"the tour does not go on after {tapped}"
        tapped.append(tap_hint(page))
        expect(page.locator("#trouble .say")).to_have_count(0)
        count = done_count(page)
        if count > done:
            say(f"{steps[done]}: {', '.join(tapped)}")
            tapped, done = [], count
    expect(page.locator("#sim button.hint")).to_have_count(0)
    chromium.look(page, 390)
    expect(page.locator("#try p")).to_be_visible()
    expect(page.locator("#try a")).to_have_count(3)
    say("The answer at the end:", page.locator("#line").inner_text())
    say("What comes next:", page.locator("#try p").inner_text())


def test_a_tap_that_comes_while_time_passes_is_handled_afterwards(world, page, say):
    page.goto(world.server + "/phone")
    page.get_by_role("button", name="Start over").click()
    expect(page.locator("#line")).to_contain_text("has no access yet")
    page.get_by_role("button", name="Buy Monthly").click()
    page.get_by_role("button", name="Confirm").click()
    expect(page.locator("#line")).to_contain_text("has access to pro")
    expect(page.locator("#sim:not([aria-busy=true])")).to_have_count(1)
    page.evaluate(
        """() => ['year', 'sheet guide'].forEach(
            act => document.querySelector(`#sim button[value="${act}"]`).click())"""
    )
    expect(page.locator("#screen .sheet")).to_contain_text("Field guide")
    say("A year passed, and then the sheet opened:", page.locator("#now").inner_text())


def test_the_phone_shows_the_access_of_the_customer(world, any_page, say):
    page = any_page
    page.goto(world.server + "/phone")
    page.get_by_role("button", name="Start over").click()
    expect(page.locator("#line")).to_contain_text("has no access yet")
    page.get_by_role("button", name="Buy Monthly").click()
    page.get_by_role("button", name="Confirm").click()
    expect(page.locator("#line")).to_contain_text("has access to pro")
    expect(page.locator("#word")).to_contain_text("paid")
    expect(page.locator("#wire")).to_contain_text("SUBSCRIBED")
    say(page.locator("#line").inner_text())
    customer = page.locator("#sim").get_attribute("data-customer")
    page.get_by_role("link", name=f"{customer}’s page").click()
    expect(page.get_by_role("heading", level=1)).to_have_text(customer)
    expect(page.locator("#answer")).to_contain_text("has access to pro")


def test_a_group_is_bought_joined_and_ended(world, any_page, say):
    page = any_page
    page.goto(world.server + "/phone")
    chromium.tap(page, page.get_by_role("button", name="Start over"))
    customer = page.locator("#sim").get_attribute("data-customer")

    def tap(name):
        chromium.tap(page, page.get_by_role("button", name=name))

    tap("Buy Monthly")
    for _ in range(4):
        tap("one seat more")
    sheet = page.locator("#screen .sheet")
    expect(sheet).to_contain_text("5 people")
    expect(sheet).to_contain_text("$43.95 a month")
    say(sheet.inner_text().replace("\n", " "))
    tap("Confirm")
    expect(page.locator("#line")).to_contain_text("has access to pro")
    tap("My group")
    tap("Invite somebody")
    tap("Let ben join with the code")
    expect(page.locator("#trouble .say")).to_have_count(0)
    seated = page.locator("#screen .it").filter(has_text="has a seat")
    expect(seated).to_have_count(1)
    expect(seated).to_contain_text("ben")
    tap("Let ben leave the group")
    expect(seated).to_have_count(0)
    tap("Invite somebody")
    tap("Let ben join with the code")
    chromium.look(page, 390)
    say(page.locator("#screen").inner_text().replace("\n", " "))

    page.get_by_role("link", name=f"{customer}’s page").click()
    group = page.locator("#group-0")
    expect(group).to_contain_text("1 seat taken, 3 free")
    group.get_by_role("button", name="Release", exact=True).click()
    dialog = page.locator("dialog:popover-open")
    expect(dialog).to_contain_text("loses the access")
    dialog.get_by_role("button", name="Take ben’s seat back").click()
    expect(page.locator("#news .say.ok")).to_contain_text("The seat was taken back.")
    expect(group).to_contain_text("Nobody has joined yet.")
    page.goto(f"{world.server}/customers/ben")
    expect(page.locator("#history")).to_contain_text("Seat released")
    say(page.locator("#answer .line").inner_text())


def test_the_focus_stays_on_the_number_of_seats(world, page, say):
    page.goto(world.server + "/phone")
    chromium.tap(page, page.get_by_role("button", name="Start over"))
    chromium.tap(page, page.get_by_role("button", name="Buy Monthly"))
    more = page.get_by_role("button", name="one seat more")
    more.focus()
    for people in range(2, 5):
        page.keyboard.press("Enter")
        expect(page.locator("#screen .sheet")).to_contain_text(f"{people} people")
        expect(more).to_be_focused()
    say("After three times Enter:", page.locator("#screen .sheet b").nth(1).inner_text())


# The pieces that the page's stream has sent.
NOTE_PIECES = """
    window.pieces = new Set();
    const Source = window.EventSource;
    window.EventSource = class extends Source {
        constructor(address) {
            super(address);
            this.addEventListener('message', message => pieces.add(JSON.parse(message.data).id));
        }
    };"""


def test_unchanged_pieces_are_not_replaced(world, page, say):
    page.goto(world.server + "/phone")
    page.get_by_role("button", name="Start over").click()
    page.get_by_role("button", name="Buy Monthly").click()
    page.get_by_role("button", name="Confirm").click()
    expect(page.locator("#line")).to_contain_text("has access to pro")
    expect(page.locator("#sim:not([aria-busy=true])")).to_have_count(1)
    page.add_init_script(NOTE_PIECES)
    page.add_init_script(
        """addEventListener('DOMContentLoaded', () => {
            window.first = [...document.querySelectorAll('[id]')];
        })"""
    )
    page.reload()
    page.wait_for_function("['screen', 'wire', 'picture', 'due'].every(id => pieces.has(id))")
    replaced = page.evaluate("first.filter(one => !one.isConnected).map(one => one.id)")
    say("The stream sent", ", ".join(page.evaluate("[...pieces]")))
    assert not replaced, f"replaced although they are the same: {replaced}"
