"""What all tests share: worlds, a browser, and how a run is reported.

Each test prints its claim and what it did. A test that fails saves a picture of the page and the
page's HTML in the folder of `PERENNIAL_BROWSER_FAILURES`, which the message names."""

import os
import pathlib
import re
import time

import pytest
from playwright.sync_api import expect, sync_playwright

import browser as chromium
from population import Population
from world import ROOT, Receiver, World

FAILURES = pathlib.Path(
    os.environ.get("PERENNIAL_BROWSER_FAILURES", ROOT / ".perennial/browser-failed")
)
# Longer than usual, for a busy machine.
PAGE_MILLISECONDS_MAX = 30_000
expect.set_options(timeout=PAGE_MILLISECONDS_MAX)
# The number of months that the population of the tests lives.
MONTHS = 3


@pytest.fixture(scope="session")
def world():
    """A world to act in. Each test uses its own customers."""
    world = World()
    yield world
    world.stop()


@pytest.fixture(scope="session")
def lived():
    """A world to look at, in which a population has lived."""
    world = World()
    population = Population(world, months=MONTHS).live()
    yield world
    population.stop()
    world.stop()


@pytest.fixture
def receiver():
    receiver = Receiver()
    yield receiver
    receiver.stop()


@pytest.fixture(scope="session")
def browser():
    with sync_playwright() as playwright:
        browser = chromium.launch(playwright)
        yield browser
        browser.close()


def open_page(browser, request, scripts=True):
    context = browser.new_context(java_script_enabled=scripts, reduced_motion="reduce")
    context.set_default_timeout(PAGE_MILLISECONDS_MAX)
    page = context.new_page()
    page.complaints = []
    page.on("pageerror", lambda error: page.complaints.append(str(error)))
    page.on("console", lambda line: note_complaint(page, line))
    request.node.open_pages = getattr(request.node, "open_pages", []) + [page]
    return page


def note_complaint(page, line):
    # The browser reports an error page, and a stream that ends with its page, as failed loads.
    if line.type == "error" and not line.text.startswith("Failed to load resource"):
        page.complaints.append(line.text)


@pytest.fixture
def page(browser, request):
    page = open_page(browser, request)
    yield page
    page.context.close()
    assert not page.complaints, f"the browser complained: {page.complaints}"


@pytest.fixture(params=[True, False], ids=["with scripts", "without scripts"])
def any_page(browser, request):
    """A page with scripts, and then one without."""
    page = open_page(browser, request, scripts=request.param)
    yield page
    page.context.close()
    assert not page.complaints, f"the browser complained: {page.complaints}"


# How a run is reported.


def claim(item):
    name = item.originalname.removeprefix("test_").replace("_", " ")
    parameters = re.search(r"\[(.*)\]$", item.name)
    return name + (f" ({parameters[1]})" if parameters else "")


@pytest.fixture(autouse=True)
def told(request):
    print(f"\n{claim(request.node)}")
    began = time.monotonic()
    yield
    print(f"    {time.monotonic() - began:.1f} s")


@pytest.fixture
def say():
    """Prints what a test did."""
    return lambda *words: print("    " + " ".join(str(word) for word in words))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = yield
    if report.failed:
        for number, page in enumerate(getattr(item, "open_pages", [])):
            save(item, page, number, report)
    return report


def save(item, page, number, report):
    FAILURES.mkdir(parents=True, exist_ok=True)
    name = re.sub(r"[^a-z0-9]+", "-", claim(item).lower()).strip("-")
    file = FAILURES / (f"{name}-{number}" if number else name)
    try:
        page.screenshot(path=f"{file}.png", full_page=True)
        pathlib.Path(f"{file}.html").write_text(page.content())
        report.sections.append(("page", f"{page.url}\nsaved as {file}.png and {file}.html"))
    except Exception as error:  # The page is closed already.
        report.sections.append(("page", f"not saved: {error}"))


def pytest_terminal_summary(terminalreporter):
    count = {name: len(terminalreporter.stats.get(name, [])) for name in ("passed", "failed", "error")}
    failed = count["failed"] + count["error"]
    if failed:
        print(f"\nWhat the pages looked like: {FAILURES}")
    print(f"\n{count['passed']} passed, {failed} failed")
