"""Loop orders and marker places, and what of them matters to the traffic and the buffer need of each operand.

A nest has ten loops: the tile loops ``M C Y X`` and the inner loops ``m c y x k l``. Place p in 0..9 puts an
operand's marker right above the p-th loop, place 10 is no marker (the tile is then one innermost iteration, as if
the marker stood above one more loop of one iteration). Of order and place only this matters to an operand: which
loops stand at or above the marked one, and which of them is marked. Each such combination has a number, the
operand's *form*. Two nests whose three forms agree cost the same for all tile sizes.
"""

from dataclasses import dataclass
from functools import cache
from itertools import permutations

import numpy as np
from numpy.typing import NDArray

from hwgen.ir.document import InputError
from hwgen.ir.hardware import Order
from hwgen.ir.layer import DIMS, Dim
from hwgen.ir.schedule import ARRAYS, Marker
from hwgen.model.compiled import njit
from hwgen.search.core.axes import PAIR_STATES

__all__ = [
    "DIM_OF_LOOP",
    "INPUT_STATES",
    "LOOPS",
    "OUTPUT_STATES",
    "TILED",
    "WEIGHT_STATES",
    "FixedOrder",
    "LoopSet",
    "Orders",
    "all_orders",
    "fixed_order",
]

LOOPS = "MCYXmcyxkl"
"""The ten loops; capitals are tile loops."""
DIM_OF_LOOP: tuple[Dim, ...] = ("m", "c", "y", "x", "m", "c", "y", "x", "k", "l")
TILED: tuple[Dim, ...] = ("m", "c", "y", "x")

INPUT_STATES = (5, 3, len(PAIR_STATES), len(PAIR_STATES))
"""Form of I: states of m (see `axes.Channels`), of c (see `axes.Ranges`), of rows and of columns."""
WEIGHT_STATES = (3, 3, 2, 2, 3, 3)
"""Form of W: how a tile is cut along m, c, k, l, and into how many executions y and x cut the nest."""
OUTPUT_STATES = (3, 3, 3, 3, 2, 2, 2)
"""Form of O: how a tile is cut along m, y, x; how often c, k, l return to it; 1 if the marked loop moves the tile."""


@dataclass(frozen=True)
class Orders:
    """A set of orders with every choice of marker places in it (or with given places).

    Members
    -------
    loops : [order, position], indices into `LOOPS`, outermost first.
    forms : [operand, order, place].
    numbers : for I, W, O: the forms that occur.
    triples : [triple, operand], indices into ``numbers``: combinations that occur in some order.
    orders : for each triple, an order that offers it.
    placements : number of (order, marker places) that all this stands for.
    """

    loops: NDArray[np.int8]
    forms: NDArray[np.int16]
    numbers: tuple[NDArray[np.int64], ...]
    triples: NDArray[np.int32]
    orders: NDArray[np.int32]
    placements: int

    def places(self, triple: int) -> tuple[int, int, int]:
        """Marker places of I, W, O in the order that stands for a triple: the innermost loops that have its forms."""
        places = []
        for operand in range(3):
            form = self.numbers[operand][self.triples[triple, operand]]
            fitting = np.flatnonzero(self.forms[operand, self.orders[triple]] == form)
            marked = fitting[fitting < len(LOOPS)]
            places.append(int(marked[-1] if len(marked) else fitting[-1]))
        return places[0], places[1], places[2]

    def alone(self, triple: int) -> "Orders":
        """The order that stands for a triple, with its marker places, as the only one."""
        order = slice(self.orders[triple], self.orders[triple] + 1)
        forms = self.forms[:, order]
        numbers = tuple(
            forms[operand, :, place].astype(np.int64) for operand, place in enumerate(self.places(triple))
        )
        return Orders(self.loops[order], forms, numbers, np.zeros((1, 3), np.int32), np.zeros(1, np.int32), 1)


@cache
def all_orders(interleaved: bool = False) -> Orders:
    """The tile loops in any order outermost, then the inner loops in any order.

    ``interleaved``: every order of the ten loops in which a tile loop is above the inner loop of its dimension.
    """
    if interleaved:
        loops = _interleaved()
    else:
        outer = np.array(list(permutations(range(4))), dtype=np.int8)
        inner = np.array(list(permutations(range(4, 10))), dtype=np.int8)
        loops = np.hstack([np.repeat(outer, len(inner), axis=0), np.tile(inner, (len(outer), 1))])
    return _with_triples(loops, None)


def _interleaved() -> NDArray[np.int8]:
    rows = np.array([[]], dtype=np.int8).reshape(1, 0)
    for _position in range(len(LOOPS)):
        grown = []
        for loop in range(len(LOOPS)):
            fits = ~(rows == loop).any(axis=1)
            if 4 <= loop < 8:
                fits &= (rows == loop - 4).any(axis=1)
            grown.append(np.hstack([rows[fits], np.full((int(fits.sum()), 1), loop, dtype=np.int8)]))
        rows = np.vstack(grown)
    return rows


def _with_triples(loops: NDArray[np.int8], places: tuple[int, int, int] | None) -> Orders:
    states = np.full((8, 8), -1, dtype=np.int64)
    for state, (mask, slide) in enumerate(PAIR_STATES):
        states[mask, slide] = state
    forms = np.zeros((3, len(loops), len(LOOPS) + 1), dtype=np.int16)
    _fill_forms(loops, states, forms)
    numbers = tuple(np.unique(forms[operand]).astype(np.int64) for operand in range(3))
    if places is not None:
        numbers = tuple(forms[operand, :, place].astype(np.int64) for operand, place in enumerate(places))
        return Orders(loops, forms, numbers, np.zeros((1, 3), np.int32), np.zeros(1, np.int32), 1)
    ranks = np.zeros((3, max(int(n.max()) for n in numbers) + 1), dtype=np.int64)
    for operand in range(3):
        ranks[operand, numbers[operand]] = np.arange(len(numbers[operand]))
    counts = tuple(len(n) for n in numbers)
    example = np.full(counts[0] * counts[1] * counts[2], -1, dtype=np.int32)
    _collect(forms, ranks, counts[1], counts[2], example)
    codes = np.flatnonzero(example >= 0)
    triples = np.stack(np.unravel_index(codes, counts), axis=1).astype(np.int32)
    return Orders(loops, forms, numbers, triples, example[codes], len(loops) * (len(LOOPS) + 1) ** 3)


@njit(cache=True)
def _collect(forms, ranks, weights, outputs, example):  # type: ignore[no-untyped-def]
    """The first order that offers each triple, the outermost places first."""
    for order in range(forms.shape[1]):
        for a in range(forms.shape[2]):
            i = ranks[0, forms[0, order, a]] * weights
            for b in range(forms.shape[2]):
                w = (i + ranks[1, forms[1, order, b]]) * outputs
                for c in range(forms.shape[2]):
                    code = w + ranks[2, forms[2, order, c]]
                    if example[code] < 0:
                        example[code] = order


@njit(cache=True)
def _fill_forms(loops, states, forms):  # type: ignore[no-untyped-def]
    pairs = 13
    for order in range(loops.shape[0]):
        above = np.zeros(10, np.int64)
        for place in range(11):
            executed = above.copy()  # loops around one execution of the marked loop; with it: around one iteration
            marked = -1
            if place < 10:
                marked = loops[order, place]
                above[marked] = 1
            m, c, y, x = above[0] + above[4], above[1] + above[5], above[2] + above[6], above[3] + above[7]
            k, l = above[8], above[9]  # noqa: E741
            group_state = (0, 1, 3)[m] + (1 if marked == 0 or marked == 4 else 0)
            row_slide = 1 if marked == 2 else 2 if marked == 6 else 4 if marked == 8 else 0
            column_slide = 1 if marked == 3 else 2 if marked == 7 else 4 if marked == 9 else 0
            rows = states[above[2] + 2 * above[6] + 4 * k, row_slide]
            columns = states[above[3] + 2 * above[7] + 4 * l, column_slide]
            forms[0, order, place] = ((group_state * 3 + c) * pairs + rows) * pairs + columns
            ey, ex, ec = executed[2] + executed[6], executed[3] + executed[7], executed[1] + executed[5]
            forms[1, order, place] = ((((m * 3 + c) * 2 + k) * 2 + l) * 3 + ey) * 3 + ex
            moves = 0 if marked == -1 or marked == 1 or marked == 5 or marked >= 8 else 1
            output = (((m * 3 + y) * 3 + x) * 3 + ec) * 2 + executed[8]
            forms[2, order, place] = (output * 2 + executed[9]) * 2 + moves


# --- one given order ---


@dataclass(frozen=True)
class LoopSet:
    """Which loops a nest has over each of m, c, y, x; the others of the ten have one iteration.

    Members
    -------
    tiled : dimensions with a tile loop of any step and an inner loop.
    stepped : dimensions with one loop in the tile loop's place, of any step up to the lanes.
    whole : dimensions with at most one loop, in the inner loop's place.
    dims : of the loops, outermost first.
    """

    tiled: tuple[Dim, ...]
    stepped: tuple[Dim, ...]
    whole: tuple[Dim, ...]
    dims: tuple[Dim, ...] = ()

    def steps(self, dim: Dim, tile: int, extent: int, lanes: int) -> tuple[int, ...]:
        """The steps of the loops over a dimension, outermost first, whose tile loop has this step."""
        inner = min(tile, lanes)
        return (tile, inner) if dim in self.tiled else (tile,) if dim in self.stepped else (min(extent, lanes),)


@dataclass(frozen=True)
class FixedOrder:
    """A given order with its marker places, as one of the ten-loop orders.

    Loops that the given order lacks are put outermost (tile loops) or innermost, with one iteration each.

    Members
    -------
    order : the given order.
    orders : the one order and the one triple of forms.
    loop_set : which loops it has.
    loops : index into `LOOPS` of each loop of the given order.
    """

    order: Order
    orders: Orders
    loop_set: LoopSet
    loops: tuple[int, ...]


def fixed_order(order: Order, wide: frozenset[Dim] = frozenset()) -> FixedOrder:
    """Express a given order in the ten loops; ``wide`` are the dimensions that the lanes lie over.

    Raises `InputError` for what the ten loops cannot express: three loops over one dimension, two over a kernel axis.
    """
    dims = [item for item in order if not isinstance(item, Marker)]
    tiled, stepped, whole = [], [], []
    used: dict[Dim, list[int]] = {}
    for dim in DIMS:
        inner, number = LOOPS.index(dim), dims.count(dim)
        most = 2 if dim in TILED else 1
        if number > most:
            raise InputError(
                f"order: {dim}: expected at most {most} loop{'s' * (most > 1)} for a search, got {number}"
            )
        if number == 2:
            tiled.append(dim)
            used[dim] = [inner - 4, inner]
        elif number == 1 and dim in wide:
            stepped.append(dim)
            used[dim] = [inner - 4]
        else:
            whole.append(dim)
            used[dim] = [inner]
    loops = [used[dim].pop(0) for dim in dims]
    rest = [loop for loop in range(len(LOOPS)) if loop not in loops]
    outer, inner_rest = [loop for loop in rest if loop < 4], [loop for loop in rest if loop >= 4]
    row = np.array([[*outer, *loops, *inner_rest]], dtype=np.int8)
    places = {array: len(LOOPS) for array in ARRAYS}
    position = len(outer)
    for item in order:
        if isinstance(item, Marker):
            places.update(dict.fromkeys(item.arrays, position))
        else:
            position += 1
    orders = _with_triples(row, (places["I"], places["W"], places["O"]))
    return FixedOrder(order, orders, LoopSet(tuple(tiled), tuple(stepped), tuple(whole), tuple(dims)), tuple(loops))
