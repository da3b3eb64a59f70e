"""``hwgen predict MODEL``: what a run would measure, for several hardware at once."""

from pathlib import Path

import numpy as np
import pytest

import hwgen
from hwgen.arch.dram import Dram
from hwgen.ir.document import InputError
from hwgen.ir.hardware import save_hardware
from hwgen.lower.network.cluster_plan import plan_cluster
from hwgen.lower.network.forecast import NodeForecast
from hwgen.lower.network.parts import VectorPart
from hwgen.model.area.estimate import estimated_area
from hwgen.readers.integers.reader import read_quantised
from tests.cli.command_line import refused
from tests.conftest import Run
from tests.cosim.network.test_beside import machine, network
from tests.readers.integers.models import Draft, small


@pytest.fixture
def model(tmp_path: Path) -> Path:
    small(tmp_path / "model.onnx")
    return tmp_path / "model.onnx"


def test_it_is_what_the_programs_are_predicted_to_take(run: Run, model: Path) -> None:
    found = run("predict", model, "--hardware", "cluster_64_vector,hwc_16", "--resident", "--mhz", 50, "--json").json
    cluster, hwc = found["networks"]
    assert [cluster["hardware"], hwc["hardware"]] == ["cluster_64_vector", "hwc_16"]
    assert [cluster["multipliers"], hwc["multipliers"]] == [64, 16]
    plan = plan_cluster(read_quantised(model), hwgen.hardware("cluster_64_vector"), resident=True)
    assert cluster["cycles"] == sum(round(one.program.times(Dram()).total) for one in plan.stretches)
    assert cluster["images_a_second"] == pytest.approx(50e6 / cluster["cycles"])
    assert hwc["cycles"] == sum(one["cycles"] for one in hwc["layers"])
    for one in (cluster, hwc):
        assert one["macs"] == sum(node["macs"] for node in one["layers"])
        assert one["utilisation"] == pytest.approx(one["macs"] / one["cycles"] / one["multipliers"])
        assert one["luts"] == one["estimated"]["lut4"]
        for node in one["layers"]:
            assert 0 <= node["bound_cycles"] <= node["cycles"]
            assert node["utilisation"] == pytest.approx(node["macs"] / node["cycles"] / one["multipliers"])
    answer = hwgen.forecast(model, ["cluster_64_vector", "hwc_16"], resident=True, mhz=50)
    assert answer.to_dict() == found
    assert [row["cycles"] for row in answer.rows()] == [cluster["cycles"], hwc["cycles"]]


def test_nodes_that_run_side_by_side_are_named(run: Run, tmp_path: Path) -> None:
    """Their time is in the row of the layer, their accesses in their own."""
    network(tmp_path / "x.onnx")
    save_hardware(machine(), tmp_path / "own.yaml")
    answer = run("predict", tmp_path / "x.onnx", "--hardware", tmp_path / "own.yaml", "--layers")
    document = run("predict", tmp_path / "x.onnx", "--hardware", tmp_path / "own.yaml", "--json").json
    nodes = document["networks"][0]["layers"]
    pairs = {node["layer"]: node["beside"] for node in nodes if node["beside"]}
    plan = plan_cluster(read_quantised(tmp_path / "x.onnx"), machine())
    names = [layer.node.name for layer in plan.layers]
    early = {layer.node.name for layer in plan.layers if isinstance(layer.part, VectorPart) and layer.part.early}
    assert set(pairs) == early != set()
    assert all(names.index(node) == names.index(layer) + 1 for node, layer in pairs.items())
    said = "; ".join(f"{layer} and {node}" for node, layer in pairs.items())
    line = f"Side by side, cycles of both in the row of the first while it runs, accesses in the row of each: {said}"
    assert answer.out.count(line) == 1
    for node in nodes:
        if node["layer"] in pairs:
            assert node["bytes"] > 0
    # What was kept before a node could say so is of nodes that run alone.
    one = {key: value for key, value in nodes[0].items() if key not in ("beside", "utilisation")}
    assert NodeForecast.from_dict(one).beside == ""


@pytest.mark.nightly
def test_the_table_of_a_run_names_them_too(run: Run, tmp_path: Path) -> None:
    network(tmp_path / "x.onnx")
    save_hardware(machine(), tmp_path / "own.yaml")
    answer = run("run", tmp_path / "x.onnx", "--hardware", tmp_path / "own.yaml", "--seed", 1, "-o", tmp_path / "ran")
    assert answer.status == 0
    assert (
        "Side by side, cycles of both in the row of the first while it runs, accesses in the row of each: "
        in answer.out
    )


@pytest.mark.nightly
@pytest.mark.parametrize("machine", ["hwc_16", "cluster_64_vector"])
def test_it_is_what_a_run_predicts(run: Run, model: Path, tmp_path: Path, machine: str) -> None:
    ran = run("run", model, "--hardware", machine, "--seed", 1, "-o", tmp_path / "ran", "--json").json
    (found,) = run("predict", model, "--hardware", machine, "--json").json["networks"]
    assert found["cycles"] == ran["cycles"]["predicted"]
    assert found["energy"] == pytest.approx(ran["energy"]["predicted"])


@pytest.mark.nightly
def test_a_run_where_no_hardware_is_given(run: Run, model: Path, tmp_path: Path) -> None:
    answer = run("run", model, "--seed", 1, "-o", tmp_path / "ran")
    assert answer.status == 0
    assert "no hardware is given: the built-in cluster_64_vector" in answer.err
    cycles = hwgen.forecast(model, "cluster_64_vector", resident=True).machines[0].cycles
    assert f"({cycles:,} predicted)" in answer.out


def test_without_hardware_it_is_that_which_a_run_takes(run: Run, model: Path) -> None:
    answer = run("predict", model, "--json")
    assert "no hardware is given: the built-in cluster_64_vector" in answer.err
    assert answer.json == run("predict", model, "--hardware", "cluster_64_vector", "--resident", "--json").json
    assert answer.json == hwgen.forecast(model).to_dict()


def test_of_a_model_in_numbers_there_are_schedules_alone(run: Run, tmp_path: Path) -> None:
    draft = Draft([1, 2, 5, 6])
    made = draft.node("Conv", "x", draft.constant(np.ones((3, 2, 3, 3))), kernel_shape=[3, 3], pads=[1, 1, 1, 1])
    path = draft.write(tmp_path / "float.onnx", made, [1, 3, 5, 6])
    refused(run("predict", path), "expected a quantised model, or schedules (hwgen schedule float.onnx -o DIR")


def test_a_table_of_hardware_and_of_nodes(run: Run, model: Path) -> None:
    out = run("predict", model, "--hardware", "hwc_16", "--layers", "--mhz", 10).out
    assert "a second at 10 MHz" in out
    found = hwgen.forecast(model, "hwc_16").machines[0]
    for one in found.layers:
        assert f"{round(one.cycles):,}" in out
    assert f"{found.area.lut4:,}" in out


def test_without_a_clock_it_is_estimated(run: Run, model: Path) -> None:
    names = ["hwc_16", "cluster_64_vector"]
    answer = run("predict", model, "--hardware", ",".join(names))
    assert "a second, MHz estimated" in " ".join(answer.out.split())
    found = run("predict", model, "--hardware", ",".join(names), "--json").json["networks"]
    for name, one in zip(names, found, strict=True):
        estimated = estimated_area(hwgen.hardware(name))
        assert one["estimated"] == estimated.to_dict()
        assert (one["mhz"], one["mhz_is_estimated"]) == (estimated.mhz, True)
        assert one["images_a_second"] == pytest.approx(estimated.mhz * 1e6 / one["cycles"])
    given = run("predict", model, "--hardware", "hwc_16", "--mhz", 10, "--json").json["networks"][0]
    assert (given["mhz"], given["mhz_is_estimated"]) == (10, False)


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (["--hardware", "hwc_16,hwc_16"], "--hardware: expected each name once, got hwc_16 (hwc_16) twice"),
        (["--hardware", "hwc_16", "--fills"], "--fills: not with a model"),
        (["--hardware", "hwc_16", "--mhz", "0"], "--mhz: expected a number above 0, got 0"),
        (["--hardware", "hwc_16", "--mhz", "nan"], "--mhz: expected a number above 0, got nan"),
        (["--hardware", "hwc"], "hardware hwc: requantisation: expected scaled"),
        (["--hardware", "hwc_16,no_such"], "no_such"),
    ],
)
def test_what_cannot_be_forecast_is_said(run: Run, model: Path, options: list[str], why: str) -> None:
    answer = run("predict", model, *options)
    refused(answer)
    assert why in answer.err


def test_a_network_of_which_nothing_runs_is_refused_in_the_words_of_a_run(
    run: Run, model: Path, tmp_path: Path
) -> None:
    machine = hwgen.hardware("cluster_64_vector").model_copy(update={"constants": {"stride_y": 2}})
    save_hardware(machine, tmp_path / "two.yaml")
    said = ": stride_y: the hardware is fitted to 2, got 1"
    draft = Draft([1, 2, 5, 6])
    pool = draft.node("MaxPool", draft.both("x", 0.05, 100), kernel_shape=[2, 2])
    draft.write(tmp_path / "pool.onnx", draft.both(pool, 0.05, 100), [1, 2, 4, 5])
    for path, options, why in (
        (model, ("--hardware", tmp_path / "two.yaml"), said),
        (tmp_path / "pool.onnx", ("--hardware", "cluster_64_vector"), " runs, got none"),
    ):
        line = run("predict", path, *options).err
        assert line.startswith(f"hwgen: {path}: expected layers with weights that cluster_64_vector runs, got ")
        assert line.endswith(f"{why}\n")
        assert run("generate", path, *options, "-o", tmp_path / "rtl").err == line
        assert run("run", path, *options, "--seed", 1, "-o", tmp_path / "out").err == line


def test_options_of_models_are_for_models(run: Run) -> None:
    for option in (["--mhz", "5"], ["--resident"], ["--layers"]):
        answer = run("predict", "some.yaml", *option)
        refused(answer)
        assert f"{option[0]}: expected with one quantised model" in answer.err


def test_hardware_is_named_by_what_was_forecast(model: Path) -> None:
    with pytest.raises(InputError, match="hwc_64: expected one of hwc_16"):
        hwgen.forecast(model, "hwc_16")["hwc_64"]
