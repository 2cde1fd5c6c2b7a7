"""What support does for a customer: each act with scripts, and then only with forms."""

import itertools

from playwright.sync_api import expect

numbers = itertools.count(1)


def subscriber(world, name):
    """A new customer with a subscription. Returns their id and their first transaction."""
    customer = f"{name}-{next(numbers)}"
    bought = world.buy(world.device(customer), "pro.monthly", customer)
    return customer, bought["transaction_id"]


def open_dialog(page, button):
    page.get_by_role("button", name=button, exact=True).first.click()
    opened = page.locator("dialog:popover-open")
    expect(opened).to_be_visible()
    return opened


def done(page, sentence):
    expect(page.locator("#news .say.ok")).to_contain_text(sentence)


def test_a_customer_is_found_by_the_order_number_in_apples_mail(world, any_page, say):
    page = any_page
    customer, transaction = subscriber(world, "olivia")
    order = world.order_id(transaction)
    page.goto(world.server + "/customers")
    page.get_by_label("Find by").fill(order)
    page.get_by_role("button", name="Find").click()
    page.get_by_role("link", name=customer, exact=True).click()
    expect(page.get_by_role("heading", level=1)).to_have_text(customer)
    expect(page.locator("#purchases")).to_contain_text(transaction)
    say(f"{order} is of {customer}")


def test_a_customer_is_invited_to_a_group_and_joins(world, any_page, say):
    page = any_page
    customer = f"team-{next(numbers)}"
    bought = world.buy(world.device(customer), "pro.monthly", customer, seats=3)
    page.goto(f"{world.server}/customers/{customer}")
    group = page.locator("#group-0")
    dialog = open_dialog(page, "Invite somebody")
    dialog.get_by_label("Days it can be used").fill("2")
    dialog.get_by_role("button", name="Make an invitation").click()
    former = page.locator("pre code").inner_text()
    page.get_by_role("link", name=f"Back to {customer}").click()
    dialog = open_dialog(page, "Send again")
    dialog.get_by_role("button", name="Replace the invitation").click()
    token = page.locator("pre code").inner_text()
    assert token != former
    member = f"member-{next(numbers)}"
    claim = world.api("/v1/seats/claims", {"customer_id": member, "token": token})
    page.get_by_role("link", name=f"Back to {customer}").click()
    expect(group).to_contain_text("None is open.")
    group.get_by_role("link", name=member, exact=True).click()
    expect(page.locator("#seat-0")).to_contain_text(f"{customer} pays for it")
    say(page.locator("#answer .line").inner_text())
    page.goto(world.server + "/customers")
    page.get_by_label("Find by").fill(claim["claim_id"])
    page.get_by_role("button", name="Find").click()
    expect(page.get_by_role("link", name=member, exact=True)).to_be_visible()
    say(f"{claim['claim_id']} is of {member}, in the group of {bought['original_transaction_id']}")


def test_access_is_granted_and_withdrawn(world, any_page, say):
    page = any_page
    customer = f"gina-{next(numbers)}"
    world.token(customer)
    page.goto(f"{world.server}/customers/{customer}")
    dialog = open_dialog(page, "Give access")
    dialog.get_by_label("What").select_option("pro")
    dialog.get_by_label("Why").fill("ticket 4711")
    dialog.get_by_role("button", name=f"Give {customer} access").click()
    done(page, "Access was given.")
    expect(page.locator("#answer")).to_contain_text("has access to pro")
    assert world.api(f"/v1/customers/{customer}")["entitlements"]["pro"]["active"]
    say(page.locator("#answer .line").inner_text())
    dialog = open_dialog(page, "Take it back")
    dialog.get_by_role("button", name="Take pro back").click()
    done(page, "The grant was taken back.")
    assert not world.api(f"/v1/customers/{customer}")["entitlements"].get("pro", {}).get("active")
    say(page.locator("#answer .line").inner_text())


def test_a_purchase_is_moved_and_the_move_is_undone(world, any_page, say):
    page = any_page
    owner, transaction = subscriber(world, "mona")
    other = f"nina-{next(numbers)}"
    page.goto(f"{world.server}/customers/{other}")
    dialog = open_dialog(page, "Move a purchase here")
    dialog.get_by_label("Number of a transaction").fill(transaction)
    dialog.get_by_label("Why").fill("a new account")
    dialog.get_by_role("button", name="Find the purchase").click()
    expect(page.locator("main")).to_contain_text(f"{owner} loses it, and {other} gets it")
    page.get_by_role("button", name=f"Move pro.monthly to {other}").click()
    done(page, "The purchase was moved here.")
    assert world.api(f"/v1/customers/{other}")["entitlements"]["pro"]["active"]
    assert not world.api(f"/v1/customers/{owner}")["entitlements"]
    say(f"pro.monthly moved from {owner} to {other}")
    dialog = open_dialog(page, "Take it back")
    dialog.get_by_role("button", name="back").last.click()
    done(page, "The move was taken back.")
    assert world.api(f"/v1/customers/{owner}")["entitlements"]["pro"]["active"]
    say("and back")


def test_a_purchase_is_protected_against_moves_and_released(world, any_page, say):
    page = any_page
    customer, _ = subscriber(world, "petra")
    page.goto(f"{world.server}/customers/{customer}")
    dialog = open_dialog(page, "Keep with this customer")
    dialog.get_by_label("Why").fill("two people, one iPad")
    dialog.get_by_role("button", name=f"Keep with {customer}").click()
    done(page, "The purchase stays with this customer.")
    dialog = open_dialog(page, "Stop keeping it here")
    dialog.get_by_role("button", name="Stop keeping").last.click()
    done(page, "The restore policy applies again.")
    say(f"kept with {customer}, and then no longer")


def test_a_wallet_is_credited_and_debited_manually(world, any_page, say):
    page = any_page
    customer = f"wanda-{next(numbers)}"
    world.token(customer)
    page.goto(f"{world.server}/customers/{customer}")
    dialog = open_dialog(page, "Add")
    dialog.get_by_label("How many").fill("50")
    dialog.get_by_label("Why").fill("ticket 4712")
    dialog.get_by_role("button", name="Show the new balance").click()
    expect(page.locator("main")).to_contain_text("Nothing has been added yet.")
    expect(page.locator("main dl")).to_contain_text("50 seeds")
    page.get_by_role("button", name="Add 50 seeds to the wallet").click()
    done(page, "The amount was added to the wallet.")
    assert world.api(f"/v1/customers/{customer}")["wallets"]["seeds"]["balance"] == 50
    dialog = open_dialog(page, "Take out")
    dialog.get_by_label("How many").fill("20")
    dialog.get_by_label("Why").fill("too many")
    dialog.get_by_role("button", name="Take seeds out").click()
    done(page, "The amount was taken out of the wallet.")
    assert world.api(f"/v1/customers/{customer}")["wallets"]["seeds"]["balance"] == 30
    say(f"{customer} has 30 seeds")


def test_an_answer_about_a_refund_is_sent_to_apple(world, any_page, say):
    page = any_page
    customer, transaction = subscriber(world, "rita")
    world.sim(f"transactions/{transaction}/request-refund", {})
    page.goto(f"{world.server}/customers/{customer}")
    dialog = open_dialog(page, "Answer Apple about a refund")
    dialog.get_by_label("consented").select_option("yes")
    dialog.get_by_label("Used, in per cent").fill("80")
    dialog.get_by_role("button", name="Answer Apple").click()
    done(page, "The report was recorded.")
    world.advance("PT1M")
    told = [
        entry
        for entry in world.sim("consumption")["received"]
        if entry["transaction_id"] == transaction
    ]
    assert told, "the App Store was told nothing"
    say("Apple was told:", told[-1])


def test_a_customer_is_erased_once_the_id_is_typed(world, any_page, say):
    page = any_page
    customer, transaction = subscriber(world, "erna")
    page.goto(f"{world.server}/customers/{customer}")
    dialog = open_dialog(page, "Erase this person")
    dialog.get_by_label("Type").fill("somebody else")
    dialog.get_by_role("button", name=f"Erase {customer} for ever").click()
    expect(page.locator("main")).to_contain_text("The id that was typed is not this customer’s.")
    assert world.api(f"/v1/customers/{customer}")["entitlements"]["pro"]["active"]
    say("not with another id")
    page.goto(f"{world.server}/customers/{customer}")
    dialog = open_dialog(page, "Erase this person")
    dialog.get_by_label("Type").fill(customer)
    dialog.get_by_role("button", name=f"Erase {customer} for ever").click()
    done(page, "The person was erased.")
    assert not world.api(f"/v1/customers/{customer}")["entitlements"]
    page.goto(f"{world.server}/customers?query={transaction}")
    expect(page.locator("main table")).not_to_contain_text(customer)
    say(f"{customer} is erased")
