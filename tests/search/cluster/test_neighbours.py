"""Neighbours of a schedule: each differs in one thing, and is a schedule that could be written down."""

from hwgen.ir.layer import Dim, Layer
from hwgen.ir.schedule import Loop, Marker, Schedule
from hwgen.search.cluster.neighbours import Neighbours, Place
from hwgen.search.cluster.outer_nest import OuterLoops
from hwgen.search.core.settings import Slices
from hwgen.search.core.space import Target
from tests.search.cluster.test_promising_nests import HARDWARE

LAYER = Layer(name="drawn", input_channels=8, output_channels=32, input_height=12, input_width=12, kernel=1)
OUTER = OuterLoops(("y",), (6,), (0, 0, 0))
STEPS: dict[Dim, int] = {"m": 32, "c": 8, "y": 6, "x": 12}


def place_of(steps: tuple[int, int, int]) -> Place:
    """Tiles of 6 rows, their filters over four HWCs, whose tiles have these steps of m, y and x."""
    m, y, x = steps
    inner = (
        Loop("m", m), Loop("y", y), Loop("x", x), Marker(("O",)), Loop("c", 4), Marker(("I",)), Loop("k", 1),
        Marker(("W",)), Loop("l", 1), Loop("m", 4), Loop("y", 1), Loop("x", 1),
    )  # fmt: skip
    nest = (*OUTER.items(), Loop("m", 8, "hwc"), *inner)
    schedule = Schedule(layer=LAYER, nest=nest, lanes=HARDWARE.shape, ports=HARDWARE.ports)
    return Place(schedule, OUTER, dict(STEPS), {"m": 8})


def tiles_of(place: Place) -> tuple[int, ...]:
    return tuple(item.step for item in place.inner if isinstance(item, Loop))[:3]


NEIGHBOURS = Neighbours(HARDWARE, Slices(LAYER, Target.of(HARDWARE).settings))


def test_tiles_of_the_hwcs() -> None:
    """Even steps are whole vectors: 4 of 8 filters; 2 or 6 of 6 rows beside 3; 4 or 12 of 12 columns beside 6."""
    start = place_of((8, 3, 6))
    even = [tiles_of(one) for one in NEIGHBOURS.inside(start)]
    assert sorted(even) == [(4, 3, 6), (8, 2, 6), (8, 3, 4), (8, 3, 12), (8, 6, 6)]
    assert all(one[0] <= 8 and one[1] <= 3 and one[2] <= 6 for one in even[:3])
    uneven = [tiles_of(one) for one in NEIGHBOURS.uneven(start)]
    assert sorted(uneven) == [(4, 3, 6), (8, 2, 6), (8, 3, 5), (8, 3, 7), (8, 4, 6)]


def test_loops_around_a_tile() -> None:
    """Other steps, a loop more, other spreads; slices are cut into as many parts as before."""
    start = place_of((8, 3, 6))
    found = {(one.loops, tuple(one.spread.items())): one for one in NEIGHBOURS.around(start)}
    of_loops = {loops for loops, _ in found}
    assert OuterLoops(("y",), (4,), (0, 0, 0)) in of_loops
    assert OuterLoops(("m",), (32,), (0, 0, 0)) not in of_loops
    assert OuterLoops(("y",), (12,), (0, 0, 0)) in of_loops
    assert OuterLoops(("y", "m"), (6, 16), (1, 1, 1)) in of_loops
    assert OuterLoops(("m", "y"), (16, 6), (1, 1, 1)) in of_loops
    halved = found[OuterLoops(("y", "m"), (6, 16), (1, 1, 1)), (("m", 4),)]
    assert tiles_of(halved) == (4, 3, 6)
    rows = found[OUTER, (("y", 2),)]
    assert tiles_of(rows) == (32, 1, 6)
    for one in found.values():
        assert Schedule.model_validate(one.schedule.model_dump() | {"nest": one.schedule.nest}) == one.schedule


def test_markers_and_orders() -> None:
    two = OuterLoops(("m", "y"), (16, 6), (1, 1, 1))
    start = next(one for one in NEIGHBOURS.around(place_of((8, 3, 6))) if one.loops == two)
    of_loops = {one.loops for one in NEIGHBOURS.around(start)}
    assert OuterLoops(("m", "y"), (16, 6), (1, 0, 1)) in of_loops
    assert OuterLoops(("y", "m"), (6, 16), (1, 1, 1)) in of_loops
    assert all(max(loops.marked) == len(loops.dims) - 1 for loops in of_loops)


def test_the_place_of_a_schedule() -> None:
    """It is told from the nest, whatever the tile, the markers, the order and the spread."""
    start = place_of((8, 3, 6))
    beside = list(NEIGHBOURS.around(start))
    for one in [start, *NEIGHBOURS.inside(start), *beside, *NEIGHBOURS.around(beside[-1])]:
        found = Place.of(one.schedule)
        assert found is not None
        assert (found.loops, found.steps, found.spread) == (one.loops, one.steps, one.spread)


def test_no_place_where_a_loop_is_between() -> None:
    start = place_of((8, 3, 6)).schedule
    nest = (*start.nest[:2], Loop("x", 6), *start.nest[2:])
    assert Place.of(start.model_copy(update={"nest": nest})) is None
    assert Place.of(start.model_copy(update={"nest": start.nest[3:]})) is None
