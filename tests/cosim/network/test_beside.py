"""Nodes of the vector unit beside the layer before them, in the RTL: outputs, counts, cycles."""

from pathlib import Path

import numpy as np
import pytest

from cosim.network.on_cluster import run_clustered
from hwgen.arch.commands import Opcode, Queue
from hwgen.arch.hardware_file import load_hardware
from hwgen.golden.quantised.execution import execute
from hwgen.ir.builtin import named_file
from hwgen.ir.hardware import Cluster, Hardware
from hwgen.ir.network.graph import Graph
from hwgen.lower.cluster.cycles import works_of
from hwgen.lower.cluster.slice_waits import UnitBeside
from hwgen.lower.network.cluster_plan import ClusterPlan, plan_cluster
from hwgen.lower.network.parts import LayerPart, VectorPart
from hwgen.model.system.times import Work
from hwgen.model.vector.cycles import vector_access
from hwgen.readers.integers.reader import read_quantised
from tests.readers.integers.models import Draft

MOST_ERROR = 0.03
"""By which the cycles of these programs may be predicted wrong."""
SIZE = 40


def network(path: Path, seed: int = 5) -> Graph:
    """A convolution, a pool with windows that overlap; two convolutions, joined through tables, their sum with the
    pool; a mean."""
    rng, draft = np.random.default_rng(seed), Draft([1, 3, SIZE, SIZE - 3])

    def convolution(given: str, channels: tuple[int, int], kernel: int, scale: float) -> str:
        weights = draft.weights(rng.integers(-127, 128, (*channels, kernel, kernel)), 0.01)
        return draft.both(draft.node("Conv", given, weights, pads=[kernel // 2] * 4), scale, 100)

    first = convolution(draft.both("x", 0.03, 110), (8, 3), 3, 0.05)
    pooled = draft.both(draft.node("MaxPool", first, kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4), 0.05, 100)
    parts = [convolution(pooled, (4, 8), kernel, scale) for kernel, scale in ((1, 0.11), (3, 0.17))]
    joined = draft.both(draft.node("Concat", *parts, axis=1), 0.19, 90)
    more = convolution(joined, (8, 8), 1, 0.4)
    made = draft.both(draft.node("Add", more, pooled), 0.4, 120)
    last = convolution(made, (6, 8), 1, 0.9)
    return read_quantised(draft.write(path, draft.both(draft.node("GlobalAveragePool", last), 0.5, 100), None))


def machine(elements: int = 1) -> Hardware:
    one = load_hardware(named_file("hardware", "m4c4_1KiB"))
    cluster = Cluster(hwcs=2, tcdm=1 << 14, vector=True, vector_elements=elements)
    return one.model_copy(update={"requantisation": "scaled", "cluster": cluster})


def image(graph: Graph) -> dict[str, np.ndarray]:
    return {name: np.random.default_rng(1).normal(size=graph.tensors[name].shape).astype(np.float32) * 3
            for name in graph.inputs}  # fmt: skip


def early(plan: ClusterPlan) -> dict[str, int]:
    """For each node of the vector unit how many of its jobs run beside the layer before."""
    return {
        layer.node.label: sum(command.opcode is Opcode.START for command in layer.part.program.early)
        for layer in plan.layers
        if isinstance(layer.part, VectorPart)
    }


def ran(graph: Graph, plan: ClusterPlan, *, stalls: bool = False) -> tuple[int, int]:
    """Cycles as predicted and as measured; raises `AssertionError` where an output or a count is wrong."""
    tensors = execute(graph, image(graph))
    (program,), (made,) = run_clustered(graph, plan, [tensors], stalls=stalls)
    assert program.passed, [layer.result.failures for layer in program.layers]
    for name in graph.outputs:
        np.testing.assert_array_equal(made[name], tensors[name])
    return program.predicted_cycles, program.cycles


@pytest.mark.parametrize("elements", [1, pytest.param(8, marks=pytest.mark.nightly)])
def test_tiles_of_nodes_run_while_the_layer_before_does(tmp_path: Path, elements: int) -> None:
    graph = network(tmp_path / "x.onnx")
    plan = plan_cluster(graph, machine(elements))
    jobs = early(plan)
    assert {label for label, number in jobs.items() if number} >= {"max pool", "concat", "add"}
    predicted, cycles = ran(graph, plan)
    assert abs(cycles - predicted) <= MOST_ERROR * cycles
    in_the_way(plan, words=max(1, elements // 4))


def test_stalls_change_nothing_but_time(tmp_path: Path) -> None:
    graph = network(tmp_path / "x.onnx", 6)
    ran(graph, plan_cluster(graph, machine()), stalls=True)


def test_it_takes_fewer_cycles(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = network(tmp_path / "x.onnx")
    with_it, _ = ran(graph, plan_cluster(graph, machine()))
    monkeypatch.setattr("hwgen.lower.network.cluster_plan.beside", lambda layer, part, *_: (layer, part))
    plan = plan_cluster(graph, machine())
    assert not any(early(plan).values())
    without, _ = ran(graph, plan)
    assert with_it < 0.9 * without


def in_the_way(plan: ClusterPlan, words: int) -> None:
    """What the unit reads and writes beside layers, as many words at once, is known, and they wait for it."""
    parts = [layer.part for layer in plan.layers if isinstance(layer.part, LayerPart) and layer.part.beside]
    assert len(parts) >= 3
    takes = []
    for part in parts:
        assert part.beside is not None
        unit = part.beside.early_work
        jobs = part.beside.jobs[: len(unit.works)]
        access = [vector_access(job, part.beside.cluster.vector_shape) for job in jobs]
        reads, writes = unit.words
        assert (reads.words, reads.number) == (words, sum(one.inputs.words for one in access))
        assert (writes.words, writes.number) == (words, sum(one.output.words for one in access))
        for one, port in ((reads, [job.input for job in jobs]), (writes, [job.output for job in jobs])):
            assert one.places[0] == port[0] // 4
            assert {at // 4 for at in port} <= {*one.places.tolist()}
        takes.append([sum(map(cycles, works_of(part.program, one))) for one in (quiet(unit), unit)])
    alone, beside = map(sum, zip(*takes, strict=True))
    assert beside > 1.001 * alone


def quiet(unit: UnitBeside) -> UnitBeside:
    """The same jobs, if they read and wrote nothing."""
    return unit._replace(words=())


def cycles(work: Work | int) -> float:
    return work.cycles if isinstance(work, Work) else work


def test_what_is_read_has_been_stored(tmp_path: Path) -> None:
    """Each load of what the layer makes is after the store of it, by tokens from one queue to the other."""
    plan = plan_cluster(network(tmp_path / "x.onnx"), machine())
    layer = next(one for one in plan.layers if isinstance(one.part, LayerPart) and one.part.beside)
    assert isinstance(layer.part, LayerPart)
    loads = [layer.part.commands[at] for at in sorted(layer.part.early_at)]
    assert any(Queue.STORE in one.takes for one in loads if one.queue is Queue.LOAD)


def test_planes_in_another_order_are_copied(tmp_path: Path) -> None:
    """A channel shuffle, which no host has in the middle of a network."""
    rng, draft = np.random.default_rng(9), Draft([1, 3, 30, 26])
    weights = [draft.weights(rng.integers(-127, 128, shape), 0.01) for shape in ((12, 3, 3, 3), (5, 12, 1, 1))]
    made = draft.both(draft.node("Conv", draft.both("x", 0.03, 110), weights[0], pads=[1] * 4), 0.05, 100)
    apart = draft.node("Reshape", made, draft.constant([1, 3, 4, 30, 26], np.int64))
    turned = draft.node("Transpose", apart, perm=[0, 2, 1, 3, 4])
    mixed = draft.node("Reshape", turned, draft.constant([1, 12, 30, 26], np.int64))
    last = draft.node("Conv", draft.both(mixed, 0.05, 100), weights[1])
    graph = read_quantised(draft.write(tmp_path / "x.onnx", draft.both(last, 0.2, 100), None))
    plan = plan_cluster(graph, machine())
    assert [layer.node.label for layer in plan.layers] == ["conv", "move (Transpose)", "conv"]
    assert len(plan.stretches) == 1
    (moved,) = (layer.part.program for layer in plan.layers if isinstance(layer.part, VectorPart))
    assert len(moved.early) > len(moved.commands)
    ran(graph, plan)
