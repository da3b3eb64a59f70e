from random import Random

import numpy as np
import pytest

from hwgen.ir.lanes import Lanes
from hwgen.ir.layer import Layer
from hwgen.ir.schedule import Bits
from hwgen.model.nest.one_level import predict
from hwgen.search.core.orders import fixed_order
from hwgen.search.core.space import Target
from hwgen.search.hwc.canonical import CANONICAL, order_from_text, schedule_of
from hwgen.search.hwc.estimate import DRAIN_LATENCY, LATENCY, estimate, shapes_of, waiting_of, weight_words
from tests.random.nests import random_layer

SHAPES = tuple(
    Lanes.parse(text) for text in ("x16", "m8x2", "m4y2x2", "m16", "y16", "m2y4x2", "m4c4", "c2x8", "m8c8")
)
ROOMY = np.array([1e9, 1e9, 1e9])


def random_steps(rng: Random, layer: Layer, text: str, lanes: int) -> tuple[int, int, int, int]:
    """Steps of m, c, y, x; those of c are multiples of its lanes, or the whole extent."""
    m, c, y, x = (rng.randint(1, layer.extents[dim]) for dim in ("m", "c", "y", "x"))
    whole = layer.extents["c"]
    return m, min(-(-c // lanes) * lanes, whole) if "C" in text else whole if lanes == 1 else min(lanes, whole), y, x


@pytest.mark.parametrize("seed", range(60))
def test_kinds_of_tiles_add_up_to_what_the_model_counts(seed: int) -> None:
    """Tiles by words are all words of I and of W, tiles by iterations are all iterations, for any steps."""
    rng = Random(seed)
    layer = random_layer(rng, most_macs=3000, most_stride=4)
    target = Target(rng.choice(SHAPES), True)
    text = rng.choice(CANONICAL)
    fixed = fixed_order(order_from_text(text), target.lane_dims)
    b, q = shapes_of(layer, Bits(), target, fixed.orders), waiting_of(layer, target, fixed.orders)
    m, c, y, x = steps = random_steps(rng, layer, text, target.lanes.c)
    if layer.groups > 1:
        return
    predicted = predict(schedule_of(layer, target, text, steps))
    words, iterations, held = 0.0, 0.0, 0.0
    for i in b.i_m[m]:
        for j in b.i_c[c]:
            for row in b.rows[y]:
                for column in b.columns[x]:
                    tiles = i[0] * j[0] * row[0] * column[0]
                    words += tiles * j[1] * row[1] * column[1]
                    iterations += tiles * i[2] * j[2] * row[2] * column[2]
    assert iterations == pytest.approx(predicted.iterations)
    assert words == pytest.approx(predicted.counts["tcdm", "I", "read"].words)
    fetched = 0.0
    for i in b.w_m[m]:
        for j in b.w_c[c]:
            for row in b.w_y[y]:
                for column in b.w_x[x]:
                    tiles = i[0] * j[0] * row[0] * column[0] * q.k_size * q.l_size / q.weight_tile
                    fetched += tiles * weight_words(q, i, j)[0] if tiles else 0.0
                    held += tiles * i[2] * j[2] * row[2] * column[2] * q.weight_tile
    assert fetched == pytest.approx(predicted.counts["tcdm", "W", "read"].words)
    assert held == pytest.approx(predicted.iterations)


POINTWISE = Layer(name="pointwise", input_channels=64, output_channels=32, input_height=8, input_width=8, kernel=1)
TEXT = "MYX[O]C[I]k[W]lmyxc"


def cycles(steps: tuple[int, int, int, int], spare: tuple[int, int, int] = (0, 0, 0), **tight: bool) -> float:
    """Lanes {m: 8, x: 2}; memories of just the size needed for the operands named and so much, roomy ones else."""
    target = Target(Lanes(m=8, x=2), True)
    fixed = fixed_order(order_from_text(TEXT), target.lane_dims)
    needs = predict(schedule_of(POINTWISE, target, TEXT, steps)).allocation
    _, channels, rows, columns = steps
    needed = np.array([needs.I, needs.W, needs.O, channels * columns, rows], dtype=np.float64)
    memories = np.where([array in tight for array in "IWO"], needed[:3], 1e9) + spare
    kinds, waiting = shapes_of(POINTWISE, Bits(), target, fixed.orders), waiting_of(POINTWISE, target, fixed.orders)
    return float(estimate(kinds, waiting, *steps, needed, memories))


def test_boxes_that_take_longer_to_fetch_than_to_use() -> None:
    """16 tiles of O, each 64 times 8 iterations and 8 vectors that leave; 8 words of I take a cycle more than 8."""
    assert cycles((8, 1, 8, 2)) == 16 * (64 * (8 + 1) + 8)
    # 28 vectors and as many iterations, but 14 words: nothing waits.
    assert cycles((16, 1, 8, 4)) == 4 * (64 * 32 + 32)


def test_a_memory_of_the_size_of_a_box_is_filled_while_nothing_computes() -> None:
    assert cycles((8, 1, 8, 2), I=True) == 16 * (64 * (8 + 8 + LATENCY) + 8)
    # Half of the next tile's eight rows may come early, and of a tile of one row nothing.
    assert cycles((8, 1, 8, 2), (8, 0, 0), I=True) == 16 * (64 * (8 + 4 + LATENCY) + 8)
    one_row = cycles((16, 1, 1, 8), I=True)
    assert cycles((16, 1, 1, 8), (4, 0, 0), I=True) == one_row > cycles((16, 1, 1, 8), (8, 0, 0), I=True)
    assert cycles((8, 1, 8, 2), W=True) == 16 * (64 * (8 + 1 + 2 + LATENCY) + 8)


def test_vectors_wait_for_those_before_them_in_the_memory() -> None:
    """The last of 8 vectors, of 8 words each, is touched 7 iterations after the first, or 7 * 4.

    While it waits, no vector that leaves takes a cycle from the datapath.
    """
    plain = cycles((8, 1, 8, 2))
    assert cycles((8, 1, 8, 2), O=True) == plain + 16 * (8 * 8 + DRAIN_LATENCY - 7 - 8)
    assert cycles((8, 4, 8, 2), O=True) - cycles((8, 4, 8, 2)) == 16 * (8 * 8 + DRAIN_LATENCY - 7 * 4 - 8)
    # Two vectors along a row share their words, 4 words each; but each of their 8 rows of lanes takes a cycle.
    assert cycles((8, 1, 4, 4), O=True) - cycles((8, 1, 4, 4)) == 16 * (8 * 8 + DRAIN_LATENCY - 7 - 8)


def test_weights_that_stay_and_vectors_that_leave_one_by_one() -> None:
    """Each vector is a tile of O: it stays for 64 iterations and leaves in 8 cycles."""
    target, text, steps = Target(Lanes(m=8, x=2), True), "M[W]X[I]Ymyx[O]ckl", (32, 64, 1, 8)
    fixed = fixed_order(order_from_text(text), target.lane_dims)
    kinds, waiting = shapes_of(POINTWISE, Bits(), target, fixed.orders), waiting_of(POINTWISE, target, fixed.orders)
    vectors = 4 * 8 * 4
    assert estimate(kinds, waiting, *steps, np.ones(5), ROOMY) == vectors * (64 + 1)
