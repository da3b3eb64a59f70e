"""A few loop orders that many layers can share, and the undominated schedules of each.

There are two families. In both, O's whole reduction is inside O's marker, so that no partial sum spills. The first is
output-stationary: O's tile is as large as the memory allows, and inputs and weights stream past it. The second is
weight-stationary: the input slides along the rows, and each lane vector of outputs is finished at once.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from math import prod

import numpy as np
from numpy.typing import NDArray

from hwgen.ir.hardware import Order
from hwgen.ir.layer import Dim, Layer
from hwgen.ir.schedule import Bits, Marker, Schedule
from hwgen.model.compiled import njit
from hwgen.search.core.branch import memories
from hwgen.search.core.nests import fixed_schedule
from hwgen.search.core.orders import INPUT_STATES, OUTPUT_STATES, TILED, WEIGHT_STATES, FixedOrder, fixed_order
from hwgen.search.core.space import Tables, Target
from hwgen.search.hwc.estimate import estimate, shapes_of, waiting_of
from hwgen.search.objectives.of_hwc import TRAFFIC, criteria

__all__ = ["CANONICAL", "Points", "order_from_text", "orders_for", "points", "schedule_of", "splits_of"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

CANONICAL = ("MYX[O]C[I]k[W]lmyxc", "MYX[O]C[I]k[W]myxcl", "MYX[O]C[IW]myxckl", "M[W]X[I]Ymyx[O]ckl")
"""Orders as text: capitals are tile loops; operands in brackets are buffered at the next loop."""
LARGE_ORDER, LARGE = "MC[W]X[I]Ymyx[O]ckl", 1 << 16
"""An order for budgets from `LARGE` bytes on, in place of the one without its loop over tiles of channels."""

WEIGHT_STATIONARY = ("M[W]", "MC[W]")
MOST_POINTS = 24
CHANNEL_STEPS = (1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 32, 48, 64, 96, 128)


def orders_for(budget: int) -> tuple[str, ...]:
    """The orders that are tried for a ``budget`` in bytes."""
    return (*CANONICAL[:-1], LARGE_ORDER) if budget >= LARGE else CANONICAL


def order_from_text(text: str) -> Order:
    """The order that a text like those of `CANONICAL` stands for."""
    items: list[Dim | Marker] = []
    marked: list[str] | None = None
    for letter in text:
        if letter == "[":
            marked = []
        elif letter == "]":
            items.append(Marker(tuple(marked or ())))  # type: ignore[arg-type]
            marked = None
        elif marked is not None:
            marked.append(letter)
        else:
            items.append(letter.lower())  # type: ignore[arg-type]
    return tuple(items)


@cache
def _fixed(text: str, wide: frozenset[Dim]) -> FixedOrder:
    return fixed_order(order_from_text(text), wide)


@dataclass(frozen=True)
class Points:
    """Undominated schedules (bytes, cycles) of one layer in one order on one shape of the lanes.

    Members
    -------
    split : index of the split of the budget.
    traffic : bytes.
    cycles : estimated.
    steps : [point, m c y x].
    """

    split: Ints
    traffic: Floats
    cycles: Floats
    steps: Ints


def splits_of(layers: Sequence[Layer], budget: int, target: Target, text: str) -> Floats:
    """Splits of a budget: bytes of I, W, O.

    Output-stationary orders: O from a third of the budget up, W from two units to a third of the budget, both in
    growing increments. Weight-stationary orders: W holds whole filters of a layer, O two to four vectors. I has the
    rest.
    """
    unit_i, unit_w, unit_o = target.units
    if text.startswith(WEIGHT_STATIONARY):
        vectors, sizes = range(2, 5), set()
        for layer in layers:
            channels = target.lanes.vectors("c", layer.channels_per_group) * target.lanes.c
            filter_bytes = channels * prod(layer.weight_kernel)
            for at_once in range(target.lanes.m, layer.output_channels + 1, target.lanes.m):
                if at_once * filter_bytes >= budget:
                    break
                sizes.add(at_once * filter_bytes)
    else:
        most = budget // unit_o
        vectors = range(-(-most // 3), most, -(-most // 16))
        finest = 8 << max(0, (budget - 1).bit_length() - 10)
        steps = {*range(2 * finest, 8 * finest + 1, finest), *range(0, budget, 4 * finest)}
        sizes = {size for size in steps if 3 * size <= budget}
    found = []
    for o in vectors:
        for w in sorted({max(-(-size // unit_w), 2) * unit_w for size in sizes}):
            room = (budget - o * unit_o - w) // unit_i * unit_i
            if room >= 2 * unit_i:
                found.append((room, w, o * unit_o))
    return np.array(found, dtype=np.float64).reshape(-1, 3)


def schedule_of(layer: Layer, target: Target, text: str, steps: tuple[int, int, int, int]) -> Schedule:
    """The schedule of one of the orders."""
    by_dim = dict(zip(TILED, steps, strict=True))
    return fixed_schedule(layer, Bits(), target, _fixed(text, target.lane_dims), by_dim)


def points(
    layer: Layer, target: Target, text: str, splits: Floats, t: Tables, most_bytes: float, least_share: float
) -> Points:
    """Undominated schedules for each split of the memories; ``t``: the layer's tables.

    The steps of the tile loops are, for each number of tiles, the least multiple of the lanes, and the whole extent
    (channels: `CHANNEL_STEPS` lane vectors and all channels). A larger step of as many tiles would need more memory,
    and leave a smaller last tile. Kept are schedules of at most ``most_bytes`` traffic in which at least
    ``least_share`` of the lanes have work.
    """
    fixed = _fixed(text, target.lane_dims)
    t = t._replace(least=np.zeros(3))
    s = np.hstack(
        [
            np.array(np.unravel_index(numbers, shape)).reshape(-1)
            for numbers, shape in zip(fixed.orders.numbers, (INPUT_STATES, WEIGHT_STATES, OUTPUT_STATES), strict=True)
        ]
    ).astype(np.int64)
    options = [_steps(layer, target, fixed, dim) for dim in TILED]
    factors = _factors(t, s, options)
    most_iterations = layer.macs / (target.lanes.product * least_share)
    budget = float(splits.sum(axis=1).max()) if len(splits) else 0.0
    candidates = np.empty((4096, 11))
    while True:
        number = _candidates(t, s, *options, *factors, budget, most_bytes, most_iterations, candidates)
        if number >= 0:
            break
        candidates = np.empty((4 * len(candidates), 11))
    candidates = candidates[:number]
    candidates = candidates[np.lexsort((candidates[:, 0], candidates[:, 1]))]
    found = np.empty((len(splits) * MOST_POINTS, 4))
    if number == 0:
        return Points(np.empty(0, np.int64), np.empty(0), np.empty(0), np.empty((0, 4), np.int64))
    kinds, waiting = shapes_of(layer, Bits(), target, fixed.orders), waiting_of(layer, target, fixed.orders)
    found = found[: _undominated(kinds, waiting, candidates, splits, found)]
    which = found[:, 3].astype(np.int64)
    return Points(found[:, 0].astype(np.int64), found[:, 1], found[:, 2], candidates[which, 7:].astype(np.int64))


def _steps(layer: Layer, target: Target, fixed: FixedOrder, dim: Dim) -> Ints:
    extent = layer.extents[dim]
    if dim in fixed.loop_set.whole:
        return np.array([extent])
    lane = target.lanes.along(dim)
    most = lane if dim in fixed.loop_set.stepped else extent
    if dim == "c":
        return np.unique([*(lane * step for step in CHANNEL_STEPS if lane * step < most), min(most, extent)])
    vectors = -(-most // lane)
    return np.unique([min(lane * -(-vectors // tiles), most, extent) for tiles in range(1, vectors + 1)])


def _factors(t: Tables, s: Ints, options: list[Ints]) -> tuple[Floats, Floats, Floats, Floats]:
    m, c, y, x = options
    none_m, none_y, none_x = (np.zeros(len(steps)) for steps in (m, y, x))
    rows = (
        [t.m_fetched[s[0], m], t.m_groups[s[0], m], t.m_sizes[s[4], m], t.m_sums[s[10], m], t.m_cuts[2, m], none_m],
        [t.c_sizes[s[1], c], t.c_sizes[s[5], c], t.c_cuts[s[13], c], np.zeros(len(c))],
        [t.y_fetched[s[2], y], t.y_cuts[s[8], y], t.y_rows[s[2], y], t.y_sums[s[11], y], t.y_cuts[2, y], none_y],
        [
            *(t.x_fetched[s[3], x], t.x_cuts[s[9], x], t.x_columns[s[3], x], t.x_sums[s[12], x], t.x_cuts[2, x]),
            *(none_x, t.x_words[s[3], x], t.x_output_words[s[12], x]),
        ],
    )
    return tuple(np.ascontiguousarray(np.stack(columns, axis=1)) for columns in rows)  # type: ignore[return-value]


@njit(cache=True)
def _candidates(t, s, ms, cs, ys, xs, m, c, y, x, budget, most_bytes, most_iterations, found):  # type: ignore[no-untyped-def]
    """Rows of ``found``: iterations, bytes, needs of I, W, O, bytes of a row of I, rows of I, steps m, c, y, x."""
    number = 0
    for a in range(len(ms)):
        for b in range(len(cs)):
            for d in range(len(ys)):
                beyond = False
                for e in range(len(xs)):
                    iterations = t.scale.taps * m[a, 4] * y[d, 4] * x[e, 4]
                    if iterations > most_iterations:
                        continue
                    i, w, o = memories(t, s, m[a], c[b], y[d], x[e])
                    if o > budget:  # larger steps need no less
                        beyond = e == 0
                        break
                    if i + w + o > budget:
                        continue
                    total, _, _ = criteria(t.scale, s, TRAFFIC, m[a], c[b], y[d], x[e], -1.0)
                    if total > most_bytes:
                        continue
                    if number == len(found):
                        return -1
                    row = found[number]
                    row[0], row[1], row[2], row[3], row[4] = iterations, total, i, w, o
                    row[5], row[6] = m[a, 1] * c[b, 0] * x[e, 2], y[d, 2]
                    row[7], row[8], row[9], row[10] = ms[a], cs[b], ys[d], xs[e]
                    number += 1
                if beyond:
                    break
    return number


@njit(cache=True)
def _undominated(kinds, waiting, candidates, splits, found):  # type: ignore[no-untyped-def]
    """Rows of ``found``: split, bytes, cycles, candidate; candidates come in the order of their bytes."""
    number = 0
    for n in range(len(splits)):
        split = splits[n]
        least = np.inf
        kept = 0
        for at in range(len(candidates)):
            row = candidates[at]
            if row[2] > split[0] or row[3] > split[1] or row[4] > split[2] or row[0] >= least * 0.9995:
                continue
            steps = row[7:].astype(np.int64)
            cycles = estimate(kinds, waiting, steps[0], steps[1], steps[2], steps[3], row[2:7], split)
            if cycles < least * 0.9995:
                least = cycles
                if kept == MOST_POINTS:  # the last one makes room
                    kept -= 1
                out = found[number + kept]
                out[0], out[1], out[2], out[3] = n, row[1], cycles, at
                kept += 1
        number += kept
    return number
