"""The page of ``hwgen report`` in a browser: what is drawn, filters, clicks, tables, widths, schemes."""

import base64
import csv
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hwgen.ir.document import SEAL
from hwgen.ir.lanes import Lanes
from hwgen.studies.sweep.report.results import load_results
from tests.report.browser import Browser, chromium
from tests.studies.sweep.report.swept import page_of, results

pytestmark = pytest.mark.skipif(
    chromium() is None, reason="Chromium is not installed (Debian: apt install chromium): the page is NOT tried"
)
SIZES = (256, 512, 1024, 2048, 4096)
CHIP = "document.querySelector('[data-chip=\"{}\"]').click()"
CHOOSE = "(s => {{ s.value = '{}'; s.dispatchEvent(new Event('change')) }})(document.getElementById('{}'))"
LABELS = "[...document.querySelectorAll('{}')].map(e => e.getAttribute('aria-label'))"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with Browser.started(chromium() or "") as found:
        yield found


@pytest.fixture(scope="module")
def shapes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of a sweep over two lane shapes and five sizes."""
    folder = tmp_path_factory.mktemp("shapes")
    results(folder, budgets=SIZES, shapes=(Lanes(x=16), Lanes(y=2, x=8)), kinds=("shared",))
    file = folder / "page.html"
    file.write_text(page_of(folder, "Two lane shapes"), encoding="utf-8")
    return file


def count(browser: Browser, selector: str) -> int:
    return int(browser.run(f"document.querySelectorAll('{selector}').length"))


def test_filters_act_on_everything(browser: Browser, shapes: Path) -> None:
    browser.open(shapes, width=1600)
    # Two families of five sizes; a point for each row.
    assert count(browser, "#traffic .point_marks > path") == 10
    assert count(browser, "#roofline .point_marks > path") == count(browser, "#results tbody tr") == 20
    assert count(browser, "#pareto .point_marks > path") == 10
    # Families have a shape and a colour of their own, in every plot the same.
    marks = (
        "[...new Set([...document.querySelectorAll('{} .point_marks > path')].map(p => p.getAttribute('stroke')))]"
    )
    assert browser.run(marks.format("#traffic")) == browser.run(marks.format("#roofline"))
    assert len(browser.run(marks.format("#pareto"))) == 2
    corners = "[...document.querySelectorAll('#roofline .point_marks > path')].map(p => p.getAttribute('d'))"
    assert len(set(browser.run(corners))) == 2
    # Points on the roofline are named: a layer's largest buffers of each family, where there is room.
    names = browser.run("[...document.querySelectorAll('#roofline .name_marks > text')].map(t => t.textContent)")
    assert set(names) == {"first", "second"}
    browser.run(CHIP.format("lanes=y2x8"))
    assert count(browser, "#traffic .point_marks > path") == 20  # one family: I, W, O and their sum
    assert count(browser, "#roofline .point_marks > path") == count(browser, "#results tbody tr") == 10
    browser.run(CHIP.format("buffers=512"))
    browser.run(CHIP.format("buffers=1024"))
    browser.run(CHIP.format("layers=second"))
    assert count(browser, "#roofline .point_marks > path") == count(browser, "#results tbody tr") == 2
    assert count(browser, "#curves tbody tr") == 6
    assert browser.run("document.getElementById('count').textContent") == "2 of 20 rows"
    assert browser.run("document.getElementById('chosen').textContent") == "second; y2x8; 512 B, 1 KiB"
    # The address holds it, and gives it back.
    address = browser.run("location.hash")
    assert set(address[1:].split("&")) == {"lanes=y2x8", "buffers=512,1024", "layers=second"}
    assert browser.run("document.getElementById('link').getAttribute('href')") == address
    browser.run("document.querySelector('#results thead [data-name=utilisation] button').click()")
    browser.open(shapes, width=1600, anchor=f"{browser.run('location.hash')}&bars=layer%20second")
    assert count(browser, "#roofline .point_marks > path") == 2
    assert browser.run("document.querySelector('#results [aria-sort]').dataset.name") == "utilisation"
    assert count(browser, "#stalls .role-axis-label text[text-anchor=end]") == 2  # two configurations
    browser.run("location.hash = '#lanes=x16&unknown=1&buffers=7'")
    browser.run("new Promise(done => setTimeout(done, 50))", wait=True)
    assert count(browser, "#results tbody tr") == 10
    # What is chosen away comes back; what nothing has leaves a word.
    browser.run(CHIP.format("lanes="))
    assert count(browser, "#results tbody tr") == 20
    assert browser.complaints == []


def test_bars_tell_useful_lanes_from_idle_ones(browser: Browser, shapes: Path) -> None:
    browser.open(shapes)
    browser.run(CHOOSE.format("of 512 B, x16", "stalls-group"))
    wanted = {"layer": "first", "buffer_bytes": "512", "lanes": "x16"}
    (row,) = (one for one in rows_of(shapes) if wanted.items() <= one.items())
    useful = 100 * float(row["utilisation"])
    assert 0 < useful < 30
    assert browser.run(LABELS.format("#stalls .bar_marks > path"))[:5] == [
        f"first, {useful:.1f} % useful lanes", f"first, {100 - 30 - useful:.1f} % idle lanes",
        "first, 22.5 % waiting for input, 900 of 4,000 cycles",
        "first, 7.5 % waiting for weight, 300 of 4,000 cycles",
        "first, 0.0 % waiting for output, 0 of 4,000 cycles",
    ]  # fmt: skip
    widths = browser.run("[...document.querySelectorAll('#stalls .bar_marks > path')].map(b => b.getBBox().width)")
    assert widths[0] / sum(widths[:5]) == pytest.approx(useful / 100, abs=1e-3)


def rows_of(file: Path) -> list[dict[str, str]]:
    with (file.parent / "results.csv").open(encoding="utf-8", newline="") as table:
        return list(csv.DictReader(table))


def test_a_click_shows_design_and_nest(browser: Browser, shapes: Path) -> None:
    browser.open(shapes, width=1600)
    for event in ("new MouseEvent('click')", "new KeyboardEvent('keydown', {key: 'Enter'})"):
        browser.run(f"document.querySelector('#roofline .point_marks > path').dispatchEvent({event})")
        assert browser.run("document.getElementById('detail').open")
        assert browser.run("document.querySelector('#detail .nest').textContent").startswith("for ")
        # The picture: each lane, and each memory as large as it is.
        assert count(browser, "#detail .design svg") == 1
        assert count(browser, "#detail .lane:not(.busy)") == 16
        widths = browser.run("[...document.querySelectorAll('#detail .memory')].map(m => m.width.baseVal.value)")
        row = next(one for one in rows_of(shapes) if one["lanes"] == "x16")
        sizes = [int(row[f"{name}_buffer_bytes"]) for name in ("input", "weight", "output")]
        assert max(widths) == pytest.approx(104)
        assert widths[2] / max(widths) == pytest.approx(sizes[2] / max(sizes), abs=0.06)
        # Beside the plots where there is room.
        assert not browser.run("document.getElementById('detail').matches(':modal')")
        browser.run("document.dispatchEvent(new KeyboardEvent('keydown', {key: 'Escape'}))")
        assert not browser.run("document.getElementById('detail').open")
    # A pointer, and the focus, name a point.
    browser.run(
        "document.querySelector('#roofline .point_marks > path').dispatchEvent(new PointerEvent('pointermove'))"
    )
    assert browser.run("document.getElementById('tip').textContent").startswith("first, 256 B")
    assert browser.complaints == []


VIEWS = "const views = new WeakMap();"
MANY = """(async () => {
  const { views, drawChart } = window.opened, host = document.getElementById("roofline");
  const row = Object.fromEntries(Object.entries((await views.get(host)).data("rows")[0])); // without Vega's mark
  const rows = (number) => [...Array(number).keys()].map((i) => ({ ...row, layer: `layer_${i}` }));
  const drawn = [];
  for (const number of [30, 2]) {
    drawChart(host, "roofline", { rows: rows(number) });
    await views.get(host);
    const caption = host.querySelector("figcaption");
    const names = [...host.querySelectorAll('.name_marks > text[opacity="1"]')].map((one) => one.textContent);
    drawn.push([names, caption.hidden ? "" : caption.textContent]);
  }
  return drawn;
})()"""
"""The names that are drawn of some points in one place, and what is said of the others."""


def test_names_without_room_are_told_below(browser: Browser, shapes: Path, tmp_path: Path) -> None:
    script = shapes.read_text(encoding="utf-8")
    assert script.count(VIEWS) == 1
    page = tmp_path / "page.html"
    page.write_text(script.replace(VIEWS, f"{VIEWS} window.opened = {{ views, drawChart }};"), encoding="utf-8")
    browser.open(page, width=1600)
    (named, told), (both, nothing) = browser.run(MANY, wait=True)
    assert 0 < len(named) <= 8
    left_out = [name for name in (f"layer_{at}" for at in range(30)) if name not in named]
    assert told == f"No room for a name: {', '.join(left_out[:20])} and {len(left_out) - 20} more."
    assert (both, nothing) == (["layer_0", "layer_1"], "")


def test_area_by_block(browser: Browser, shapes: Path) -> None:
    browser.open(shapes, width=360)
    names = "[...document.getElementById('areas-design').options].map(o => o.textContent)"
    assert browser.run(names)[0] == "HWC: 256 B, x16, 2 layers"
    assert browser.run(LABELS.format("#areas-plot .bar_marks > path")) == [
        "datapath, 4,012 LUT4-equivalents", "(top), 1,256 LUT4-equivalents", "datapath, 900 NAND gates",
        "(top), 100 NAND gates",
    ]  # fmt: skip
    assert browser.run("document.querySelector('#areas-clock').textContent").endswith(
        "80.0 MHz, placed and routed; a -> b."
    )
    cells = "[...document.querySelectorAll('#areas tbody tr')].map(r => r.innerText.split(/\\s+/).slice(0, 3))"
    assert browser.run(cells) == [
        ["datapath", "4,012", "4,000"], ["(top)", "1,256", "1,256"], ["together", "5,268", "5,256"],
    ]  # fmt: skip
    browser.run(CHOOSE.format("hwc1024", "areas-design"))
    assert "1 KiB" in browser.run("document.querySelector('#areas-clock').textContent")
    assert browser.run("document.documentElement.scrollWidth") <= 360
    browser.open(shapes, width=1600)
    widths = "[...document.querySelectorAll('#areas-plot svg')].map(s => s.viewBox.baseVal.width)"
    left, right = browser.run(widths)
    assert left == right < 800  # beside each other
    # A click on a point shows the same beside its figures; what is not chosen is no choice.
    browser.run("document.querySelector('#roofline .point_marks > path').dispatchEvent(new MouseEvent('click'))")
    assert count(browser, "#detail-body .bar_marks > path") == 4
    browser.run("document.getElementById('detail').close()")
    browser.run(CHIP.format("buffers=512"))
    assert browser.run(names) == ["HWC: 512 B, x16, 2 layers"]
    assert browser.complaints == []


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [360, 800, 1600])
def test_every_width_and_scheme(browser: Browser, shapes: Path, width: int, dark: bool) -> None:
    browser.open(shapes, width=width, height=500, dark=dark)  # the table is higher
    assert browser.run("document.documentElement.scrollWidth") <= width
    assert count(browser, "#roofline .point_marks > path") == 20
    assert browser.run("getComputedStyle(document.body).backgroundColor") == (
        "rgb(26, 26, 25)" if dark else "rgb(252, 252, 251)"
    )
    outside = """[...document.querySelectorAll('figure.plot svg text')].filter(t => {
        const [b, s] = [t, t.ownerSVGElement].map(e => e.getBoundingClientRect());
        return b.left < s.left - 2 || b.right > s.right + 2 }).map(t => t.textContent)"""
    assert browser.run(outside) == []
    # All of a table can be reached, with its first column and its header in sight.
    browser.run("document.getElementById('all-columns').click()")
    browser.run("{ const s = document.querySelector('#results .scroll'); s.scrollTo(1e6, 1e6) }")
    place = """(() => {{
        const [s, c] = ['#results .scroll', '{}'].map(q => document.querySelector(q).getBoundingClientRect());
        return [c.left - s.left, s.right - c.right, c.top - s.top] }})()"""
    first, _, _ = browser.run(place.format("#results tbody tr:last-child th"))
    assert 0 <= first <= 2
    _, last, top = browser.run(place.format("#results thead th:last-child"))
    assert 0 <= last <= 20
    assert 0 <= top <= 2
    browser.run("document.querySelector('#traffic .point_marks > path').dispatchEvent(new MouseEvent('click'))")
    assert browser.run("document.getElementById('detail').matches(':modal')") is (width < 1200)
    assert browser.run("document.documentElement.scrollWidth") <= width
    assert base64.b64decode(browser.screenshot()).startswith(b"\x89PNG")
    assert browser.complaints == []


@pytest.mark.nightly
def test_clusters_and_engines(browser: Browser, tmp_path: Path) -> None:
    results(tmp_path, clusters=True)
    file = tmp_path / "page.html"
    file.write_text(page_of(tmp_path, "Clusters"), encoding="utf-8")
    browser.open(file)
    points = {name: count(browser, f"#{name} .point_marks > path") for name in
              ("traffic", "roofline", "pareto", "dram", "cluster-roofline")}  # fmt: skip
    # Four series of three sizes; all rows of lone HWCs; three configurations with an area, on the front or
    # beaten; five series of two clusters; all their rows.
    assert points == {"traffic": 12, "roofline": 12, "pareto": 3, "dram": 10, "cluster-roofline": 4}
    # A line to each series of clusters, and the bound; a roof for each number of HWCs, a line for each layer.
    assert count(browser, "#dram .mark-line path") == 6
    assert count(browser, "#dram .point_marks > path[fill*=page]") == 5
    assert count(browser, "#cluster-roofline .mark-line path") == 4
    # Predicted for the hardware and by the pure model, for I, W, O and all; the bound.
    assert count(browser, "#traffic .mark-line path") == 9
    assert count(browser, '#traffic .mark-line path[stroke-dasharray^="1.5"]') == 4
    assert count(browser, "#engines .bar_marks > path") == 2
    assert count(browser, "#traffic .point_marks > path[fill*=page]") == 4
    browser.run("document.querySelector('#dram .point_marks > path').dispatchEvent(new MouseEvent('click'))")
    assert "buffered in the tcdm at the loop below" in browser.run(
        "document.querySelector('#detail .nest').textContent"
    )
    browser.run("document.getElementById('detail').close()")
    # Another layer, other points.
    first = "document.querySelector('#traffic .point_marks > path').getAttribute('aria-label')"
    assert "2 layers" in browser.run(first)
    browser.run(CHIP.format("layers=second"))
    assert "second" in browser.run(first)
    browser.run(CHIP.format("layers="))
    # A cluster waits for other things than a lone HWC.
    browser.run(CHOOSE.format("of 1 x 512 B, TCDM 16 KiB, clusters", "stalls-group"))
    assert browser.run(LABELS.format("#stalls .bar_marks > path"))[2:4] == [
        "first, 20.0 % waiting for loads, 1,000 of 5,000 cycles",
        "first, 10.0 % waiting for stores, 500 of 5,000 cycles",
    ]
    # Tables are sorted by a click, and another one turns them round.
    column = "[...document.querySelectorAll('#results tbody tr')].map(r => r.children[2].textContent)"
    orders = []
    for _ in range(2):
        browser.run("document.querySelector('#results [data-name=buffer_bytes] button').click()")
        orders.append(browser.run(column))
    assert orders[0] == ["512"] * 8 + ["1,024"] * 4 + ["2,048"] * 4
    assert orders[1] == orders[0][::-1]
    browser.run("document.getElementById('all-columns').click()")
    filled = {name for row in rows_of(file) for name, cell in row.items() if cell and name != SEAL}
    assert count(browser, "#results thead th") == len(filled) > 100
    # A download is the table.
    browser.run("URL.createObjectURL = blob => { window.saved = blob; return 'data:,' }")
    browser.run("document.querySelector('#results .download button').click()")
    assert browser.run("saved.size") > 1000
    assert base64.b64decode(browser.printed()).startswith(b"%PDF")
    assert browser.complaints == []


def test_it_would_hear_complaints(browser: Browser, shapes: Path) -> None:
    browser.open(shapes)
    known: list[Any] = list(browser.complaints)
    browser.run("console.error('heard')")
    browser.run("void fetch('http://example.invalid/').catch(() => 0)")
    browser.run("document.title")
    new, browser.complaints = browser.complaints[len(known) :], known
    assert any("heard" in complaint for complaint in new)
    assert any("request to http://example.invalid/" in complaint for complaint in new)


def test_what_was_weighed_is_beside_a_point(browser: Browser, tmp_path: Path) -> None:
    results(tmp_path, budgets=(512, 1024), kinds=("shared",), slack=0.01)
    file = tmp_path / "page.html"
    file.write_text(page_of(tmp_path, "Weighed"), encoding="utf-8")
    rows = load_results(tmp_path).rows[:2]
    moved, took = (sum(row[name] for row in rows) for name in ("total_bytes_predicted", "cycles_predicted"))
    browser.open(file, width=1600)
    assert count(browser, "#cycles .point_marks > path") == 2
    assert count(browser, "#cycles .mark-line path") == 3  # predicted, and both ends
    browser.run("document.querySelector('#cycles .point_marks > path').dispatchEvent(new MouseEvent('click'))")
    facts = browser.run("[...document.querySelectorAll('#detail-body table')].map(t => t.innerText)")
    assert len(facts) == 3  # both layers together, and each
    assert "fewest cycles within 1 % of the least traffic" in facts[0]
    assert f"{moved - 200:,} bytes" in facts[0]
    assert f"in {took + 1000:,} cycles (+" in facts[0]
    assert f"in {took - 200:,} cycles (\u2212" in facts[0]
    first = rows[0]
    assert f"in {first['cycles_predicted'] + 500:,} cycles (+" in facts[1]
    assert "x16, asked for" in facts[1]
    # Another test asks for an address that there is not; the answer to that may come late.
    assert [complaint for complaint in browser.complaints if "example.invalid" not in complaint] == []
