"""The published sampling of the schedule space (Stoutchinin et al. 2019, IV-C): 180 loop orders, few tile sizes.

The tile loops stand in the order of their Fig. 3; below them the six inner loops in all orders that have y above x
and k above l (the paper takes the others for symmetric), with every choice of marker places. Tile sizes are the
powers of two and the whole extent. Our own branch and bound finds the best of them: the same bytes as costing each
one, without costing each one.
"""

from collections.abc import Mapping, Sequence
from functools import cache
from itertools import permutations

import numpy as np
from numpy.typing import NDArray

from hwgen.ir.layer import Dim, Layer
from hwgen.ir.schedule import Bits
from hwgen.search.core.branch import FOUND, Lists, lists_of
from hwgen.search.core.branch import search as branch
from hwgen.search.core.dominance import step_list, undominated
from hwgen.search.core.orders import LOOPS, TILED, Orders, all_orders
from hwgen.search.core.space import Tables, Target, steps_allowed, tables
from hwgen.search.objectives.of_hwc import TRAFFIC

__all__ = ["least_by_order", "powers_of_two", "published_loops", "sampled"]

Bools = NDArray[np.bool_]
EIGHT_BITS = Bits()


@cache
def published_loops() -> tuple[str, ...]:
    """The 180 orders, outermost loop first; capitals are tile loops."""
    orders = (LOOPS[:4] + "".join(inner) for inner in permutations(LOOPS[4:]))
    return tuple(order for order in orders if "y" in order.partition("x")[0] and "k" in order.partition("l")[0])


@cache
def _offered_by(loops: tuple[str, ...]) -> Orders:
    """These orders with every choice of marker places."""
    every = all_orders()
    rows = {tuple(row): number for number, row in enumerate(every.loops.tolist())}
    forms = every.forms[:, [rows[tuple(LOOPS.index(loop) for loop in order)] for order in loops]]
    numbers, ranks = zip(*(np.unique(form, return_inverse=True) for form in forms), strict=True)
    i, w, o = (rank.reshape(len(loops), -1).astype(np.int64) for rank in ranks)
    sizes = tuple(len(number) for number in numbers)
    codes = (i[:, :, None, None] * sizes[1] + w[:, None, :, None]) * sizes[2] + o[:, None, None, :]
    present, first = np.unique(codes, return_index=True)
    triples = np.stack(np.unravel_index(present, sizes), axis=1).astype(np.int32)
    orders = (first // codes[0].size).astype(np.int32)
    chosen = np.array([[LOOPS.index(loop) for loop in order] for order in loops], dtype=np.int8)
    return Orders(chosen, forms, tuple(n.astype(np.int64) for n in numbers), triples, orders, codes.size)


def powers_of_two(extent: int) -> Bools:
    """Which steps are a power of two or the whole extent, [step]; step 0 is none."""
    steps = np.arange(extent + 1)
    usable: Bools = (steps & (steps - 1) == 0) | (steps == extent)
    usable[0] = False
    return usable


def sampled(layer: Layer, buffer_bytes: Sequence[int], bits: Bits = EIGHT_BITS) -> list[int | None]:
    """Least bytes over the published sampling for each buffer size, in ascending order; None where nothing fits."""
    t = tables(layer, bits, Target())
    lists = _lists(t, {dim: powers_of_two(layer.extents[dim]) for dim in TILED})
    return _least(t, lists, _offered_by(published_loops()), buffer_bytes, np.inf)


def least_by_order(
    layer: Layer,
    buffer_bytes: Sequence[int],
    limits: Sequence[int],
    bits: Bits = EIGHT_BITS,
    orders: Sequence[str] | None = None,
    *,
    sampled_tiles: bool = False,
) -> list[list[int | None]]:
    """The least bytes of each order over all integer tile sizes at each buffer size, or over the sampled ones.

    Parameters
    ----------
    buffer_bytes : in ascending order.
    limits : for each size; None is found where the least exceeds it. They must not ascend.
    orders : loops as `published_loops` has them; None: all of those.
    """
    t = tables(layer, bits, Target())
    some = {dim: powers_of_two(layer.extents[dim]) for dim in TILED}
    lists = _lists(t, some if sampled_tiles else steps_allowed(layer, Target(), None))
    below = np.array(limits, dtype=np.float64) + 1
    return [_least(t, lists, _offered_by((loops,)), buffer_bytes, below) for loops in orders or published_loops()]


def _lists(t: Tables, allowed: Mapping[Dim, Bools]) -> Lists:
    return lists_of([step_list(t, dim, allowed[dim], words=False) for dim in TILED])


def _least(
    t: Tables, lists: Lists, orders: Orders, buffer_bytes: Sequence[int], below: float | NDArray[np.float64]
) -> list[int | None]:
    """The least bytes at each buffer size; None where they are not less than ``below``."""
    triples = undominated(orders, [t], words=False, hardware=False)
    best = np.full((len(buffer_bytes), FOUND), np.inf)
    best[:, 0] = below
    known = best[:, 0].copy()
    branch(t, lists, triples.states, np.array(buffer_bytes, dtype=np.float64), TRAFFIC, 0, best)
    return [int(found) if found < limit else None for found, limit in zip(best[:, 0], known, strict=True)]
