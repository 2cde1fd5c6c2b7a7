"""How fast the dashboard is: the server's time for each page, and from a tap on the phone to the
new picture. Prints a table of medians and of the slowest, in milliseconds."""

import http.client
import statistics
import time
import urllib.parse

from playwright.sync_api import sync_playwright

import browser as chromium
from places import pages
from population import MONTHS, NAMES, Population
from world import World

ROUNDS = 15
PAGE_MILLISECONDS_AIM, CHART_MILLISECONDS_AIM, TAP_MILLISECONDS_AIM = 50, 200, 150

# From the click until two frames after the last piece was replaced: then it is on the screen.
LISTEN = """() => {
    const screen = document.getElementById('sim');
    window.taps = [];
    let began = 0;
    document.addEventListener('click', event => {
        if (event.target.closest('button[name=act]')) began = performance.now();
    }, true);
    const watch = new MutationObserver(() => {
        if (!began) return;
        const since = began;
        began = 0;
        requestAnimationFrame(() => requestAnimationFrame(
            () => window.taps.push(performance.now() - since)));
    });
    watch.observe(screen, {subtree: true, childList: true});
}"""
TAPS = [
    ("opening the payment sheet", "Buy Monthly"),
    ("buying", "Confirm"),
    ("a day", "1 day"),
    ("a month, with a renewal", "1 month"),
    ("switching the renewal off", "Renew automatically"),
    ("switching it on", "Renew automatically"),
    ("a year, with its renewals shown one by one", "1 year"),
]


def page_times(world):
    """The time until a page's last byte is here, on a connection that is open: by name."""
    address = urllib.parse.urlsplit(world.server)
    connection = http.client.HTTPConnection(address.hostname, address.port)
    times = {}
    for _ in range(ROUNDS + 1):
        for name, path in pages(world).items():
            began = time.perf_counter()
            connection.request("GET", path)
            connection.getresponse().read()
            times.setdefault(name, []).append((time.perf_counter() - began) * 1000)
    # The first round fills caches.
    return {name: all_times[1:] for name, all_times in times.items()}


def tap_times(world):
    times = {}
    with sync_playwright() as playwright:
        browser = chromium.launch(playwright)
        page = browser.new_page(viewport={"width": 1440, "height": 900})
        for _ in range(5):
            page.goto(world.server + "/phone")
            page.get_by_role("button", name="Start over").click()
            page.wait_for_function("document.querySelectorAll('#try .done').length === 0")
            page.reload()
            page.evaluate(LISTEN)
            for name, button in TAPS:
                count = page.evaluate("window.taps.length")
                target = page.locator("#sim button[name=act]").filter(has_text=button).first
                with page.expect_response(lambda answer: answer.request.method == "POST") as answer:
                    target.click()
                answer.value.finished()
                page.wait_for_function("count => window.taps.length > count", arg=count)
                times.setdefault(name, []).append(page.evaluate("window.taps.at(-1)"))
        browser.close()
    return times


def line(name, times, aim):
    median, slowest = statistics.median(times), max(times)
    result = "met" if median < aim else "missed"
    print(f"| {name} | < {aim} | {median:.0f} | {slowest:.0f} | {result} |", flush=True)


def main():
    world = World()
    try:
        population = Population(world, months=MONTHS).live()
        print(f"{len(NAMES)} customers and more, {MONTHS} months, medians of {ROUNDS}\n")
        print("| | aim, ms | median | slowest | |\n|---|---|---|---|---|")
        for name, times in page_times(world).items():
            is_chart = name.startswith(("chart-", "overview"))
            line(name, times, CHART_MILLISECONDS_AIM if is_chart else PAGE_MILLISECONDS_AIM)
        for name, times in tap_times(world).items():
            line(f"phone: {name}", times, TAP_MILLISECONDS_AIM)
        population.stop()
    finally:
        world.stop()


if __name__ == "__main__":
    main()
