"""Depth-first points on the page of a sweep: the front, what a click on a point shows, filters, widths; the image."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from hwgen.studies.sweep.report.results import load_results
from tests.cli.command_line import Run, refused
from tests.report.browser import Browser, chromium
from tests.studies.sweep.report.swept import depth_first, page_of

CHIP = "document.querySelector('[data-chip=\"{}\"]').click()"
FACTS = "[...document.querySelectorAll('#detail-body table')].map(t => t.textContent).join('; ')"
no_browser = pytest.mark.skipif(
    chromium() is None, reason="Chromium is not installed (Debian: apt install chromium): the page is NOT tried"
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return depth_first(tmp_path_factory.mktemp("depth_first"))


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with Browser.started(chromium() or "") as found:
        yield found


def test_a_folder_of_depth_first_points_is_read(run: Run, folder: Path, tmp_path: Path) -> None:
    found = load_results(folder)
    assert found.rows == ()
    assert len(found.pipelines) == 2 * 4  # two stacks within the least memory, one within the others
    assert {row["weights"] for row in found.fronts} == {"fetched", "resident"}
    answer = run("report", folder, "-o", tmp_path / "page")
    assert answer.status == 0
    assert "8 rows; front.png, front.svg, pipeline-cycles.png" in answer.out
    (tmp_path / "schema.json").write_bytes((folder / "schema.json").read_bytes())
    (tmp_path / "provenance.json").write_bytes((folder / "provenance.json").read_bytes())
    (tmp_path / "pipelines.csv").write_text("point\n", encoding="utf-8")
    refused(run("report", tmp_path, "-o", tmp_path / "page"), "pipelines.csv: expected the columns of schema.json")


@no_browser
@pytest.mark.parametrize("width", [360, 1600])
def test_the_front_and_its_points(browser: Browser, folder: Path, width: int, tmp_path: Path) -> None:
    file = tmp_path / "page.html"
    file.write_text(page_of(folder, "Depth-first"), encoding="utf-8")
    browser.open(file, width=width)

    def count(selector: str) -> int:
        return int(browser.run(f"document.querySelectorAll('{selector}').length"))

    assert count("section:not([hidden])") == 2
    # A point for each solution, whatever runs it: the larger memories have the same one. Cycles for each run.
    assert (count("#front .point_marks > path"), count("#front .point_marks > path[fill*=page]")) == (2, 1)
    assert count("#front .mark-line path") == 2  # the front, and layer by layer
    assert count("#pipeline-cycles .point_marks > path") == 6
    assert count("#pipelines tbody tr") == 8
    assert browser.run("document.documentElement.scrollWidth") <= width
    browser.run("document.querySelector('#front .point_marks > path').dispatchEvent(new MouseEvent('click'))")
    assert browser.run("document.getElementById('detail-title').textContent") == "block, 64 B: 2 stacks, tiles: 2, 2"
    facts = browser.run(FACTS)
    assert "not simulated" in facts
    assert "8 multipliers, streams" in facts
    assert "16 multipliers, streams" in facts
    assert "rings" in facts
    bars = browser.run("[...document.querySelectorAll('#detail-body .bar_marks > path')].map(b => b.ariaLabel)")
    row = load_results(folder).pipelines[0]
    assert bars[0] == f"rb02_conv1, {row['input_bytes_predicted']:,} bytes: input"
    assert browser.run("document.documentElement.scrollWidth") <= width
    browser.run("document.getElementById('detail').close()")
    browser.run(CHIP.format("multipliers=8"))
    browser.run(CHIP.format("memory=4096"))
    assert (
        count("#front .point_marks > path"),
        count("#pipeline-cycles .point_marks > path"),
        count("#pipelines tbody tr"),
    ) == (1, 1, 1)
    browser.run("document.querySelector('#pipelines tbody tr').click()")
    assert "bytes predicted, measured" in browser.run(FACTS)
    assert browser.complaints == []
