"""What the search for two levels has least of, against all nests of small layers; a judge of what it finds."""

from collections.abc import Iterator
from math import inf
from random import Random

import pytest

from hwgen.arch.dram import TICKS, DramPort
from hwgen.ir.document import InputError
from hwgen.ir.hardware import Cluster, Dram, EnergyCost, Hardware
from hwgen.ir.lanes import Lanes
from hwgen.ir.layer import Layer
from hwgen.ir.schedule import Bits, Loop, Schedule
from hwgen.lower.cluster.program import compile_cluster
from hwgen.model.cluster.cluster_counts import dram_bytes, predict_cluster
from hwgen.model.dram import counts as dram
from hwgen.model.dram.counts import dram_ticks
from hwgen.model.energy import device_energy, prices_of_memories
from hwgen.model.nest.one_level import predict
from hwgen.search.cluster.optimal import ClusterResult, floor_of, search_cluster
from hwgen.search.cluster.outer_nest import OuterSpace
from hwgen.search.objectives.of_cluster import cluster_objective
from tests.model.cluster.nests import ORDER, cluster, conv, every_outer, every_schedule, runs
from tests.oracles.levels_apart import local_level, outer_level

DDR = Dram(latency=25, miss_cycles=21, block_cycles=15.0)
CHEAP = EnergyCost(dram=1, tcdm=4, local=2, mac=0.5)
"""Of a DRAM that is worth much traffic if it spares the TCDM."""
LONG = conv((3, 6, 3, 1), (3, 2))
DEEP = conv((1, 6, 3, 1), (3, 2))
SINGLE = conv((1, 4, 3, 1), (3, 3))


def costs(layer: Layer, hardware: Hardware, objective: str) -> Iterator[tuple[float, int, Schedule]]:
    """Objective and TCDM bytes of every schedule that fits, by the model; no more than what may be least."""
    assert hardware.cluster is not None
    port = DramPort.of(hardware.cluster)
    least = inf
    for outer, left in every_outer(layer):
        probe = Schedule(layer=layer, nest=(*outer, *(Loop(dim, 1) for dim in layer.extents)))
        value, moved = 0.0, predict(outer_level(probe)).total_bytes
        if objective == "dram-time":
            counts = dram.dram_counts(probe, port, 2)
            value = dram_ticks(counts, port) / TICKS
        if value > least:
            continue
        for schedule in every_schedule(layer, hardware, outer, left):
            fetched = predict(local_level(schedule)).total_bytes
            if objective == "energy":
                value = weighed(hardware, moved, fetched)
            if value <= least and runs(schedule, hardware):
                least = value
                yield value, fetched, schedule


def weighed(hardware: Hardware, moved: int, fetched: int) -> float:
    """What is weighed of the energy: bytes of the DRAM and of the TCDM."""
    assert hardware.cluster is not None
    assert hardware.cluster.energy is not None
    return hardware.cluster.energy.dram * moved + hardware.cluster.energy.tcdm * fetched


def searched(layer: Layer, hardware: Hardware, objective: str) -> ClusterResult:
    return search_cluster(
        layer, hardware, objective, max_searched=10**6, busy_share=0, max_tried=10**6, max_levels=10**6, near=0
    )  # fmt: skip


@pytest.mark.parametrize(
    ("objective", "layer", "tcdm", "more"),
    [
        ("dram-time", SINGLE, 224, 0),
        ("dram-time", DEEP, 256, 0),
        pytest.param("energy", LONG, 224, 96, marks=pytest.mark.nightly),
    ],
)
def test_objectives_equal_brute_force(objective: str, layer: Layer, tcdm: int, more: int) -> None:
    """None of them is what moves fewest bytes, then fewest bytes of the TCDM."""
    hardware = cluster(tcdm, dram=DDR, energy=CHEAP)
    every = list(costs(layer, hardware, objective))
    value, fetched = min((value, fetched) for value, fetched, _ in every)
    found, plain = (searched(layer, hardware, name) for name in (objective, "dram-bytes"))
    assert found.complete
    least = found.value if objective == "dram-time" else weighed(hardware, found.dram_bytes, found.tcdm_bytes)
    assert (found.objective, least, found.tcdm_bytes) == (objective, pytest.approx(value, rel=1e-12), fetched)
    if objective == "energy":
        counts = predict_cluster(found.schedule, 2).counts
        prices = prices_of_memories({"I": 0, "W": 0, "O": 0}, hardware.cluster)
        assert found.value == device_energy(found.schedule, counts, prices).total
        energies = [device_energy(one, predict_cluster(one, 2).counts, prices).total for _, _, one in every]
        floor = floor_of(layer, Bits(), hardware, prices)
        moved = OuterSpace(layer, Bits(), tcdm, classed=True).least()
        bound = cluster_objective("energy", hardware).least_value(layer, moved or 0, floor.inside)
        assert bound is not None
        assert 0.75 * min(energies) < bound <= min(energies)
        assert found.bound == bound
    assert runs(found.schedule, hardware)
    assert found.dram_bytes == dram_bytes(found.schedule, 2) == plain.dram_bytes + more
    assert found.tcdm_bytes != plain.tcdm_bytes


def test_energy_wants_weights() -> None:
    with pytest.raises(InputError, match="energy: expected dram, tcdm, local and mac to weigh energy"):
        cluster_objective("energy", Hardware(name="cluster", cluster=Cluster()))


@pytest.mark.parametrize(
    ("sizes", "kernel", "tcdm"),
    [((13, 11, 3, 2), (3, 1), 2048), ((13, 7, 1, 1), (1, 1), 1024), ((33, 5, 1, 4), (1, 1), 1024)],
)
def test_what_the_hardware_refuses_gives_way(
    sizes: tuple[int, int, int, int], kernel: tuple[int, int], tcdm: int
) -> None:
    """Weights in more pieces than the DMA joins in one burst: the search knows it from its judge."""
    hardware = cluster(tcdm, fixed=False).model_copy(update={"lanes": Lanes(m=8, x=2)})
    layer = conv(sizes, kernel)
    with pytest.raises(InputError, match="pieces inside one burst"):
        compile_cluster(search_cluster(layer, hardware, max_searched=2).schedule, hardware)

    def judge(schedule: Schedule) -> float:
        compile_cluster(schedule, hardware)
        return 1.0

    found = search_cluster(layer, hardware, max_searched=2, judge=judge)
    assert not found.complete
    assert runs(found.schedule, hardware)


def test_a_demand_on_utilisation() -> None:
    """What a judge rejects gives way to the next best; no schedule keeps more than 13 of 16 lanes busy."""
    layer = conv((24, 2, 7, 13), (3, 3), padding=(1, 1, 1, 1))
    hardware = Hardware(name="cluster", order=ORDER, budget=4096, cluster=Cluster())
    asked: list[float] = []

    def judge(schedule: Schedule) -> float:
        asked.append(predict(local_level(schedule)).total_bytes)
        return 0.5 if len(asked) == 1 else 0.72

    found = search_cluster(layer, hardware, min_utilisation=0.7, judge=judge)
    assert (found.judged, len(asked), found.complete) == (0.72, 2, False)
    assert asked[0] <= asked[1] == found.tcdm_bytes
    assert search_cluster(layer, hardware, min_utilisation=0.8).utilisation == pytest.approx(13 / 16)
    with pytest.raises(InputError, match=r"fits a TCDM of 262144 bytes with these HWCs and may reach .* of 0\.9"):
        search_cluster(layer, hardware, min_utilisation=0.9)
    with pytest.raises(InputError, match=r"utilisation reaches 0\.75; the highest was 0\.720"):
        search_cluster(layer, hardware, min_utilisation=0.75, judge=judge, max_levels=2)


@pytest.mark.parametrize(
    ("layer", "dram"),
    [
        (conv((3, 3, 1, 2), (3, 3)), DDR),
        (conv((1, 1, 3, 4), (3, 3), (2, 1), (1, 1, 1, 1)), None),
        (conv((4, 2, 2, 1), (2, 30), groups=2), DDR),
    ],
)
def test_bounds_of_time_are_no_more_than_the_time(layer: Layer, dram: Dram | None) -> None:
    """Of some loops, none is missing among those whose bound is at most the time that it takes."""
    objective = cluster_objective("dram-time", Hardware(name="cluster", cluster=Cluster(dram=dram)))
    space = OuterSpace(layer, Bits(), 1 << 20, objective.price)
    rest = tuple(Loop(dim, 1) for dim in layer.extents)
    every = [outer for _, _, outers in space.between(0, 1 << 40) for outer in outers]
    times = {
        outer: objective.of_loops(0, Schedule(layer=layer, nest=(*outer.items(), *rest)))
        for outer in Random(1).sample(every, 150)
    }
    distinct = sorted(set(times.values()))
    for most in distinct[:: max(1, len(distinct) // 5)]:
        bounded = {outer for _, _, outers in space.between(0, most) for outer in outers}
        assert {outer for outer, taken in times.items() if taken <= most} <= bounded
