"""``hwgen report``: results read back, the page and the images, and what is refused."""

import csv
import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from hwgen.ir.document import InputError, row_digest
from hwgen.ir.schedule import Schedule
from hwgen.report.charts import chart_script, images
from hwgen.report.nest import nest_text
from hwgen.studies.sweep.report import charts
from hwgen.studies.sweep.report.derived import derived, names_of
from hwgen.studies.sweep.report.results import load_results
from hwgen.studies.sweep.tables.columns import COLUMNS
from tests.cli.command_line import Run, refused
from tests.studies.sweep.report.swept import depth_first, results

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


def test_unreadable_results_are_refused(run: Run, tmp_path: Path) -> None:
    def broken(name: str, change: Any) -> tuple[Any, ...]:
        folder = tmp_path / f"case{len(list(tmp_path.iterdir()))}"
        results(folder)
        text = (folder / name).read_text(encoding="utf-8")
        (folder / name).write_text(change(text), encoding="utf-8")
        return ("report", folder, "-o", tmp_path / "page")

    refused(
        run("report", tmp_path / "none", "-o", tmp_path / "page"), "none: expected the folder that hwgen sweep wrote"
    )
    refused(run("report", tmp_path, "-o", tmp_path / "page"), f"{tmp_path}: expected the folder", "no schema.json")
    refused(run(*broken("schema.json", lambda text: text[:-9])), "schema.json: expected a JSON document")
    refused(run(*broken("schema.json", lambda text: text.replace('"sweep"', '"else"'))), "expected kind sweep")
    refused(run(*broken("results.csv", lambda text: text[9:])), "results.csv: expected the columns of schema.json")
    refused(run(*broken("results.csv", lambda text: text.splitlines()[0] + "\n")), "expected at least one row")
    refused(
        run(*broken("results.csv", lambda text: text + "p,ok\n")), f"row 13: expected {len(COLUMNS) + 1} cells, got 2"
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


def test_rows_that_contradict_themselves_are_named(run: Run, tmp_path: Path) -> None:
    folder = results(tmp_path / "sweep")
    assert run("report", folder, "-o", tmp_path / "page").status == 0
    with (folder / "results.csv").open(encoding="utf-8") as file:
        header, *rows = list(csv.reader(file))
    rows[0][header.index("tcdm_W_read_bytes_measured")] = "1"
    with (folder / "results.csv").open("w", encoding="utf-8") as file:
        csv.writer(file, lineterminator="\n").writerows([header, *rows])
    answer = run("report", folder, "-o", tmp_path / "page", "--json")
    assert answer.status == 1
    assert any("tcdm_W_read_bytes: 1 measured" in line for line in answer.json["contradictions"])


# --- summing up ---


def texts_of(drawn: charts.Drawn) -> list[str]:
    """What the points and bars of a chart say."""
    svg = images(drawn.chart, drawn.tables, drawn.settings)["svg"].decode()
    found = re.findall(r'aria-label="([^"]*&#xA;[^"]*)"', svg)
    return [text.replace("&#xA;", "; ") for text in found]


def test_the_front_is_what_no_other_one_beats(tmp_path: Path) -> None:
    read = load_results(results(tmp_path, budgets=(512, 1024, 2048, 4096, 8192), kinds=("shared",)))
    areas_and_traffic = {512: (10, 100), 1024: (20, 50), 2048: (25, 50), 4096: (20, 50), 8192: (30, 40)}
    rows = []
    for row in read.rows:
        area, traffic = areas_and_traffic[row["buffer_bytes"]]
        cells = {"gates": area, "buffer_bits": 0, "queue_bits": 0, "total_bytes_measured": traffic}
        rows.append({**row, **cells})
    del rows[-1]  # of 8 KiB not all layers are there
    found = charts.drawn_charts(derived(replace(read, rows=tuple(rows))))["pareto"]
    assert texts_of(found) == [
        "512 B, 2 layers; 200 bytes", "1 KiB, 2 layers; 100 bytes", "2 KiB, 2 layers; 100 bytes, beaten",
        "4 KiB, 2 layers; 100 bytes, beaten",
    ]  # fmt: skip


def test_points_sum_their_layers(tmp_path: Path) -> None:
    found = derived(load_results(results(tmp_path)))
    assert found.rows[0]["area"] == 1000 + 1.5 * (8 * 512 + 64)
    drawn = charts.drawn_charts(found)
    moved = found.rows[0]["total_bytes_measured"] + found.rows[1]["total_bytes_measured"]
    assert f"512 B, one HWC, 2 layers; I + W + O: {moved:,} bytes measured" in texts_of(drawn["traffic"])
    assert "1 KiB, one HWC, 2 layers; 8,000 cycles measured" in texts_of(drawn["cycles"])
    assert "512 B, one HWC, first; 22.5 % waiting for input; 900 of 4,000 cycles" in texts_of(drawn["stalls"])
    assert len(texts_of(drawn["roofline"])) == 12


def test_charts_are_vega_lite(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Altair compares with the schema what is not compared when a page is made, which takes seconds."""
    monkeypatch.setattr(charts, "compiled", lambda chart: chart.to_dict())
    found = charts.drawn_charts(derived(load_results(results(tmp_path / "rows", clusters=True, slack=0.01))))
    found |= charts.drawn_charts(derived(load_results(depth_first(tmp_path / "stacks"))))
    assert set(found) == {
        "traffic", "cycles", "pareto", "roofline", "engines", "dram", "cluster-roofline", "stalls", "front",
        "pipeline-cycles", "bars",
    }  # fmt: skip
    assert all("layer" in drawn.chart for drawn in found.values())


def test_names_tell_apart_what_differs(tmp_path: Path) -> None:
    rows = load_results(results(tmp_path)).rows
    assert names_of(rows)[::2] == [
        ("one HWC", "512 B, one HWC"), ("one HWC", "1 KiB, one HWC"), ("one HWC", "2 KiB, one HWC"),
        ("HWCE", "512 B, HWCE"), ("HWCE", "1 KiB, HWCE"), ("HWCE", "2 KiB, HWCE"),
    ]  # fmt: skip

    def labels(*changes: dict[str, Any]) -> list[str]:
        return [label for _, label in names_of([{**rows[0], **change} for change in changes])]

    assert labels({}, {}) == ["512 B"] * 2
    assert labels({}, {"set": "more", "seed": 3}) == ["512 B, few, seed 0", "512 B, more, seed 3"]
    assert labels({}, {"scale": 4}) == ["512 B, full size", "512 B, 1/4"]
    cluster = {"configuration": "cluster", "hwcs": 2, "tcdm_bytes": 1 << 14, "axi_bits": 64, "banks": 16}
    assert labels({}, cluster) == ["512 B, one HWC", "2 x 512 B, TCDM 16 KiB, clusters"]
    assert labels(cluster, {**cluster, "banks": 8}) == [
        "2 x 512 B, TCDM 16 KiB, 16 banks", "2 x 512 B, TCDM 16 KiB, 8 banks"
    ]  # fmt: skip
    assert labels(cluster, {**cluster, "dram": "ddr3"}) == ["2 x 512 B, TCDM 16 KiB", "2 x 512 B, TCDM 16 KiB, ddr3"]


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
    names = ("traffic", "cycles", "pareto", "roofline", "dram", "cluster-roofline", "stalls", "engines")
    images = [f"{name}.{kind}" for name in names for kind in ("png", "svg")]
    assert answer.json["files"] == ["index.html", *images]
    assert sorted(path.name for path in out.iterdir()) == sorted(answer.json["files"])
    text = (out / "index.html").read_text(encoding="utf-8").replace(chart_script(), "")
    assert "<title>A &lt;b&gt; &amp; more</title>" in text
    assert not re.search(r"@(TITLE|STYLE|SCRIPT|DATA)@", text)
    assert not re.search(r"(src|href)=\"?(https?:|//)|@import|url\((?!data:|#)", text)
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
        header, first, *rest = list(csv.reader(file))
    first[header.index("reason")] = "</script><script>alert(1)</script>"
    first[-1] = row_digest({**load_results(folder).rows[0], "reason": first[header.index("reason")]})
    with (folder / "results.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([header, first, *rest])
    assert run("report", folder, "-o", tmp_path / "page").status == 0
    text = (tmp_path / "page" / "index.html").read_text(encoding="utf-8")
    assert text.count("</script>") == 3
    assert "alert(1)" in text
