"""The strings of loops of Yang et al. 2016 on a fixed hierarchy: every short one, its buffers packed or placed best.

A string is a nest of single loops. *Its buffers* are a rule of the loops (Section 3.2, Table 2): a loop over images,
rows or columns adds a buffer of W, one over input channels a buffer of O, one over output channels a buffer of I, and
one over the kernel a buffer of I and one of O, each with all that one iteration of the loop uses. Adjacent loops that
reuse the same contents add one buffer, that of the outermost of them.

*Full enumeration* (Section 3.5) takes every string of two blockings: rows with columns, input channels and output
channels have a loop around tiles and one inside them each, the kernel's rows have one, and inside it its columns. In
every order in which the loops of a dimension stand in theirs, these are 2520 strings (the paper: "approximately
3000"). Tiles are the whole extent, halved again and again, in whole vectors of lanes: the paper does not say which
sizes it takes.

*Packing* (Section 3.5): from the innermost level outward, always the buffer that serves the most accesses. The first
one that does not fit, and all that follow it, go to the next level. Operands with memories of their own are packed
each for itself. A level that takes two buffers of one operand holds the outer one, which contains the other one.
"""

from itertools import permutations, product

import numpy as np
from numpy.typing import NDArray

from hwgen.ir.lanes import ONE_LANE
from hwgen.ir.layer import Layer
from hwgen.ir.memory.hierarchy import Hierarchy
from hwgen.ir.schedule import Bits, Schedule
from hwgen.model.compiled import njit
from hwgen.search.hierarchy.nest_cost import held_of, traffic_of
from hwgen.search.hierarchy.nests import schedule_of
from hwgen.search.hierarchy.optimal import costs_of
from hwgen.search.hierarchy.tables import LayerTables, layer_tables
from hwgen.search.objectives.of_hierarchy import goal_of

__all__ = ["best_string", "buffers_of", "pack", "strings", "tiles_of"]

Ints = NDArray[np.int64]
N, M, C, Y, X, K, L = range(7)
ITEMS: dict[str, tuple[int, ...]] = {"PO": (N, Y, X), "CO": (C,), "MO": (M,), "KO": (K,)}
"""Loops around tiles, and those inside: ``PI`` rows and columns, ``KI`` the kernel's columns."""
ITEMS |= {"PI": (Y, X), "CI": (C,), "MI": (M,), "KI": (L,)}


def strings() -> list[Ints]:
    """The axes of the loops of each string, outermost first."""
    orders = [
        order for order in permutations(ITEMS) if all(order.index(f"{a}O") < order.index(f"{a}I") for a in "PCMK")
    ]
    return [np.array([axis for item in order for axis in ITEMS[item]], np.int64) for order in orders]


def tiles_of(tables: LayerTables) -> Ints:
    """Tiles [number, axis]: of channels, rows and columns halved sizes in whole vectors; single images and taps."""
    sizes: list[list[int]] = []
    for axis, (extent, least) in enumerate(zip(tables.extents.tolist(), tables.least.tolist(), strict=True)):
        own = [least]
        if axis in (M, C, Y, X):
            number = -(-extent // least)
            own = [extent]
            while number > 1:
                number = -(-number // 2)
                own.append(number * least)
        sizes.append(own)
    return np.array(list(product(*sizes)), np.int64)


@njit(cache=True)
def _steps_of(t, loops, tile, steps):  # type: ignore[no-untyped-def]
    """The steps outside each loop, and in the last row one innermost iteration; loops around tiles come first."""
    for axis in range(7):
        steps[0, axis] = t.extents[axis]
    for row in range(len(loops)):
        for axis in range(7):
            steps[row + 1, axis] = steps[row, axis]
        axis = loops[row]
        outer = True
        for before in range(row):
            outer = outer and loops[before] != axis
        steps[row + 1, axis] = tile[axis] if outer else t.least[axis]


@njit(cache=True)
def _adds(operand, axis):  # type: ignore[no-untyped-def]
    """Whether a loop along this axis adds a buffer of this operand."""
    if operand == 0:
        return axis == 1 or axis >= 5
    if operand == 1:
        return axis == 0 or axis == 3 or axis == 4
    return axis == 2 or axis >= 5


@njit(cache=True)
def _same(operand, steps, one, other):  # type: ignore[no-untyped-def]
    """Whether two buffers of an operand have the same contents."""
    for axis in range(7):
        part = axis != 1
        if operand == 1:
            part = axis == 1 or axis == 2 or axis >= 5
        elif operand == 2:
            part = axis != 2 and axis < 5
        if part and steps[one, axis] != steps[other, axis]:
            return False
    return True


@njit(cache=True)
def buffers_of(t, loops, steps, number, rows, rooms, moved, accesses):  # type: ignore[no-untyped-def]
    """The buffers of a string with these steps, outermost first.

    Fills ``number`` [operand]; ``rows``, ``rooms`` (bytes), ``accesses`` (elements served inward) [operand, buffer];
    ``moved`` [operand, buffer], the bytes that come into it or leave it outward, and after the last buffer those of
    the datapath.
    """
    last = len(loops)
    for operand in range(3):
        count = 0
        for row in range(last):
            if steps[row + 1, loops[row]] == steps[row, loops[row]] or not _adds(operand, loops[row]):
                continue
            if count and _same(operand, steps, rows[operand, count - 1], row):
                continue
            rows[operand, count] = row
            count += 1
        number[operand] = count
        spills = operand == 2 and traffic_of(t, 2, steps, last) > 1
        for at in range(count + 1):
            row = last if at == count else rows[operand, at]
            fetched = traffic_of(t, operand, steps, row)
            if operand == 2:
                moved[2, at] = t.elements[2] * (t.sizes[2] + 2 * (fetched - 1) * t.sizes[3])
                fetched = t.elements[2] * (2 * fetched - 1)
            else:
                moved[operand, at] = fetched * t.sizes[operand]
            if at > 0:
                accesses[operand, at - 1] = fetched
            if at < count:
                width = t.sizes[3] if spills else t.sizes[operand]
                rooms[operand, at] = held_of(t, operand, steps, row) * width


@njit(cache=True)
def pack(number, rooms, accesses, caps, shared, choice):  # type: ignore[no-untyped-def]
    """Fill ``choice`` [level, operand], the buffer that a level holds or -1; other arguments as `buffers_of`."""
    levels = len(caps)
    choice[:] = -1
    left, at = number.copy(), np.full(3, levels - 1)
    while True:
        operand = -1
        for one in range(3):
            if left[one] and (operand < 0 or accesses[one, left[one] - 1] > accesses[operand, left[operand] - 1]):
                operand = one
        if operand < 0:
            return
        buffer = left[operand] - 1
        level = at[operand]
        while level > 0:
            used = rooms[operand, buffer]
            for other in range(3):
                if shared[level] and other != operand and choice[level, other] >= 0:
                    used += rooms[other, choice[level, other]]
            if used <= caps[level, operand]:
                break
            level -= 1
            at[operand] = level
            if shared[level + 1]:
                for other in range(3):
                    at[other] = min(at[other], level)
        if level == 0:
            left[operand] = 0
        else:
            choice[level, operand] = buffer
            left[operand] = buffer


@njit(cache=True)
def _price(t, operand, number, moved, choice):  # type: ignore[no-untyped-def]
    """What an operand costs with its buffers in these levels."""
    outer, total = 0, 0.0
    for level in range(1, len(choice)):
        if choice[level, operand] >= 0:
            total += moved[operand, choice[level, operand]] * t.serves[outer, operand]
            outer = level
    return total + moved[operand, number[operand]] * t.serves[outer, operand]


@njit(cache=True)
def _options(t, operand, number, rooms, moved, choice, costs, needs, picks):  # type: ignore[no-untyped-def]
    """All ways to hold one operand alone: costs, needs and buffers by level; returns how many, and the least cost."""
    levels, count, least = len(choice), 0, np.inf
    each = number[operand] + 1
    for code in range(each ** (levels - 1)):
        rest, before, fits = code, -1, True
        for level in range(1, levels):
            buffer = rest % each - 1
            rest //= each
            choice[level, operand] = buffer
            needs[operand, count, level] = 0.0
            if buffer >= 0:
                fits = fits and buffer > before and rooms[operand, buffer] <= t.caps[level, operand]
                before = buffer
                needs[operand, count, level] = rooms[operand, buffer]
        if fits:
            costs[operand, count] = _price(t, operand, number, moved, choice)
            picks[operand, count] = choice[:, operand]
            least = min(least, costs[operand, count])
            count += 1
    return count, least


@njit(cache=True)
def _place(t, number, rooms, moved, choice, best, costs, needs, picks):  # type: ignore[no-untyped-def]
    """Fill ``choice`` with the cheapest levels for the buffers; returns their cost, or infinity if not below best."""
    first, least_i = _options(t, 0, number, rooms, moved, choice, costs, needs, picks)
    second, least_w = _options(t, 1, number, rooms, moved, choice, costs, needs, picks)
    third, least_o = _options(t, 2, number, rooms, moved, choice, costs, needs, picks)
    found = np.inf
    if least_i + least_w + least_o >= best:
        return found
    for one in range(first):
        if costs[0, one] + least_w + least_o >= best:
            continue
        for two in range(second):
            if costs[0, one] + costs[1, two] + least_o >= best:
                continue
            for three in range(third):
                cost = costs[0, one] + costs[1, two] + costs[2, three]
                fits = cost < best
                for level in range(1, len(choice)):
                    room = needs[0, one, level] + needs[1, two, level] + needs[2, three, level]
                    fits = fits and (not t.shared[level] or room <= t.caps[level, 0])
                if fits:
                    best = found = cost
                    choice[:, 0], choice[:, 1], choice[:, 2] = picks[0, one], picks[1, two], picks[2, three]
    return found


@njit(cache=True)
def _best_tile(t, loops, tiles, packs, best, best_steps, best_rows, best_choice):  # type: ignore[no-untyped-def]
    """Try all tiles of one string; keeps the best where it costs less than ``best``, and returns the least cost."""
    most, levels = len(loops) + 1, len(t.serves)
    steps, number, rows = np.empty((most, 7), np.int64), np.empty(3, np.int64), np.empty((3, most), np.int64)
    rooms, moved, accesses = np.empty((3, most)), np.empty((3, most)), np.empty((3, most))
    choice, ways = np.full((levels, 3), -1), 8 ** (levels - 1)
    costs, needs, picks = np.empty((3, ways)), np.empty((3, ways, levels)), np.empty((3, ways, levels), np.int64)
    for index in range(len(tiles)):
        _steps_of(t, loops, tiles[index], steps)
        buffers_of(t, loops, steps, number, rows, rooms, moved, accesses)
        if packs:
            pack(number, rooms, accesses, t.caps, t.shared, choice)
            cost = 0.0
            for operand in range(3):
                cost += _price(t, operand, number, moved, choice)
        else:
            cost = _place(t, number, rooms, moved, choice, best, costs, needs, picks)
        if cost < best:
            best = cost
            best_steps[:], best_rows[:], best_choice[:] = steps, rows, choice
    return best


def best_string(
    layer: Layer, hierarchy: Hierarchy, bits: Bits | None = None, *, packs: bool = False
) -> tuple[Schedule, float]:
    """The string of least energy as a schedule, and its energy without multiply-accumulates.

    With ``packs`` the buffers of each string are packed, else they are placed in the levels that cost least.
    """
    bits = hierarchy.bits or bits or Bits()
    tables = layer_tables(layer, hierarchy.lanes or ONE_LANE, bits)
    costs = costs_of(tables, hierarchy, goal_of(hierarchy, "energy", fills=False))
    tiles, orders = tiles_of(tables), strings()
    most = len(orders[0]) + 1
    steps, rows = np.empty((most, 7), np.int64), np.empty((3, most), np.int64)
    choice, best = np.full((len(costs.serves), 3), -1), np.inf
    for loops in orders:
        best = float(_best_tile(costs, loops, tiles, packs, best, steps, rows, choice))
    markers, marked = _markers(rows, choice)
    schedule = schedule_of(
        tables, costs, hierarchy, bits, markers, np.ones(len(markers), np.bool_), steps[[*marked, most - 1]]
    )
    return schedule, best


def _markers(rows: Ints, choice: Ints) -> tuple[Ints, list[int]]:
    """The markers (operand, level) from the outside inward, and the row of steps outside each."""
    found = sorted(
        (int(rows[operand, choice[level, operand]]), level, operand)
        for level, operand in np.argwhere(choice >= 0).tolist()
    )
    markers = np.array([(operand, level) for _, level, operand in found], np.int64).reshape(-1, 2)
    return markers, [row for row, _, _ in found]
