"""``hwgen report``: results read back, the page and the images, and what is refused."""

import csv
import json
import re
from pathlib import Path
from typing import Any

import pytest

from hwgen.ir.document import InputError, row_digest
from hwgen.ir.schedule import Schedule
from hwgen.studies.sweep.report.groups import Group, groups_of, label_of, labels_of, pareto
from hwgen.studies.sweep.report.page import nest_text
from hwgen.studies.sweep.report.results import load_results
from hwgen.studies.sweep.tables.columns import COLUMNS
from tests.cli.command_line import Run, refused
from tests.studies.sweep.report.swept import results

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


def test_names_tell_apart_what_differs(tmp_path: Path) -> None:
    rows = load_results(results(tmp_path, clusters=True)).rows[:1] * 2
    assert labels_of(rows) == ["512 B"] * 2
    assert labels_of([rows[0], {**rows[0], "set": "more", "seed": 3}]) == ["512 B few seed 0", "512 B more seed 3"]
    assert labels_of([rows[0], {**rows[0], "scale": 4}]) == ["512 B", "512 B scaled by 4"]
    cluster = {**rows[0], "configuration": "cluster", "hwcs": 2, "tcdm_bytes": 1 << 14, "axi_bits": 64, "banks": 16}
    assert labels_of([rows[0], cluster, {**cluster, "banks": 8}]) == [
        "512 B", "2 x 512 B, TCDM 16 KiB 16 banks", "2 x 512 B, TCDM 16 KiB 8 banks"
    ]  # fmt: skip


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
    assert text.count("</script>") == 2
    assert "alert(1)" in text
