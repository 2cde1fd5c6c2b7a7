"""Names that contain markup or control characters."""

import re

import pytest
from playwright.sync_api import expect

from world import quoted

IDS = {
    "a script": "<script>window.hacked = 1</script>",
    "an attribute": '"><img src=x onerror="window.hacked = 1">',
    "the end of a form": "'></form><form action=//example.com>",
    "an entity": "&lt;b&gt;&#39;&amp;",
    "from right to left": "anna \u202egnp.elif\u202c end",
    "Hebrew": "שלום-anna-123",
    "emoji": "🦜" * 63,
    "a path": "../../customers?query=x&y#z",
    "a template": "{{name}} {{{html}}} ${1} %s %00",
    "long": "w" * 255,
}

FOREIGN_FORMS = "[...document.forms].filter(form => !form.action.startsWith(origin)).length"


def visible(text):
    """The text that pages show: characters that change the direction of text are spelled out."""
    return re.sub("[\u202a-\u202e\u2066-\u2069]", lambda sign: f"[U+{ord(sign[0]):04X}]", text)


@pytest.mark.parametrize("kind", IDS)
def test_a_hostile_id_is_shown_as_text(world, page, kind, say):
    customer = IDS[kind]
    world.grant(customer, reason=customer)
    chooses = {
        "the customer": f"/customers/{quoted(customer)}",
        "the list": "/customers",
        "a search": f"/customers?query={quoted(customer)}",
        "events": "/events",
        "a filter": f"/events?customer_id={quoted(customer)}",
        "the overview": "/",
    }
    for name, path in chooses.items():
        answer = page.goto(world.server + path)
        assert answer.status == 200, f"{name} answered {answer.status}"
        page.wait_for_load_state()
        shown = page.locator("main").evaluate("main => main.textContent")
        assert visible(customer) in shown, f"{name} does not show it"
        assert page.evaluate("window.hacked") is None, f"{name} ran a script"
        assert page.locator("main img").count() == 0, f"{name} has an image"
        assert page.evaluate(FOREIGN_FORMS) == 0, f"{name} has a form of another site"
        wide = page.evaluate("document.scrollingElement.scrollWidth - innerWidth")
        assert wide <= 0, f"{name} scrolls sideways"
        # A right-to-left text must not change the direction of the text beside it.
        outside = page.locator("main bdi").count()
        assert outside, f"{name} does not isolate it"
    page.goto(world.server + "/customers")
    page.get_by_role("link", name=visible(customer), exact=True).first.click()
    expect(page.get_by_role("heading", level=1)).to_have_text(" ".join(visible(customer).split()))
    say(f"{len(chooses)} pages, and its link leads to {page.url[:120]}")


@pytest.mark.parametrize("kind", ["a script", "an attribute"])
def test_a_hostile_search_is_shown_as_text(world, page, kind, say):
    for path in ["/customers?query=", "/customers?state=", "/events?what=", "/charts/mrr?by="]:
        page.goto(world.server + path + quoted(IDS[kind]))
        assert page.evaluate("window.hacked") is None
        assert page.locator("main img").count() == 0
    say("on four pages")
