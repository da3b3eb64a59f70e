"""Compiled kernels of the search for an HWC: fronts of cost and memories, the best split of a budget, its rest."""

import numpy as np

from hwgen.arch.hwc import MOST_MEMORY
from hwgen.ir.schedule import ARRAYS, ArrayName
from hwgen.model.compiled import njit
from hwgen.search.core.branch import advance, improve, memories, missing_bytes, prepare
from hwgen.search.objectives.of_hwc import TRAFFIC, criteria

__all__ = ["frontier", "least_of_each", "roomy", "split", "with_room"]


@njit(cache=True)
def least_of_each(p, triples, budget, goal, limits, found):  # type: ignore[no-untyped-def]
    """Make ``found`` [triple] the least goal of each triple within ``budget``; infinite above its limit."""
    costed = 0
    no = np.int64(0)  # not a literal, for which numba would compile everything once more
    sizes, best = np.array([budget]), np.empty((1, 10))
    for n in range(len(triples)):
        best[0, :] = np.inf
        best[0, 0] = limits[n] + 0.5
        costed += improve(p, triples[n : n + 1], sizes, goal, no, best)
        found[n] = best[0, 0] if best[0, 0] <= limits[n] else np.inf
    return costed


@njit(cache=True)
def frontier(p, s, budget, goal, exact, limit, found):  # type: ignore[no-untyped-def]
    """All nests of one triple within budget and limit that no other one undercuts in cost and all memories.

    Rows of ``found``: goal, second criterion (0 if not ``exact``), bytes of I, W, O, steps of m, c, y, x. Returns
    their number; -1 if they do not fit.
    """
    sizes, best = np.array([budget]), np.full((1, 10), np.inf)
    best[0, 0] = limit + 0.5
    number = np.int64(0)  # as in `least_of_each`
    counts, ms, m, cs, c, ys, y, xs, x = prepare(p, s, goal, exact, sizes, best)
    at = np.full(5, -1, np.int64)
    row = np.zeros(9)
    while counts[0] > 0 and advance(p, s, goal, exact, sizes, best, counts, m, c, y, x, at):
        a, e, b, d = at[0], at[1], at[2], at[3]
        missing = missing_bytes(p, s, ms[a], cs[e]) if exact or goal != TRAFFIC else -1.0
        row[0], row[1], _ = criteria(p.scale, s, goal, m[a], c[e], y[b], x[d], missing)
        row[2], row[3], row[4] = memories(p, s, m[a], c[e], y[b], x[d])
        row[5], row[6], row[7], row[8] = ms[a], cs[e], ys[b], xs[d]
        if not exact:
            row[1] = 0.0
        if row[0] > limit or row[2:5].sum() > budget:
            continue
        number = _kept(found, number, row)
        if number == len(found):
            return -1
    return number


@njit(cache=True)
def _kept(found, number, row):  # type: ignore[no-untyped-def]
    """Add a row unless another one covers it, and remove those that it covers; returns the number of rows."""
    left = 0
    for other in range(number):
        if _covers(found[other], row):
            return number
    for other in range(number):
        if not _covers(row, found[other]):
            for column in range(len(row)):  # slices would bring numba's texts of errors along
                found[left, column] = found[other, column]
            left += 1
    for column in range(len(row)):
        found[left, column] = row[column]
    return left + 1


@njit(cache=True)
def _covers(a, b):  # type: ignore[no-untyped-def]
    """Whether a costs no more than b and needs no more of any memory."""
    cheaper = a[0] < b[0] or (a[0] == b[0] and a[1] <= b[1])
    return cheaper and a[2] <= b[2] and a[3] <= b[3] and a[4] <= b[4]


@njit(cache=True)
def split(points, ends, budget, best):  # type: ignore[no-untyped-def]
    """The split of the budget over I, W, O with the least sum of all layers' best costs.

    ``points``: the fronts of all layers, concatenated; ``ends``: where each ends. It suffices to try splits whose I
    and O are those of some point: shrinking a memory to the largest size in use costs nothing, and W takes the
    rest. ``best``: (goal, second, bytes needed, I, W, O), lowered in place. Returns whether it was lowered.
    """
    inputs, outputs = np.unique(points[:, 2]), np.unique(points[:, 4])
    lower = False
    for o in outputs:
        for i in inputs:
            room = budget - i - o
            if room < 0:
                break
            first, second, needed = 0.0, 0.0, np.zeros(3)
            start = 0
            for end in ends:
                at = -1
                for n in range(start, end):
                    if points[n, 2] > i or points[n, 3] > room or points[n, 4] > o:
                        continue
                    if at < 0 or points[n, 0] < points[at, 0]:
                        at = n
                    elif points[n, 0] == points[at, 0]:
                        size, known = points[n, 2:5].sum(), points[at, 2:5].sum()
                        if points[n, 1] < points[at, 1] or (points[n, 1] == points[at, 1] and size < known):
                            at = n
                start = end
                if at < 0:
                    first = np.inf
                    break
                first, second = first + points[at, 0], second + points[at, 1]
                needed = np.maximum(needed, points[at, 2:5])
                if first > best[0]:
                    break
            if not first < np.inf:
                continue
            if first < best[0] or (
                first == best[0] and (second < best[1] or (second == best[1] and needed.sum() < best[2]))
            ):
                best[0], best[1], best[2] = first, second, needed.sum()
                best[3], best[4], best[5] = needed
                lower = True
    return lower


@njit(cache=True)
def with_room(inputs, weights, outputs, budget, input_unit, weight_unit):  # type: ignore[no-untyped-def]
    """Memories of I, W, O of at least the needed sizes: W, then I may hold a second tile; the rest goes to both."""
    rest = budget - inputs - weights - outputs
    for _ in range(2):
        more = min(rest, weights, max(MOST_MEMORY - weights, 0)) // weight_unit * weight_unit
        weights, rest = weights + more, rest - more
        more = min(rest, inputs, max(MOST_MEMORY - inputs, 0)) // input_unit * input_unit
        inputs, rest = inputs + more, rest - more
    return inputs, weights, outputs


def roomy(needed: tuple[int, int, int], budget: int, units: tuple[int, int, int]) -> dict[ArrayName, int]:
    """The memories that an HWC gets where only their need is known: `with_room`, in whole units."""
    sizes = with_room(*map(float, (*needed, budget, units[0], units[1])))
    return {array: int(size) for array, size in zip(ARRAYS, sizes, strict=True)}
