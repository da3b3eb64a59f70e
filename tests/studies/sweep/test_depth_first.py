"""``hwgen sweep --depth-first``: points, rows, tables, and what is refused; stacks of a small network in the RTL."""

import csv
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import hwgen
from hwgen.arch.dram import DramPort
from hwgen.ir.document import InputError, dump_yaml
from hwgen.ir.excerpt import at_resolution, excerpt, narrowed
from hwgen.ir.hardware import Dram
from hwgen.ir.layer_set import Network
from hwgen.lower.pipeline.solution import read_solution
from hwgen.model.pipeline.graph import Graph
from hwgen.readers.layer_sets import load_layer_set
from hwgen.search.pipeline.front import best_within, search_front
from hwgen.studies.engine.attempt import Step, Tell
from hwgen.studies.sweep.depth_first import steps
from hwgen.studies.sweep.depth_first.request import DepthFirstQuestion
from hwgen.studies.sweep.depth_first.run import DepthFirstSweep, solution_file
from hwgen.studies.sweep.depth_first.steps import StackJob, simulate_step
from hwgen.studies.sweep.request import Outcome
from hwgen.studies.sweep.tables.files import write_results
from hwgen.studies.sweep.tables.merge import Tables, known_tables
from hwgen.studies.sweep.tables.pipelines import FRONTS, PIPELINES
from hwgen.tools.toolchain import ToolError
from tests.cli.command_line import Run, refused
from tests.cli.json_keys import undocumented
from tests.studies.engine.inline import open_inline

TRIES: list[str] = []
"""Kinds of the steps that `perform` did."""


@pytest.fixture(scope="module")
def network() -> Network:
    """That of `tests.cli.test_pipelines`, whose simulators are used again."""
    return at_resolution(narrowed(excerpt(load_layer_set("srgan"), "rb02_conv1", "rb02_add"), 32), 10, 8)


@pytest.fixture(scope="module")
def least(network: Network) -> int:
    """The memory of its smallest solution, which has two stacks."""
    return search_front(Graph.of(network)).points[0].memory


@pytest.fixture(autouse=True)
def inline(monkeypatch: pytest.MonkeyPatch) -> None:
    TRIES.clear()
    monkeypatch.setattr("hwgen.studies.engine.work.open_farm", open_inline)


def perform(step: Step, tell: Tell) -> dict[str, Any]:
    """The model's steps as they are; simulations are made up, those of the stacks that end with an add fail."""
    TRIES.append(step.kind)
    if step.kind != "simulate-stack":
        return steps.perform(step, tell)
    job, *_ = step.arguments
    if job.name.endswith("add"):
        raise ToolError("no room on the disk")
    found = steps.perform(Step("predict-stack", "", "", (job,)), tell)
    traffic = found["traffic"]
    return {
        "measured": {**traffic, "input": traffic["input"] + 1}, "dram": found["dram"], "bias": 4, "equal": False,
        "output_exact": True, "cycles": {"measured": found["cycles"]}, "utilisation": 0.5, "passed": False,
        "failures": ["input: one byte more"],
    }  # fmt: skip


def swept(question: DepthFirstQuestion, folder: Path, performed: str = f"{__name__}:perform") -> Outcome:
    outcome = DepthFirstSweep(question, folder, attempts=2, perform=performed).run()
    write_results(folder, outcome, question)
    return outcome


def test_stacks_are_measured_and_equal(
    run: Run, network: Network, least: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "block.yaml").write_text(dump_yaml(network.as_data()), encoding="utf-8")
    out = tmp_path / "out"
    command = ("sweep", tmp_path / "block.yaml", "--depth-first", "--memory", least, "--macs", 8, "-o", out)
    first = run(*command)
    assert first.status == 0, first.err
    assert first.err.count("as predicted") == 2
    with (out / "pipelines.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    told = run("predict", out / rows[0]["solution"], "--macs", 8, "--json").json
    assert [row["stack"] for row in rows] == [stack["stack"] for stack in told["stacks"]]
    for row, stack in zip(rows, told["stacks"], strict=True):
        assert (row["status"], row["equal"], row["output_exact"], row["simulator"]) == (
            "ok", "true", "true", "verilator"
        )  # fmt: skip
        kinds = {kind: int(row[f"{kind}_bytes_measured"]) for kind in stack["traffic"]}
        assert kinds == stack["traffic"]
        assert int(row["total_bytes_measured"]) == int(row["total_bytes_predicted"]) == stack["total_bytes"]
        assert row["cycles_measured"] == row["cycles_predicted"] == str(stack["cycles"])
        assert int(row["ring_bytes"]) == stack["memory"]["rings"]
        assert int(row["bias_bytes_measured"]) > 0
        assert float(row["utilisation"]) == round(int(row["macs"]) / (stack["cycles"] * 8), 6)
    with (out / "fronts.csv").open(encoding="utf-8", newline="") as file:
        front = [(int(row["memory_bytes"]), int(row["traffic_bytes"])) for row in csv.DictReader(file)]
    assert front == [(point.memory, point.traffic) for point in search_front(Graph.of(network)).points]
    assert front[0] == (least, told["total_bytes"])
    # Nothing is done twice.
    text = (out / "pipelines.csv").read_bytes()
    monkeypatch.setattr("hwgen.studies.engine.work.open_farm", None)
    again = run(*command)
    assert (again.status, again.err) == (0, "")
    assert (out / "pipelines.csv").read_bytes() == text


@pytest.mark.nightly
def test_a_script_sweeps_as_the_command_does(run: Run, network: Network, least: int, tmp_path: Path) -> None:
    """By the model alone: the same rows, the same document, the same folder to go on from."""
    (tmp_path / "block.yaml").write_text(dump_yaml(network.as_data()), encoding="utf-8")
    out = tmp_path / "out"
    options = ("--depth-first", "--memory", f"{least},{2 * least}", "--macs", "8,16", "--no-sim")
    answer = run("sweep", tmp_path / "block.yaml", *options, "-o", out, "--json", "--quiet")
    assert (answer.status, answer.err) == (0, "")
    found = hwgen.sweep(
        tmp_path / "block.yaml", depth_first=True, memory=[least, 2 * least], macs=[8, 16], simulate=False,
        output=out, jobs=1,
    )  # fmt: skip
    assert dict(found.outcome.attempts) == {}
    assert found.to_dict() | {"attempts": None} == answer.json | {"attempts": None}
    assert undocumented("sweep", found.to_dict()) == []
    assert (found.passed, found.difference) == (True, None)
    assert repr(found) == f"<Sweep of {len(found.rows())} stacks: by the model alone>"
    assert {(row["memory_bytes"], row["multipliers"]) for row in found.rows()} == {
        (memory, macs) for memory in (least, 2 * least) for macs in (8, 16)
    }
    for row, full in zip(found.rows(), found.results, strict=True):
        assert (row["bytes"], row["cycles"]) == (full["total_bytes_predicted"], full["cycles_predicted"])
        assert (out / str(row["solution"])).is_file()
    assert "front" in found.plot().svg
    code = hwgen.sweep(hwgen.load(tmp_path / "block.yaml"), depth_first=True, memory=least, macs=8, simulate=False)
    assert [row["cycles"] for row in code.rows()] == [
        row["cycles"] for row in found.rows() if (row["memory_bytes"], row["multipliers"]) == (least, 8)
    ]


def test_stacks_on_a_dram_are_measured_and_equal(network: Network, least: int, tmp_path: Path) -> None:
    port = DramPort(64, Dram(latency=20, block_cycles=17, miss_cycles=24))
    question = DepthFirstQuestion(network, "block", (least,), (8,), port=port)
    outcome = swept(question, tmp_path, steps.PERFORM)
    assert [(row["status"], row["equal"], row["output_exact"]) for row in outcome.pipelines] == [
        ("ok", True, True)
    ] * 2
    for row in outcome.pipelines:
        assert row["cycles_measured"] == row["cycles_predicted"] > row["slowest_stage_cycles"]
        assert row["dram_bytes_measured"] == row["dram_bytes_predicted"] >= row["total_bytes_measured"]
        for name in ("beats", "axi_bursts", "blocks", "row_misses"):
            assert row[f"dram_{name}_measured"] == row[f"dram_{name}_predicted"] > 0


def test_points_that_fail_are_rows(network: Network, least: int, tmp_path: Path) -> None:
    port = DramPort(64, Dram(latency=5, miss_cycles=20))
    question = DepthFirstQuestion(network, "block", (1, least, 1 << 20), (8, 16), port=port)
    outcome = swept(question, tmp_path)
    found = [(row["memory_bytes"], row["multipliers"], row["stack"], row["status"]) for row in outcome.pipelines]
    one = [(1, None, "infeasible"), (least, "rb02_conv1", "differs"), (least, "rb02_conv2..rb02_add", "failed"),
           (1 << 20, "rb02_conv1..rb02_add", "failed")]  # fmt: skip
    assert found == [(size, macs, stack, status) for macs in (8, 16) for size, stack, status in one]
    assert outcome.again == 4  # two attempts at each of four runs that fail
    assert outcome.wrong == outcome.pipelines
    by_stack = {row["stack"]: row for row in outcome.pipelines if row["multipliers"] == 8}
    assert by_stack[None]["reason"] == f"expected at least {least} bytes, got 1"
    failed, wrong = by_stack["rb02_conv2..rb02_add"], by_stack["rb02_conv1"]
    assert failed["reason"] == "simulation: no room on the disk"
    assert (failed["total_bytes_measured"], failed["equal"]) == (None, None)
    assert failed["dram_beats_predicted"] > 0
    assert (wrong["reason"], wrong["equal"]) == ("input: one byte more", False)
    assert wrong["total_bytes_measured"] == wrong["total_bytes_predicted"] + 1
    assert wrong["dram_row_misses_measured"] == wrong["dram_row_misses_predicted"] > 0
    solution = read_solution(tmp_path / solution_file(question, least))
    assert [solution.name(stack) for stack in solution.stacks] == ["rb02_conv1", "rb02_conv2..rb02_add"]
    # What failed is tried again by the next sweep; what is known is not.
    TRIES.clear()
    swept(question, tmp_path)
    assert TRIES == ["simulate-stack"] * 8
    assert known_tables(tmp_path).pipelines == outcome.pipelines
    with pytest.raises(InputError, match=r"^no feasible point: expected at least"):
        swept(replace(question, memories=(1,)), tmp_path)


def test_what_a_pipeline_has_no_stage_for_is_infeasible(tmp_path: Path) -> None:
    network = at_resolution(excerpt(load_layer_set("fsrcnn"), "deconv", "deconv"), 6, 5)
    with pytest.raises(InputError, match=r"^no feasible point: .*deconv: "):
        swept(DepthFirstQuestion(network, "net", (1 << 20,), (8,), simulate=False), tmp_path)


def test_a_key_names_what_a_run_depends_on(network: Network, least: int) -> None:
    front = steps.perform(steps.front_step(network, (least, least + 1)), lambda stage: None)
    one, same = (StackJob(front["solutions"][str(size)], 0, 8, None) for size in (least, least + 1))
    others = [replace(one, number=1), replace(one, multipliers=16), replace(one, port=DramPort())]
    keys = {simulate_step(job, 0, stalls=False, macs=1).key for job in (one, same, *others)}
    keys |= {simulate_step(one, 1, stalls=False, macs=1).key, simulate_step(one, 0, stalls=True, macs=1).key}
    assert len(keys) == 6
    best = best_within(search_front(Graph.of(network)), least)
    assert best is not None
    assert front["solutions"][str(least)]["traffic"]["total"] == best.traffic
    question = DepthFirstQuestion(network, "a_block", (least,), (8,))
    names = {solution_file(question, least), solution_file(question, 1 << 10), solution_file(question, 1 << 20),
             solution_file(replace(question, phases=True), 1 << 10)}  # fmt: skip
    assert names == {
        f"solutions/a_block_10x8_{least}B.yaml", "solutions/a_block_10x8_1KiB.yaml",
        "solutions/a_block_10x8_1MiB.yaml", "solutions/a_block_phases_10x8_1KiB.yaml",
    }  # fmt: skip


# --- several sweeps in one folder ---


def stack(name: str | None, status: str = "predicted", **cells: Any) -> dict[str, Any]:
    asked = {"set": "net", "phases": False, "input_width": 4, "input_height": 4, "memory_bytes": 64, "seed": 0,
             "multipliers": 8, "stalls": False, "question": "q", "number": 1, "total_bytes_predicted": 9}  # fmt: skip
    row = {**asked, "stack": name, "status": status, "solution": "s.yaml", **cells}
    return {column.name: row.get(column.name) for column in PIPELINES}


def test_rows_of_a_point_are_replaced_together() -> None:
    def joined(old: list[dict[str, Any]], new: list[dict[str, Any]], *, same: bool = True) -> list[dict[str, Any]]:
        tables = (Tables([], [], {"q": {}}, rows) for rows in (old, new))
        return next(tables).joined(next(tables), lambda one, other: same).pipelines

    measured = [stack("a", "ok", total_bytes_measured=9), stack("b", "ok", total_bytes_measured=9, number=2)]
    assert joined(measured, [stack("a"), stack("b", number=2)]) == measured  # a look at the model
    assert joined(measured, [stack(None, "pending")]) == measured
    assert joined(measured, [stack("a", "pending"), stack("b", "pending", number=2)]) == measured
    # Another solution for the same memory has other stacks.
    whole = [stack("a..b")]
    assert joined(measured, whole, same=False) == whole
    assert joined(measured, [stack("a"), stack("b", number=2)], same=False)[0]["status"] == "predicted"
    more = [stack("a..b", multipliers=16), stack("a..b", memory_bytes=32)]
    assert [row["memory_bytes"] for row in joined(measured, more)] == [32, 64, 64, 64]
    placed = stack("a", total_bytes_measured=None, luts=5, design="d")
    assert joined([placed], [stack("a", "ok", total_bytes_measured=9)])[0]["luts"] == 5


def test_a_front_is_replaced_as_a_whole() -> None:
    def front(*memories: int, set: str = "net") -> list[dict[str, Any]]:
        cells = {"set": set, "phases": False, "input_width": 4, "input_height": 4, "question": "q"}
        return [{column.name: {**cells, "memory_bytes": m}.get(column.name) for column in FRONTS} for m in memories]

    tables = Tables([], [], {"q": {}}, [], front(1, 2, 3) + front(7, set="other"))
    now = tables.joined(Tables([], [], {}, [], front(2, 4)), lambda one, other: True)
    assert [(row["set"], row["memory_bytes"]) for row in now.fronts] == [("net", 2), ("net", 4), ("other", 7)]
    assert now.questions == {"q": {}}


def test_a_folder_has_the_tables_that_it_needs(network: Network, least: int, tmp_path: Path) -> None:
    question = DepthFirstQuestion(network, "block", (least,), (8,), simulate=False)
    outcome = swept(question, tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {
        "store", "solutions", "pipelines.csv", "pipelines.parquet", "fronts.csv", "fronts.parquet", "schema.json",
        "provenance.json",
    }  # fmt: skip
    assert TRIES == ["front", "predict-stack", "predict-stack"]
    assert [row["status"] for row in outcome.pipelines] == ["predicted"] * 2
    assert known_tables(tmp_path).fronts == outcome.fronts
    (asked,) = json.loads((tmp_path / "provenance.json").read_text(encoding="utf-8"))["questions"].values()
    assert (asked["memories"], asked["multipliers"], asked["simulated"]) == ([least], [8], False)


def test_bad_input_is_one_line(run: Run, network: Network, least: int, tmp_path: Path) -> None:
    (tmp_path / "net.yaml").write_text(dump_yaml(network.as_data()), encoding="utf-8")
    sweep = ("sweep", tmp_path / "net.yaml", "-o", tmp_path / "out", "--no-sim", "--depth-first")
    sized = (*sweep, "--memory", "64KiB")
    refused(run(*sweep), "--memory: expected sizes such as 64KiB,256KiB with --depth-first")
    refused(run(*sweep, "--memory", "much"), "--memory: expected sizes such as")
    refused(run(*sized, "--macs", "8,none"), "--macs: expected numbers such as 64 or 64,128")
    refused(run(*sized, "--macs", "0"), "--macs: expected numbers")
    with pytest.raises(InputError, match=r"^--lanes: expected without --depth-first$"):
        hwgen.sweep("srgan", depth_first=True, memory=4096, lanes="x16")  # type: ignore[call-overload]
    with pytest.raises(InputError, match=r"^--memory: expected with --depth-first "):
        hwgen.sweep("srgan", buffer=512, memory=4096)  # type: ignore[call-overload]
    refused(run(*sized, "--dram", "hwc"), "--dram: expected the hardware of a cluster, got hwc")
    refused(run(*sized, "--resolution", "big"), "--resolution: expected a size such as 1280x720")
    for option in (("--buffer", "1KiB"), ("--lanes", "x16"), ("--objective", "traffic"), ("--order", "best"),
                   ("--cluster", "2"), ("--per-layer",), ("--partial",), ("--hwce",), ("--scale", "2")):  # fmt: skip
        refused(run(*sized, *option), f"{option[0]}: expected without --depth-first")
    for option in (("--memory", "64KiB"), ("--macs", "8"), ("--dram", "cluster_ddr3"), ("--resolution", "8x8"),
                   ("--phases",), ("--stalls",)):  # fmt: skip
        refused(run(*sweep[:-1], "--buffer", "1KiB", *option), f"{option[0]}: expected with --depth-first")
    table = ("sweep", "yang_2016", "-o", tmp_path / "out", "--no-sim", "--depth-first", "--memory", "64KiB")
    refused(run(*table), "expected a connected network with an input, got a layer list")
    answer = run(*sweep, "--memory", least - 1)
    assert (answer.status, answer.out) == (2, "")
    assert answer.err.splitlines()[-1].startswith(f"hwgen: no feasible point: expected at least {least} bytes, got ")
