"""Steps of large axes: which of them have a row, and how many are left."""

from math import prod
from random import Random

from hwgen.ir.document import InputError
from hwgen.ir.layer import DIMS, Layer
from hwgen.ir.schedule import Bits, Loop, Marker, Schedule
from hwgen.model.cluster.ring_sizes import bytes_needed
from hwgen.model.nest.one_level import predict
from hwgen.search.cluster.outer_nest import OuterSpace
from hwgen.search.cluster.outer_tables import (
    MOST_COMBINATIONS,
    MOST_ROWS,
    STEP,
    outer_tables,
    steps_of,
    thinned,
    worth_while,
)
from hwgen.search.core.orders import TILED
from tests.oracles.levels_apart import outer_level
from tests.random.nests import random_layer


def layer(height: int, width: int) -> Layer:
    return Layer(
        name="large", input_channels=64, output_channels=64, input_height=height, input_width=width, kernel=3,
        padding=1,
    )  # fmt: skip


def test_steps_of_an_axis() -> None:
    assert steps_of(MOST_ROWS) == list(range(1, MOST_ROWS + 1))
    for extent in (513, 2160, 3840, 65535):
        steps = steps_of(extent)
        assert steps[0] == 1
        assert steps[-1] == extent
        assert steps == sorted(set(steps))
        assert len(steps) <= 4 * extent**0.5
        by_tiles: dict[int, int] = {}
        for step in range(extent, 0, -1):
            by_tiles[-(-extent // step)] = step
        assert set(by_tiles.values()) <= set(steps)  # for each number of tiles the smallest step


def test_few_combinations_are_left_of_a_large_layer() -> None:
    tables = outer_tables(layer(1080, 1920))
    left = thinned(worth_while(tables))
    assert prod(len(table) - 1 for table in left) <= MOST_COMBINATIONS
    for before, after in zip(tables, left, strict=True):
        assert set(after[:, STEP]) <= set(before[:, STEP])
        for row in (0, -2, -1):  # the smallest step, the largest one, and the extent that is not cut
            assert after[row, STEP] == before[row, STEP]
    small = outer_tables(layer(24, 24).model_copy(update={"input_channels": 8}))
    assert all((one == other).all() for one, other in zip(thinned(small), small, strict=True))


def test_a_space_says_that_it_is_reduced() -> None:
    assert OuterSpace(layer(8, 600).model_copy(update={"output_channels": 2}), Bits(), 1 << 18).reduced
    assert not OuterSpace(layer(8, 8), Bits(), 1 << 18).reduced


def test_no_loops_move_or_need_less_than_their_bounds() -> None:
    """Bounds of single steps and of classes of steps, against the model and the placement."""
    rng, near, compared = Random(5), 0, 0
    for _ in range(20):
        layer = random_layer(rng, most_macs=rng.choice((1500, 5000)), most_stride=3, most_kernel=3)
        space, classes = (OuterSpace(layer, Bits(), 1 << 40, classed=classed) for classed in (False, True))
        for _ in range(20):
            form = rng.randrange(space.forms)
            steps = {dim: rng.randint(1, layer.extents[dim]) for dim in TILED}
            loops = space.loops_of(form, steps)
            rest = (Marker(("I", "W", "O")), *(Loop(dim, 1) for dim in DIMS))
            schedule = Schedule(layer=layer, nest=(*loops.items(), *rest))
            moved = predict(outer_level(schedule)).total_bytes
            try:
                need = bytes_needed(schedule, 1 << 40)
            except InputError:
                continue
            (cost, least), (classed, least_classed) = (one.bounds_of(form, steps) for one in (space, classes))
            where = (loops, layer.model_dump())
            assert classed <= cost == moved, where
            assert least_classed <= least <= need, where
            compared += 1
            near += least_classed > 0.9 * need
    assert compared > 300
    assert near > compared // 2
