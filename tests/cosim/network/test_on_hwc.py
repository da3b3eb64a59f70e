"""Random quantised networks, their layers with weights in the RTL: outputs, counts and cycles."""

from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from cosim.network.on_hwc import RanLayer, network_values, run_network
from hwgen.arch.hardware_file import load_hardware
from hwgen.golden.quantised.execution import checked_inputs, execute, images
from hwgen.ir.builtin import named_file
from hwgen.ir.document import InputError
from hwgen.ir.hardware import Hardware
from hwgen.ir.network.graph import Graph
from hwgen.ir.network.kinds import Convolution
from hwgen.lower.network.hwc_plan import plan_network
from hwgen.lower.network.layers import weighted
from hwgen.readers.integers.reader import read_quantised
from hwgen.tools.toolchain import Simulator
from tests.random.quantised import quantised_model, random_model
from tests.readers.integers.models import Draft


@pytest.fixture
def hardware() -> Hardware:
    machine = load_hardware(named_file("hardware", "m4c4_1KiB"))
    return machine.model_copy(update={"requantisation": "scaled"})


def ran(seed: int, folder: Path, hardware: Hardware, simulator: Simulator) -> list[RanLayer]:
    """The layers of a random network that the hardware runs; its outputs are the integer reference's."""
    rng = np.random.default_rng(seed)
    path = folder / f"{seed}.onnx"
    given = quantised_model(rng, random_model(rng), path)
    graph = read_quantised(path)
    plan = plan_network(graph, hardware)
    tensors = [execute(graph, one) for one in images(graph, given, checked_inputs(graph, given, "x"))]
    found = run_network(plan, tensors, folder / str(seed), simulator=simulator)
    for at, reference in enumerate(tensors):
        values = network_values(graph, reference, [one for one in found if one.image == at])
        for name in graph.outputs:
            np.testing.assert_array_equal(values[name], reference[name])
    for one in found:
        assert one.passed, (seed, one.node.name, one.result.failures)
        assert abs(one.result.cycles - one.result.predicted_cycles) <= max(0.01 * one.result.cycles, 12)
    return found


@pytest.mark.nightly
def test_a_network_under_icarus(tmp_path: Path, hardware: Hardware) -> None:
    assert len(ran(10, tmp_path, hardware, "icarus")) == 4


@pytest.mark.nightly
def test_networks_of_all_kinds(tmp_path: Path, hardware: Hardware) -> None:
    found = Counter(one.node.label for seed in range(60) for one in ran(seed, tmp_path, hardware, "verilator"))
    assert all(found[kind] >= 8 for kind in ("conv", "depthwise conv", "product", "dilated conv")), found


def convolved(path: Path, kernel: tuple[int, int], dilation: tuple[int, int], size: int = 6) -> Graph:
    """A convolution of 2 x size x size to one channel, stride 2."""
    draft = Draft([1, 2, size, size])
    weights = draft.weights(np.ones((1, 2, *kernel)), 0.1)
    settings = {"kernel_shape": kernel, "strides": (2, 2), "dilations": dilation}
    made = draft.node("Conv", draft.both("x", 0.05, 128), weights, **settings)
    return read_quantised(draft.write(path, draft.both(made, 0.1, 128), None))


@pytest.mark.parametrize(("kernel", "padding"), [((3, 3), (1, 1, 1, 1)), ((2, 4), (0, 2, 1, 1))])
def test_operands_of_columns_that_pass_through_a_window(
    tmp_path: Path, hardware: Hardware, kernel: tuple[int, int], padding: tuple[int, ...]
) -> None:
    """The weights of a depthwise layer are given, and stored as columns in place of channels."""
    rng = np.random.default_rng(kernel[1])
    draft = Draft([1, 8, 6, 7])
    weights = draft.weights(rng.integers(-127, 128, (8, 1, *kernel)), 0.01)
    made = draft.node("Conv", draft.both("x", 0.05, 100), weights, kernel_shape=kernel, group=8, pads=padding)
    graph = read_quantised(draft.write(tmp_path / "x.onnx", draft.both(made, 0.02, 90), None))
    plan = plan_network(graph, hardware.model_copy(update={"column_window": True}))
    given = {"x": rng.uniform(-5, 5, (1, 8, 6, 7)).astype(np.float32)}
    tensors = [execute(graph, one) for one in images(graph, given, checked_inputs(graph, given, "x"))]
    (one,) = run_network(plan, tensors, tmp_path / "ran")
    assert one.result.schedule.layer.form.column_window
    assert one.passed, one.result.failures
    assert len(np.unique(one.output)) > 20


def test_a_dilated_kernel_runs_as_a_dense_one(tmp_path: Path, hardware: Hardware) -> None:
    (layer,) = plan_network(convolved(tmp_path / "x.onnx", (1, 3), (2, 1)), hardware).layers
    assert (layer.program.schedule.layer.of_network.kernel, layer.zero_share) == ((1, 3), 0.0)
    (layer,) = plan_network(convolved(tmp_path / "x.onnx", (3, 1), (2, 1)), hardware).layers
    assert (layer.program.schedule.layer.of_network.kernel, layer.zero_share) == ((5, 1), pytest.approx(0.4))
    (layer,) = plan_network(convolved(tmp_path / "x.onnx", (3, 3), (6, 1), 14), hardware).layers
    assert (layer.program.schedule.layer.of_network.kernel, layer.zero_share) == ((7, 3), pytest.approx(1 - 18 / 84))
    plan = plan_network(convolved(tmp_path / "x.onnx", (2, 1), (11, 1), 14), hardware)
    assert [one.program.schedule.layer.of_network.kernel for one in plan.layers] == [(1, 1)]


def test_a_window_that_no_hwc_has_is_refused_with_it(tmp_path: Path, hardware: Hardware) -> None:
    graph = convolved(tmp_path / "x.onnx", (3, 3), (1, 1))
    (node,) = weighted(graph)
    assert isinstance(node, Convolution)
    wide = replace(node, window=replace(node.window, stride=(5, 2)), shape=(1, 1, 1, 2))
    assert list(plan_network(replace(graph, nodes=(wide,)), hardware).refused.values()) == [
        "stride: expected at most 4, got [5, 2]"
    ]


@pytest.mark.parametrize(
    ("padding", "rows", "runs"), [((0, 0, -1, 0), 3, True), ((0, 0, -2, 0), 2, False), ((-1, 0, 1, 0), 3, False)]
)
def test_what_no_window_reads_may_be_cut_off_at_the_end(
    tmp_path: Path, hardware: Hardware, padding: tuple[int, int, int, int], rows: int, runs: bool
) -> None:
    graph = convolved(tmp_path / "x.onnx", (1, 3), (1, 1))
    (node,) = weighted(graph)
    assert isinstance(node, Convolution)
    cut = replace(node, window=replace(node.window, padding=padding), shape=(1, 1, rows, 2))
    plan = plan_network(replace(graph, nodes=(cut,)), hardware)
    assert bool(plan.layers) == runs


@pytest.mark.parametrize("key", ["lanes", "order", "buffers"])
def test_what_all_layers_share_is_given(tmp_path: Path, hardware: Hardware, key: str) -> None:
    graph = convolved(tmp_path / "x.onnx", (1, 1), (1, 1))
    with pytest.raises(InputError, match=f"^hardware m4c4_1KiB: {key}: missing key: all layers of a network"):
        plan_network(graph, hardware.model_copy(update={key: None}))
