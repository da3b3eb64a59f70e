"""Nests that are worth an estimate: the fastest of all of them is there, and many of the others are not."""

from itertools import product
from math import inf
from random import Random

import pytest

from hwgen.ir.document import InputError
from hwgen.ir.hardware import Cluster, Hardware
from hwgen.ir.lanes import Lanes
from hwgen.ir.layer import Layer
from hwgen.ir.schedule import Bits, Schedule
from hwgen.lower.cluster.cycles import estimated_cycles
from hwgen.search.cluster.inner_nest import InnerNests, memories_for
from hwgen.search.cluster.outer_nest import OuterLoops
from hwgen.search.cluster.promising_nests import PromisingNests
from hwgen.search.cluster.spreading import Spread, spreads_of
from hwgen.search.core.settings import Slices
from hwgen.search.core.space import Target
from tests.random.layers import order_from

HARDWARE = Hardware(
    name="four",
    lanes=Lanes(m=4, c=4),
    budget=1792,
    buffers={"I": 512, "W": 256, "O": 1024},
    order=order_from("m y x O c I k W l m y x"),
    cluster=Cluster(hwcs=4, tcdm=1 << 16),
)
AS_FAST = 1.002
"""What the fastest may take, of all nests of all tiles: those for the whole memory are left out after a few tiles."""


def tiles(layer: Layer) -> list[tuple[OuterLoops, dict, Spread]]:
    extents, slices = layer.extents, Slices(layer, Target.of(HARDWARE).settings)
    found = []
    for parts_m, parts_y in product((1, 2, 4), (1, 2, 3)):
        steps = dict(extents) | {"m": -(-extents["m"] // parts_m), "y": -(-extents["y"] // parts_y)}
        loops = OuterLoops(("m", "y"), (steps["m"], steps["y"]), (0, 0, 1))
        found += [
            (loops, {dim: steps[dim] for dim in ("m", "c", "y", "x")}, one) for one in spreads_of(steps, 4, slices)
        ]
    return found


@pytest.mark.parametrize("seed", range(4))
def test_the_fastest_is_among_them(seed: int) -> None:
    rng = Random(seed)
    size, kernel = rng.randint(5, 16), rng.choice((1, 3))
    layer = Layer(
        name="drawn", input_channels=rng.randint(3, 40), output_channels=rng.randint(8, 48),
        input_height=size + kernel - 1, input_width=size + kernel - 1, output_height=size, output_width=size,
        kernel=kernel,
    )  # fmt: skip
    asked: list[Schedule] = []

    def estimate(schedule: Schedule, *, most: float = inf) -> float:
        asked.append(schedule)
        return estimated_cycles(schedule, HARDWARE, most=most)

    nests = PromisingNests(layer, HARDWARE, Bits(), estimate, lambda _: True)
    few = [one for tile in tiles(layer) for one in nests.of(*tile)]
    chosen = len(asked)
    every: dict[object, float] = {}
    for tile, memory, goal in product(tiles(layer), memories_for(HARDWARE), ("cycles", "traffic")):
        found = InnerNests(layer, memory, Bits()).best(*tile, goal=goal, vectors=True)
        if found is not None and found[0].nest not in every:
            try:
                every[found[0].nest] = estimate(found[0])
            except InputError:
                continue
    assert min(cycles for _, _, cycles in few) == nests.least
    assert min(every.values()) <= nests.least <= AS_FAST * min(every.values())
    assert len({schedule.nest for schedule, _, _ in few}) == len(few)
    assert chosen < len(every)


def test_what_does_not_fit_is_asked_for_without_partial_sums_that_leave() -> None:
    layer = Layer(name="deep", input_channels=64, output_channels=8, input_height=4, input_width=4, kernel=1)
    asked: list[Schedule] = []

    def fits(schedule: Schedule) -> bool:
        asked.append(schedule)
        return False

    nests = PromisingNests(layer, HARDWARE, Bits(), lambda _, *, most=inf: 1.0, fits)
    assert list(nests.of(*tiles(layer)[0])) == []
    assert len(asked) == 2 * len(memories_for(HARDWARE))
