"""Pictures of every page of the dashboard, and an index.html that shows them.

Usage: python screenshots.py [--readme] FOLDER, with `--readme` only the two of the documentation.

A server is never slow enough to show what a page says while it waits. These pages are written by
`PERENNIAL_PAGES=folder bin/test --filter DashboardTests`; with the same variable they are in the pictures.
"""

import functools
import html
import os
import pathlib
import sys
import threading
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

from playwright.sync_api import sync_playwright

import browser as chromium
import states
from places import pages
from population import Population
from world import World

WIDTHS = [1440, 1024, 390]
HEIGHTS = {1440: 900, 1024: 768, 390: 844}
# The height, in pixels, at which a longer page is cut off.
HEIGHT_MAX = 6_000
EMPTY = {
    "empty-overview": "/",
    "empty-chart": "/charts/mrr",
    "empty-customers": "/customers",
    "empty-events": "/events",
    "empty-notifications": "/notifications",
    "empty-forwarded": "/notifications/forwarded",
    "empty-reports": "/reports",
    "empty-audit": "/audit",
    "empty-health": "/checks",
    "empty-webhooks": "/webhooks",
    "empty-customer": "/customers/nobody",
    "empty-phone": "/phone",
}
# Dialogs and menus: the page, and the button that opens it.
OPENED = {
    "dialog-grant": ("/customers/cleo", "Give access"),
    "dialog-move": ("/customers/cleo", "Move a purchase here"),
    "dialog-keep": ("/customers/cleo", "Keep with this customer"),
    "dialog-erase": ("/customers/cleo", "Erase this person"),
    "dialog-webhook": ("/webhooks", "Add an endpoint"),
    "dialog-session": ("/", "developer"),
}


# Pages that wait or report an error, which no real server shows on request.
SAMPLES = [
    "chart-counting", "checks-waiting", "customers-none", "documents-none", "events-waiting",
    "login-shut", "mrr", "mrr-movement", "notifications-trouble", "problem-403", "problem-500",
    "products-empty", "purchases", "reports", "retention", "webhook",
]  # fmt: skip


class Album:
    def __init__(self, folder, page):
        self.folder = pathlib.Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.page = page
        self.names = []

    def add(self, name, widths=WIDTHS):
        """The current page, at every width and in both themes."""
        self.names.append((name, widths))
        print(name, flush=True)
        for width in widths:
            for theme in chromium.THEMES:
                chromium.look(self.page, width, theme, HEIGHTS[width])
                height = self.page.evaluate("document.documentElement.scrollHeight")
                # Elements that stay in the window would be drawn in the middle of a scrolled page.
                self.page.evaluate("scrollTo(0, 0)")
                # A dialog is in the middle of the window, not of the page.
                is_long = not self.page.locator(":popover-open").count() and height < HEIGHT_MAX
                self.page.screenshot(path=self.folder / file(name, width, theme), full_page=is_long)

    def write_index(self):
        rows = "".join(self._row(*each) for each in self.names)
        (self.folder / "index.html").write_text(
            "<!doctype html><meta charset=utf-8><title>Screenshots</title>"
            "<style>body{font:15px system-ui;margin:2rem}section{overflow-x:auto}"
            "p{display:flex;gap:1rem;align-items:start}img{height:22rem;border:1px solid #ccc}"
            f"</style><h1>Screenshots</h1>{rows}\n"
        )

    def _row(self, name, widths):
        files = [file(name, width, theme) for width in widths for theme in chromium.THEMES]
        shots = "".join(
            f'<a href="{one}"><img src="{one}" alt="{one}" loading=lazy></a>' for one in files
        )
        return f"<section><h2>{html.escape(name)}</h2><p>{shots}</p></section>"


def file(name, width, theme):
    return f"{name}-{width}-{theme}.png"


def take_all(page, folder):
    album = Album(folder, page)
    world = World()
    try:
        for name, path in EMPTY.items():
            visit(page, world, path)
            album.add(name)
        population = Population(world).live()
        for name, path in pages(world).items():
            visit(page, world, path)
            album.add(name)
        for name, (path, button) in OPENED.items():
            visit(page, world, path)
            chromium.look(page, 1440)
            page.get_by_role("button", name=button, exact=True).click()
            album.add(name)
        chromium.look(page, 390)
        page.get_by_role("button", name="Menu").click()
        album.add("menu", [390])
        take_phone(album, page, world)
        for changes in [states.live_states(page, world), states.broken_states(page, world)]:
            for name in changes:
                album.add(name)
                chromium.look(page, 1440)
        population.stop()
    finally:
        world.stop()
    for name in states.account_states(page):
        album.add(name)
        chromium.look(page, 1440)
    if os.environ.get("PERENNIAL_PAGES"):
        take_samples(album, page, os.environ["PERENNIAL_PAGES"])
    album.write_index()
    print(f"{album.folder / 'index.html'} shows {len(album.names)} pages")


def take_samples(album, page, folder):
    """Pages of made-up values, as the tests of the dashboard write them."""
    handler = functools.partial(QuietHandler, directory=folder)
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    for name in SAMPLES:
        page.goto(f"http://127.0.0.1:{server.server_port}/{name}.html")
        album.add(f"sample-{name}")
    server.shutdown()


class QuietHandler(SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


def visit(page, world, path):
    page.goto(world.server + path)
    page.wait_for_load_state()


def take_phone(album, page, world):
    """A separate phone, from the payment sheet to a refund."""
    visit(page, world, "/phone")
    chromium.look(page, 1440)
    for name, buttons in PHONE.items():
        for button in buttons:
            tap(page, button)
        album.add(name)
        chromium.look(page, 1440)


PHONE = {
    "phone-sheet": ["Start over", "Buy Monthly"],
    "phone-paid": ["Confirm", "1 month", "$1.99 100 seeds", "Confirm"],
    "phone-grace": ["My card works", "1 month"],
    "phone-restored": ["My card works", "Restore on another device"],
    "phone-refunded": ["Ask for a refund", "Go there"],
    "phone-privacy": ["Family and privacy"],
    "phone-ask": ["Ask a parent first", "Back to the birds", "$24.99 Field guide", "Confirm"],
}


def tap(page, name):
    """Taps a button of the phone's page, and waits until its answer is shown."""
    chromium.tap(page, page.locator("#sim button[name=act]").filter(has_text=name).first)


def take_readme(page, folder):
    """The pictures of README.md and docs/dashboard.md."""
    folder = pathlib.Path(folder)
    world = World()
    try:
        chromium.look(page, 1440, "light", 900)
        visit(page, world, "/phone")
        for buttons in [PHONE["phone-sheet"][1:], PHONE["phone-paid"], PHONE["phone-grace"]]:
            for button in buttons:
                tap(page, button)
        page.mouse.move(0, 0)
        page.evaluate("scrollTo(0, 0)")
        page.screenshot(path=folder / "phone.png")
    finally:
        world.stop()
    world = World()
    try:
        population = Population(world).live()
        visit(page, world, "/customers/cleo")
        page.screenshot(path=folder / "customer.png")
        population.stop()
    finally:
        world.stop()
    for name in ["phone.png", "customer.png"]:
        print(folder / name, f"{(folder / name).stat().st_size} bytes")


def main():
    folder = sys.argv[-1]
    with sync_playwright() as playwright:
        browser = chromium.launch(playwright)
        page = browser.new_context(reduced_motion="reduce").new_page()
        (take_readme if sys.argv[1] == "--readme" else take_all)(page, folder)
        browser.close()


if __name__ == "__main__":
    main()
