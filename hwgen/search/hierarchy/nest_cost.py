"""The cost of one nest on a hierarchy: compiled, from the factors of `hwgen.search.hierarchy.tables`.

A nest is a sequence of markers, each an operand at a level. ``steps[i, axis]`` is the step to which an axis is cut
outside the i-th marker, and the last row the step in one innermost iteration. A marker that is not ``held`` is left
out. Within one row of loops the one that lets I slide comes first; loops that reuse an operand need no more room.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hwgen.model.compiled import borrowing
from hwgen.search.hierarchy.tables import LayerTables

__all__ = ["Costs", "cost_of", "held_of", "slides_along", "traffic_of"]

Floats = NDArray[np.float64]


class Costs(NamedTuple):
    """What the compiled parts know of a layer, an objective and a hierarchy.

    Members
    -------
    extents, least, counts, groups, rows, columns, wide, slides, elements, sizes : see
        `hwgen.search.hierarchy.tables.LayerTables`.
    serves, fills : see `hwgen.search.objectives.of_hierarchy.Goal`.
    caps : [level, operand], bytes; of a level that operands share, the same for each.
    shared : [level], whether its bytes are for all operands together.
    """

    extents: NDArray[np.int64]
    least: NDArray[np.int64]
    counts: Floats
    groups: Floats
    rows: Floats
    columns: Floats
    wide: Floats
    slides: NDArray[np.bool_]
    elements: Floats
    sizes: Floats
    serves: Floats
    fills: Floats
    caps: Floats
    shared: NDArray[np.bool_]

    @classmethod
    def of(
        cls, tables: LayerTables, serves: Floats, fills: Floats, caps: Floats, shared: NDArray[np.bool_]
    ) -> "Costs":
        """The tables of a layer, with what is asked of them."""
        layer = [getattr(tables, name) for name in cls._fields[:-4]]
        return cls._make([*layer, serves, fills, caps, shared])


@borrowing
def traffic_of(t, operand, steps, at):  # type: ignore[no-untyped-def]
    """Elements of I or W that a marker fetches, or the ranges of the reduction for O, with these steps outside it."""
    if operand == 0:
        taps = 1 if steps[at, 5] < t.extents[5] else 0
        cross = 1 if steps[at, 6] < t.extents[6] else 0
        lines = t.groups[0, steps[at, 1]] * t.rows[taps, 0, steps[at, 3]]
        return t.elements[0] * lines * t.columns[cross, 0, steps[at, 4]]
    if operand == 1:
        return t.elements[1] * t.counts[0, steps[at, 0]] * t.counts[3, steps[at, 3]] * t.counts[4, steps[at, 4]]
    return t.counts[2, steps[at, 2]] * t.counts[5, steps[at, 5]] * t.counts[6, steps[at, 6]]


@borrowing
def slides_along(t, steps, at, axis):  # type: ignore[no-untyped-def]
    """Whether I, marked above a kernel's loop (axis 5 or 6) at a row of steps, is fetched once along it."""
    return t.slides[axis - 5] or steps[at, axis - 2] == 1


@borrowing
def slide_of(t, steps, at):  # type: ignore[no-untyped-def]
    """Elements of I that one iteration of the loop at a row of steps touches, and the axis of that loop, or -1."""
    below = at
    differs = False
    while not differs and below + 1 < len(steps):
        below += 1
        for axis in range(7):
            if steps[below, axis] != steps[at, axis]:
                differs = True
    y, x = steps[at, 3], steps[at, 4]
    taps = 1 if steps[at, 5] < t.extents[5] else 0
    cross = 1 if steps[at, 6] < t.extents[6] else 0
    height, width = t.rows[taps, 1, y], t.columns[cross, 1, x]
    best, slide = height * width, -1
    if steps[below, 3] < y and t.rows[taps, 1, steps[below, 3]] * width < best:
        best, slide = t.rows[taps, 1, steps[below, 3]] * width, 3
    if steps[below, 4] < x and height * t.columns[cross, 1, steps[below, 4]] < best:
        best, slide = height * t.columns[cross, 1, steps[below, 4]], 4
    along = taps == 0 and steps[below, 5] < t.extents[5] and slides_along(t, steps, at, 5)
    if along and t.rows[1, 1, y] * width < best:
        best, slide = t.rows[1, 1, y] * width, 5
    along = cross == 0 and steps[below, 6] < t.extents[6] and slides_along(t, steps, at, 6)
    if along and height * t.columns[1, 1, x] < best:
        best, slide = height * t.columns[1, 1, x], 6
    return best * steps[at, 0] * t.groups[1, steps[at, 1]] * steps[at, 2], slide


@borrowing
def held_of(t, operand, steps, at):  # type: ignore[no-untyped-def]
    """Elements that one iteration of the loop at a row of steps holds: those it touches, or whole lines of them."""
    if operand == 0:
        return slide_of(t, steps, at)[0]
    if operand == 1:
        return float(steps[at, 1] * steps[at, 2] * steps[at, 5] * steps[at, 6])
    return steps[at, 0] * steps[at, 1] * steps[at, 3] * t.wide[steps[at, 4]]


@borrowing
def cost_of(t, markers, held, steps, used):  # type: ignore[no-untyped-def]
    """The cost of a nest; infinite where a level has to hold more than its bytes.

    ``markers[i]`` is (operand, level); ``used`` [level, operand] is room to work in.
    """
    number, levels = len(markers), len(t.serves)
    for level in range(levels):
        for operand in range(3):
            used[level, operand] = 0.0
    total = 0.0
    for operand in range(3):
        outer = 0
        waiting = 0.0  # elements of O in the level before: their width hangs on what comes from further in
        for at in range(number + 1):
            final = at == number
            if not final and (markers[at, 0] != operand or not held[at]):
                continue
            moved = traffic_of(t, operand, steps, at)
            price = t.serves[outer, operand]
            fill = 0.0 if final else t.fills[markers[at, 1], operand]
            if operand < 2:
                total += moved * t.sizes[operand] * (price + fill)
            else:
                back = (moved - 1) * t.elements[2] * t.sizes[3]
                total += t.elements[2] * t.sizes[2] * price + back * (2 * price + fill)
                used[outer, 2] += waiting * (t.sizes[3] if moved > 1 else t.sizes[2])
            if not final:
                outer = markers[at, 1]
                room = held_of(t, operand, steps, at)
                if operand == 2:
                    waiting = room
                    room *= min(t.sizes[2], t.sizes[3])
                else:
                    room *= t.sizes[operand]
                    used[outer, operand] += room
                if room > t.caps[outer, operand]:
                    return np.inf
    for level in range(1, levels):
        if t.shared[level]:
            if used[level, 0] + used[level, 1] + used[level, 2] > t.caps[level, 0]:
                return np.inf
        elif used[level, 2] > t.caps[level, 2]:
            return np.inf
    return total
