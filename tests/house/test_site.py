"""The documentation as a site: from disk, on a phone and on a screen, in both colour schemes, in a browser."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from manual.designs import ROOT
from tests.report.browser import Browser, chromium

pytestmark = [
    pytest.mark.nightly,
    pytest.mark.skipif(
        chromium() is None, reason="Chromium is not installed (Debian: apt install chromium): the site is NOT tried"
    ),
]
PAGES = ("index", "architecture", "handshakes", "ports", "commands", "registers/cluster", "api/hwgen.gateware")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--strict", "--site-dir", str(folder)]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1", "PYTHONPATH": str(ROOT)}
    subprocess.run(command, cwd=ROOT, check=True, env=environment)
    return folder


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with Browser.started(chromium() or "") as one:
        yield one


@pytest.mark.parametrize(("width", "dark"), [(360, False), (360, True), (1600, False), (1600, True)])
@pytest.mark.parametrize("page", PAGES)
def test_a_page_fits_and_needs_nothing_but_the_disk(
    page: str, width: int, dark: bool, site: Path, browser: Browser
) -> None:
    browser.complaints.clear()
    browser.open(site / f"{page}.html", width=width, dark=dark)
    assert browser.run("document.documentElement.scrollWidth") <= width
    assert browser.run("document.body.dataset.mdColorScheme") == ("slate" if dark else "default")
    browser.run("localStorage.clear()")  # the page keeps the palette of the first visit
    assert browser.complaints == []


def test_drawings_are_whole_and_timing_diagrams_scroll_on_a_phone(site: Path, browser: Browser) -> None:
    browser.open(site / "architecture.html", width=360)
    widths = browser.run("[...document.querySelectorAll('svg.drawing')].map(one => one.clientWidth)")
    assert len(widths) == 5
    assert all(300 < width <= 360 for width in widths)
    browser.open(site / "handshakes.html", width=360)
    scrolls = browser.run(
        "[...document.querySelectorAll('figure.scrolls')].map(one => [one.scrollWidth, one.clientWidth])"
    )
    assert len(scrolls) > 5
    assert all(inside > outside for inside, outside in scrolls)


def test_the_search_works_from_disk(site: Path, browser: Browser) -> None:
    browser.complaints.clear()
    browser.open(site / "index.html")
    browser.run("document.querySelector('.md-search__input').focus()")
    browser.run("document.querySelector('.md-search__input').value = 'arbiter'")
    browser.run("document.querySelector('.md-search__input').dispatchEvent(new Event('keyup', {bubbles: true}))")
    count, end = 0, time.monotonic() + 60
    while not count and time.monotonic() < end:
        count = browser.run("document.querySelectorAll('.md-search-result__item').length")
    assert count
    assert browser.complaints == []
