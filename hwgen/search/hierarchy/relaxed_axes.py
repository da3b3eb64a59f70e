"""What any nest costs and holds along one axis at one level, from below: the rows that the relaxed search combines.

At one level each operand has at most one marker. Take their order from the outside inward. Along each axis some
operands gain from a large step outside their marked loop (`gain`), and some pay for it with room. An operand that
pays needs no larger step than the first one that gains further in; where there is none, the innermost step will do.
So a row is a choice of steps for those that gain, all others follow:

- images, rows and columns: W gains; I gains along rows and columns, too, where halos meet; I and O pay;
- output channels: I gains; W and O pay;
- channels and kernel: O gains; I and W pay, and I gains from a whole kernel.

The loop at which I is marked may be one of rows, columns or kernel: then I gains by the step outside it and pays by
the step inside (it slides). Steps that cut an axis into equally many ranges form a class; its row has the least of
all factors that a step of the class can have, in any nest: also in those in which steps do not divide each other.
"""

from dataclasses import dataclass
from itertools import pairwise, product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hwgen.ir.layer import Layer
from hwgen.model.compiled import njit
from hwgen.search.hierarchy.tables import LayerTables, touches

__all__ = ["LineClasses", "Operands", "axis_rows", "classes", "least_cost", "line_classes", "line_rows"]


Floats = NDArray[np.float64]
Operands = tuple[int, ...]
"""Operands (0 I, 1 W, 2 O) with a marker at the level, in the order of their markers."""
FACTORS = 7
"""Factors of a row: traffic of I, W, O; room of I, W, O; 1 where I slides along the axis."""
_MOST_SPLITS_WITHOUT_INNER_TILE = 7
"""The number of ranges above which one of the largest size is at neither end, however a nest of this search
splits."""


class Class(NamedTuple):
    """Steps that cut an axis into ``number`` ranges: the smallest and the largest of them."""

    number: int
    low: int
    high: int


def classes(extent: int, least: int) -> list[Class]:
    """All classes of steps from ``least`` on, the whole extent first."""
    found, high = [], extent
    while high >= least:
        number = -(-extent // high)
        low = max(-(-extent // number), least)
        found.append(Class(number, low, high))
        high = low - 1
    return found


@dataclass(frozen=True)
class LineClasses:
    """The classes of rows (or columns), with what I fetches and holds at least.

    Members
    -------
    fetched : [class], with a whole kernel; ``cut``: with a kernel that is cut, whatever the step.
    held : [kernel cut, class].
    """

    steps: list[Class]
    fetched: Floats
    cut: float
    held: Floats
    taps: int
    tap_step: int


def line_classes(tables: LayerTables, axis: int, least: int) -> LineClasses:
    """Classes of rows (axis 0) or columns (1)."""
    layer = tables.layer
    extent, kernel = (layer.output_height, layer.output_width)[axis], layer.kernel[axis]
    tap_step = int(tables.least[5 + axis])
    steps = classes(extent, least)
    lines = (tables.rows, tables.columns)[axis]
    held = np.zeros((2, len(steps)))
    for number, one in enumerate(steps):
        low = one.low if one.number > _MOST_SPLITS_WITHOUT_INNER_TILE else 0
        starts = np.arange(low, extent - one.low + (0 if low else 1))
        for cut, (tap, taps) in enumerate(((0, kernel), (kernel // 2 // tap_step * tap_step, tap_step))):
            held[cut, number] = touches(layer, axis, starts, starts + one.low, tap, min(taps, kernel - tap)).min()
    fetched = np.array([_least_fetched(layer, axis, one.high) for one in steps])
    return LineClasses(
        steps, fetched, float(lines[1, 0, extent]) if tap_step < kernel else 0.0, held, kernel, tap_step
    )


def _least_fetched(layer: Layer, axis: int, most: int) -> float:
    """The least that ranges of at most this many outputs touch together, wherever their borders are."""
    extent, kernel = (layer.output_height, layer.output_width)[axis], layer.kernel[axis]
    stride, padding = layer.stride[axis], layer.padding[axis]
    size = (layer.input_height, layer.input_width)[axis]
    whole = float(touches(layer, axis, np.array([0]), np.array([extent]), 0, kernel)[0])
    if most >= extent or stride > kernel:
        return whole
    borders = np.arange(extent)
    shared = np.minimum((borders - 1) * stride - padding + kernel, size) - np.maximum(borders * stride - padding, 0)
    shared[0] = 0
    least = np.zeros(extent)
    for border in range(1, extent):
        least[border] = shared[border] + least[max(0, border - most) : border].min()
    return whole + float(least[extent - most :].min())


def axis_rows(order: Operands, gains: int, pays: tuple[int, ...], steps: list[Class], fewest: int = 1) -> Floats:
    """Rows [row, factor] of an axis along which one operand gains: its traffic is the number of ranges.

    ``fewest``: ranges that it has at least (groups).
    """
    rows = []
    least = steps[-1].low
    outside = order[: order.index(gains)] if gains in order else ()
    paying = [operand for operand in outside if operand in pays]
    for one in steps if paying else steps[:1]:
        row = np.ones(FACTORS)
        row[6] = 0
        for operand in pays:
            row[3 + operand] = one.low if operand in paying else least
        if gains in order:
            row[gains] = max(one.number, fewest)
        rows.append(row)
    return np.array(rows)


def line_rows(order: Operands, of: LineClasses) -> Floats:
    """Rows [row, factor] of rows and kernel rows, or of columns and kernel columns, that none of them beats."""
    last = len(of.steps) - 1
    gaining = [operand for operand in order if operand in (0, 1)]
    rows = []
    for chosen in product(range(len(of.steps)), repeat=len(gaining)):
        if any(outer > inner for outer, inner in pairwise(chosen)):
            continue  # classes ascend inward
        at = dict(zip(gaining, chosen, strict=True))
        inside = {operand: at[further] for operand, further in pairwise(gaining)}
        for whole in range(len(order) + 1) if of.tap_step < of.taps else (len(order),):
            rows += _kernel_rows(order, of, at, inside.get(0, last), whole)
    return _unbeaten(np.array(rows))


def _kernel_rows(order: Operands, of: LineClasses, at: dict[int, int], inner: int, whole: int) -> list[Floats]:
    """Rows of one choice of classes; the first ``whole`` operands have a whole kernel outside their marked loops."""
    row = np.ones(FACTORS)
    row[6] = 0
    least = of.steps[-1].low
    cuts = -(-of.taps // of.tap_step)
    if 1 in order:
        row[1] = of.steps[at[1]].number
        row[4] = of.taps if order.index(1) < whole else of.tap_step
    if 2 in order:
        position = order.index(2)
        row[2] = 1 if position < whole else cuts
        further = [operand for operand in order[position:] if operand in at]
        row[5] = of.steps[at[further[0]]].low if further else least
    if 0 not in order:
        return [row]
    position, own = order.index(0), at[0]
    cut = position >= whole
    row[0] = of.cut if cut else of.fetched[own]
    row[3] = of.held[int(cut), own]
    found = [row]
    if inner > own:
        slid = row.copy()
        slid[3], slid[6] = of.held[int(cut), inner], 1
        found.append(slid)
    if not cut and position == whole - 1 and of.tap_step < of.taps:
        slid = row.copy()
        slid[3], slid[6] = of.held[1, own], 1
        found.append(slid)
    return found


def _unbeaten(rows: Floats) -> Floats:
    """Rows that no other one equals or undercuts in every factor."""
    rows = np.unique(rows, axis=0)
    rows = rows[np.argsort(np.log(np.maximum(rows, 0.5)).sum(axis=1), kind="stable")]
    kept = np.ones(len(rows), np.bool_)
    _strike_out(rows, kept)
    return np.ascontiguousarray(rows[kept])


@njit(cache=True)
def _strike_out(rows, kept):  # type: ignore[no-untyped-def]
    """Clear ``kept`` of the rows that a kept one equals or undercuts in every factor."""
    for number in range(len(rows)):
        if kept[number]:
            for other in range(len(rows)):
                if kept[other] and other != number:
                    beaten = True
                    for factor in range(rows.shape[1]):
                        if rows[number, factor] > rows[other, factor]:
                            beaten = False
                            break
                    kept[other] = not beaten


# --- branch and bound ---


@njit(cache=True)
def _lowest(rows, lowest, at):  # type: ignore[no-untyped-def]
    for factor in range(6):
        smallest = np.inf
        for row in range(len(rows)):
            smallest = min(smallest, rows[row, factor])
        lowest[at, factor] = smallest


@njit(cache=True)
def _open(product, price, room, caps, together, best):  # type: ignore[no-untyped-def]
    """Whether a lower bound of traffic is below the best cost, and one of the need fits."""
    cost, need = 0.0, 0.0
    for operand in range(3):
        cost += price[operand] * product[operand]
        held = room[operand] * product[3 + operand]
        need += held
        if held > caps[operand]:
            return False
    return cost < best and (not together or need <= caps[0])


@njit(cache=True)
def least_cost(rows, columns, images, filters, channels, price, room, caps, together, best):  # type: ignore[no-untyped-def]
    """The least sum of price times traffic over all combinations of rows that fit, if below ``best``; else that.

    ``price``, ``room`` [operand]: what traffic and room of one unit of the products cost; 0 for what is not held.
    """
    lowest = np.ones((5, 6))
    _lowest(channels, lowest, 4)
    _lowest(filters, lowest, 3)
    _lowest(images, lowest, 2)
    _lowest(columns, lowest, 1)
    for level in range(3, 0, -1):
        for factor in range(6):
            lowest[level, factor] *= lowest[level + 1, factor]
    product = np.ones((5, 6))
    bound = np.ones(6)
    for a in range(len(rows)):
        for factor in range(6):
            product[0, factor] = rows[a, factor]
            bound[factor] = rows[a, factor] * lowest[1, factor]
        if not _open(bound, price, room, caps, together, best):
            continue
        for b in range(len(columns)):
            if rows[a, 6] + columns[b, 6] > 1:
                continue
            for factor in range(6):
                product[1, factor] = product[0, factor] * columns[b, factor]
                bound[factor] = product[1, factor] * lowest[2, factor]
            if not _open(bound, price, room, caps, together, best):
                continue
            for d in range(len(images)):
                for factor in range(6):
                    product[2, factor] = product[1, factor] * images[d, factor]
                    bound[factor] = product[2, factor] * lowest[3, factor]
                if not _open(bound, price, room, caps, together, best):
                    continue
                for e in range(len(filters)):
                    for factor in range(6):
                        product[3, factor] = product[2, factor] * filters[e, factor]
                        bound[factor] = product[3, factor] * lowest[4, factor]
                    if not _open(bound, price, room, caps, together, best):
                        continue
                    for f in range(len(channels)):
                        for factor in range(6):
                            bound[factor] = product[3, factor] * channels[f, factor]
                        if _open(bound, price, room, caps, together, best):
                            best = 0.0
                            for operand in range(3):
                                best += price[operand] * bound[operand]
    return best
