"""Kept results that were edited: no command believes them, whether their digest is there or was removed."""

import csv
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet
import pytest
import yaml

from hwgen.cli import main
from hwgen.ir.document import SEAL
from hwgen.studies.sweep.steps import LEDGER
from tests.cli.command_line import Run, refused
from tests.studies.engine.inline import open_inline
from tests.studies.regress.test_hwc import ROWS

SWEEP = ("sweep", "set.yaml", "--per-layer", "--objective", "traffic", "--lanes", "x16", "-j", "1", "-o", "out")
HERE = (*SWEEP, "--buffers", "512")
REGRESS = ("regress", "set.yaml", "--per-layer", "--buffer", "512", "-j", "1", "-o", "regressed")
KEPT, REMOVED = "digest kept", "digest removed"
both = pytest.mark.parametrize("digest", [KEPT, REMOVED])


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which a layer was swept and regressed, through the RTL."""
    folder = tmp_path_factory.mktemp("finished")
    table = {"format": 1, "kind": "layer_list", "network": "small", "layers": ROWS[1:2]}
    (folder / "set.yaml").write_text(yaml.safe_dump(table), encoding="utf-8")
    for command in (HERE, REGRESS):
        with pytest.MonkeyPatch.context() as patch:
            patch.chdir(folder)
            patch.setattr("hwgen.studies.engine.work.open_farm", open_inline)
            patch.setattr("sys.argv", ["hwgen", *command])
            with pytest.raises(SystemExit, match=r"^0$"):
                main()
    return folder


@pytest.fixture
def there(finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of it, in which commands run; the steps of a sweep in this process, and pages without images."""
    shutil.copytree(finished, tmp_path / "there")
    monkeypatch.chdir(tmp_path / "there")
    monkeypatch.setattr("hwgen.studies.engine.work.open_farm", open_inline)
    monkeypatch.setattr("hwgen.report.charts.images", lambda *drawn: {})
    return tmp_path / "there"


def edited(document: dict[str, Any], change: Callable[[dict[str, Any]], object], digest: str) -> str:
    change(document)
    if digest == REMOVED:
        del document[SEAL]
    return json.dumps(document)


def fewer_bytes(result: dict[str, Any]) -> None:
    result["measured"]["tcdm"]["I"]["read"]["bytes"] -= 8


def fewer_cycles(result: dict[str, Any]) -> None:
    result["cycles"]["measured"] //= 2


def figures(table: Path) -> list[dict[str, str]]:
    """The cells that do not depend on the time that a run took."""
    with table.open(encoding="utf-8", newline="") as file:
        return [{name: cell for name, cell in row.items() if name != SEAL} for row in csv.DictReader(file)]


@both
@pytest.mark.parametrize("change", [fewer_bytes, fewer_cycles])
def test_a_step_of_a_sweep_is_made_anew(
    run: Run, there: Path, change: Callable[[dict[str, Any]], object], digest: str
) -> None:
    before = figures(there / "out" / "results.csv")
    ledger = there / "out" / LEDGER
    lines = ledger.read_text(encoding="utf-8").splitlines()
    (number,) = [at for at, line in enumerate(lines) if "measured" in json.loads(line)["value"]]
    lines[number] = edited(json.loads(lines[number]), lambda data: change(data["value"]), digest)
    ledger.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    answer = run(*HERE)
    assert answer.status == 0
    (line,) = [line for line in answer.err.splitlines() if "not believed" in line]
    assert f"out/{LEDGER}: line {number + 1} (per-layer 512 point): " in line
    assert figures(there / "out" / "results.csv") == before
    assert run(*HERE).err == ""


@both
def test_no_record_of_a_sweep_is_believed(run: Run, there: Path, digest: str) -> None:
    """Plans and curves, too."""
    before = figures(there / "out" / "results.csv"), figures(there / "out" / "curves.csv")
    ledger = there / "out" / LEDGER
    lines = ledger.read_text(encoding="utf-8").splitlines()
    new = [edited(json.loads(line), lambda data: data["value"].update(more=1), digest) for line in lines]
    ledger.write_text("".join(f"{line}\n" for line in new), encoding="utf-8")
    answer = run(*HERE)
    assert answer.status == 0
    assert answer.err.count("not believed") == len(lines) >= 3
    assert (figures(there / "out" / "results.csv"), figures(there / "out" / "curves.csv")) == before


CELLS = {"tcdm_I_read_bytes_measured": 8, "total_bytes_measured": 8, "cycles_measured": 100, "buffer_bytes": 256}


@pytest.mark.parametrize(("cell", "digest"), [*((cell, KEPT) for cell in CELLS), ("cycles_measured", REMOVED)])
def test_a_row_as_csv_is_named(run: Run, there: Path, cell: str, digest: str) -> None:
    assert run("report", "out", "-o", "page").status == 0
    table = there / "out" / "results.csv"
    with table.open(encoding="utf-8", newline="") as file:
        header, row = csv.reader(file)
    row[header.index(cell)] = str(int(row[header.index(cell)]) - CELLS[cell])
    if digest == REMOVED:
        row[header.index(SEAL)] = ""
    with table.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([header, row])
    answer = run("report", "out", "-o", "page")
    assert answer.status == 1
    assert "out/results.csv: row 1: changed since it was written" in answer.out
    # A sweep writes the table anew, from what is kept.
    assert run(*HERE).status == 0
    assert run("report", "out", "-o", "page").status == 0


def test_a_csv_without_digests_is_refused(run: Run, there: Path) -> None:
    table = there / "out" / "results.csv"
    with table.open(encoding="utf-8", newline="") as file:
        rows = [row[:-1] for row in csv.reader(file)]
    with table.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows(rows)
    refused(run("report", "out", "-o", "page"), "out/results.csv: expected the columns of schema.json")


@both
@pytest.mark.parametrize("parquet", [True, False], ids=["Parquet", "JSON"])
def test_a_row_that_is_kept_for_later_sweeps_is_left_out(
    run: Run, there: Path, digest: str, parquet: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Such a row, of another sweep, would go into the tables of the next one."""
    if not parquet:
        for kept in (there / "out").glob("*.parquet"):
            kept.unlink()
        for module in ("merge", "files"):
            monkeypatch.setattr(f"hwgen.studies.sweep.tables.{module}.writes_parquet", lambda: False)
        monkeypatch.setattr("hwgen.studies.sweep.running.writes_parquet", lambda: False)
        assert run(*HERE).status == 0
    file = there / "out" / ("results.parquet" if parquet else "store/tables.json")
    tables = json.loads(file.read_text(encoding="utf-8")) if not parquet else {}
    rows = pyarrow.parquet.read_table(file).to_pylist() if parquet else tables["results"]
    rows[0]["cycles_measured"] -= CELLS["cycles_measured"]
    if digest == REMOVED:
        rows[0][SEAL] = None
    if parquet:
        pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), file)
    else:
        file.write_text(json.dumps(tables), encoding="utf-8")
    answer = run("report", "out", "-o", "page")
    assert answer.status == 1
    assert f"{file.relative_to(there)}: row 1 (set per-layer" in answer.out
    answer = run(*SWEEP, "--buffers", "1KiB")
    assert answer.status == 0
    (line,) = [line for line in answer.err.splitlines() if "not believed" in line]
    assert f"{file.relative_to(there)}: row 1 (set per-layer" in line
    assert [row["buffer_bytes"] for row in figures(there / "out" / "results.csv")] == ["1024"]
    assert run("report", "out", "-o", "page").status == 0


@both
@pytest.mark.parametrize("change", [fewer_bytes, fewer_cycles])
def test_a_line_of_a_ledger_is_made_anew(
    run: Run, there: Path, change: Callable[[dict[str, Any]], object], digest: str
) -> None:
    ledger = there / "regressed" / "results.jsonl"
    kept = ledger.read_text(encoding="utf-8")
    changed = edited(json.loads(kept), lambda data: change(data["value"]), digest)
    ledger.write_text(f"{changed}\n", encoding="utf-8")
    answer = run(*REGRESS, "--json")
    assert answer.status == 0
    (line,) = [line for line in answer.err.splitlines() if "not believed" in line]
    assert "regressed/results.jsonl: line 1 (per-layer 512 point): " in line
    assert answer.json["simulated"] == 1
    (result,) = answer.json["results"]
    before = json.loads(kept)["value"]
    assert [result[name] for name in ("measured", "cycles")] == [before[name] for name in ("measured", "cycles")]
    again = run(*REGRESS, "--json")
    assert (again.status, again.err, again.json["simulated"]) == (0, "", 0)


@both
def test_a_plan_is_made_anew(run: Run, there: Path, digest: str) -> None:
    """The optimum in it, by which traffic is divided, is not checked by any count."""
    (plan,) = (there / "regressed" / "plans").glob("*.json")
    header, _, text = plan.read_text(encoding="utf-8").partition("\n")
    optimum = f'"point": {json.loads(text)["optima"]["point"]}'
    assert optimum in text
    changed = text.replace(optimum, '"point": 4')
    plan.write_text(f"{header}\n{changed}" if digest == KEPT else changed, encoding="utf-8")
    answer = run(*REGRESS, "--json")
    assert (answer.status, answer.json["simulated"]) == (0, 0)
    assert f"{plan.relative_to(there)}: damaged" in answer.err
    assert answer.json["configurations"][0]["ratio"] < 10
    assert run(*REGRESS).err == ""
