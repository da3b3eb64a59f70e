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
from numba import njit
from numpy.typing import NDArray

from hwgen.search.dominance import StepLists

__all__ = [
    "CRITERIA",
    "FOUND",
    "GOALS",
    "Lists",
    "advance",
    "criteria",
    "lists_of",
    "memories",
    "missing_bytes",
    "prepare",
    "search",
]

GOALS = {"traffic": 0, "words": 1, "cycles": 2, "need": 3}
"""First criterion. Traffic: bytes, then words. Words: words, then bytes. Cycles: cycles, then bytes, then words.
Need: nothing, so that the bytes of the memories decide."""
CRITERIA = 5
"""Criteria of a candidate: three by goal, bytes of need, loops of more than one iteration."""
FOUND = 10
"""A found candidate: its criteria, its triple, its steps of m, c, y, x."""


class Lists(NamedTuple):
    """The step lists of m, c, y, x, as the kernels take them."""

    m_start: NDArray[np.int64]
    m_steps: NDArray[np.int64]
    c_start: NDArray[np.int64]
    c_steps: NDArray[np.int64]
    y_start: NDArray[np.int64]
    y_steps: NDArray[np.int64]
    x_start: NDArray[np.int64]
    x_steps: NDArray[np.int64]


def lists_of(lists: Sequence[StepLists]) -> Lists:
    """Pack the lists of m, c, y, x."""
    return Lists(*(array for one in lists for array in (one.start, one.steps)))


# Factors that one step contributes, as rows [step, factor]; the last row holds the smallest of each.
# m: fetched, groups, size, sums, iterations, loops.  c: channels, size, rounds, loops.
# y: fetched, cuts, rows, sums, iterations, loops.
# x: fetched, cuts, columns, sums, iterations, loops, words, output words.


@njit(cache=True)
def _list(start, steps, combination):  # type: ignore[no-untyped-def]
    return steps[start[combination] : start[combination + 1]].copy()


@njit(cache=True)
def _gather(t, lists, s):  # type: ignore[no-untyped-def]
    """(steps, factor rows) of m, c, y, x for one triple's states."""
    ms = _list(lists.m_start, lists.m_steps, (s[0] * 3 + s[4]) * 3 + s[10])
    cs = _list(lists.c_start, lists.c_steps, (s[1] * 3 + s[5]) * 3 + s[13])
    ys = _list(lists.y_start, lists.y_steps, (s[2] * 3 + s[8]) * 3 + s[11])
    xs = _list(lists.x_start, lists.x_steps, (s[3] * 3 + s[9]) * 3 + s[12])
    m, c = np.empty((len(ms) + 1, 6)), np.empty((len(cs) + 1, 4))
    y, x = np.empty((len(ys) + 1, 6)), np.empty((len(xs) + 1, 8))
    for n in range(len(ms)):
        at = ms[n]
        m[n, 0], m[n, 1], m[n, 2] = t.m_fetched[s[0], at], t.m_groups[s[0], at], t.m_sizes[s[4], at]
        m[n, 3], m[n, 4], m[n, 5] = t.m_sums[s[10], at], t.m_cuts[2, at], _loops(t.m_cuts, at)
    for n in range(len(cs)):
        at = cs[n]
        c[n, 0], c[n, 1], c[n, 2] = t.c_sizes[s[1], at], t.c_sizes[s[5], at], t.c_cuts[s[13], at]
        c[n, 3] = _loops(t.c_cuts, at)
    for n in range(len(ys)):
        at = ys[n]
        y[n, 0], y[n, 1], y[n, 2] = t.y_fetched[s[2], at], t.y_cuts[s[8], at], t.y_rows[s[2], at]
        y[n, 3], y[n, 4], y[n, 5] = t.y_sums[s[11], at], t.y_cuts[2, at], _loops(t.y_cuts, at)
    for n in range(len(xs)):
        at = xs[n]
        x[n, 0], x[n, 1], x[n, 2] = t.x_fetched[s[3], at], t.x_cuts[s[9], at], t.x_columns[s[3], at]
        x[n, 3], x[n, 4], x[n, 5] = t.x_sums[s[12], at], t.x_cuts[2, at], _loops(t.x_cuts, at)
        x[n, 6], x[n, 7] = t.x_words[s[3], at], t.x_output_words[s[12], at]
    return ms, m, cs, c, ys, y, xs, x


@njit(cache=True)
def _loops(cuts, step):  # type: ignore[no-untyped-def]
    """Loops of more than one iteration among the tile loop and the inner loop."""
    return (1.0 if cuts[1, step] > 1 else 0.0) + (1.0 if cuts[2, step] > cuts[1, step] else 0.0)


@njit(cache=True)
def _set_smallest(rows, number):  # type: ignore[no-untyped-def]
    """Keep the smallest factors of the first rows in the last row."""
    for factor in range(rows.shape[1]):
        low = rows[0, factor]
        for n in range(1, number):
            low = min(low, rows[n, factor])
        rows[-1, factor] = low


@njit(cache=True)
def _need(scale, units, least, caps, s, m, c, y, x):  # type: ignore[no-untyped-def]
    """Bytes of the three memories together; infinite if one exceeds its given size."""
    inputs, weights, outputs = memories(scale, units, least, s, m, c, y, x)
    if inputs > caps[0] or weights > caps[1] or outputs > caps[2]:
        return np.inf
    return inputs + weights + outputs


@njit(cache=True)
def memories(scale, units, least, s, m, c, y, x):  # type: ignore[no-untyped-def]
    """Bytes of the I, W and O memories."""
    box = c[1] * m[2] * scale.w_element
    if not s[6]:
        box *= scale.k_size
    if not s[7]:
        box *= scale.l_size
    inputs = max(np.ceil(m[1] * c[0] * y[2] * x[2] * scale.i_element / units[0]) * units[0], least[0])
    weights = max(np.ceil(box / units[1]) * units[1], least[1])
    outputs = max(np.ceil(m[3] * y[3] * x[3] * scale.o_element / units[2]) * units[2], least[2])
    return inputs, weights, outputs


@njit(cache=True)
def criteria(scale, s, goal, m, c, y, x, missing):  # type: ignore[no-untyped-def]
    """The three criteria of the goal; ``missing``: bytes of W's words beyond its bytes.

    Cycles are those of the busiest of four: the datapath, an innermost iteration a cycle, and the three ports, a
    word a cycle each.
    """
    again = c[2] - 1.0
    if s[14] or s[15]:
        again = c[2] * (scale.k_size if s[14] else 1.0) * (scale.l_size if s[15] else 1.0) - 1.0
    lines, boxes = m[0] * y[0], y[1] * x[1]
    total = lines * x[0] * scale.i_bytes + boxes * scale.w_bytes + scale.o_bytes + again * scale.o_partial_bytes
    if missing < 0:
        return total, 0.0, 0.0
    inputs, weights = lines * x[6] * scale.i_lines, boxes * np.ceil((scale.w_bytes + missing) / 4)
    outputs = scale.o_rows * x[7] + again * scale.o_partial_words
    words = inputs + weights + outputs
    if goal == 0:
        return total, words, 0.0
    if goal == 1:
        return words, total, 0.0
    if goal == 3:
        return 0.0, 0.0, 0.0
    return max(max(inputs, weights), max(outputs, scale.taps * m[4] * y[4] * x[4])), total, words


@njit(cache=True)
def missing_bytes(t, s, m, c):  # type: ignore[no-untyped-def]
    """Bytes by which the words of all boxes of W together exceed their bytes, for steps m and c."""
    k_box, k_boxes = (1.0, t.scale.k_size) if s[6] else (t.scale.k_size, 1.0)
    l_box, l_boxes = (1.0, t.scale.l_size) if s[7] else (t.scale.l_size, 1.0)
    rest = int(k_box * l_box * t.scale.w_element) % 4
    total = 0.0
    for a in range(1, 4):
        for b in range(1, 4):
            total += t.m_residues[s[4], m, a] * t.c_residues[s[5], c, b] * ((-(a * b * rest)) % 4)
    return total * k_boxes * l_boxes


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
def is_open(t, s, goal, m, c, y, x, exact, sizes, best):  # type: ignore[no-untyped-def]
    """Whether something below these lowest factors could be better than what is known."""
    need = _need(t.scale, t.units, t.least, t.caps, s, m, c, y, x)
    fits = np.searchsorted(sizes, need)
    if fits == len(sizes):
        return False
    first, second, third = criteria(t.scale, s, goal, m, c, y, x, 0.0 if exact or goal != 0 else -1.0)
    if not exact:
        return first < best[fits, 0]
    return _before(first, second, third, need, m[5] + c[3] + y[5] + x[5], best[fits])


@njit(cache=True)
def _trim(t, s, goal, which, rows, steps, number, m, c, y, x, exact, sizes, best):  # type: ignore[no-untyped-def]
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
        stays = is_open(t, s, goal, m, c, y, x, exact, sizes, best)
        if stays:
            rows[left], steps[left] = row, steps[n]
            left += 1
    if left > 0:
        _set_smallest(rows, left)
    return left


@njit(cache=True)
def prepare(t, lists, s, goal, exact, sizes, best):  # type: ignore[no-untyped-def]
    """Trimmed steps and factor rows of m, c, y, x for one triple, and how many there are; none if all is cut."""
    ms, m, cs, c, ys, y, xs, x = _gather(t, lists, s)
    counts = np.array([len(ms), len(cs), len(ys), len(xs)])
    if counts.min() > 0:
        for rows, number in ((m, counts[0]), (c, counts[1]), (y, counts[2]), (x, counts[3])):
            _set_smallest(rows, number)
        if not is_open(t, s, goal, m[-1], c[-1], y[-1], x[-1], exact, sizes, best):
            counts[:] = 0
    for _ in range(2):
        for which, rows, steps in ((3, x, xs), (2, y, ys), (0, m, ms), (1, c, cs)):
            if counts.min() > 0:
                counts[which] = _trim(
                    t, s, goal, which, rows, steps, counts[which], m[-1], c[-1], y[-1], x[-1], exact, sizes, best
                )
    if counts.min() == 0:
        counts[:] = 0
    return counts, ms, m, cs, c, ys, y, xs, x


@njit(cache=True)
def advance(t, s, goal, exact, sizes, best, counts, m, c, y, x, at):  # type: ignore[no-untyped-def]
    """Move ``at``, the rows of m, c, y, x, on to the next candidate that is not cut; false after the last.

    Row -1, the smallest factors, stands for what is not settled: all of ``at`` before the first candidate.
    """
    level = 0 if at[1] < 0 else 3
    while level >= 0:
        which = (2, 3, 0, 1)[level]
        at[which] += 1
        if at[which] == counts[which]:
            at[which] = -1
            level -= 1
        elif is_open(t, s, goal, m[at[0]], c[at[1]], y[at[2]], x[at[3]], exact, sizes, best):
            if level == 3:
                return True
            level += 1
    return False


@njit(cache=True)
def search(t, lists, triples, sizes, goal, exact, best):  # type: ignore[no-untyped-def]
    """Make ``best`` [size, FOUND] the best candidate of each size; returns the number of candidates costed.

    With ``exact`` zero only the goal counts (then triple and steps are one that reaches it). ``best`` starts with
    criteria that are known to be reached, or infinite. Of candidates equal in all criteria the first triple and then
    the first steps of y, x, m, c win.
    """
    costed = 0
    at = np.empty(4, np.int64)
    for n in range(len(triples)):
        s = triples[n]
        counts, ms, m, cs, c, ys, y, xs, x = prepare(t, lists, s, goal, exact, sizes, best)
        at[:] = -1
        while advance(t, s, goal, exact, sizes, best, counts, m, c, y, x, at):
            costed += 1
            a, e, b, d = at
            need = _need(t.scale, t.units, t.least, t.caps, s, m[a], c[e], y[b], x[d])
            missing = missing_bytes(t, s, ms[a], cs[e]) if exact or goal != 0 else -1.0
            first, second, third = criteria(t.scale, s, goal, m[a], c[e], y[b], x[d], missing)
            loops = m[a, 5] + c[e, 3] + y[b, 5] + x[d, 5]
            size = np.searchsorted(sizes, need)
            if not exact:
                second, third, need, loops = 0.0, 0.0, 0.0, 0.0
            while size < len(sizes) and _before(first, second, third, need, loops, best[size]):
                found = best[size]
                found[0], found[1], found[2], found[3], found[4] = first, second, third, need, loops
                found[5], found[6], found[7], found[8], found[9] = n, ms[a], cs[e], ys[b], xs[d]
                size += 1
    return costed
