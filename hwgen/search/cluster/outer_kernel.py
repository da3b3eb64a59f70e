"""What loops around a tile move, and the least room they need in the TCDM: the compiled loops over steps and forms.

A form is one row of three tables: ``orders`` says which of m, c, y, x have a loop, ``above`` which of them stand
above the marked loop of each operand, ``marked`` which that one is over.
"""

import numpy as np

from hwgen.arch.bus import WORD_BYTES
from hwgen.arch.dram import BLOCK_BYTES
from hwgen.arch.layout import ALIGNMENT
from hwgen.model.compiled import njit
from hwgen.search.cluster.outer_tables import (
    AREA,
    BIAS_BYTES,
    CHANNELS,
    CUT,
    EDGE,
    END_LINES,
    FETCHED,
    FILTERS,
    I_BYTES,
    IN_COLUMNS,
    IN_LINES,
    JOINT,
    JOINT_SPAN,
    LARGEST,
    LINES,
    NEW_CUT,
    NEW_SLID,
    O_BYTES,
    OUT_LINES,
    PAIR,
    PAIR_LINES,
    PAIR_ROW,
    RETURN_BYTES,
    ROW,
    SHARE,
    SHARES,
    SLID,
    SPAN,
    TILES,
    W_BYTES,
)

__all__ = ["BEATS", "MOVES", "explore", "fastest", "forms_of", "least_of"]

M, C, Y, X = range(4)
NO_END = 1 << 62
"""Above every number of bytes."""
MOVED, FETCHING, BLOCK, MISS, BEAT, BEAT_BYTES, ROW_BYTES = range(7)
"""Prices: of a byte that the DMA moves and of one that the HWCs fetch; or, if BEAT is not 0, of a DRAM's block, of a
row miss, of a beat, with the bytes of a beat and of a row."""


@njit(cache=True)
def _moved(above, marked, rows, of):  # type: ignore[no-untyped-def]
    """Bytes of I and of W through the DMA, and how often partial sums go out and come back."""
    m, c, y, x = rows
    inputs = of[I_BYTES]
    inputs *= m[CUT] if above[0, M] else m[SLID] if marked[0] == M else m[FETCHED]
    inputs *= y[CUT] if above[0, Y] else y[SLID] if marked[0] == Y else y[FETCHED]
    inputs *= x[CUT] if above[0, X] else x[SLID] if marked[0] == X else x[FETCHED]
    weights = (y[TILES] if above[1, Y] else 1) * (x[TILES] if above[1, X] else 1)
    returns = c[TILES] - 1 if above[2, C] else 0
    return inputs, weights * of[W_BYTES], returns


@njit(cache=True)
def _inside(above, marked, operand, rows, whole):  # type: ignore[no-untyped-def]
    """The rows of m, c, y, x of the operand's tile."""
    m = rows[M] if above[operand, M] or marked[operand] == M else whole[M]
    c = rows[C] if above[operand, C] or marked[operand] == C else whole[C]
    y = rows[Y] if above[operand, Y] or marked[operand] == Y else whole[Y]
    x = rows[X] if above[operand, X] or marked[operand] == X else whole[X]
    return m, c, y, x


@njit(cache=True)
def _two(row, dim, marked, inner):  # type: ignore[no-untyped-def]
    """Sizes along an axis of the last tile of an execution and of the first tile of the next one, added.

    The marked loop begins anew, and the loop ``inner`` goes on by a tile.
    """
    if marked == dim:
        return row[PAIR] if row[TILES] == 2 else row[EDGE] + row[LARGEST]
    return row[PAIR] if inner == dim else 2 * row[LARGEST]


@njit(cache=True)
def _two_touched(row, dim, marked, inner):  # type: ignore[no-untyped-def]
    """The same of rows or columns of inputs; 0 if they may be padding."""
    return row[END_LINES] if marked == dim else row[PAIR_LINES] if inner == dim else 2 * row[LINES]


@njit(cache=True)
def _ring_of_inputs(above, marked, rows, whole):  # type: ignore[no-untyped-def]
    m, c, y, x = _inside(above, marked, 0, rows, whole)
    groups = m[LINES]
    lines = y[JOINT] if marked[0] == Y else y[LINES]
    pitch = x[JOINT_SPAN] if marked[0] == X else x[SPAN]
    start = (groups * c[LARGEST] - 1) * lines * pitch
    tile = max(start + (y[LINES] - 1) * pitch + x[SPAN], 0)
    ring = tile
    if marked[0] == Y:
        ring = max(start + (lines - 1) * pitch + x[SPAN], 0)
    elif marked[0] == X:
        ring = max(start + y[LINES] * pitch, 0)
    elif marked[0] == C and c[TILES] > 1:
        ring = tile + max((groups * (c[PAIR] - c[LARGEST]) - 1) * lines * pitch + (y[LINES] - 1) * pitch + x[SPAN], 0)
    # Nothing slides from one execution to the next: two tiles.
    both = NO_END
    for inner in range(4):
        if above[0, inner] and rows[inner][TILES] > 1:
            channels = _two(c, C, marked[0], inner)
            if inner == M:
                channels += (groups - 1) * (c[EDGE] if marked[0] == C else c[LARGEST])
            elif marked[0] != M:
                channels *= groups
            y_two, x_two = _two_touched(y, Y, marked[0], inner), _two_touched(x, X, marked[0], inner)
            two = ((channels - 2) * lines + y_two - 2) * pitch + x_two
            both = min(both, two if y_two > 0 and x_two > 0 else 0)
    return ring if both == NO_END else max(ring, both)


@njit(cache=True)
def _ring_of_weights(above, marked, rows, whole, area):  # type: ignore[no-untyped-def]
    m, c, _, _ = _inside(above, marked, 1, rows, whole)
    tile = m[LARGEST] * c[LARGEST]
    ring = m[PAIR] * c[LARGEST] if marked[1] == M else m[LARGEST] * c[PAIR] if marked[1] == C else tile
    both = NO_END
    for inner in range(4):
        if above[1, inner] and rows[inner][TILES] > 1:
            # One axis is the marked loop's or stays, the other one goes on or stays.
            stays, goes = M, C
            if marked[1] == C or (inner == M and marked[1] != M):
                stays, goes = C, M
            a, b = (m, c) if stays == M else (c, m)
            last = a[EDGE] if marked[1] == stays else a[LARGEST]
            first = b[EDGE] if inner == goes and b[TILES] == 2 else b[LARGEST]
            # The product of the last tile's sizes and that of the first one's; of classes of steps, at the least.
            two = last * _two(b, goes, marked[1], inner) + (_two(a, stays, marked[1], inner) - 2 * last) * first
            both = min(both, two)
    return area * (ring if both == NO_END else max(ring, both))


@njit(cache=True)
def _ring_of_outputs(above, marked, rows, whole, wide):  # type: ignore[no-untyped-def]
    m, _, y, x = _inside(above, marked, 2, rows, whole)
    line = WORD_BYTES * x[LARGEST] if wide else x[ROW]
    tile = m[LARGEST] * y[LARGEST] * line
    ring = tile
    if marked[2] == M:
        ring = m[PAIR] * y[LARGEST] * line
    elif marked[2] == Y and y[TILES] > 1:
        ring = 2 * (m[LARGEST] - 1) * y[LARGEST] * line + y[PAIR] * line
    elif marked[2] == X and x[TILES] > 1:
        ring = 2 * (m[LARGEST] * y[LARGEST] - 1) * line + (WORD_BYTES * x[PAIR] if wide else x[PAIR_ROW])
    both = NO_END
    for inner in range(4):
        if above[2, inner] and rows[inner][TILES] > 1:
            m_two, y_two = _two(m, M, marked[2], inner), _two(y, Y, marked[2], inner)
            x_two = _two(x, X, marked[2], inner) * (WORD_BYTES if wide else 1)
            both = min(both, ((m_two - 2) * y[LARGEST] + y_two - 2) * line + x_two)
    return ring if both == NO_END else max(ring, both)


@njit(cache=True)
def _need(above, marked, rows, whole, of, wide):  # type: ignore[no-untyped-def]
    """The least bytes of the TCDM that biases and three rings may take; ``wide``: O has four bytes an element."""
    inputs = _ring_of_inputs(above, marked, rows, whole)
    weights = _ring_of_weights(above, marked, rows, whole, of[AREA])
    inputs, weights = -(-inputs // ALIGNMENT) * ALIGNMENT, -(-weights // ALIGNMENT) * ALIGNMENT
    return of[BIAS_BYTES] + inputs + weights + _ring_of_outputs(above, marked, rows, whole, wide)


@njit(cache=True)
def _runs(above, marked, rows, of):  # type: ignore[no-untyped-def]
    """Runs of I, W and O in the DRAM, at the least; partial sums come and go in as many as O each time."""
    m, c, y, x = rows
    over_x, over_y = above[0, X] or marked[0] == X, above[0, Y] or marked[0] == Y
    part_x, part_y = over_x and x[LINES] < of[IN_COLUMNS], over_y and y[LINES] < of[IN_LINES]
    inputs = x[NEW_CUT] if above[0, X] else x[NEW_SLID] if marked[0] == X else 1
    if part_x:
        inputs *= y[CUT] if above[0, Y] else y[SLID] if marked[0] == Y else y[FETCHED]
    else:
        inputs *= y[NEW_CUT] if above[0, Y] else y[NEW_SLID] if marked[0] == Y else 1
    if part_x or part_y:
        inputs *= of[CHANNELS] * (m[CUT] if above[0, M] else m[SLID] if marked[0] == M else m[FETCHED])
    else:
        inputs *= (m[TILES] if above[0, M] else 1) * (c[TILES] if above[0, C] or marked[0] == C else 1)
    weights = (y[TILES] if above[1, Y] else 1) * (x[TILES] if above[1, X] else 1)
    if c[TILES] > 1 and (above[1, C] or marked[1] == C):
        weights *= of[FILTERS] * c[TILES]
    elif above[1, M] or marked[1] == M:
        weights *= m[TILES]
    outputs = np.int64(1)
    if x[TILES] > 1 and (above[2, X] or marked[2] == X):
        outputs = of[FILTERS] * of[OUT_LINES] * x[TILES]
    elif y[TILES] > 1 and (above[2, Y] or marked[2] == Y):
        outputs = of[FILTERS] * y[TILES]
    elif above[2, M] or marked[2] == M:
        outputs = m[TILES]
    return inputs, weights, outputs


@njit(cache=True)
def _units(size, number, unit):  # type: ignore[no-untyped-def]
    """A lower bound of the blocks or beats of this many runs."""
    return max(-(-size // unit), number)


@njit(cache=True)
def _time(above, marked, rows, of, price):  # type: ignore[no-untyped-def]
    """Time of the DRAM, at the least, as `hwgen.model.dram.counts` has it."""
    inputs, weights, rounds = _moved(above, marked, rows, of)
    input_runs, weight_runs, runs = _runs(above, marked, rows, of)
    partial, biases = of[RETURN_BYTES] // 2, WORD_BYTES * of[FILTERS]
    busy, taken = np.int64(0), np.zeros(2, np.int64)
    for unit in (BLOCK_BYTES, price[BEAT_BYTES]):
        sums = rounds * _units(partial, runs, unit)
        taken[0] = _units(inputs, input_runs, unit) + _units(weights, weight_runs, unit)
        taken[0] += _units(biases, 1, unit) + sums
        taken[1] = _units(of[O_BYTES], runs, unit) + sums
        if unit == BLOCK_BYTES:
            busy = price[BLOCK] * (taken[0] + taken[1])
    # The least that is read, and that is written: each row of it is opened once.
    misses = -(-of[W_BYTES] // price[ROW_BYTES]) + -(-of[O_BYTES] // price[ROW_BYTES])
    return max(busy + price[MISS] * misses, price[BEAT] * max(taken[0], taken[1]))


@njit(cache=True)
def _cost(above, marked, rows, of, price):  # type: ignore[no-untyped-def]
    """What the search goes by: of the DMA's bytes and the HWCs' least, or the DRAM's least time."""
    if price[BEAT]:
        return _time(above, marked, rows, of, price)
    inputs, weights, rounds = _moved(above, marked, rows, of)
    cost = price[MOVED] * (inputs + weights + of[O_BYTES] + rounds * of[RETURN_BYTES])
    if price[FETCHING]:
        m, c, y, x = rows
        fetched = of[I_BYTES] * m[CUT] * y[CUT] * x[CUT] + of[W_BYTES] * y[TILES] * x[TILES]
        cost += price[FETCHING] * (fetched + of[O_BYTES] + (c[TILES] - 1) * of[RETURN_BYTES])
    return cost


@njit(cache=True)
def least_of(rows, whole, above, marked, of, price):  # type: ignore[no-untyped-def]
    """What loops of a form cost and need at the least."""
    return _cost(above, marked, rows, of, price), _need(above, marked, rows, whole, of, rows[C][TILES] > 1)


@njit(cache=True)
def _busy_enough(m, y, x, most):  # type: ignore[no-untyped-def]
    """Whether some spread over the HWCs takes at most this many innermost iterations; with 0, every spread does."""
    enough = most == 0
    for share in range(SHARE, SHARE + SHARES):
        enough |= 0 < m[share] * y[share] * x[share] <= most
    return enough


@njit(cache=True, nogil=True)
def explore(m, c, y, x, orders, above, marked, of, price, size, most, floor, limits, mask, full, part, done):  # type: ignore[no-untyped-def]
    """Lower ``limits[part]`` to the least cost above ``floor``, and below all limits, of anything that may fit.

    With a ``mask`` of all steps instead: set those that some form has with a cost between floor and limits. ``full``
    says of which steps of y and x all are set. ``part`` of ``len(done)`` parts takes every so manieth form and counts
    them in ``done[part]``. Parts may run at the same time: each lowers its own limit only. With a limit of 0 all end.
    """
    marking = mask.size > 0
    whole, peak = (m[-1], c[-1], y[-1], x[-1]), (_peak(m), _peak(c), _peak(y), _peak(x))
    falls = price[BEAT] == 0 and (m[1:-1, CUT] <= m[:-2, CUT]).all() and (m[1:-1, SLID] <= m[:-2, SLID]).all()
    (low_m, next_m), (low_c, next_c) = _from_here_on(m), _from_here_on(c)
    ends = (len(m) - 1, len(c) - 1, len(y) - 1, len(x) - 1)
    last_m, last_c, last_y, last_x = ends[M] - 1, ends[C] - 1, ends[Y] - 1, ends[X] - 1
    for form in range(part, len(orders), len(done)):
        done[part] += 1
        if _cost(above[form], marked[form], whole, of, price) >= limits.min():
            continue
        first = [0 if orders[form, dim] else ends[dim] for dim in range(4)]
        last = [ends[dim] + (1 - orders[form, dim]) for dim in range(4)]
        most_m = peak[M] if orders[form, M] else whole[M]
        most_c = peak[C] if orders[form, C] else whole[C]
        every = (orders[form, M] or last_m == 0) and (orders[form, C] or last_c == 0)
        for b in range(first[Y], last[Y]):
            limit = limits.min()
            for d in range(first[X], last[X]):
                at = (min(b, last_y), min(d, last_x))
                if marking and full[at]:
                    continue
                if _cost(above[form], marked[form], (whole[M], whole[C], y[b], x[d]), of, price) >= limit:
                    continue
                if _never_above(floor, above[form], marked[form], (most_m, most_c, y[b], x[d]), of, price):
                    continue
                rows = (m[first[M]], c[first[C]], y[b], x[d])
                if _need(above[form], marked[form], rows, whole, of, False) > size:
                    continue
                filled = every
                e = first[C] - 1
                while e + 1 < last[C]:
                    e += 1
                    rows = (m[first[M]], c[e], y[b], x[d])
                    wide = c[e, TILES] > 1
                    if _cost(above[form], marked[form], (whole[M], c[e], y[b], x[d]), of, price) >= limit or (
                        _never_above(floor, above[form], marked[form], (most_m, c[e], y[b], x[d]), of, price)
                    ):
                        filled = False
                        continue
                    if _need(above[form], marked[form], rows, whole, of, wide) > size:
                        filled = False
                        rows = (m[first[M]], low_c[e], y[b], x[d])
                        if next_c[e] > e + 1 and _need(above[form], marked[form], rows, whole, of, wide) > size:
                            e = next_c[e] - 1
                        continue
                    a = first[M] - 1
                    if falls:
                        rows = (m[a + 1], c[e], y[b], x[d])
                        a = _first_below(limit, above[form], marked[form], rows, m, last[M], a + 1, of, price) - 1
                        filled &= a < first[M]
                    while a + 1 < last[M]:
                        a += 1
                        rows = (m[a], c[e], y[b], x[d])
                        place = (min(a, last_m), min(e, last_c), at[0], at[1])
                        if marking and mask[place]:
                            continue
                        cost = _cost(above[form], marked[form], rows, of, price)
                        if falls and cost <= floor:
                            filled = False
                            break
                        if not floor < cost < limit or not _busy_enough(m[a], y[b], x[d], most):
                            filled = False
                        elif _need(above[form], marked[form], rows, whole, of, wide) > size:
                            filled = False
                            rows = (low_m[a], c[e], y[b], x[d])
                            if next_m[a] > a + 1 and _need(above[form], marked[form], rows, whole, of, wide) > size:
                                a = next_m[a] - 1
                        elif marking:
                            mask[place] = True
                        else:
                            limits[part] = limit = cost
                if marking and filled:
                    full[at] = True


@njit(cache=True)
def _first_below(limit, above, marked, rows, m, last, a, of, price):  # type: ignore[no-untyped-def]
    """The first row of m from ``a`` on that costs less; costs fall from row to row."""
    while a < last:
        middle = (a + last) // 2
        if _cost(above, marked, (m[middle], rows[C], rows[Y], rows[X]), of, price) < limit:
            last = middle
        else:
            a = middle + 1
    return a


@njit(cache=True)
def _from_here_on(table):  # type: ignore[no-untyped-def]
    """The least of each column from a row on, and the first row that this does not include, for each row.

    It includes the rows of three tiles or more, or those of two: the formulas differ between them. What needs too
    much room with the least of them needs it with each of them.
    """
    low, ends = table.copy(), np.arange(1, len(table) + 1)
    for row in range(len(table) - 3, -1, -1):
        if min(table[row, TILES], 3) == min(table[row + 1, TILES], 3):
            low[row] = np.minimum(low[row], low[row + 1])
            ends[row] = ends[row + 1]
    return low, ends


@njit(cache=True)
def _peak(table):  # type: ignore[no-untyped-def]
    """The largest of each column."""
    peak = table[0].copy()
    for row in table:
        peak = np.maximum(peak, row)
    return peak


@njit(cache=True)
def _never_above(floor, above, marked, rows, of, price):  # type: ignore[no-untyped-def]
    """Whether nothing costs more than ``floor`` whose figures are at most these; a time may fall as figures rise."""
    return price[BEAT] == 0 and _cost(above, marked, rows, of, price) <= floor


@njit(cache=True)
def forms_of(rows, whole, orders, above, marked, of, price, size, low, high, found):  # type: ignore[no-untyped-def]
    """Fill ``found`` with the forms that cost from ``low`` to ``high`` and may fit, and their costs; how many."""
    number = 0
    for form in range(len(orders)):
        inside = True
        for dim in range(4):
            inside &= orders[form, dim] == 1 or rows[dim][TILES] == 1
        cost = _cost(above[form], marked[form], rows, of, price)
        if not inside or not low <= cost <= high:
            continue
        if _need(above[form], marked[form], rows, whole, of, rows[C][TILES] > 1) <= size:
            found[number] = form, cost
            number += 1
    return number


BEATS, MOVES = range(2)
"""Prices of time: cycles of a byte that is read or written, of what the DMA does for a tile beyond its bytes."""


@njit(cache=True)
def _one_tile(rows, of):  # type: ignore[no-untyped-def]
    """Bytes that a tile of each operand needs at the least, whatever the loops."""
    m, c, y, x = rows
    inputs = (m[LINES] * c[LARGEST] * y[LINES] - 1) * x[SPAN]
    return of[BIAS_BYTES] + inputs + of[AREA] * m[LARGEST] * c[LARGEST] + m[LARGEST] * y[LARGEST] * x[LARGEST]


@njit(cache=True)
def _tile_bytes(above, marked, rows, whole, of):  # type: ignore[no-untyped-def]
    """Bytes of the first load (a tile of I and one of W), and of the last store."""
    m, c, y, x = _inside(above, marked, 0, rows, whole)
    first = of[I_BYTES] // max(of[CHANNELS], 1) * m[LINES] * c[LARGEST] * y[LINES] * x[LINES]
    m, c, _, _ = _inside(above, marked, 1, rows, whole)
    first += of[AREA] * m[LARGEST] * c[LARGEST]
    m, _, y, x = _inside(above, marked, 2, rows, whole)
    return first, m[LARGEST] * y[LARGEST] * x[LARGEST]


@njit(cache=True)
def fastest(m, c, y, x, orders, above, marked, of, size, price, least, work, at, found, chosen):  # type: ignore[no-untyped-def]
    """Fill ``found`` with the least estimates of cycles of steps that may fit, one of each combination of steps.

    ``least`` : of each combination, ascending, what it takes at least; ``work``: its HWCs alone; ``at``: its rows.
    ``chosen`` gets the combination and the form. Returns how many there are; those that take longer are left out.
    """
    whole, number, slowest = (m[-1], c[-1], y[-1], x[-1]), np.int64(0), np.int64(0)
    for combination in range(len(least)):
        if number == len(found) and least[combination] >= found[slowest]:
            break
        a, e, b, d = at[0, combination], at[1, combination], at[2, combination], at[3, combination]
        rows = (m[a], c[e], y[b], x[d])
        tiles = m[a, TILES] * c[e, TILES] * y[b, TILES] * x[d, TILES]
        best, best_form = np.inf, -1
        if _one_tile(rows, of) > size:
            continue
        for form in range(len(orders)):
            inside = True
            for dim in range(4):
                inside &= (orders[form, dim] == 1) == (rows[dim][TILES] > 1)
            if not inside and tiles > 1:
                continue
            inputs, weights, returns = _moved(above[form], marked[form], rows, of)
            back = returns * of[RETURN_BYTES] // 2
            moved = price[BEATS] * max(inputs + weights + back, of[O_BYTES] + back) + price[MOVES] * tiles
            first, last = _tile_bytes(above[form], marked[form], rows, whole, of)
            cycles = max(work[combination], moved) + price[BEATS] * (first + last)
            if cycles < best and _need(above[form], marked[form], rows, whole, of, c[e, TILES] > 1) <= size:
                best, best_form = cycles, form
            if tiles == 1 and best_form >= 0:
                break
        if best_form < 0:
            continue
        if number < len(found):
            place, number = number, number + 1
        elif best < found[slowest]:
            place = slowest
        else:
            continue
        found[place], chosen[place, 0], chosen[place, 1] = best, combination, best_form
        slowest = np.argmax(found[:number])
    return number
