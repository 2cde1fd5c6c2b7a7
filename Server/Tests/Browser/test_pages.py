"""Checks of every page: accessibility, keyboard use, every width, framing, size, and the targets of its
links."""

import html
import http.server
import os
import re
import threading
import urllib.error
import urllib.request

import pytest
from playwright.sync_api import expect

import browser as chromium
from places import pages

# bin/browser runs every test; bin/test runs some.
IS_WHOLE = os.environ.get("PERENNIAL_BROWSER") == "whole"
WIDTHS = range(320, 1921, 20) if IS_WHOLE else [320, 390, 639, 641, 767, 991, 993, 1440, 1920]
# The widths and themes that axe checks.
SIGHTS = [(1440, "light"), (390, "dark")] + ([(1440, "dark"), (390, "light")] if IS_WHOLE else [])
DIALOG_SIGHTS = SIGHTS if IS_WHOLE else SIGHTS[1:]
PAGE_BYTES_MAX = 60 * 1024
STYLE_BYTES_MAX = 25 * 1024
SCRIPT_BYTES_MAX = 5 * 1024
CRAWLED_PAGES_MAX = 600


def test_no_page_has_an_accessibility_violation(lived, page, say):
    axe = chromium.axe_script()
    found, looks = [], 0
    for name, path in pages(lived, IS_WHOLE).items():
        chromium.look(page, *SIGHTS[0])
        page.goto(lived.server + path)
        page.evaluate(axe)
        for width, theme in SIGHTS:
            chromium.look(page, width, theme)
            looks += 1
            found += [f"{name} at {width}, {theme}: {line}" for line in run_axe(page)]
        for width, theme in DIALOG_SIGHTS:
            chromium.look(page, width, theme)
            for target in chromium.openers(page):
                chromium.opener(page, target).click()
                looks += 1
                found += [f"{name}, {target}, {width}, {theme}: {line}" for line in run_axe(page)]
                page.keyboard.press("Escape")
    say(f"axe looked {looks} times")
    assert not found, "\n".join(found)


def run_axe(page):
    return page.evaluate(chromium.RUN_AXE)


def test_no_page_scrolls_sideways(lived, page, say):
    too_wide = []
    for name, path in pages(lived, IS_WHOLE).items():
        page.goto(lived.server + path)
        for font in chromium.FONTS:
            chromium.write_in(page, font)
            for width in WIDTHS:
                chromium.look(page, width)
                most = page.evaluate("document.scrollingElement.scrollWidth")
                if most > width:
                    too_wide.append(f"{name} is {most} wide at {width} in {font}")
            chromium.look(page, WIDTHS[0])
            for target in chromium.openers(page):
                chromium.opener(page, target).click()
                box = page.locator(f"#{target}").bounding_box()
                if box["x"] < 0 or box["x"] + box["width"] > WIDTHS[0]:
                    too_wide.append(f"{name}: {target} in {font} is out of {WIDTHS[0]}: {box}")
                page.keyboard.press("Escape")
    say(f"{len(pages(lived, IS_WHOLE))} pages at {len(WIDTHS)} widths in {len(chromium.FONTS)} fonts")
    assert not too_wide, "\n".join(too_wide)


def test_the_navigation_fits_in_its_column(lived, page, say):
    page.goto(lived.server + "/")
    for font in chromium.FONTS:
        chromium.write_in(page, font)
        for width in [993, 1440]:
            chromium.look(page, width)
            most, room = page.locator(".side").evaluate(
                "side => [side.scrollWidth, side.clientWidth]"
            )
            say(f"{most} in {room} at {width} in {font}")
            assert most <= room, f"{most} in {room} at {width} in {font}"


def test_the_table_of_a_movement_fits_beside_the_navigation(lived, page, say):
    page.goto(lived.server + "/charts/mrr_movement")
    table = page.locator(".scroll:has(table.roomy)")
    for font in chromium.FONTS:
        chromium.write_in(page, font)
        for width in [1440, 1152, 1024]:
            chromium.look(page, width)
            most, room = table.evaluate("region => [region.scrollWidth, region.clientWidth]")
            say(f"{most} in {room} at {width} in {font}")
            assert most <= room, f"{most} in {room} at {width} in {font}"


def test_a_slow_chart_says_that_it_takes_long(lived, page, say):
    page.goto(lived.server + "/charts/mrr")
    waiting = []
    page.route("**/charts/mrr?*", lambda route: waiting.append(route))
    page.get_by_label("Period").select_option("week")
    expect(page.locator("main")).to_have_attribute("aria-busy", "true")
    words = page.locator("#chart h2").evaluate("head => getComputedStyle(head, '::after').content")
    say(f"The chart's number is followed by {words}")
    assert "counting" in words
    waiting[0].continue_()
    expect(page.locator("main:not([aria-busy])")).to_have_count(1)
    expect(page).to_have_url(re.compile("by=week"))


# Every visible element that one can operate.
EXPECT_FOCUS = """() => {
    window.expected = new Set([...document.querySelectorAll(
        'a[href], button, input, select, textarea, summary, [tabindex="0"]')].filter(
        element => element.checkVisibility({visibilityProperty: true}) && !element.disabled
            && element.tabIndex >= 0 && element.type !== 'hidden'
            && !element.closest('details:not([open]) > :not(summary)')));
    document.addEventListener('focusin', event => window.expected.delete(event.target));
    return window.expected.size;
}"""
MISSED = "[...window.expected].map(element => element.outerHTML.slice(0, 200))"
# A live page replaces changed pieces: then another round is needed.
WAS_REPLACED = "[...window.expected].some(element => !element.isConnected)"
ROUNDS_MAX = 5


@pytest.mark.parametrize("width", [1440, 390])
def test_the_tab_key_reaches_every_link_and_button(lived, page, width, say):
    missed, reached = [], 0
    for name, path in pages(lived, IS_WHOLE).items():
        chromium.look(page, width)
        for _ in range(ROUNDS_MAX):
            page.goto(lived.server + path)
            count = press_tab(page)
            if not page.evaluate(WAS_REPLACED):
                break
        missed += [f"{name}: {element}" for element in page.evaluate(MISSED)]
        reached += count
    say(f"{reached} links, buttons and fields")
    assert not missed, "\n".join(missed)


def press_tab(page):
    """Tabs through the page until every element has had the focus, or once around. Returns the count."""
    count = page.evaluate(EXPECT_FOCUS)
    # A date field has four tab stops.
    for _ in range(count + 4 * page.locator("input[type=date]").count() + 20):
        page.keyboard.press("Tab")
        if page.evaluate("window.expected.size") == 0:
            break
    return count


@pytest.mark.parametrize("width", [1440, 390])
def test_escape_closes_a_menu_and_returns_the_focus(lived, page, width, say):
    count = 0
    for name, path in pages(lived, IS_WHOLE).items():
        chromium.look(page, width)
        page.goto(lived.server + path)
        for target in chromium.openers(page):
            opener = chromium.opener(page, target)
            opener.focus()
            page.keyboard.press("Enter")
            assert chromium.is_open(page, target), f"{name}: Enter does not open {target}"
            page.keyboard.press("Tab")
            page.keyboard.press("Escape")
            assert not chromium.is_open(page, target), f"{name}: Esc does not close {target}"
            has_focus = opener.evaluate("button => button === document.activeElement")
            assert has_focus, f"{name}: the focus is not back on the button of {target}"
            count += 1
    say(f"{count} dialogs and menus")


def test_the_first_tab_stop_of_each_page_skips_to_its_content(lived, page, say):
    for name, path in pages(lived, IS_WHOLE).items():
        page.goto(lived.server + path)
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.className") == "skip", name
        page.keyboard.press("Enter")
        expect(page, name).to_have_url(re.compile("#main$"))
    say("on every page")


def test_no_page_can_be_framed(lived, page, say):
    with Stranger(lived.server) as stranger:
        for name, path in pages(lived, IS_WHOLE).items():
            page.goto(f"{stranger.url}/?{path}")
            inside = page.frames[1]
            assert inside.url.startswith("chrome-error:"), f"{name} is shown in a frame"
            assert not inside.locator("main").count(), f"{name} is shown in a frame"
    assert page.complaints, "the browser said nothing about a frame that it refused"
    page.complaints.clear()
    say("the browser refuses each")


class Stranger:
    """Another site, which shows a page of ours in a frame."""

    def __init__(self, server):
        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                _, _, path = self.path.partition("?")
                source = html.escape(server + path)
                body = f"<!doctype html><title>x</title><iframe src='{source}'></iframe>".encode()
                self.send_response(200)
                self.send_header("Content-Type", "text/html")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"

    def __enter__(self):
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()


def fetch(url):
    """Status, content type and text of a URL's response."""
    try:
        with urllib.request.urlopen(url, timeout=60) as answer:
            return answer.status, answer.headers.get_content_type(), answer.read()
    except urllib.error.HTTPError as error:
        return error.code, error.headers.get_content_type(), error.read()


def shape(path):
    """A path without the parts that differ between pages of one kind, so that some of each are enough."""
    path = re.sub(r"=[^&]*", "=", path)
    return re.sub(r"/customers/[^/?]+", "/customers/x", re.sub(r"[0-9a-f]{6,}", "x", path))


def test_every_link_has_a_target(lived, say):
    waiting, seen, shapes, broken = [("/", "")], set(), {}, []
    while waiting:
        path, origin = waiting.pop(0)
        kind = shape(path)
        if path in seen or shapes.get(kind, 0) >= (20 if IS_WHOLE else 3):
            continue
        seen.add(path)
        shapes[kind] = shapes.get(kind, 0) + 1
        assert len(seen) <= CRAWLED_PAGES_MAX, "the pages do not end"
        status, kind, text = fetch(lived.server + path)
        if status != 200:
            broken.append(f"{path}, from {origin}: {status}")
        if kind == "text/html":
            links = re.findall(r'(?:href|src)="(/[^"#]*)', text.decode())
            waiting += [(html.unescape(link), path) for link in links]
    say(f"{len(seen)} pages and files")
    assert not broken, "\n".join(broken)


def test_a_page_is_small(lived, say):
    """The sizes of the style, the scripts and the page itself, uncompressed."""
    large, most = [], (0, "")
    for name, path in pages(lived, IS_WHOLE).items():
        _, _, text = fetch(lived.server + path)
        files = re.findall(r'(?:href|src)="(/assets/[^"]*\.(?:css|js))"', text.decode())
        sizes = {file: len(fetch(lived.server + file)[2]) for file in files}
        for file, size in sizes.items():
            limit = STYLE_BYTES_MAX if file.endswith(".css") else SCRIPT_BYTES_MAX
            if size > limit:
                large.append(f"{file}: {size} bytes, at most {limit}")
        size = len(text) + sum(sizes.values())
        most = max(most, (size, name))
        if size > PAGE_BYTES_MAX:
            large.append(f"{name}: {size} bytes, at most {PAGE_BYTES_MAX}")
    say(f"the largest is {most[1]} with {most[0]} bytes")
    assert not large, "\n".join(sorted(set(large)))


def test_the_theme_can_be_chosen(lived, any_page, say):
    page = any_page
    page.emulate_media(color_scheme="light")
    page.goto(lived.server + "/products")
    button = page.get_by_role("button", name="Change between light and dark")
    for theme in ["dark", "light"]:
        button.click()
        page.wait_for_selector(f"html[data-theme={theme}]")
        assert page.url.endswith("/products")
        page.goto(lived.server + "/products")
        page.wait_for_selector(f"html[data-theme={theme}]")
    say("dark, and light again, also after the page is loaded anew")
