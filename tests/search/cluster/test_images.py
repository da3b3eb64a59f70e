"""Loops over images around the tiles of one image: against all their places, and against the bound."""

from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from itertools import product
from random import Random

import pytest

from hwgen.arch.layout import aligned
from hwgen.ir.document import InputError
from hwgen.ir.hardware import Cluster, Hardware
from hwgen.ir.layer import Layer
from hwgen.ir.level import TCDM
from hwgen.ir.schedule import ARRAYS, Bits, Loop, Marker, Schedule
from hwgen.lower.cluster.cost import judge_of
from hwgen.model.cluster.cluster_counts import dram_bytes, predict_cluster, tcdm_bytes
from hwgen.model.cluster.levels import tile_depth
from hwgen.model.cluster.placement import place
from hwgen.model.energy import device_energy, prices_of_memories
from hwgen.search.cluster.images import search_batch
from hwgen.search.cluster.optimal import ClusterResult, floor_of, search_cluster
from tests.cosim.cluster.test_clusters import hardware
from tests.random.cluster_nests import cluster_cases
from tests.random.clusters import cluster_schedules

MACHINE = hardware("fig8")


def result_of(schedule: Schedule) -> ClusterResult:
    """A schedule of one image as a search would have found it."""
    moved = dram_bytes(schedule)
    return ClusterResult(
        schedule, "dram-bytes", moved, "bytes", moved, tcdm_bytes(schedule), place(schedule).size, 1.0, 1.0, True,
        0.0, lanes=64, bound=1.0,
    )  # fmt: skip


def every_place(schedule: Schedule, batch: int) -> Iterator[Schedule]:
    """Every schedule of a batch with up to two loops over images, and markers of the TCDM anywhere."""
    depth = tile_depth(schedule)
    around, layer = schedule.loops[:depth], schedule.layer.of_images(batch)
    last = [index for index, item in enumerate(schedule.nest) if isinstance(item, Loop)][depth - 1]
    inside = schedule.nest[last + 1 :]
    outer = [None, *(step for step in (2, 4) if step < batch)]
    for step, places in product(outer, product(range(depth + 1), repeat=2)):
        if (places[0] > places[1]) if step else places[0]:
            continue
        loops = list(around)
        loops.insert(places[1], Loop("n", 1))
        if step:
            loops.insert(places[0], Loop("n", step))
        for marked in product(range(len(loops)), repeat=3):
            nest: list[Loop | Marker] = []
            for at, loop in enumerate(loops):
                arrays = tuple(array for array, one in zip(ARRAYS, marked, strict=True) if one == at)
                nest += [*([Marker(arrays, TCDM)] if arrays else []), loop]
            yield schedule.model_copy(update={"layer": layer, "nest": (*nest, *inside)})


@cache
def of_one_image() -> list[Schedule]:
    found = cluster_schedules(MACHINE, Random("images"), 30, most_macs=4000, forms=False)
    return [one for one in found if tile_depth(one) <= 2][:6]


@pytest.mark.parametrize("number", range(6))
def test_no_place_of_the_loops_moves_less(number: int) -> None:
    """In a shared memory that does not hold all of several images."""
    one, batch = of_one_image()[number], 3 + number % 3
    cluster = Cluster(hwcs=1, tcdm=max(aligned(2 * place(one).size, 64), 1024), banks=16)
    machine = MACHINE.model_copy(update={"cluster": cluster})
    asked: list[int] = []

    def solve(layer: Layer, given: Hardware) -> ClusterResult:
        assert layer.batch == 1
        assert given.cluster is not None
        asked.append(given.cluster.tcdm)
        return result_of(one)

    found = search_batch(
        one.layer.of_images(batch), machine, solve, judge=lambda _: 1.0, objective="dram-bytes", slack=0.01,
        min_utilisation=None,
    )  # fmt: skip
    assert asked == [cluster.tcdm, cluster.tcdm // 2, cluster.tcdm // 4]
    least, fitting = None, 0
    for schedule in every_place(one, batch):
        if place(schedule).size <= cluster.tcdm:
            fitting += 1
            moved = dram_bytes(schedule)
            least = moved if least is None else min(least, moved)
    assert fitting > 0
    assert found.dram_bytes == found.value == dram_bytes(found.schedule) == least
    assert found.need == place(found.schedule).size <= cluster.tcdm
    assert found.tcdm_bytes == tcdm_bytes(found.schedule) == batch * tcdm_bytes(one)
    assert found.schedule.layer.batch == batch
    assert not found.complete


def test_the_bound_holds_for_every_nest_of_a_batch() -> None:
    """Of random nests, in a shared memory as large as they need it and their local buffers."""
    near = 0
    for schedule, _ in cluster_cases(97, 60, most_macs=300, images=True):
        flat = schedule.model_copy(update={"bits": Bits()})
        try:
            size, found = place(flat).size, predict_cluster(flat)
        except InputError:
            continue
        local = found.local.need_bytes.total
        machine = Hardware.model_construct(
            name="any", lanes=flat.lanes, budget=local, buffers=None, order=None, operand_bits=8,
            cluster=Cluster.model_construct(hwcs=1, tcdm=size, banks=4, axi_bits=64),
        )  # fmt: skip
        floor = floor_of(flat.layer, Bits(), machine)
        assert floor.dram_bytes <= dram_bytes(flat), flat.as_data()
        near += floor.dram_bytes > 0.5 * dram_bytes(flat)
    assert near > 10


FC = Layer(
    name="fc", op="fc", input_channels=64, output_channels=24, input_height=1, input_width=1, kernel=1, batch=4
)


def test_weights_of_a_fully_connected_layer_come_once() -> None:
    def solve(layer: Layer, machine: Hardware) -> ClusterResult:
        return search_cluster(layer, machine, judge=judge_of(machine, timed=False))

    judge = judge_of(MACHINE, timed=True)
    found = search_batch(FC, MACHINE, solve, judge=judge, objective=None, slack=0.01, min_utilisation=None)
    assert found.dram_bytes == FC.weight_elements + FC.input_elements + FC.output_elements
    assert found.judged == judge(found.schedule)
    with pytest.raises(
        InputError, match=r"fc: no schedule was found whose utilisation reaches 0\.99; the highest was"
    ):
        search_batch(FC, MACHINE, solve, judge=judge, objective=None, slack=0.01, min_utilisation=0.99)


@pytest.mark.parametrize("objective", ["cycles", "dram-time", "energy"])
def test_what_an_objective_has_least_of(objective: str) -> None:
    """A fake judge, which says that what takes more of the TCDM is faster."""
    one = of_one_image()[0]

    def solve(layer: Layer, machine: Hardware) -> ClusterResult:
        return replace(result_of(one), objective=objective)

    judged: list[float] = []

    def judge(schedule: Schedule) -> float:
        judged.append(1e-7 * place(schedule).size)
        return judged[-1]

    layer = one.layer.of_images(4)
    found = search_batch(layer, MACHINE, solve, judge=judge, objective=objective, slack=0.01, min_utilisation=None)
    assert found.bound is None or 0 < found.bound <= found.value
    if objective == "cycles":
        assert found.judged == max(judged)
        assert len(set(judged)) > 1
        assert found.value == pytest.approx(layer.macs / (64 * 1e-7 * found.need))
    if objective == "energy":
        counts = predict_cluster(found.schedule, 4, multicast=True).counts
        prices = prices_of_memories(MACHINE.buffers or {}, MACHINE.cluster)
        assert found.value == pytest.approx(device_energy(found.schedule, counts, prices).total)
