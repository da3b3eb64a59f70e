"""``hwgen regress``: what is done is not done again, whatever ended the last run; what differs is named."""

import csv
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import yaml

from cosim.simulator.registry import SIMULATORS
from hwgen.cli.console import CYCLES_NOTE
from hwgen.export.cached import generated
from hwgen.ir.document import InputError
from hwgen.ir.hardware import Hardware
from hwgen.ir.lanes import Lanes
from hwgen.ir.layer import Layer
from hwgen.ir.schedule import Marker, Schedule
from hwgen.lower.hwc import compile_layer
from hwgen.model.nest.one_level import predict
from hwgen.readers.layer_sets import load_layer_set
from hwgen.search.hwc.canonical import order_from_text
from hwgen.studies.regress.goals import BUSY, GOALS
from hwgen.studies.regress.hwc import build_rows, rows_of
from hwgen.studies.regress.plans import Configuration, make_plan
from hwgen.studies.regress.published_nests import PRINTED, hwce
from hwgen.tools.kept import kept_text
from hwgen.tools.toolchain import cache_room
from tests.cli.command_line import Run, refused
from tests.studies.engine.inline import open_inline

pytestmark = pytest.mark.usefixtures("kernels_of_plans")

ROWS: list[dict[str, Any]] = [
    {"name": "square", "op": "conv", "input_channels": 3, "output_channels": 4, "input_height": 8, "input_width": 18,
     "output_height": 8, "output_width": 18, "kernel": [3, 3], "padding": [1, 1, 1, 1]},
    {"name": "point", "op": "conv", "input_channels": 6, "output_channels": 5, "input_height": 6, "input_width": 7,
     "output_height": 6, "output_width": 7, "kernel": [1, 1]},
    {"name": "wide", "op": "conv", "input_channels": 2, "output_channels": 3, "input_height": 12, "input_width": 140,
     "output_height": 4, "output_width": 68, "kernel": [5, 5], "stride": [2, 2]},
]  # fmt: skip


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """A set of two small layers, whose HWCs other tests simulate too."""
    return layer_set(tmp_path, ROWS[:2])


def layer_set(folder: Path, rows: list[dict[str, Any]]) -> Path:
    path = folder / "small.yaml"
    table = {"format": 1, "kind": "layer_list", "network": "small", "layers": rows}
    path.write_text(yaml.safe_dump(table), encoding="utf-8")
    return path


def layers_of(path: Path) -> tuple[Layer, ...]:
    return load_layer_set(str(path)).convolutions()


@pytest.mark.parametrize("kinds", [["shared"], pytest.param(["per-layer", "shared"], marks=pytest.mark.nightly)])
def test_what_is_done_is_not_done_again(
    run: Run, small: Path, tmp_path: Path, kinds: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    options = [f"--{kind}" for kind in kinds]
    command = ("regress", small, *options, "-j", 2, "-o", tmp_path / "out", "--json")
    answer = run(*command)
    assert answer.status == 0
    assert answer.err.count("as predicted") == 2 * len(kinds)
    first = answer.json
    assert (first["simulated"], first["failures"]) == (2 * len(kinds), [])
    assert {(row["configuration"], row["layer"]) for row in first["results"]} == {
        (f"{kind} 1024", row["name"]) for kind in kinds for row in ROWS[:2]
    }
    for row in first["results"]:
        assert row["equal"] is row["output_exact"] is row["passed"] is True
        assert row["measured"] == row["predicted"] == predict(Schedule.from_data(row["schedule"])).counts.as_json()
        assert set(row["stalls"]["measured"]) == set(row["stalls"]["predicted"]) == {"input", "weight", "output"}
        assert 0 < sum(row["stalls"]["measured"].values()) < row["cycles"]["measured"]
        assert sum(row["hardware"]["buffers"].values()) <= 1024
    for summary in first["configurations"]:
        rows = [row for row in first["results"] if row["configuration"] == summary["name"]]
        assert (summary["rows"], summary["missing"], summary["differences"], summary["wrong"]) == (2, 0, 0, 0)
        assert summary["total_bytes"] == sum(row["total_bytes"] for row in rows)
        assert summary["cycles"] == sum(row["cycles"]["measured"] for row in rows)
        assert summary["least_utilisation"] == min(row["utilisation"] for row in rows)
        assert summary["ratio"] >= 1
    lines = list(csv.DictReader((tmp_path / "out" / "rows.csv").read_text(encoding="utf-8").splitlines()))
    by_name = {(row["configuration"], row["layer"]): row for row in first["results"]}
    assert len(lines) == len(by_name)
    for line in lines:
        row = by_name[line["configuration"], line["layer"]]
        bytes_and_cycles = [row["total_bytes"]] * 2 + [row["cycles"][way] for way in ("predicted", "measured")]
        assert [int(cell) for cell in list(line.values())[2:6]] == bytes_and_cycles
        assert line["passed"] == "yes"
    summed = list(csv.DictReader((tmp_path / "out" / "summary.csv").read_text(encoding="utf-8").splitlines()))
    for line, summary in zip(summed, first["configurations"], strict=True):
        assert [line[name] for name in ("configuration", "rows", "missing", "wrong")] == [
            summary["name"],
            "2",
            "0",
            "0",
        ]
        assert [int(line[name]) for name in ("bytes", "cycles")] == [summary["total_bytes"], summary["cycles"]]
        assert float(line["utilisation"]) == summary["mean_utilisation"]
    again = run(*command)
    assert (again.status, again.json["simulated"], again.err) == (0, 0, "")
    assert {row["key"]: row for row in again.json["results"]} == {row["key"]: row for row in first["results"]}
    # Another seed is another run, here without processes of its own.
    monkeypatch.setattr("hwgen.studies.engine.work.open_farm", open_inline)
    assert run(*command[:2], options[0], "-o", tmp_path / "out", "--json", "--seed", 1).json["simulated"] == 2


@pytest.mark.nightly
def test_a_torn_last_line_is_simulated_again(run: Run, small: Path, tmp_path: Path) -> None:
    command = ("regress", small, "--per-layer", "-o", tmp_path / "out")
    assert run(*command).status == 0
    file = tmp_path / "out" / "results.jsonl"
    whole = file.read_bytes()
    file.write_bytes(whole[:-100])
    answer = run(*command)
    assert answer.status == 0
    assert "1 rows simulated now" in answer.out
    assert CYCLES_NOTE in answer.out
    assert answer.err.count("as predicted") == 1


def lines_in(file: Path) -> int:
    return file.read_bytes().count(b"\n") if file.exists() else 0


@pytest.mark.nightly
def test_a_killed_run_goes_on_where_it_was(run: Run, small: Path, tmp_path: Path) -> None:
    output = tmp_path / "out"
    command = ["regress", str(small), "--per-layer", "--shared", "--hwce", "-j", "1", "-o", str(output)]
    program = [sys.executable, "-c", "from hwgen.cli import main; main()", *command]
    with subprocess.Popen(program, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL) as process:
        while lines_in(output / "results.jsonl") < 2:
            assert process.poll() is None
            time.sleep(0.01)
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text(encoding="utf-8").split()
        process.send_signal(signal.SIGKILL)
    for _ in range(1000):
        if not any(Path(f"/proc/{child}").exists() for child in children):
            break
        time.sleep(0.01)
    else:
        pytest.fail("a process has outlived the one that started it")
    done = lines_in(output / "results.jsonl")
    assert 2 <= done < 6
    answer = run(*command, "--json")
    assert (answer.status, answer.json["simulated"], len(answer.json["results"])) == (0, 6 - done, 6)


@pytest.mark.nightly
def test_a_row_that_differs_is_named(run: Run, small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runtime = cache_room("runtime")
    runtime.mkdir(parents=True, exist_ok=True)
    monkeypatch.setenv("HWGEN_CACHE", str(tmp_path / "cache"))
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache" / "runtime").symlink_to(runtime)
    table = yaml.safe_load(small.read_text(encoding="utf-8"))
    small.write_text(yaml.safe_dump({**table, "layers": ROWS[:1]}), encoding="utf-8")
    command = ("regress", small, "--per-layer", "-j", 1, "-o", tmp_path / "out")
    (row,) = rows_of(make_plan(layers_of(small), Configuration("per-layer", 1024), tmp_path / "plan"))
    generated(row.parameters)
    # Hardware that marks every byte of the words it reads, whether it uses them or not.
    (file,) = (tmp_path / "cache" / "verilog").iterdir()
    text, changed = re.subn(r"\.port__be\(tcdm_i__be\)", ".port__be()", kept_text(file, lambda: ""))
    text, outputs = re.subn(r"  output \[3:0\] tcdm_i__be;\n  wire \[3:0\] tcdm_i__be;",
                            "  output [3:0] tcdm_i__be;\n  wire [3:0] tcdm_i__be = 4'd15;", text)  # fmt: skip
    assert (changed, outputs) == (1, 1)
    file.unlink()
    kept_text(file, lambda: text)
    for simulated in (1, 0):
        answer = run(*command)
        assert answer.status == 1
        assert f"{simulated} rows simulated now" in answer.out
        assert re.search(r"^per-layer 1024: square: I read at tcdm: \d+ bytes, predicted \d+$", answer.out, re.M)
    assert run(*command, "--json").json["configurations"][0]["differences"] == 1


@pytest.mark.usefixtures("inline")
def test_what_cannot_be_planned_is_a_failure_and_the_rest_is_done(run: Run, small: Path, tmp_path: Path) -> None:
    answer = run("regress", small, "--shared", "--buffer", "64,1KiB", "-o", tmp_path / "out", "--json")
    assert answer.status == 1
    assert answer.json["failures"] == ["no HWC of 64 bytes runs all 2 layers; the smallest that would do has 168"]
    assert answer.json["simulated"] == 2


@pytest.mark.nightly
def test_lanes_are_of_any_shape_where_they_are_to_be_busy(run: Run, small: Path, tmp_path: Path) -> None:
    table = yaml.safe_load(small.read_text(encoding="utf-8"))
    small.write_text(yaml.safe_dump({**table, "layers": ROWS[1:2]}), encoding="utf-8")
    demand = ("--min-utilisation", 0.3, "--max-ratio", 3)
    answer = run("regress", small, "--per-layer", "--shared", *demand, "-j", 1, "-o", tmp_path / "out", "--json")
    assert answer.status == 0
    assert {row["configuration"] for row in answer.json["results"]} == {
        "per-layer 1024 at 0.3, 3",
        "shared 1024 at 0.3, 3",
    }
    for row in answer.json["results"]:
        assert row["passed"]
        assert row["hardware"]["lanes"] != {"m": 1, "y": 1, "x": 16}


def test_wrong_options_are_refused(run: Run, small: Path, tmp_path: Path) -> None:
    refused(run("regress", small), "Missing option '-o' / '--output'")
    refused(
        run("regress", "nonet", "-o", tmp_path / "out"), "nonet: expected a file or one of the built-in layersets"
    )
    refused(run("regress", small, "-o", small), "-o: expected a folder, got the file")
    refused(run("regress", small, "-o", tmp_path / "out", "--buffer", "x"), "--buffer: expected sizes")
    table = yaml.safe_load(small.read_text(encoding="utf-8"))
    small.write_text(yaml.safe_dump({**table, "layers": [ROWS[0], ROWS[0]]}), encoding="utf-8")
    assert run("regress", small, "-o", tmp_path / "out").status == 2


def test_few_cycles_are_built_for_as_they_run(small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows run under Verilator, however few their cycles: no other simulator is needed."""
    built: list[str] = []
    for name, simulator in SIMULATORS.items():
        monkeypatch.setattr(type(simulator), "build", lambda *_, name=name: built.append(name))
    rows = rows_of(make_plan(layers_of(small)[:1], Configuration("hwce", 1024), tmp_path))
    assert build_rows(rows) == {}
    assert built == ["verilator"]


def test_the_hwce_cuts_into_stripes_what_it_cannot_hold(tmp_path: Path) -> None:
    layers = layers_of(layer_set(tmp_path, ROWS))
    plan = make_plan(layers, Configuration("hwce", 1024), tmp_path)
    assert [entry.schedule for entry in plan.entries] == [hwce(layer, lanes=Lanes(x=16)) for layer in layers]
    assert not plan.left_out
    narrow = make_plan(layers, Configuration("hwce", 512), tmp_path)
    assert not narrow.left_out
    wide = narrow.entries[2].schedule
    stripe = wide.loops[0].step
    assert 0 < stripe < layers[2].output_width
    assert wide == hwce(layers[2], stripe, lanes=Lanes(x=16))
    with pytest.raises(InputError, match="needs"):
        compile_layer(
            hwce(layers[2], stripe + 1, lanes=Lanes(x=16)), Hardware(name="hwce", lanes=Lanes(x=16), budget=512)
        )
    assert set(make_plan(layers, Configuration("hwce", 96), tmp_path).left_out) == {"point", "square", "wide"}
    assert make_plan(layers, Configuration("hwce", 1024), tmp_path) == plan
    for entry in plan.entries:
        alone = predict(hwce(entry.schedule.layer)).counts
        across = predict(entry.schedule).counts
        assert {key for key, *_ in across.differences(alone, ("elements", "bytes"))} == {("tcdm", "B", "read")}


BUILD = """
import sys
from pathlib import Path
from cosim.hwc.runner import hwc_device
from cosim.simulator.registry import SIMULATORS
print(SIMULATORS["verilator"].build(hwc_device(Path(sys.argv[1]).read_text(), 23), "bench"))
"""
EMPTY = """
module hwc(input clk, input rst, output irq, input cfg__req, output cfg__gnt, input [31:0] cfg__add, input cfg__wen,
  input [3:0] cfg__be, input [31:0] cfg__wdata, output cfg__r_valid, output cfg__r_opc, output [31:0] cfg__r_rdata,
PORTS);
endmodule
"""
PORT = """
  output tcdm_X__req, input tcdm_X__gnt, output [31:0] tcdm_X__add, output tcdm_X__wen, output [3:0] tcdm_X__be,
  output [31:0] tcdm_X__wdata, input tcdm_X__r_valid, input tcdm_X__r_opc, input [31:0] tcdm_X__r_rdata"""


@pytest.mark.parametrize("runtime_too", [False, pytest.param(True, marks=pytest.mark.nightly)])
def test_processes_that_build_the_same_build_it_once(tmp_path: Path, runtime_too: bool) -> None:
    """Compiling Verilator's runtime takes longer than the builds: it is shared with the other tests, but nightly."""
    (tmp_path / "cache").mkdir()
    if not runtime_too:
        shared = cache_room("runtime")
        shared.mkdir(parents=True, exist_ok=True)
        (tmp_path / "cache" / "runtime").symlink_to(shared)
    design = tmp_path / "hwc.v"
    design.write_text(EMPTY.replace("PORTS", ",".join(PORT.replace("X", port) for port in "iwo")), encoding="utf-8")
    environment = {**os.environ, "HWGEN_CACHE": str(tmp_path / "cache")}
    command = [sys.executable, "-c", BUILD, str(design)]
    processes = [subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    found = {process.communicate()[0].strip() for process in processes}
    assert [process.returncode for process in processes] == [0, 0, 0]
    (folder,) = found
    assert (Path(folder) / "sim").stat().st_mode & 0o100
    builds = Path(folder).parent
    assert len([path for path in builds.iterdir() if path.is_dir()]) == 1
    if runtime_too:
        assert len(list((tmp_path / "cache" / "runtime").glob("verilated-*/*.o"))) == 1


def test_demands_are_those_of_the_number_of_multipliers() -> None:
    few, many = Configuration.busy("shared", 4096), Configuration.busy("shared", 4096, 64)
    assert "multipliers" not in few.name
    assert "64 multipliers" in many.name
    assert (many.utilisation, many.ratio) == (BUSY[64]["shared"], GOALS[64]["shared"].ratio)
    assert Configuration.busy("published", 1024, 64).utilisation is None


@pytest.mark.usefixtures("inline")
@pytest.mark.parametrize("kind", ["shared", pytest.param("per-layer", marks=pytest.mark.nightly)])
def test_the_loops_of_figure_8_as_printed(run: Run, small: Path, tmp_path: Path, kind: str) -> None:
    """W above LOF, I in both readings, one division of the memory or one for each row: counts equal, cycles within 2
    %."""
    answer = run("regress", small, "--printed", f"--{kind}", "-j", 1, "-o", tmp_path / "out", "--json")
    assert answer.status == 0, answer.err
    assert [one["name"] for one in answer.json["configurations"]] == [
        f"{kind} 1024 {text}" for text in PRINTED.values()
    ]
    assert len(answer.json["results"]) == 2 * 2
    divisions = set()
    for row in answer.json["results"]:
        assert row["passed"]
        assert row["measured"] == row["predicted"]
        assert row["cycles"]["measured"] == pytest.approx(row["cycles"]["predicted"], rel=0.02)
        text = row["configuration"].split()[-1]
        schedule = Schedule.from_data(row["schedule"])
        assert tuple(item if isinstance(item, Marker) else item.dim for item in schedule.nest) == order_from_text(
            text
        )
        divisions.add((text, tuple(row["hardware"]["buffers"].items())))
    assert kind != "shared" or len(divisions) == 2
    refusal = run("regress", small, "--printed", "--published", "-o", tmp_path / "out")
    refused(refusal, "--printed: expected with no choice but --shared and --per-layer")
