"""Chains of nodes by channel as tables: what becomes one, and that every tensor that is left is as before."""

from pathlib import Path

import numpy as np
import pytest

from cosim.network.on_cluster import run_clustered
from hwgen.arch.hardware_file import load_hardware
from hwgen.golden.quantised.execution import execute
from hwgen.ir.builtin import named_file
from hwgen.ir.hardware import Cluster, Hardware
from hwgen.ir.network.graph import Graph
from hwgen.ir.network.kinds import Addition, Convolution, Lookup
from hwgen.lower.network.cluster_plan import plan_cluster
from hwgen.lower.network.placement import placement, possible_placement
from hwgen.lower.network.tables import with_tables
from hwgen.readers.integers.reader import read_quantised
from tests.readers.integers.models import Draft


def scaled(
    path: Path, *, size: tuple[int, int] = (11, 12), ends: int = 2, again: bool = False, uneven: bool = False
) -> Graph:
    """A convolution to 5 channels; two scalings, a constant added, rectified; a convolution of 1 x 1.

    ``ends`` : the scalings; ``again`` : the first of them is read by the last node, too; ``uneven`` : what is added
    is not the same everywhere.
    """
    rng, draft = np.random.default_rng(3), Draft([1, 3, *size])
    one = draft.weights(rng.integers(-127, 128, (5, 3, 3, 3)), 0.01)
    made = draft.both(draft.node("Conv", draft.both("x", 0.03, 110), one, pads=[1, 1, 1, 1]), 0.05, 120)
    first = ""
    for scale in (0.02, 0.013)[:ends]:
        factors = draft.weights(rng.integers(-127, 128, (1, 5, 1, 1)), 0.01, axis=1)
        made = draft.both(draft.node("Mul", made, factors), scale, 90)
        first = first or made
    offsets = rng.integers(-127, 128, (1, 5, *size) if uneven else (1, 5, 1, 1))
    made = draft.both(draft.node("Relu", draft.node("Add", made, draft.weights(offsets, 0.007))), 0.01, 4)
    last = draft.node("Conv", made, draft.weights(rng.integers(-127, 128, (4, 5, 1, 1)), 0.01))
    if again:
        last = draft.node("Add", draft.both(last, 0.05, 100), draft.node("Conv", first, draft.weights(
            rng.integers(-127, 128, (4, 5, 1, 1)), 0.01)))  # fmt: skip
    return read_quantised(draft.write(path, draft.both(last, 0.05, 100), None))


def machine(**cluster: object) -> Hardware:
    one = load_hardware(named_file("hardware", "m4c4_1KiB"))
    return one.model_copy(update={"requantisation": "scaled", "cluster": Cluster(hwcs=2, tcdm=1 << 14, **cluster)})


def image(graph: Graph) -> dict[str, np.ndarray]:
    return {name: np.random.default_rng(1).normal(size=graph.tensors[name].shape).astype(np.float32) * 3
            for name in graph.inputs}  # fmt: skip


def test_a_chain_is_a_table_for_each_channel(tmp_path: Path) -> None:
    graph = scaled(tmp_path / "x.onnx")
    found, stands_for = with_tables(graph)
    (table,) = (node for node in found.nodes if isinstance(node, Lookup))
    assert table.tables.shape == (5, 256)
    assert len(np.unique(table.tables, axis=0)) == 5
    kinds = [type(graph.producers[name]) for name in stands_for[table.name]]
    assert kinds == [Convolution, Convolution, Addition]
    before, after = execute(graph, image(graph)), execute(found, image(found))
    assert len(after) == len(before) - 2
    for name, tensor in after.items():
        np.testing.assert_array_equal(tensor, before[name])


@pytest.mark.parametrize(
    ("settings", "chain"),
    [
        ({"ends": 1}, 2),
        ({"again": True}, 2),  # the first scaling is made for the other reader
        ({"uneven": True}, 0),
        ({"size": (11, 11)}, 0),  # 121 elements: the tables cost more
    ],
)
def test_what_is_a_chain(tmp_path: Path, settings: dict[str, object], chain: int) -> None:
    graph = scaled(tmp_path / "x.onnx", **settings)  # type: ignore[arg-type]
    _, stands_for = with_tables(graph)
    assert [len(one) for one in stands_for.values()] == [chain] * bool(chain)


@pytest.mark.parametrize("resident", [False, True])
def test_a_table_runs_in_place_of_its_chain(tmp_path: Path, resident: bool) -> None:
    graph = scaled(tmp_path / "x.onnx")
    plan = plan_cluster(graph, machine(vector=True), resident=resident)
    assert [layer.node.label for layer in plan.layers] == ["conv", "table", "conv"]
    assert placement(graph, plan, plan.hardware).here == plan.here == possible_placement(graph).here
    tensors = execute(graph, image(graph))
    (program,), (made,) = run_clustered(graph, plan, [tensors])
    assert program.passed, [layer.result.failures for layer in program.layers]
    assert abs(program.cycles - program.predicted_cycles) <= 0.08 * program.cycles
    for name in graph.outputs:
        np.testing.assert_array_equal(made[name], tensors[name])


def test_without_a_vector_unit_nothing_changes(tmp_path: Path) -> None:
    graph = scaled(tmp_path / "x.onnx")
    plan = plan_cluster(graph, machine())
    assert [layer.node.label for layer in plan.layers] == ["conv", "depthwise conv", "depthwise conv", "conv"]
    assert not plan.stands_for
