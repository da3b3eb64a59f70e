"""The descent among neighbours: as far as it goes, and no farther than something can be won."""

from functools import partial
from math import inf

import pytest

from hwgen.ir.schedule import Loop, Schedule
from hwgen.lower.cluster.cycles import estimated_cycles
from hwgen.model.cluster.cluster_counts import tcdm_bytes
from hwgen.search.cluster.descent import MORE, SHORT, Arrived, Descent
from hwgen.search.cluster.neighbours import Neighbours, Place
from hwgen.search.cluster.outer_nest import OuterLoops
from hwgen.search.core.settings import Slices
from hwgen.search.core.space import Target
from tests.search.cluster.test_least_cycles import SMALL, cycles_of, every_schedule, tiny
from tests.search.cluster.test_neighbours import NEIGHBOURS, place_of

START = place_of((8, 3, 6))


def size(schedule: Schedule) -> float:
    """Elements of a tile of the HWCs."""
    loops = [item for item in schedule.nest if isinstance(item, Loop) and not item.over][-9:]
    return float(loops[0].step * loops[1].step * loops[2].step)


@pytest.mark.parametrize(("above", "looked_at"), [(1.005, 0), (1.02, 2), (1.028, 3)])
def test_what_can_be_won_bounds_it(above: float, looked_at: int) -> None:
    """One neighbour is looked at for each 0.8 % above the bound."""
    asked: list[Schedule] = []

    def estimate(schedule: Schedule, *, most: float = inf) -> float:
        asked.append(schedule)
        return 1e9

    descent = Descent(NEIGHBOURS, lambda _: True, estimate, size, size(START.schedule))
    assert descent.go(Arrived(START, 1.0, size(START.schedule) * above)) == []
    assert len(asked) == looked_at


def test_a_short_program() -> None:
    """3 x 2 outputs on one HWC: those of its last tile are taken from the lanes alone, which takes less for few."""
    layer = tiny(40)
    tile = {"m": 1, "c": 1, "y": 3, "x": 2}
    loops = OuterLoops(("y",), (3,), (0, 0, 0))
    whole = next(
        one for one in every_schedule(layer, SMALL)
        if [item.step for item in one.nest if isinstance(item, Loop)] == [3, 1, 3, 2, 1, 1, 1, 1, 1, 1]
    )  # fmt: skip
    whole = whole.model_copy(update={"nest": (*loops.items(), *whole.nest[4:])})

    estimate = partial(estimated_cycles, hardware=SMALL, ordered=False)

    def cycles(schedule: Schedule) -> float:
        return cycles_of(schedule, SMALL)

    neighbours = Neighbours(SMALL, Slices(layer, Target.of(SMALL).settings))
    descent = Descent(neighbours, lambda _: True, estimate, cycles, 30)
    found = descent.go(Arrived(Place(whole, loops, tile, {}), estimate(whole), cycles(whole)))
    assert round(cycles(whole)) == 259
    assert min(round(one.cycles) for one in found) == 256


def test_ports_are_not_much_busier() -> None:
    """Tiles of fewer outputs read their operands more often: of what a third more bytes moves nothing is timed."""
    asked: list[Schedule] = []

    def estimate(schedule: Schedule, *, most: float = inf) -> float:
        asked.append(schedule)
        return 1e9

    for cycles in (SHORT - 1, SHORT):
        asked.clear()
        Descent(NEIGHBOURS, lambda _: True, estimate, size, 1).go(Arrived(START, 1.0, cycles))
        most = max(tcdm_bytes(one) for one in asked) / tcdm_bytes(START.schedule)
        assert (most > 1 + MORE) == (cycles < SHORT)
