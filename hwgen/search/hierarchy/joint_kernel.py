"""A lower bound of a nest over all levels together, for one sequence of markers: the compiled loop.

Weighted arithmetic and geometric means. For weights w of the costs, which sum to 1, and u of what one memory holds,
which sum to 1 as well, and every exponent e >= 0 of a memory,

    sum of costs >= product over costs of (cost / w) ** w, and
    1 >= sum of needs / bytes >= product over needs of (need / (bytes u)) ** u, to the power e,

so that the sum of costs is at least the product of both. Costs and needs are products of factors of single axes:
hence so is this product, and its least is found along every axis alone, exactly, over all steps that descend along
the sequence. Any weights give a bound; ascent looks for good ones.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hwgen.model.compiled import borrowing, njit

__all__ = ["Sequence", "ascend"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
_IMAGES, _FILTERS, _CHANNELS, _ROWS, _COLUMNS = range(5)


class Sequence(NamedTuple):
    """One sequence of markers on one layer; all numbers of `Floats` are logarithms.

    Members
    -------
    operands : [marker], 0 I, 1 W, 2 O.
    beyond : [marker], of I: the next marker of another operand, or the number of markers.
    prices, sizes : [marker], of a unit of the traffic's and the need's product; a price may be minus infinity.
    memories : [marker], the number of the memory that holds it.
    bytes : [memory].
    classes : [axis], how many classes of steps; axes are images, output channels, channels, rows, columns.
    ranges, least : [axis, class].
    fetched, held : [rows or columns, kernel cut, class], of I.
    taps : [rows or columns, kernel cut], of W; ``cuts`` [rows or columns] of the kernel.
    """

    operands: Ints
    beyond: Ints
    prices: Floats
    sizes: Floats
    memories: Ints
    bytes: Floats
    classes: Ints
    ranges: Floats
    least: Floats
    fetched: Floats
    held: Floats
    taps: Floats
    cuts: Floats


@borrowing
def _chain(f, number, last, low, high, best, came, chain):  # type: ignore[no-untyped-def]
    """The least sum of ``f[marker, class]`` over steps that do not ascend; ``chain`` gets their classes."""
    for at in range(number):
        least, least_at = np.inf, -1
        before = 0
        for one in range(low[at], high[at] + 1):
            if at == 0:
                least = 0.0
            else:
                while before <= one:
                    if low[at - 1] <= before <= high[at - 1] and best[at - 1, before] < least:
                        least, least_at = best[at - 1, before], before
                    before += 1
            best[at, one] = least + f[at, one]
            came[at, one] = least_at
    value, where = np.inf, -1
    for one in range(low[number - 1], high[number - 1] + 1):
        if best[number - 1, one] < value:
            value, where = best[number - 1, one], one
    if where < 0:
        return np.inf
    for at in range(number - 1, -1, -1):
        chain[at] = where
        where = came[at, where]
    return value + f[number, last]


@borrowing
def _plain(t, axis, w, v, f):  # type: ignore[no-untyped-def]
    """Fill ``f`` for images (W gains), output channels (I) or channels (O)."""
    gains = 1 if axis == 0 else 0 if axis == 1 else 2
    free = 1 if axis == 0 else 0 if axis == 1 else 2
    for at in range(len(t.operands)):
        own = t.operands[at]
        for one in range(t.classes[axis]):
            f[at, one] = 0.0
            if own == gains:
                f[at, one] = w[at] * t.ranges[axis, one]
            if own != free:
                f[at, one] += v[at] * t.least[axis, one]
    f[len(t.operands), t.classes[axis] - 1] = 0.0


@borrowing
def _lines(t, line, w, v, whole, slides, kernel_slides, f):  # type: ignore[no-untyped-def]
    """Fill ``f`` for rows or columns; the kernel is whole outside the first ``whole`` markers."""
    number, axis = len(t.operands), 3 + line
    last = t.classes[axis]
    for at in range(number + 1):
        for one in range(last):
            f[at, one] = 0.0
    nth = 0
    for at in range(number):
        own = t.operands[at]
        cut = 0 if at < whole else 1
        if own == 1:
            for one in range(last):
                f[at, one] += w[at] * t.ranges[axis, one]
                f[at, one] += v[at] * t.taps[line, cut]
        elif own == 2:
            for one in range(last):
                f[at, one] += v[at] * t.least[axis, one]
                if cut:
                    f[at, one] += w[at] * t.cuts[line]
        else:
            to, of = at, cut
            if slides[at] != 1 - line:
                # May slide here: along the axis itself, or along the kernel.
                if at < whole <= t.beyond[at] and t.cuts[line] > 0:
                    if kernel_slides >> nth & 1:
                        of = 1
                    else:
                        to = t.beyond[at]
                    nth += 1
                else:
                    to = t.beyond[at]
            for one in range(last):
                f[at, one] += w[at] * t.fetched[line, cut, one]
                f[to, one] += v[at] * t.held[line, of, one]
    return nth


@borrowing
def _least_lines(t, line, w, v, wholes, slides, low, high, f, best, came, chain, chosen, whole_of):  # type: ignore[no-untyped-def]
    """The least of rows or columns over all steps and all places where the kernel is cut."""
    number, axis, least = len(t.operands), 3 + line, np.inf
    for whole in range(wholes[line, 0], wholes[line, 1] + 1):
        kinds, kind = 1, 0
        while kind < kinds:
            kinds = 1 << _lines(t, line, w, v, whole, slides, kind, f)
            one = _chain(f, number, t.classes[axis] - 1, low[axis], high[axis], best, came, chain)
            if one < least:
                least = one
                whole_of[line] = whole
                for at in range(number):
                    chosen[axis, at] = chain[at]
            kind += 1
    return least


@njit(cache=True)
def ascend(t, low, high, wholes, slides, w, v, iterations, warm, enough, spread, spread_wholes):  # type: ignore[no-untyped-def]
    """The logarithm of a bound of the costs; stops at ``enough``.

    ``low``, ``high`` [axis, marker]: classes allowed. ``wholes`` [rows or columns, first and last]. ``slides``
    [marker]: -1 free, 0 not along columns, 1 not along rows. ``warm``: steps of ascent before these. ``w``, ``v``
    [marker]: weights to begin with, and the best ones in the end. ``spread`` [axis, marker, 2]: the smallest and the
    largest class met in the later half, and ``spread_wholes`` likewise.
    """
    number = len(t.operands)
    most = t.ranges.shape[1]
    f = np.zeros((number + 1, most))
    best, came = np.empty((number + 1, most)), np.empty((number + 1, most), np.int64)
    chain, chosen = np.zeros(number + 1, np.int64), np.zeros((5, number + 1), np.int64)
    whole_of = np.zeros(2, np.int64)
    costs, needs = np.zeros(number), np.zeros(number)
    memories = len(t.bytes)
    exponent, filled = np.zeros(memories), np.zeros(memories)
    found = -np.inf
    best_w, best_v = w.copy(), v.copy()
    for turn in range(iterations):
        for memory in range(memories):
            exponent[memory] = 0.0
        for at in range(number):
            exponent[t.memories[at]] += v[at]
        value = 0.0
        for at in range(number):
            if w[at] > 0:
                value += w[at] * (t.prices[at] - np.log(w[at]))
            if v[at] > 0:
                memory = t.memories[at]
                value += v[at] * (t.sizes[at] - t.bytes[memory] - np.log(v[at] / exponent[memory]))
        for axis in range(3):
            _plain(t, axis, w, v, f)
            value += _chain(f, number, t.classes[axis] - 1, low[axis], high[axis], best, came, chain)
            for at in range(number):
                chosen[axis, at] = chain[at]
        for line in range(2):
            value += _least_lines(t, line, w, v, wholes, slides, low, high, f, best, came, chain, chosen, whole_of)
        if value > found:
            found = value
            best_w[:], best_v[:] = w, v
            if found >= enough:
                break
        _measure(t, chosen, whole_of, slides, costs, needs)
        _spread(chosen, whole_of, turn == 0 or turn == iterations // 2, spread, spread_wholes)
        _step(t, costs, needs, w, v, exponent, filled, 0.5 / (1.0 + 0.2 * (warm + turn)))
    w[:], v[:] = best_w, best_v
    return found


@njit(cache=True)
def _spread(chosen, whole_of, anew, spread, spread_wholes):  # type: ignore[no-untyped-def]
    """Note the smallest and the largest of what was chosen; ``anew``: forget those before."""
    for axis in range(5):
        for at in range(spread.shape[1]):
            one = chosen[axis, at]
            spread[axis, at, 0] = one if anew else min(spread[axis, at, 0], one)
            spread[axis, at, 1] = one if anew else max(spread[axis, at, 1], one)
    for line in range(2):
        one = whole_of[line]
        spread_wholes[line, 0] = one if anew else min(spread_wholes[line, 0], one)
        spread_wholes[line, 1] = one if anew else max(spread_wholes[line, 1], one)


@njit(cache=True)
def _measure(t, chosen, whole_of, slides, costs, needs):  # type: ignore[no-untyped-def]
    """Logarithms of costs and needs with the classes chosen along each axis."""
    number = len(t.operands)
    for at in range(number):
        own = t.operands[at]
        costs[at], needs[at] = t.prices[at], t.sizes[at]
        for axis in range(3):
            one = chosen[axis, at]
            if own == (1 if axis == 0 else 0 if axis == 1 else 2):
                costs[at] += t.ranges[axis, one]
            else:
                needs[at] += t.least[axis, one]
        for line in range(2):
            axis = 3 + line
            one, whole = chosen[axis, at], whole_of[line]
            cut = 0 if at < whole else 1
            if own == 1:
                costs[at] += t.ranges[axis, one]
                needs[at] += t.taps[line, cut]
            elif own == 2:
                needs[at] += t.least[axis, one]
                if cut:
                    costs[at] += t.cuts[line]
            else:
                costs[at] += t.fetched[line, cut, one]
                held = t.held[line, cut, one]
                if slides[at] != 1 - line:
                    to = t.beyond[at]
                    below = chosen[axis, to] if to < number else t.classes[axis] - 1
                    held = t.held[line, cut, below]
                    if at < whole <= to:
                        held = min(held, t.held[line, 1, one])
                needs[at] += held


@njit(cache=True)
def _step(t, costs, needs, w, v, exponent, filled, eta):  # type: ignore[no-untyped-def]
    """Weights a little nearer to the shares of costs and needs; exponents up where a memory overflows."""
    number = len(t.operands)
    summed = 0.0
    highest = -np.inf
    for at in range(number):
        highest = max(highest, costs[at])
    for at in range(number):
        if w[at] > 0:
            w[at] = np.exp((1 - eta) * np.log(w[at]) + eta * (costs[at] - highest))
            summed += w[at]
    for at in range(number):
        w[at] = max(w[at] / summed, 1e-6) if w[at] > 0 else 0.0
    summed = w.sum()
    w /= summed
    for memory in range(len(filled)):
        filled[memory] = 0.0
    for at in range(number):
        filled[t.memories[at]] += np.exp(needs[at] - t.bytes[t.memories[at]])
    for memory in range(len(filled)):
        most, parts = -np.inf, 0.0
        for at in range(number):
            if t.memories[at] == memory:
                most = max(most, needs[at])
        power = max(exponent[memory] + 0.2 * eta * max(-3.0, min(3.0, np.log(filled[memory]))), 1e-4)
        for at in range(number):
            if t.memories[at] == memory:
                share = max(v[at] / exponent[memory], 1e-6)
                v[at] = np.exp((1 - eta) * np.log(share) + eta * (needs[at] - most))
                parts += v[at]
        for at in range(number):
            if t.memories[at] == memory:
                v[at] = max(power * v[at] / parts, 1e-9)
