"""Schedules of fewest cycles on a cluster: against brute force, against the bound, against those of few bytes."""

from collections.abc import Iterator
from functools import partial
from itertools import permutations, product
from math import ceil
from random import Random

import pytest

from hwgen.ir.document import InputError
from hwgen.ir.hardware import Cluster, Hardware
from hwgen.ir.lanes import Lanes
from hwgen.ir.layer import Dim, Layer
from hwgen.ir.level import TCDM
from hwgen.ir.schedule import ARRAYS, Loop, Marker, Schedule
from hwgen.lower.cluster.cost import judge_of
from hwgen.lower.cluster.cycles import estimated_cycles
from hwgen.model.cycle_bound import cycle_bound, least_iterations
from hwgen.search.cluster.fewest_cycles import search_fewest_cycles
from hwgen.search.cluster.least_cycles import search_least_cycles
from hwgen.search.cluster.optimal import ClusterResult
from tests.random.layers import order_from, random_layer

SMALL = Hardware(
    name="small",
    lanes=Lanes(m=2, c=2),
    budget=704,
    buffers={"I": 64, "W": 128, "O": 512},
    order=order_from("m y x O c I k W l m y x"),
    cluster=Cluster(hwcs=2, tcdm=1024, banks=4),
)
"""An HWC of this order has tile steps of m, y and x, and vectors of c."""
FROM_BRUTE_FORCE = 1.005
"""What the search may take more than the best of all schedules, for fewer bytes."""
SHORT = (11, 37, 39, 40, 62, 72)
"""Layers of few schedules. Of 37, 39 and 40 the best is one that is found beside another one alone."""


def search(layer: Layer, hardware: Hardware) -> ClusterResult:
    return search_least_cycles(
        layer,
        hardware,
        timed=judge_of(hardware, timed=True),
        estimate=partial(estimated_cycles, hardware=hardware, ordered=False),
    )


def cycles_of(schedule: Schedule, hardware: Hardware) -> float:
    """By the exact model; `InputError` where the hardware does not run it."""
    assert hardware.cluster is not None
    lanes = hardware.cluster.hwcs * hardware.shape.product
    return schedule.layer.macs / (lanes * judge_of(hardware, timed=True)(schedule))


def tiny(number: int) -> Layer:
    """Two of the four axes are longer than 1, so that all schedules can be timed."""
    rng = Random(f"tiny {number}")
    sizes = dict.fromkeys("mcyx", 1)
    for dim in rng.sample("mcyx", 2):
        sizes[dim] = rng.randint(2, 4)
    kernel = rng.choice((1, 1, 2))
    return Layer(
        name=f"tiny{number}", input_channels=sizes["c"], output_channels=sizes["m"],
        input_height=sizes["y"] + kernel - 1, input_width=sizes["x"] + kernel - 1, output_height=sizes["y"],
        output_width=sizes["x"], kernel=kernel,
    )  # fmt: skip


def every_schedule(layer: Layer, hardware: Hardware) -> Iterator[Schedule]:
    """All loops around a tile, markers, steps of tiles, spreads over HWCs, steps inside: those without one."""
    extents = layer.extents
    cut: list[Dim] = [dim for dim in ("m", "c", "y", "x") if extents[dim] > 1]
    for dims in (one for number in (1, 2) for one in permutations(cut, number)):
        for steps in product(*(range(1, extents[dim] + 1) for dim in dims)):
            tile = dict(extents) | dict(zip(dims, steps, strict=True))
            for places in product(range(len(dims)), repeat=3):
                outer: list[Loop | Marker] = []
                for place, (dim, step) in enumerate(zip(dims, steps, strict=True)):
                    outer += [Marker((array,), TCDM) for array, at in zip(ARRAYS, places, strict=True) if at == place]
                    outer.append(Loop(dim, step))
                for shares in ({}, {"m": 2}, {"y": 2}):
                    spread = {dim: ceil(tile[dim] / parts) for dim, parts in shares.items() if tile[dim] > 1}
                    if len(spread) == len(shares):
                        yield from _inside(layer, hardware, outer, tile | spread, spread)


def _inside(
    layer: Layer, hardware: Hardware, outer: list[Loop | Marker], left: dict[Dim, int], spread: dict[Dim, int]
) -> Iterator[Schedule]:
    over = [Loop(dim, step, "hwc") for dim, step in spread.items()]
    lanes = hardware.shape
    for m, y, x in product(*(range(1, left[dim] + 1) for dim in ("m", "y", "x"))):
        steps = iter([m, y, x, min(left["c"], lanes.c), 1, 1, min(m, lanes.m), 1, 1])
        inner = [item if isinstance(item, Marker) else Loop(item, next(steps)) for item in hardware.order or ()]
        yield Schedule(layer=layer, nest=(*outer, *over, *inner), lanes=lanes, ports=hardware.ports)


def brute_force(layer: Layer, hardware: Hardware) -> float:
    """The fewest cycles of all."""
    best = float("inf")
    for schedule in every_schedule(layer, hardware):
        try:
            best = min(best, cycles_of(schedule, hardware))
        except InputError:
            continue
    return best


@pytest.mark.parametrize(
    "number", [one if one in SHORT else pytest.param(one, marks=pytest.mark.nightly) for one in range(100)]
)
def test_it_is_near_the_best_of_all(number: int) -> None:
    layer = tiny(number)
    found, best = search(layer, SMALL), brute_force(layer, SMALL)
    assert found.value == pytest.approx(cycles_of(found.schedule, SMALL))
    assert cycle_bound(layer, SMALL).cycles <= best <= found.value <= FROM_BRUTE_FORCE * best


@pytest.mark.parametrize(
    "number", [one if one < 3 else pytest.param(one, marks=pytest.mark.nightly) for one in range(40)]
)
def test_it_is_no_slower_than_near_the_fewest_bytes(number: int) -> None:
    """And no faster than the bound; the schedule of fewest bytes among a few is taken."""
    layer = random_layer(Random(f"least {number}"), "random", 20_000)
    machine = SMALL.model_copy(update={"cluster": Cluster(hwcs=2, tcdm=4096, banks=4)})
    machine = machine.model_copy(update={"budget": 4096, "buffers": {"I": 1024, "W": 1024, "O": 2048}})
    timed, runs = (judge_of(machine, timed=one) for one in (True, False))
    found, near = search(layer, machine), search_fewest_cycles(layer, machine, timed=timed, runs=runs)
    assert found.bound is not None
    assert found.bound <= found.value <= 1.02 * cycles_of(near.schedule, machine)


def test_lanes_at_edges_count() -> None:
    """5 filters on lanes for 4, 3 channels on 4: 2 x 1 vectors for each pixel; depthwise, one lane along c works."""
    layer = Layer(name="edges", input_channels=3, output_channels=5, input_height=4, input_width=4, kernel=1)
    assert least_iterations(layer, Lanes(m=4, c=4)) == 2 * 16
    depthwise = layer.model_copy(update={"input_channels": 5, "groups": 5})
    assert least_iterations(depthwise, Lanes(m=4, c=4)) == 5 * 16
