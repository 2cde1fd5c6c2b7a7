"""Chromium, found on this machine, and what the tests read from its pages."""

import importlib.util
import os
import pathlib
import shutil

PLACES = [
    os.environ.get("PERENNIAL_CHROMIUM"),
    "chromium",
    "chromium-browser",
    "google-chrome",
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
]
THEMES = ["light", "dark"]


def program():
    """The path of the first browser found on this machine. bin/lib/house.sh installs one."""
    for place in filter(None, PLACES):
        found = shutil.which(place)
        if found:
            return found
    raise RuntimeError("Chromium is missing. On Debian: apt-get install chromium")


def launch(playwright):
    # Chromium's sandbox does not run as root.
    arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
    return playwright.chromium.launch(executable_path=program(), args=arguments)


def axe_script():
    package = importlib.util.find_spec("axe_playwright_python")
    return (pathlib.Path(package.origin).parent / "axe.min.js").read_text()


# Returns the findings of axe, one line each. The page's own policy does not restrict
# `page.evaluate`.
RUN_AXE = """async () => {
    const result = await axe.run(document, {resultTypes: ['violations']});
    return result.violations.flatMap(found => found.nodes.map(
        node => `${found.id}: ${found.help}: ${node.html.slice(0, 160)} ${node.any.map(
            check => check.message).join('; ').slice(0, 160)}`));
}"""


def look(page, width, theme="light", height=900):
    """Shows the page at a width and in a theme of the system, without reloading it."""
    page.set_viewport_size({"width": width, "height": height})
    page.emulate_media(color_scheme=theme, reduced_motion="reduce")


# A wide font and a narrow one: users' machines have different fonts. bin/lib/house.sh installs
# both.
FONTS = ["DejaVu Sans", "Liberation Sans"]


def write_in(page, font):
    """Shows the page in a font, and fails if this machine does not have it."""
    assert page.evaluate(HAS_FONT, font), f"the font {font} is not installed"
    page.evaluate(
        "font => document.documentElement.style.setProperty('--sans', `'${font}'`)", font
    )


# A text in a missing font has the width that it has in one of the generic fonts.
HAS_FONT = """font => {
    const pen = document.createElement('canvas').getContext('2d');
    const width = family => {
        pen.font = `40px ${family}`;
        return pen.measureText('mmmmmwwwwwiiiii 0123456789').width;
    };
    return ['monospace', 'serif'].every(other => width(`'${font}', ${other}`) !== width(other));
}"""


def openers(page):
    """The visible buttons that open something, by the id of the element that they open."""
    return page.evaluate(
        """() => [...new Set([...document.querySelectorAll('[popovertarget]')]
            .filter(button => button.checkVisibility() && button.popoverTargetAction !== 'hide')
            .map(button => button.getAttribute('popovertarget')))]"""
    )


def opener(page, target):
    return page.locator(f'[popovertarget="{target}"]:visible').first


def is_open(page, target):
    return page.evaluate("id => document.getElementById(id).matches(':popover-open')", target)


def tap(page, button):
    """Taps a button of the phone's page, and waits until the screen has been redrawn."""
    # The page replaces each changed piece, and this piece changes.
    page.locator("#screen").evaluate("screen => screen.setAttribute('data-old', '')")
    button.click()
    page.locator("#sim:not([aria-busy=true]) #screen:not([data-old])").wait_for()
