"""``hwgen report``: results read back, the page in a browser, the images, and what is refused."""

import base64
import csv
import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from hwgen.campaigns.hwc import rows_of
from hwgen.campaigns.plans import Configuration, Entry, Plan
from hwgen.ir.document import InputError
from hwgen.ir.hardware import Cluster
from hwgen.ir.lanes import Lanes
from hwgen.ir.layer import Layer
from hwgen.ir.schedule import Schedule
from hwgen.model.cluster.access import predict_two_levels
from hwgen.model.core.access import predict
from hwgen.model.published.stoutchinin import hwce
from hwgen.report.sweep.groups import Group, groups_of, label_of, pareto
from hwgen.report.sweep.page import nest_text
from hwgen.report.sweep.results import load_results
from hwgen.sweep.cluster_rows import cluster_row
from hwgen.sweep.clusters import ClusterConfiguration, plan_on_cluster
from hwgen.sweep.columns import COLUMNS
from hwgen.sweep.documents import documents_of, hardware_of, schedule_file
from hwgen.sweep.request import Outcome, Question
from hwgen.sweep.rows import row_of
from hwgen.sweep.table import write_results
from hwgen.synth.ecp5 import Area, CriticalPath, Device, Gates, Synthesis
from tests.cli.command_line import Run, refused
from tests.report.browser import Browser, chromium
from tests.sweep.points import layers_named

BUDGETS = (512, 1024, 2048)


def results(folder: Path, *, clusters: bool = False) -> Path:
    """A sweep's folder: two layers on engines of three sizes, and on lone HWCs; or, besides, on clusters."""
    layers = layers_named("first", "second")
    question = Question(layers, tuple(Configuration("shared", budget) for budget in BUDGETS), layer_set="few")
    rows: list[dict[str, Any]] = []
    documents: dict[str, str] = {}
    for kind in ("shared", "hwce"):
        for budget in BUDGETS:
            configuration = Configuration(kind, budget)
            entries = tuple(Entry(hwce(layer, lanes=Lanes(x=16)), None) for layer in layers)
            plan = Plan(configuration, entries, {}, {layer.name: 100 for layer in layers})
            on = hardware_of(configuration, rows_of(plan))
            documents |= documents_of(question, configuration, (entry.schedule for entry in plan.entries), on)
            for row in rows_of(plan):
                rows.append(_cells(row, question, budget, simulated=budget != 2048))
    if clusters:
        for hwcs in (1, 2):
            for layer in layers:
                row, files = _on_cluster(layer, question, hwcs)
                rows.append(row)
                documents |= files
    curves = [
        {"layer": layer.name, "buffer_bytes": size, "I_bytes": 90000 // size, "W_bytes": 200, "O_bytes": 300,
         "total_bytes": 90000 // size + 500, "bound_bytes": 450, "set": "few", "scale": 1,
         "question": question.name}
        for layer in layers for size in (256, *BUDGETS)
    ]  # fmt: skip
    write_results(folder, Outcome(rows, curves, documents), question)
    return folder


def _cells(row: Any, question: Question, budget: int, *, simulated: bool) -> dict[str, Any]:
    line = {
        "measured": predict(row.entry.schedule).counts.as_json(),
        "equal": True,
        "output_exact": True,
        "passed": True,
        "failures": [],
        "cycles": {"measured": 4000},
        "stalls": {"measured": {"input": 900, "weight": 300, "output": 0}},
    }
    synthesis = Synthesis(
        Device(), 80.0, CriticalPath("a", "b", 1.0, 2.0), Area(5000 + budget, 5, 30, 2, 0),
        {"O": Area(lut_rams=budget // 8)}, Gates(1000, 30, 8 * budget, 64), {},
    )  # fmt: skip
    asked = {**question.asked(row.configuration), "simulator": "verilator" if simulated else ""}
    return row_of(
        row, point="p", optimum=100, asked=asked, file=schedule_file(question, row.configuration, row.layer),
        simulated=line if simulated else None, synthesis=synthesis,
    )  # fmt: skip


def _on_cluster(layer: Layer, question: Question, hwcs: int) -> tuple[dict[str, Any], dict[str, str]]:
    """A layer on a cluster of so many HWCs; the run is made up, and only one HWC was simulated."""
    configuration = ClusterConfiguration(Configuration("per-layer", 512), Cluster(hwcs=hwcs, tcdm=1 << 14))
    plan = plan_on_cluster(layer, configuration)
    schedule = Schedule.from_data(plan["schedule"])
    line = {
        "measured": predict_two_levels(schedule, hwcs).counts.as_json(),
        "equal": True,
        "output_exact": True,
        "passed": True,
        "failures": [],
        "cycles": {"measured": 5000},
        "stalls": {"measured": {"wait_compute_for_load": 1000, "wait_compute_for_store": 500}},
    }
    row = cluster_row(
        plan, configuration, point="p", asked=question.asked(configuration),
        file=schedule_file(question, configuration, layer.name), simulated=line if hwcs == 1 else None,
    )  # fmt: skip
    return row, documents_of(question, configuration, [schedule], configuration.hardware)


# --- reading ---


def test_results_are_read_as_they_were_written(tmp_path: Path) -> None:
    found = load_results(results(tmp_path))
    assert len(found.rows) == 12
    first, last = found.rows[0], found.rows[-1]
    assert (first["layer"], first["buffer_bytes"], first["equal"], first["utilisation"]) == (
        "first", 512, True, pytest.approx(first["macs"] / 64000, abs=1e-6)
    )  # fmt: skip
    assert (last["total_bytes_measured"], last["equal"], last["status"]) == (None, None, "predicted")
    assert found == load_results(tmp_path / "results.csv")
    assert [label_of(row) for row in found.rows[::2]] == [
        "512 B", "1 KiB", "2 KiB", "512 B hwce", "1 KiB hwce", "2 KiB hwce"
    ]  # fmt: skip


def test_unreadable_results_are_refused(run: Run, tmp_path: Path) -> None:
    def broken(name: str, change: Any) -> tuple[Any, ...]:
        folder = tmp_path / f"case{len(list(tmp_path.iterdir()))}"
        results(folder)
        text = (folder / name).read_text(encoding="utf-8")
        (folder / name).write_text(change(text), encoding="utf-8")
        return ("report", folder, "-o", tmp_path / "page")

    refused(run("report", tmp_path / "none", "-o", tmp_path / "page"), "none: expected the folder of a sweep")
    refused(run("report", tmp_path, "-o", tmp_path / "page"), "schema.json: cannot be read: No such file")
    refused(run(*broken("schema.json", lambda text: text[:-9])), "schema.json: expected a JSON document")
    refused(run(*broken("schema.json", lambda text: text.replace('"sweep"', '"else"'))), "expected kind sweep")
    refused(run(*broken("results.csv", lambda text: text[9:])), "results.csv: expected the columns of schema.json")
    refused(run(*broken("results.csv", lambda text: text.splitlines()[0] + "\n")), "expected at least one row")
    refused(
        run(*broken("results.csv", lambda text: text + "p,ok\n")), f"row 13: expected {len(COLUMNS)} cells, got 2"
    )
    refused(
        run(*broken("results.csv", lambda text: text.replace(",512,", ",many,", 1))),
        "row 1: buffer_bytes: expected integer, got 'many'",
    )
    refused(run(*broken("results.csv", lambda text: text.replace("first.yaml", "no.yaml"))), "no.yaml: ")
    refused(
        run(*broken("schedules/few_shared_512/first.yaml", lambda text: text.replace("nest:", "nets:"))),
        "few_shared_512/first.yaml: ",
    )
    (tmp_path / "file").touch()
    refused(run("report", results(tmp_path / "good"), "-o", tmp_path / "file"), "-o: expected a folder")
    (tmp_path / "good" / "provenance.json").write_bytes(b"\xff\xfe")
    with pytest.raises(InputError, match="not UTF-8 text"):
        load_results(tmp_path / "good")


# --- summing up ---


def test_the_front_is_what_no_other_one_beats() -> None:
    def group(label: str, area: float | None, traffic: int, layers: int = 2) -> Group:
        return Group(label, "shared", 512, layers, traffic, area)

    cheap, middle, large = group("cheap", 10, 100), group("middle", 20, 50), group("large", 30, 40)
    others = [group("beaten", 25, 50), group("equal", 20, 50), group("unknown", None, 1), group("partly", 1, 1, 1)]
    assert pareto([large, middle, *others, cheap]) == [cheap, middle, large]
    assert pareto([]) == []


def test_groups_sum_their_layers(tmp_path: Path) -> None:
    rows = load_results(results(tmp_path)).rows
    groups = groups_of(rows)
    assert [group.label for group in groups][:2] == ["512 B", "1 KiB"]
    assert groups[0].traffic == rows[0]["total_bytes_measured"] + rows[1]["total_bytes_measured"]
    assert groups[0].area == 1000 + 1.5 * (8 * 512 + 64)
    (without,) = groups_of([{**rows[0], "gates": None}])
    assert without.area is None


def test_a_nest_reads_as_loops(tmp_path: Path) -> None:
    layer = {"name": "l", "op": "conv", "input_channels": 2, "output_channels": 8, "input_height": 4,
             "input_width": 20, "output_height": 4, "output_width": 20, "kernel": [1, 1]}  # fmt: skip
    nest = [{"m": 4}, {"y": 1}, {"buffer": "O"}, {"c": 1}, {"buffer": ["I", "W"]}, {"m": 1}]
    schedule = Schedule.from_data({"format": 1, "kind": "schedule", "layer": layer, "nest": nest, "lanes": {"x": 20}})
    assert nest_text(schedule).splitlines() == [
        "for m in range(0, 8, 4):",
        "  for y in range(0, 4, 1):",
        "    # buffered at the loop below: O",
        "    for c in range(0, 2, 1):",
        "      # buffered at the loop below: I, W",
        "      for m in range(m, m + 4, 1):",
        "        multiply and accumulate  # lanes: 20 along x",
    ]


# --- the page ---


def test_the_page_needs_nothing_else(run: Run, tmp_path: Path) -> None:
    out = tmp_path / "page"
    sweep = results(tmp_path / "sweep", clusters=True)
    answer = run("report", sweep, "-o", out, "--title", "A <b> & more", "--json")
    assert answer.status == 0
    names = ("traffic", "stalls", "roofline", "pareto", "dram")
    images = [f"{name}.{kind}" for name in names for kind in ("png", "svg")]
    assert answer.json["files"] == ["index.html", *images]
    assert sorted(path.name for path in out.iterdir()) == sorted(answer.json["files"])
    text = (out / "index.html").read_text(encoding="utf-8")
    assert "<title>A &lt;b&gt; &amp; more</title>" in text
    assert not re.search(r"@(TITLE|STYLE|SCRIPT|DATA)@", text)
    assert not re.search(r"(src|href)=\"?(https?:|//)|@import|url\((?!data:)", text)
    embedded = re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.S)
    assert embedded is not None
    assert len(json.loads(embedded[1])["rows"]) == 16
    assert (out / "traffic.png").read_bytes().startswith(b"\x89PNG")
    first = {name: (out / name).read_bytes() for name in images}
    assert run("report", tmp_path / "sweep", "-o", out).status == 0
    assert {name: (out / name).read_bytes() for name in images} == first


def test_what_a_string_holds_stays_a_string(run: Run, tmp_path: Path) -> None:
    folder = results(tmp_path / "sweep")
    with (folder / "results.csv").open(encoding="utf-8", newline="") as file:
        lines = list(csv.reader(file))
    lines[1][lines[0].index("reason")] = "</script><script>alert(1)</script>"
    with (folder / "results.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows(lines)
    assert run("report", folder, "-o", tmp_path / "page").status == 0
    text = (tmp_path / "page" / "index.html").read_text(encoding="utf-8")
    assert text.count("</script>") == 2
    assert "alert(1)" in text


@pytest.mark.skipif(
    chromium() is None, reason="Chromium is not installed (Debian: apt install chromium): the page is NOT tried"
)
def test_the_page_in_a_browser(run: Run, tmp_path: Path) -> None:
    sweep = results(tmp_path / "sweep", clusters=True)
    assert run("report", sweep, "-o", tmp_path / "page").status == 0
    page = shutil.copy(tmp_path / "page" / "index.html", tmp_path / "alone.html")
    with Browser.started(chromium() or "") as browser:
        browser.open(Path(page), width=1200)
        points = {
            name: browser.run(f"document.querySelectorAll('#{name} .point').length")
            for name in ("traffic", "roofline", "pareto", "dram", "cluster-roofline")
        }
        # Four series of three sizes; all rows of lone HWCs; three configurations with an area, on the front or
        # beaten; five series of two clusters; all their rows.
        assert points == {"traffic": 12, "roofline": 12, "pareto": 3, "dram": 10, "cluster-roofline": 4}
        # A line to each series of clusters, and the bound; a roof for each number of HWCs.
        assert browser.run("document.querySelectorAll('#dram .curve').length") == 6
        assert browser.run("document.querySelectorAll('#dram .hollow').length") == 5
        assert browser.run("document.querySelectorAll('#cluster-roofline .curve').length") == 2
        # Predicted for the hardware and by the pure model, for I, W, O and all; the bound.
        assert browser.run("document.querySelectorAll('#traffic .curve').length") == 9
        assert browser.run("document.querySelectorAll('#traffic .curve.thin').length") == 4
        assert browser.run("document.querySelectorAll('#stalls .bar').length") == 8
        assert browser.run("document.querySelectorAll('#engines .bar').length") == 2
        assert browser.run("document.querySelectorAll('#traffic .hollow').length") == 4
        # A click, and a key, show the nest.
        for event in ("new MouseEvent('click')", "new KeyboardEvent('keydown', {key: 'Enter'})"):
            browser.run(f"document.querySelector('#roofline .point').dispatchEvent({event})")
            assert browser.run("document.getElementById('detail').open")
            nest = browser.run("document.querySelector('#detail .nest').textContent")
            assert nest.startswith("for x in range(0, 4, 4):")
            browser.run("document.getElementById('detail').close()")
        browser.run("document.querySelector('#dram .point').dispatchEvent(new MouseEvent('click'))")
        assert "buffered in the tcdm at the loop below" in browser.run(
            "document.querySelector('#detail .nest').textContent"
        )
        browser.run("document.getElementById('detail').close()")
        # Another layer, other points.
        choose = "(s => {{ s.value = '{}'; s.dispatchEvent(new Event('change')) }})(document.getElementById('{}'))"
        title = "document.querySelector('#traffic .point title').textContent"
        assert "all layers" in browser.run(title)
        browser.run(choose.format("second", "traffic-layer"))
        assert "second" in browser.run(title)
        # A cluster waits for other things than a lone HWC.
        browser.run(choose.format("1 x 512 B, TCDM 16 KiB", "stalls-group"))
        waits = "[...document.querySelectorAll('#stalls .bar title')].slice(0, 3).map(t => t.textContent)"
        assert browser.run(waits) == [
            "first: 70.0 % computing, start and end", "first: 1,000 of 5,000 cycles waiting for loads",
            "first: 500 of 5,000 cycles waiting for stores",
        ]  # fmt: skip
        # Tables are sorted by a click, and another one turns them round.
        header = "[...document.querySelectorAll('#results th')].find(h => h.textContent === 'buffer_bytes')"
        column = "[...document.querySelectorAll('#results tbody tr')].map(r => r.children[2].textContent)"
        orders = []
        for _ in range(2):
            browser.run(f"{header}.querySelector('button').click()")
            orders.append(browser.run(column))
        assert orders[0] == ["512"] * 8 + ["1,024"] * 4 + ["2,048"] * 4
        assert orders[1] == orders[0][::-1]
        browser.run("document.getElementById('all-columns').click()")
        with (sweep / "results.csv").open(encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
        filled = {name for row in rows for name, cell in row.items() if cell}
        assert browser.run("document.querySelectorAll('#results th').length") == len(filled) - 1 > 100
        # A download is the table.
        browser.run("URL.createObjectURL = blob => { window.saved = blob; return 'data:,' }")
        browser.run("document.querySelector('#results .download button').click()")
        assert browser.run("saved.size") > 1000
        wide = browser.run("document.documentElement.scrollWidth")
        assert wide <= 1200
        browser.open(Path(page), width=390, dark=True)
        assert browser.run("document.documentElement.scrollWidth") <= 390
        assert browser.run("document.querySelectorAll('#traffic .point').length") == 12
        dark = browser.run("getComputedStyle(document.body).backgroundColor")
        assert dark == "rgb(26, 26, 25)"
        assert base64.b64decode(browser.screenshot()).startswith(b"\x89PNG")
        assert base64.b64decode(browser.printed()).startswith(b"%PDF")
        assert browser.complaints == []
        # It would hear: an error in the page, and a request that leaves the disk.
        browser.run("console.error('heard')")
        browser.run("void fetch('http://example.invalid/').catch(() => 0)")
        browser.run("document.title")
        assert any("heard" in complaint for complaint in browser.complaints)
        assert any("request to http://example.invalid/" in complaint for complaint in browser.complaints)
