"""Random quantised networks on a cluster, as programs of several layers: outputs, counts and cycles in the RTL."""

from collections import Counter
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from cosim.network.on_cluster import RanProgram, elapsed_cycles, run_clustered
from hwgen.arch.dram import Dram
from hwgen.arch.hardware_file import load_hardware
from hwgen.golden.quantised.execution import checked_inputs, execute, images
from hwgen.ir.builtin import named_file
from hwgen.ir.document import InputError
from hwgen.ir.hardware import Cluster, Hardware
from hwgen.lower.network.cluster_plan import ClusterPlan, plan_cluster
from hwgen.lower.network.parts import LayerPart
from hwgen.readers.integers.reader import read_quantised
from tests.cosim.vector.test_nodes import CLUSTER
from tests.random.quantised import quantised_model, random_model

KINDS = ("conv", "depthwise conv", "product", "add", "average pool", "max pool", "concat", "table", "several")
MOST_ERROR, MEAN_ERROR = 0.08, 0.025
"""By which the cycles of such small programs may be predicted wrong where all ports are as narrow as the DMA's: of
any of them, in the mean of all."""
SYSTEM_ERROR = 0.001
"""The same of the two networks that run on two clusters in every run, whose ports hardly meet at a bank: once in a
program of 2,571 cycles."""
DDR3 = Dram(latency=20, miss_cycles=30, block_cycles=18.0)
BUILT_IN, BUILT_IN_ERROR = "cluster_64_vector", 0.02
"""The built-in cluster for networks, and by which the cycles of any of them may be predicted wrong there."""

LEAST_STAYED = 16
"""Maps of half of the random networks that stay in the TCDM."""
LEAST_AHEAD = 10
"""Layers of the random networks whose first weights are loaded beside the layer before."""


@pytest.fixture
def hardware() -> Hardware:
    machine = load_hardware(named_file("hardware", "m4c4_1KiB"))
    return machine.model_copy(
        update={"requantisation": "scaled", "cluster": Cluster(hwcs=2, tcdm=1 << 14, vector=True)}
    )


def ran(
    seed: int,
    folder: Path,
    hardware: Hardware,
    *,
    stalls: bool = False,
    resident: bool = False,
    most_error: float = MOST_ERROR,
    clusters: int = 1,
) -> tuple[list[RanProgram], ClusterPlan | None]:
    """The programs of a random network, whose outputs are the integer reference's, and their plan.

    On several clusters there is an image more than there are of them.
    """
    rng = np.random.default_rng(seed)
    path = folder / f"{seed}.onnx"
    given = quantised_model(rng, random_model(rng), path)
    graph = read_quantised(path)
    plan = plan_cluster(graph, hardware, resident=resident, clusters=clusters)
    if not plan.layers:
        return [], None
    several = [{name: rng.permuted(array) for name, array in given.items()} for _ in range(clusters)]
    tensors = [
        execute(graph, one)
        for some in [given, *several[: clusters if clusters > 1 else 0]]
        for one in images(graph, some, checked_inputs(graph, some, "x"))
    ]
    programs, values = run_clustered(graph, plan, tensors, stalls=stalls, clusters=clusters)
    for made, reference in zip(values, tensors, strict=True):
        for name in graph.outputs:
            np.testing.assert_array_equal(made[name], reference[name])
    for program in programs:
        found = [layer.result.failures for layer in program.layers]
        assert program.passed, (seed, program.failures, found)
        if not stalls:
            assert abs(program.cycles - program.predicted_cycles) <= most_error * program.cycles, seed
    return programs, plan


def test_layers_and_nodes_are_chained_through_the_dram(tmp_path: Path, hardware: Hardware) -> None:
    (program,), plan = ran(11, tmp_path, hardware)
    assert plan is not None
    assert {stretch.program.hardware for stretch in plan.stretches} == {CLUSTER}  # which other tests simulate as well
    assert [layer.node.label for layer in program.layers] == ["average pool", "add", "conv", "product"]


def test_maps_that_fit_stay_in_the_tcdm(tmp_path: Path, hardware: Hardware) -> None:
    programs, plan = ran(6, tmp_path, hardware, resident=True)
    assert plan is not None
    assert len(plan.kept) == 4
    results = {layer.node.output: layer.result for one in programs for layer in one.layers}
    for name, kept in plan.kept.items():
        written = results[name].measured["dram", "O", "write"].bytes
        assert (written > 0, name in plan.rooms.bases) == (kept.stored, kept.stored)


@pytest.mark.parametrize("seed", [2, 10])  # after a node of the vector unit, and after a layer
def test_weights_are_loaded_beside_the_layer_before(tmp_path: Path, hardware: Hardware, seed: int) -> None:
    _, plan = ran(seed, tmp_path, hardware, resident=True)
    assert plan is not None
    assert apart(plan) == 1


def apart(plan: ClusterPlan) -> int:
    """How many layers have weights that are loaded beside the layer before, which leaves their place alone."""
    found = 0
    for stretch in plan.stretches:
        for before, layer in pairwise(stretch.layers):
            if not layer.part.ahead:
                continue
            begin, end = layer.part.tcdm_regions["W"]
            found += 1
            if isinstance(before.part, LayerPart):
                assert all(last <= begin or end <= first for first, last in before.part.places)
            else:
                assert begin >= sum(before.part.room)
    return found


@pytest.mark.parametrize("seed", [6, 18, 24, 59])  # the larger ones, and the one that is predicted the worst
def test_cycles_on_the_built_in_cluster(tmp_path: Path, seed: int) -> None:
    machine = load_hardware(named_file("hardware", BUILT_IN))
    programs, _ = ran(seed, tmp_path, machine, resident=seed % 2 == 1, most_error=BUILT_IN_ERROR)
    assert programs


@pytest.mark.parametrize(("seed", "resident"), [(21, True), (20, False)])  # the latter with two programs
def test_images_run_on_several_clusters_at_the_same_time(
    tmp_path: Path, hardware: Hardware, seed: int, resident: bool
) -> None:
    # Each of one HWC, as other tests of commands have it: one build serves them.
    assert hardware.cluster is not None
    hardware = hardware.model_copy(update={"cluster": hardware.cluster.model_copy(update={"hwcs": 1})})
    programs, plan = ran(seed, tmp_path, hardware, clusters=2, resident=resident, most_error=SYSTEM_ERROR)
    assert plan is not None
    stretches = len(plan.stretches)
    order = [(0, 0), (1, 1)] * stretches + [(2, 0)] * stretches
    assert [(one.image, one.cluster) for one in programs] == order
    both, alone = elapsed_cycles(programs[: 2 * stretches]), elapsed_cycles(programs[2 * stretches :])
    assert alone[1] < both[1] < 2 * alone[1]
    assert elapsed_cycles(programs) == tuple(map(sum, zip(both, alone, strict=True)))


@pytest.mark.nightly
def test_networks_of_all_kinds_on_several_clusters(tmp_path: Path, hardware: Hardware) -> None:
    kinds, wrong = Counter[str](), list[float]()
    for seed in range(60):
        cluster = hardware.cluster.model_copy(update={"dram": (None, DDR3)[seed % 2]})
        machine = hardware.model_copy(update={"cluster": cluster})
        programs, _ = ran(
            seed, tmp_path, machine, stalls=seed % 4 == 3, resident=seed % 8 >= 4, clusters=2 + seed % 3 // 2
        )
        if seed % 4 != 3:
            wrong += [abs(one.cycles / one.predicted_cycles - 1) for one in programs]
        kinds.update(layer.node.label for program in programs for layer in program.layers)
    assert all(kinds[kind] >= 16 for kind in KINDS if kind != "several"), kinds
    assert sum(wrong) / len(wrong) <= MEAN_ERROR


@pytest.mark.nightly
def test_cycles_of_networks_of_all_kinds_on_the_built_in_cluster(tmp_path: Path) -> None:
    machine = load_hardware(named_file("hardware", BUILT_IN))
    found: Counter[str] = Counter()
    for seed in range(60):
        programs, _ = ran(seed, tmp_path, machine, resident=seed % 2 == 1, most_error=BUILT_IN_ERROR)
        found.update(layer.node.label for program in programs for layer in program.layers)
    assert all(found[kind] >= 8 for kind in KINDS if kind != "several"), found


@pytest.mark.nightly
def test_networks_of_all_kinds(tmp_path: Path, hardware: Hardware) -> None:
    found: Counter[str] = Counter()
    wrong: list[float] = []
    stayed = 0
    for seed in range(60):
        programs, plan = ran(seed, tmp_path, hardware, stalls=seed % 4 == 3, resident=seed % 4 >= 2)
        stayed += len(plan.kept) if plan else 0
        found["ahead"] += apart(plan) if plan else 0
        if seed % 4 != 3:
            wrong += [abs(one.cycles / one.predicted_cycles - 1) for one in programs]
        found.update(layer.node.label for program in programs for layer in program.layers)
        found["several"] += any(len(program.layers) > 1 for program in programs)
    assert all(found[kind] >= 8 for kind in KINDS), found
    assert stayed >= LEAST_STAYED
    assert found["ahead"] >= LEAST_AHEAD
    assert sum(wrong) / len(wrong) <= MEAN_ERROR


@pytest.mark.parametrize("key", ["lanes", "order", "buffers"])
def test_what_all_layers_share_is_given(tmp_path: Path, hardware: Hardware, key: str) -> None:
    rng = np.random.default_rng(11)
    quantised_model(rng, random_model(rng), tmp_path / "x.onnx")
    graph = read_quantised(tmp_path / "x.onnx")
    with pytest.raises(InputError, match=f"^hardware m4c4_1KiB: {key}: missing key: all layers of a network"):
        plan_cluster(graph, hardware.model_copy(update={key: None}))
