"""Depth-first solutions on the command line: generated, run in the simulator, refused."""

import json
from pathlib import Path

import pytest

from hwgen.cli.console import CYCLE_MODEL
from hwgen.ir.document import dump_yaml, load_yaml
from hwgen.ir.excerpt import at_resolution, excerpt, narrowed
from hwgen.ir.layer_set import Network
from hwgen.model.pipeline.graph import Graph
from hwgen.readers.layer_sets import load_layer_set
from hwgen.search.pipeline.files import solution_data
from hwgen.search.pipeline.front import best_within, search_front
from tests.cli.command_line import Run, refused


@pytest.fixture
def solution(tmp_path: Path) -> Path:
    """A small residual block in the two stacks that its least memory asks for."""
    block = narrowed(excerpt(load_layer_set("srgan"), "rb02_conv1", "rb02_add"), 32)
    network = at_resolution(block, 10, 8)
    front = search_front(Graph.of(network))
    point = best_within(front, front.points[0].memory)
    assert point is not None
    path = tmp_path / "depth_first.yaml"
    path.write_text(dump_yaml(solution_data(network, front, point)), encoding="utf-8")
    return path


def test_a_solution_is_generated(run: Run, solution: Path, tmp_path: Path) -> None:
    answer = run("generate", solution, "-o", tmp_path / "rtl", "--macs", "8", "--json")
    assert (answer.status, answer.err) == (0, "")
    for one in answer.json["hardware"]:
        folder = Path(one["folder"])
        assert "module pipeline" in (folder / "pipeline.v").read_text()
        program = json.loads((folder / "program.json").read_text())
        registers = json.loads((folder / "pipeline_registers.json").read_text())
        names = {entry["name"] for entry in registers if entry["writable"]} - {"control", "watchdog"}
        for tile in program["tiles"]:
            written = {entry["name"] for entry in tile["registers"]}
            assert written == names
    assert sum(sum(one["rings"].values()) for one in answer.json["hardware"]) > 0


def test_a_solution_runs_and_equals_the_model(run: Run, solution: Path, tmp_path: Path) -> None:
    told = run("predict", tmp_path, "--macs", "8", "--json").json
    answer = run("cosim", tmp_path, "--macs", "8", "--stalls", "--sim", "verilator", "-o", tmp_path / "out.json")
    assert answer.status == 0, answer.out
    results = json.loads((tmp_path / "out.json").read_text())["results"]
    assert all(one["equal"] and one["output_exact"] and not one["failures"] for one in results)
    assert [one["cycles"]["predicted"] for one in results] == [stack["cycles"] for stack in told["stacks"]]
    assert sum(sum(one["measured"].values()) for one in results) == told["total_bytes"]
    assert "Bytes to and from DRAM in depth-first execution" in answer.out
    assert f"{CYCLE_MODEL}. Here they differ from the measured ones by " in answer.out
    assert "they are without the random stalls of --stalls" in answer.out
    rows = load_yaml(solution)["network"]["layers"]
    others = [row["name"] for row in rows if row.get("activation") == "prelu"]
    assert f"activations that run as ReLU: {others[0]} (prelu)" in answer.out
    left_out = json.loads((tmp_path / "out.json").read_text())["left_out"]
    assert [one["name"] for one in left_out["activations"]] == others


@pytest.mark.nightly
def test_a_solution_runs_on_a_dram(run: Run, solution: Path, tmp_path: Path) -> None:
    told = run("predict", tmp_path, "--macs", "8", "--dram", "cluster_ddr3", "--json").json
    answer = run("cosim", tmp_path, "--macs", "8", "--dram", "cluster_ddr3", "-o", tmp_path / "out.json")
    assert answer.status == 0, answer.out
    results = json.loads((tmp_path / "out.json").read_text())["results"]
    for one, stack in zip(results, told["stacks"], strict=True):
        assert one["cycles"]["measured"] == one["cycles"]["predicted"] == stack["cycles"]
        assert one["output_exact"]
        assert one["equal"]
        assert one["dram"]["i_map0"]["row_misses"] > 0
    assert "Accesses of the DRAM" in answer.out


def test_refusals(run: Run, solution: Path, tmp_path: Path) -> None:
    refused(run("cosim", solution, "--buffer", "1KiB"), "--buffer: not for a depth-first solution, got ")
    refused(run("cosim", solution, "--traffic-slack", "0"), "--traffic-slack: not for a depth-first solution, got ")
    refused(run("cosim", solution, "--objective", "traffic"), "--objective: not for a depth-first solution, got ")
    refused(run("synth", solution, "--objective", "traffic"), "--objective: not for a depth-first solution, got ")
    refused(run("cosim", solution, "--waves"), "--waves: not for a depth-first solution")
    refused(run("generate", solution, "--per-layer", "-o", tmp_path / "x"), "--per-layer: not for a depth-first")
    refused(run("cosim", "fsrcnn_s", "--dram", "cluster_ddr3"), "--dram: expected with a depth-first solution")
    refused(run("predict", solution, "--dram", "hwc"), "--dram: expected the hardware of a cluster, got hwc")
    refused(run("cosim", "fsrcnn_s", "--macs", "3"), "--macs: expected with a depth-first solution")
    refused(run("cosim", solution, "--macs", "0"), "--macs")
    broken = tmp_path / "broken.yaml"
    broken.write_text(solution.read_text().replace("rb02_conv1", "nothing", 1), encoding="utf-8")
    refused(run("generate", broken, "-o", tmp_path / "x"), "broken.yaml: stacks: 0: first: expected rb02_conv1")


def test_a_transposed_convolution_in_phases(run: Run, tmp_path: Path) -> None:
    table = excerpt(load_layer_set("fsrcnn"), "expand", "deconv").as_data()
    rows = [{**row, "activation": "relu"} if "activation" in row else row for row in table["layers"]]
    network = at_resolution(narrowed(Network.from_data({**table, "layers": rows[:1]}), 4), 6, 5).as_data()
    up = {
        **rows[1],
        "input_channels": 14,
        "input_height": 5,
        "input_width": 6,
        "output_height": 10,
        "output_width": 12,
    }
    (tmp_path / "net.yaml").write_text(dump_yaml({**network, "layers": [*network["layers"], up]}), encoding="utf-8")
    answer = run("depth-first", tmp_path / "net.yaml", "--phases", "--memory", "64KiB", "-o", tmp_path)
    assert answer.status == 0, answer.err
    (stack,) = run("predict", tmp_path / "depth_first.yaml", "--json").json["stacks"]
    assert stack["cycles"] > 0
