"""Branch and bound over forms and tile steps: the compiled inner loops of the search.

A candidate is a triple of forms with a step for each of m, c, y, x. `search` finds, for several buffer sizes at
once, the best criteria that any candidate reaches that fits.

*Bounds.* What is not settled yet counts with the smallest value that each of its factors takes in its list of
steps. Criteria and need are sums, products, maxima and round-ups of non-negative factors, hence monotone, so the
result is a lower bound of all candidates below. They are compared in lexicographic order, in which the vector of
bounds comes before that of any candidate below. A branch is cut if its bound does not come before the best known
criteria of the smallest buffer that the bound of its need fits: the best of a larger buffer is no worse than that
of a smaller one, and smaller ones do not hold it. *Trimming.* A step whose bound, with all else at its smallest, is
cut that way is taken out of its list for the triple at hand before the loops begin, which raises the smallest
values of the others' bounds.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hwgen.model.compiled import njit
from hwgen.search.core.dominance import StepLists
from hwgen.search.core.orders import TILED
from hwgen.search.core.space import Scale, Tables
from hwgen.search.objectives.of_hwc import TRAFFIC, criteria

__all__ = [
    "FOUND",
    "Lists",
    "Problem",
    "advance",
    "improve",
    "lists_of",
    "memories",
    "missing_bytes",
    "prepare",
    "problem",
    "search",
]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Lists = tuple[StepLists, StepLists, StepLists, StepLists]
CRITERIA = 5
"""Criteria of a candidate: three by goal, bytes of need, loops of more than one iteration."""
FOUND = 10
"""A found candidate: its criteria, its triple, its steps of m, c, y, x."""


# Factors that a step contributes to a triple, one row for each step of a list.
# m: fetched, groups, size, sums, iterations, loops.  c: channels, size, rounds, loops.
# y: fetched, cuts, rows, sums, iterations, loops, cuts of O.
# x: fetched, cuts, columns, sums, iterations, loops, words, output words, cuts of O, words of sums.


class Dimension(NamedTuple):
    """The step lists of one dimension, one after the other, for each combination of states (see `StepLists`).

    Members
    -------
    start : [combination + 1], where each list starts.
    steps : the steps.
    rows : [step, factor], what they contribute.
    lowest : [combination, factor], the smallest of each factor.
    """

    start: NDArray[np.int64]
    steps: NDArray[np.int64]
    rows: Floats
    lowest: Floats


class Problem(NamedTuple):
    """What the kernels need of one layer: its scale, its memories, words of ranges, and its lists."""

    scale: Scale
    units: Floats
    least: Floats
    caps: Floats
    m_residues: Floats
    m_lines: Floats
    c_residues: Floats
    m: Dimension
    c: Dimension
    y: Dimension
    x: Dimension


def lists_of(lists: Sequence[StepLists]) -> Lists:
    """The lists of m, c, y, x."""
    m, c, y, x = lists
    return m, c, y, x


def search(t: Tables, lists: Lists, triples: Ints, sizes: Floats, goal: int, exact: int, best: Floats) -> int:
    """`improve` for tables and lists as they are."""
    costed: int = improve(problem(t, lists), triples, sizes, goal, exact, best)
    return costed


def problem(t: Tables, lists: Lists) -> Problem:
    """Gather what the steps of m, c, y, x contribute."""
    dimensions = []
    for dim, one in zip(TILED, lists, strict=True):
        combination = np.repeat(np.arange(len(one.start) - 1), np.diff(one.start))
        i, w, o, n = combination // 9, combination // 3 % 3, combination % 3, one.steps
        match dim:
            case "m":
                factors = [t.m_fetched[i, n], t.m_groups[i, n], t.m_sizes[w, n], t.m_sums[o, n], t.m_cuts[2, n]]
                factors.append(_loops(t.m_cuts)[n])
            case "c":
                factors = [t.c_sizes[i, n], t.c_sizes[w, n], t.c_cuts[o, n], _loops(t.c_cuts)[n]]
            case "y":
                factors = [t.y_fetched[i, n], t.y_cuts[w, n], t.y_rows[i, n], t.y_sums[o, n], t.y_cuts[2, n]]
                factors += [_loops(t.y_cuts)[n], t.y_cuts[o, n]]
            case _:
                factors = [t.x_fetched[i, n], t.x_cuts[w, n], t.x_columns[i, n], t.x_sums[o, n], t.x_cuts[2, n]]
                factors += [_loops(t.x_cuts)[n], t.x_words[i, n], t.x_output_words[o, n], t.x_cuts[o, n]]
                factors += [t.x_sum_words[n]]
        rows = np.ascontiguousarray(np.stack(factors, axis=1))
        lowest = np.full((len(one.start) - 1, len(factors)), np.inf)
        some = np.flatnonzero(np.diff(one.start))
        if len(some):
            lowest[some] = np.minimum.reduceat(rows, one.start[some], axis=0)
        dimensions.append(Dimension(one.start, one.steps, rows, lowest))
    # Of one layout, as numba compiles the kernels for each.
    m_residues, m_lines, c_residues = map(np.ascontiguousarray, (t.m_residues, t.m_lines, t.c_residues))
    return Problem(t.scale, t.units, t.least, t.caps, m_residues, m_lines, c_residues, *dimensions)


def _loops(cuts: Floats) -> Floats:
    """Loops of more than one iteration among the tile loop and the inner loop, by step."""
    return (cuts[1] > 1).astype(np.float64) + (cuts[2] > cuts[1])


@njit(cache=True)
def _need(p, s, m, c, y, x):  # type: ignore[no-untyped-def]
    """Bytes of the three memories together; infinite if one exceeds its given size."""
    inputs, weights, outputs = memories(p, s, m, c, y, x)
    if inputs > p.caps[0] or weights > p.caps[1] or outputs > p.caps[2]:
        return np.inf
    return inputs + weights + outputs


@njit(cache=True)
def memories(p, s, m, c, y, x):  # type: ignore[no-untyped-def]
    """Bytes of the I, W and O memories."""
    w_tile = c[1] * m[2] * p.scale.w_element
    if not s[6]:
        w_tile *= p.scale.k_size
    if not s[7]:
        w_tile *= p.scale.l_size
    units, least = p.units, p.least
    inputs = max(np.ceil(m[1] * c[0] * y[2] * x[2] * p.scale.i_element / units[0]) * units[0], least[0])
    weights = max(np.ceil(w_tile / units[1]) * units[1], least[1])
    outputs = max(np.ceil(m[3] * y[3] * x[3] * p.scale.o_element / units[2]) * units[2], least[2])
    return inputs, weights, outputs


@njit(cache=True)
def missing_bytes(p, s, m, c):  # type: ignore[no-untyped-def]
    """Bytes by which the words of all tiles of W together exceed their bytes, for steps m and c."""
    if p.scale.w_lines > 0:
        return p.scale.w_word * p.scale.w_lines * p.m_lines[m] - p.scale.w_bytes
    k_tile, k_tiles = (1.0, p.scale.k_size) if s[6] else (p.scale.k_size, 1.0)
    l_tile, l_tiles = (1.0, p.scale.l_size) if s[7] else (p.scale.l_size, 1.0)
    word = p.m_residues.shape[2]
    rest = int(k_tile * l_tile * p.scale.w_element) % word
    total = 0.0
    for a in range(1, word):
        if p.m_residues[s[4], m, a] == 0:
            continue
        for b in range(1, word):
            total += p.m_residues[s[4], m, a] * p.c_residues[s[5], c, b] * ((-(a * b * rest)) % word)
    return total * k_tiles * l_tiles


@njit(cache=True)
def _before(first, second, third, need, loops, known):  # type: ignore[no-untyped-def]
    """Whether these criteria come before the known ones."""
    if first != known[0]:
        return first < known[0]
    if second != known[1]:
        return second < known[1]
    if third != known[2]:
        return third < known[2]
    if need != known[3]:
        return need < known[3]
    return loops < known[4]


@njit(cache=True)
def _is_open(p, s, goal, m, c, y, x, exact, sizes, best):  # type: ignore[no-untyped-def]
    """Whether something below these lowest factors could be better than what is known."""
    need = _need(p, s, m, c, y, x)
    fits = np.searchsorted(sizes, need)
    if fits == len(sizes):
        return False
    first, second, third = criteria(p.scale, s, goal, m, c, y, x, 0.0 if exact or goal != TRAFFIC else -1.0)
    if not exact:
        return first < best[fits, 0]
    return _before(first, second, third, need, m[5] + c[3] + y[5] + x[5], best[fits])


@njit(cache=True)
def _copied(dimension, combination):  # type: ignore[no-untyped-def]
    """Steps of one list, and their rows with the lowest factors as the last."""
    start, stop = dimension.start[combination], dimension.start[combination + 1]
    number, factors = stop - start, dimension.rows.shape[1]
    steps, rows = np.empty(number, np.int64), np.empty((number + 1, factors))
    for n in range(number):
        steps[n] = dimension.steps[start + n]
        for factor in range(factors):
            rows[n, factor] = dimension.rows[start + n, factor]
    for factor in range(factors):
        rows[number, factor] = dimension.lowest[combination, factor]
    return steps, rows


@njit(cache=True)
def _trim(p, s, goal, which, rows, steps, number, m, c, y, x, exact, sizes, best):  # type: ignore[no-untyped-def]
    """Take steps that cannot lead anywhere out of one list; returns how many stay."""
    left = 0
    for n in range(number):
        row = rows[n]
        if which == 0:
            m = row
        elif which == 1:
            c = row
        elif which == 2:
            y = row
        else:
            x = row
        if _is_open(p, s, goal, m, c, y, x, exact, sizes, best):
            steps[left] = steps[n]
            for factor in range(rows.shape[1]):
                rows[left, factor] = row[factor]
            left += 1
    for factor in range(rows.shape[1] if left > 0 else 0):
        low = rows[0, factor]
        for n in range(1, left):
            low = min(low, rows[n, factor])
        rows[-1, factor] = low
    return left


@njit(cache=True)
def prepare(p, s, goal, exact, sizes, best):  # type: ignore[no-untyped-def]
    """(Numbers, steps and factor rows of m, c, y, x) for one triple, trimmed; the numbers are 0 if all is cut."""
    of_m, of_c = (s[0] * 3 + s[4]) * 3 + s[10], (s[1] * 3 + s[5]) * 3 + s[13]
    of_y, of_x = (s[2] * 3 + s[8]) * 3 + s[11], (s[3] * 3 + s[9]) * 3 + s[12]
    lowest = (p.m.lowest[of_m], p.c.lowest[of_c], p.y.lowest[of_y], p.x.lowest[of_x])
    finite = lowest[0][0] + lowest[1][0] + lowest[2][0] + lowest[3][0] < np.inf
    if not finite or not _is_open(p, s, goal, *lowest, exact, sizes, best):
        none, no_rows = np.empty(0, np.int64), np.empty((0, 0))
        return np.zeros(4, np.int64), none, no_rows, none, no_rows, none, no_rows, none, no_rows
    ms, m = _copied(p.m, of_m)
    cs, c = _copied(p.c, of_c)
    ys, y = _copied(p.y, of_y)
    xs, x = _copied(p.x, of_x)
    counts = np.array([len(ms), len(cs), len(ys), len(xs)])
    for _ in range(2):
        for which, rows, steps in ((3, x, xs), (2, y, ys), (0, m, ms), (1, c, cs)):
            if counts.min() > 0:
                counts[which] = _trim(
                    p, s, goal, which, rows, steps, counts[which], m[-1], c[-1], y[-1], x[-1], exact, sizes, best
                )
    if counts.min() == 0:
        counts[:] = 0
    return counts, ms, m, cs, c, ys, y, xs, x


@njit(cache=True)
def advance(p, s, goal, exact, sizes, best, counts, m, c, y, x, at):  # type: ignore[no-untyped-def]
    """Move ``at``, the rows of m, c, y, x, on to the next candidate that is not cut; false after the last.

    Row -1, the smallest factors, stands for what is not settled: all four before the first candidate. ``at[4]``
    counts the candidates that were costed.
    """
    level = 0 if at[1] < 0 else 3
    while level >= 0:
        which = (2, 3, 0, 1)[level]
        at[which] += 1
        if at[which] == counts[which]:
            at[which] = -1
            level -= 1
            continue
        at[4] += level == 3
        if _is_open(p, s, goal, m[at[0]], c[at[1]], y[at[2]], x[at[3]], exact, sizes, best):
            if level == 3:
                return True
            level += 1
    return False


@njit(cache=True)
def improve(p, triples, sizes, goal, exact, best):  # type: ignore[no-untyped-def]
    """Make ``best`` [size, FOUND] the best candidate of each size; returns the number of candidates costed.

    With ``exact`` zero only the goal counts (then triple and steps are one that reaches it). ``best`` starts with
    criteria that are known to be reached, or infinite. Of candidates equal in all criteria the first triple and then
    the first steps of y, x, m, c win.
    """
    costed = 0
    at = np.empty(5, np.int64)
    for n in range(len(triples)):
        s = triples[n]
        counts, ms, m, cs, c, ys, y, xs, x = prepare(p, s, goal, exact, sizes, best)
        if counts[0] == 0:
            continue
        at[0], at[1], at[2], at[3], at[4] = -1, -1, -1, -1, 0
        while advance(p, s, goal, exact, sizes, best, counts, m, c, y, x, at):
            a, e, b, d = at[0], at[1], at[2], at[3]
            need = _need(p, s, m[a], c[e], y[b], x[d])
            missing = missing_bytes(p, s, ms[a], cs[e]) if exact or goal != TRAFFIC else -1.0
            first, second, third = criteria(p.scale, s, goal, m[a], c[e], y[b], x[d], missing)
            loops = m[a, 5] + c[e, 3] + y[b, 5] + x[d, 5]
            size = np.searchsorted(sizes, need)
            if not exact:
                second, third, need, loops = 0.0, 0.0, 0.0, 0.0
            while size < len(sizes) and _before(first, second, third, need, loops, best[size]):
                found = best[size]
                found[0], found[1], found[2], found[3], found[4] = first, second, third, need, loops
                found[5], found[6], found[7], found[8], found[9] = n, ms[a], cs[e], ys[b], xs[d]
                size += 1
        costed += at[4]
    return costed
