"""How fast the dashboard is: the server's time for each page, and the time from a tap on the phone to the
new picture. Prints a table of medians, in milliseconds.

Wall time is what one waits for, and depends on what else the machine does. Processor time is that of
all threads of `perennial dev`, simulator and database included; it is read from /proc, on Linux."""

import http.client
import pathlib
import statistics
import time
import urllib.parse

from playwright.sync_api import expect, sync_playwright

import browser as chromium
from places import pages
from population import MONTHS, Population
from world import World

ROUNDS = 10
PHONE_ROUNDS = 5
PAGE_MILLISECONDS_AIM, CHART_MILLISECONDS_AIM, TAP_MILLISECONDS_AIM = 50, 200, 150

# From the click to the second frame after the first piece was replaced: by then it is on the
# screen.
LISTEN = """() => {
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
    watch.observe(document.getElementById('sim'), {subtree: true, childList: true});
}"""
TAPS = [
    ("opening the payment sheet", "Buy Monthly"),
    ("buying", "Confirm"),
    ("a day", "1 day"),
    ("a month, with a renewal", "1 month"),
    ("switching the renewal off", "Renew automatically"),
    ("switching it on", "Renew automatically"),
]


def processor_milliseconds(world):
    """The processor time of all threads until now. None if there is no /proc."""
    tasks = pathlib.Path(f"/proc/{world.process.pid}/task")
    if not tasks.exists():
        return None
    files = [task / "schedstat" for task in tasks.iterdir()]
    return sum(int(file.read_text().split()[0]) for file in files if file.exists()) / 1e6


class Times:
    def __init__(self, world):
        self.world = world
        self.wall, self.processor = [], []

    def measure(self, act):
        before, began = processor_milliseconds(self.world), time.perf_counter()
        result = act()
        self.wall.append(result or (time.perf_counter() - began) * 1000)
        after = processor_milliseconds(self.world)
        if after is not None:
            self.processor.append(after - before)


def page_times(world):
    """The time until the last byte of each page has arrived on an open connection, by name."""
    address = urllib.parse.urlsplit(world.server)
    connection = http.client.HTTPConnection(address.hostname, address.port)

    def load():
        connection.request("GET", path)
        connection.getresponse().read()

    for name, path in pages(world).items():
        times = Times(world)
        load()  # The first time fills caches.
        for _ in range(ROUNDS):
            times.measure(load)
        yield name, times


def tap_times(world):
    times = {name: Times(world) for name, _ in TAPS}
    with sync_playwright() as playwright:
        browser = chromium.launch(playwright)
        page = browser.new_page(viewport={"width": 1440, "height": 900})
        for _ in range(PHONE_ROUNDS):
            page.goto(world.server + "/phone")
            page.get_by_role("button", name="Start over").click()
            expect(page.locator("#try .done")).to_have_count(0, timeout=60_000)
            page.reload()
            page.evaluate(LISTEN)
            for name, button in TAPS:
                times[name].measure(lambda word=button: tap(page, word))
        browser.close()
    return times.items()


def tap(page, word):
    """Returns the time from the click to the new picture, as the browser measures it."""
    count = page.evaluate("window.taps.length")
    with page.expect_response(lambda answer: answer.request.method == "POST") as answer:
        page.locator("#sim button[name=act]").filter(has_text=word).first.click()
    answer.value.finished()
    # The page's policy forbids waiting in the page for the content of a text.
    while page.evaluate("window.taps.length") == count:
        pass
    return page.evaluate("window.taps.at(-1)")


def line(name, times, aim):
    wall = statistics.median(times.wall)
    processor = f"{statistics.median(times.processor):.1f}" if times.processor else ""
    print(f"| {name} | {aim} | {processor} | {wall:.0f} |", flush=True)


def main():
    world = World()
    try:
        population = Population(world, months=MONTHS).live()
        print("| | aim | processor | wall |\n|---|---|---|---|")
        for name, times in page_times(world):
            is_chart = name.startswith(("chart-", "overview"))
            line(name, times, CHART_MILLISECONDS_AIM if is_chart else PAGE_MILLISECONDS_AIM)
        for name, times in tap_times(world):
            line(f"phone: {name}", times, TAP_MILLISECONDS_AIM)
        population.stop()
    finally:
        world.stop()


if __name__ == "__main__":
    main()
