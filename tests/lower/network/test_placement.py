"""What hardware runs of a network: said once, of the hardware that is named, and of any."""

from pathlib import Path

import numpy as np
import pytest

from hwgen.arch.hardware_file import load_hardware
from hwgen.ir.builtin import named_file
from hwgen.ir.hardware import Cluster, Hardware
from hwgen.ir.network.graph import Graph
from hwgen.ir.network.kinds import View
from hwgen.lower.network.placement import ANY_CLUSTER, Placement, placement, plan_on, possible_placement
from hwgen.readers.integers.reader import read_quantised
from tests.readers.integers.models import Draft


def network(path: Path) -> Graph:
    """A convolution, sums of two and of three maps, a Transpose and a product."""
    draft, rng = Draft([1, 3, 6, 5]), np.random.default_rng(7)
    given = draft.both("x", 0.05, 3, np.int8)
    weights = draft.weights(rng.integers(-127, 128, (3, 3, 3, 3)), 0.01)
    made = draft.both(draft.node("Conv", given, weights, pads=[1, 1, 1, 1]), 0.07, 3, np.int8)
    two = draft.both(draft.node("Add", made, given), 0.1, 3, np.int8)
    three = draft.both(draft.node("Sum", made, given, two), 0.1, 3, np.int8)
    turned = draft.both(draft.node("Transpose", three, perm=[0, 2, 3, 1]), 0.1, 3, np.int8)
    product = draft.node("MatMul", turned, draft.weights(rng.integers(-127, 128, (3, 40)), 0.01, axis=1))
    return read_quantised(draft.write(path, draft.both(product, 0.1, 3, np.int8), None))


def machine(**update: object) -> Hardware:
    one = load_hardware(named_file("hardware", "m4c4_1KiB")).model_copy(update={"requantisation": "scaled", **update})
    return Hardware.from_data(one.as_data())


def by_kind(graph: Graph, place: Placement) -> dict[str, str]:
    """Where each kind runs: nothing, or why not."""
    return {node.label: place.reasons.get(node.name, "") for node in graph.nodes if node.kind not in
            ("view", "quantise", "dequantise")}  # fmt: skip


SUM = "expected 2 operands of the output's shape for the vector unit"


def test_any_cluster(tmp_path: Path) -> None:
    graph = network(tmp_path / "x.onnx")
    place = possible_placement(graph)
    assert place.hardware == ANY_CLUSTER
    built_in = load_hardware(named_file("hardware", "cluster_64_vector"))
    assert built_in.name in ANY_CLUSTER
    assert built_in.cluster is not None
    assert built_in.cluster.vector
    adds = [place.reasons.get(node.name) for node in graph.nodes if node.kind == "add"]
    assert adds[0] is None
    assert adds[1] is not None
    assert adds[1].endswith(SUM)
    assert by_kind(graph, place) | {"add": ""} == {
        "conv": "", "add": "", "move (Transpose)": "the cluster has no unit for it", "product": "",
    }  # fmt: skip
    whole, (macs, moved) = graph.work(), graph.share(place.here)
    assert macs == 1
    assert 0 < moved < graph.work([node.name for node in graph.nodes if node.integer]).bytes / whole.bytes


@pytest.mark.parametrize(
    ("update", "reason"),
    [
        ({}, "an HWC runs layers with weights alone"),
        ({"cluster": Cluster(hwcs=1, tcdm=1 << 14)}, "the cluster has no vector unit"),
    ],
)
def test_the_hardware_that_is_named(tmp_path: Path, update: dict[str, object], reason: str) -> None:
    graph, hardware = network(tmp_path / "x.onnx"), machine(**update)
    plan = plan_on(graph, hardware)
    place = placement(graph, plan, hardware)
    assert place.here == {layer.node.name for layer in plan.layers}
    kinds = by_kind(graph, place)
    assert (kinds["conv"], kinds["product"], kinds["add"]) == ("", "", reason)
    assert kinds["move (Transpose)"] in (reason, "the cluster has no unit for it")
    views = {node.name for node in graph.nodes if isinstance(node, View)}
    assert {node.name for node in place.host(graph)} == {node.name for node in graph.nodes} - place.here - views
    assert {place.runs_on(node) for node in graph.nodes} == {"hardware", "host", *([None] if views else [])}


def test_what_is_refused_is_the_hosts_with_its_work(tmp_path: Path) -> None:
    graph = network(tmp_path / "x.onnx")
    hardware = machine(buffers={"I": 64, "W": 16, "O": 64})
    plan = plan_on(graph, hardware)
    place = placement(graph, plan, hardware)
    assert plan.refused
    assert dict(plan.refused).items() <= place.reasons.items()
    assert graph.share(place.here) == (0, 0)


def test_a_cluster_runs_nothing_without_a_layer_with_weights(tmp_path: Path) -> None:
    draft = Draft([1, 3, 6, 5])
    given = draft.both("x", 0.05, 3, np.int8)
    made = draft.both(draft.node("Add", given, draft.both(given, 0.07, 1, np.int8)), 0.1, 3, np.int8)
    graph = read_quantised(draft.write(tmp_path / "x.onnx", made, None))
    place = possible_placement(graph)
    assert place.here == set()
    assert "without a layer with weights" in by_kind(graph, place)["add"]
