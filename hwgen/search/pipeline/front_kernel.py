"""The compiled part of the search: the costs of an interval of rows in every way, and shortest paths.

The costs are those of `hwgen.model.pipeline.cost`, tile by tile; they are explained there.
"""

from typing import Any, NamedTuple

import numpy as np

from hwgen.model.compiled import njit

__all__ = [
    "ALWAYS",
    "CHOICE",
    "FREE",
    "JOIN",
    "KEPT",
    "NOTHING",
    "WINDOW",
    "Tables",
    "ending",
    "pareto",
    "paths",
    "variants",
]

WINDOW, JOIN, NOTHING = 0, 1, 2
"""The pixels of a ring that an edge needs: a window, the pixels that arrive before a join fires, or none."""
KEPT, CHOICE, FREE, ALWAYS = 0, 1, 2, 3
"""How an edge is counted: in the ring; in the ring or through DRAM; not at all; through DRAM."""
NEVER = -(1 << 40)


BEGIN, CHANNELS, LINE, LINES, LAST_READER, UNTIL = range(6)
"""Columns of the table of maps: the first edge, channels, pixels of a line, number of lines, the last row that reads
the map (-1: none does); and of the row of that number, the last row of the longest stack that may start there (0:
none may). One more row at the end has the number of edges."""
CONSUMER, KIND, TREATMENT, STRIDE, UP, BEFORE, AFTER, INNER_FIRST, INNER_LAST, ARRIVING, ARRIVED = range(11)
"""Columns of the table of edges, sorted by producer, then consumer: reach along lines, the outputs between which a
window lies inside the map, line lags (`hwgen.model.pipeline.cost.line_lags`; `NEVER` for none)."""
LAG_LINES, LAG_EXACT, LAG_COLUMNS = range(3)
"""Last index of the lags [first row of the stack, edge]: of a join, whole lines, whether they are exact, columns."""


class Tables(NamedTuple):
    """A graph as three arrays, for stacks whose lines lie along one axis."""

    maps: np.ndarray
    edges: np.ndarray
    lags: np.ndarray


@njit(cache=True)
def _last(t, e, output):  # type: ignore[no-untyped-def]
    last = output * t.edges[e, STRIDE] + t.edges[e, AFTER]
    return last if t.edges[e, UP] == 1 else last // t.edges[e, UP]


@njit(cache=True)
def _first(t, e, output):  # type: ignore[no-untyped-def]
    first = output * t.edges[e, STRIDE] - t.edges[e, BEFORE]
    return first if t.edges[e, UP] == 1 else -((-first) // t.edges[e, UP])


@njit(cache=True)
def _cut(t, m, first, last, factor, cuts):  # type: ignore[no-untyped-def]
    """The ends of the tiles of map m, from those of its readers: ``cuts`` [map, tile], after column 0."""
    size = t.maps[m, LINE]
    cuts[m, 0] = 0
    cuts[m, factor] = size
    is_output = m >= first and _is_output(t, m, last)
    for tile in range(1, factor):
        end = cuts[m, tile - 1]
        if is_output:
            end = max(end, tile * size // factor)
        for e in range(t.maps[m, BEGIN], t.maps[m + 1, BEGIN]):
            if first <= t.edges[e, CONSUMER] <= last and cuts[t.edges[e, CONSUMER], tile] > 0:
                end = max(end, _last(t, e, cuts[t.edges[e, CONSUMER], tile] - 1) + 1)
        cuts[m, tile] = min(end, size)


@njit(cache=True)
def _is_output(t, m, last):  # type: ignore[no-untyped-def]
    return t.maps[m, LAST_READER] > last or t.maps[m, LAST_READER] < 0


@njit(cache=True)
def _column_lag(t, e, size, start, stop):  # type: ignore[no-untyped-def]
    """`hwgen.model.pipeline.cost.column_lag`.

    It is concave: its maximum is at a window that just fits into the map.
    """
    if t.edges[e, UP] == 1:
        if max(start, t.edges[e, INNER_FIRST]) <= min(stop - 1, t.edges[e, INNER_LAST]):
            return t.edges[e, BEFORE] + t.edges[e, AFTER]
        most = NEVER
        left, right = t.edges[e, BEFORE] // t.edges[e, STRIDE], (size - 1 - t.edges[e, AFTER]) // t.edges[e, STRIDE]
        for q in (left, left + 1, right, right + 1):
            q = min(max(q, start), stop - 1)
            most = max(most, min(_last(t, e, q), size - 1) - max(_first(t, e, q), 0))
        return most
    most = NEVER
    for q in range(start, stop):
        most = max(most, min(_last(t, e, q), size - 1) - max(_first(t, e, q), 0))
    return most


@njit(cache=True)
def _pixels(t, m, e, first, start, stop, begin, end):  # type: ignore[no-untyped-def]
    """Pixels before the newest that the ring of map m must hold for edge e in one tile."""
    length = end - begin
    if t.edges[e, KIND] == WINDOW:
        most = 0
        if t.edges[e, ARRIVING] != NEVER:
            most = t.edges[e, ARRIVING] * length + _column_lag(t, e, t.maps[m, LINE], start, stop)
        if t.edges[e, ARRIVED] != NEVER:
            most = max(most, t.edges[e, ARRIVED] * length - 1 - (max(_first(t, e, start), 0) - begin))
        return most
    whole = t.lags[first, e, LAG_LINES]
    if not t.lags[first, e, LAG_EXACT]:
        return min(whole + 1, t.maps[m, LINES]) * length - 1 - (start - begin)
    most = min(whole, t.maps[m, LINES]) * length - 1 - (start - begin)
    if whole < t.maps[m, LINES]:
        most = max(most, whole * length + min(max(start + t.lags[first, e, LAG_COLUMNS], begin - 1), end - 1) - start)
    return most


@njit(cache=True)
def _map_cost(t, m, first, last, factor, cuts, dram, begins):  # type: ignore[no-untyped-def]
    """(ring elements, traffic) of one map; ``dram``: for each of its edges, whether it goes through DRAM."""
    one, other = t.maps[m, BEGIN], t.maps[m + 1, BEGIN]
    pixels, overlap = 0, 0
    for tile in range(factor):
        old, end = cuts[m, tile], cuts[m, tile + 1]
        begin = old
        for e in range(one, other):
            c = t.edges[e, CONSUMER]
            kept = first <= c <= last and not dram[e - one] and t.edges[e, TREATMENT] != FREE
            if kept and cuts[c, tile + 1] > cuts[c, tile]:
                begin = min(begin, max(_first(t, e, cuts[c, tile]), 0))
        begins[tile] = begin
        overlap += old - begin
        for e in range(one, other):
            c = t.edges[e, CONSUMER]
            kept = first <= c <= last and not dram[e - one] and t.edges[e, TREATMENT] != FREE
            if kept and t.edges[e, KIND] != NOTHING and cuts[c, tile + 1] > cuts[c, tile]:
                pixels = max(pixels, _pixels(t, m, e, first, cuts[c, tile], cuts[c, tile + 1], begin, end))
    skips, readers = 0, 0
    for e in range(one, other):
        if first <= t.edges[e, CONSUMER] <= last:
            readers += 1
            skips += dram[e - one]
    whole = t.maps[m, CHANNELS] * t.maps[m, LINE] * t.maps[m, LINES]
    written = m >= first and _is_output(t, m, last)
    traffic = skips * whole + t.maps[m, CHANNELS] * t.maps[m, LINES] * overlap
    if written or (m < first and readers > skips) or (m >= first and skips > 0):
        traffic += whole
    if m >= first and not written and skips == 0 and overlap > 0:
        distinct, reach = 0, t.maps[m, LINE]
        for tile in range(factor - 1, -1, -1):
            old, begin = cuts[m, tile], begins[tile]
            distinct += max(min(old, reach) - begin, 0)
            if begin < old:
                reach = min(reach, begin)
        traffic += t.maps[m, CHANNELS] * t.maps[m, LINES] * distinct
    return t.maps[m, CHANNELS] * pixels, traffic


@njit(cache=True)
def _choose(t, m, first, last, choice, dram):  # type: ignore[no-untyped-def]
    """Set ``dram`` for choice number ``choice`` of a map; False if there are fewer choices."""
    bit = 0
    for e in range(t.maps[m, BEGIN], t.maps[m + 1, BEGIN]):
        inside = first <= t.edges[e, CONSUMER] <= last
        dram[e - t.maps[m, BEGIN]] = inside and t.edges[e, TREATMENT] == ALWAYS
        if inside and t.edges[e, TREATMENT] == CHOICE:
            dram[e - t.maps[m, BEGIN]] = (choice >> bit) & 1
            bit += 1
    return choice < (1 << bit)


@njit(cache=True)
def variants(t, first, last, factor):  # type: ignore[no-untyped-def]
    """Variants of each map of a stack and each choice of its edges: rows of (map, choice, ring elements, traffic)."""
    cuts = np.zeros((last + 1, factor + 1), np.int64)
    begins = np.zeros(factor, np.int64)
    dram = np.zeros(len(t.edges) + 1, np.int64)
    rows = []
    for m in range(last, -1, -1):
        if m >= first or _is_read(t, m, first, last):
            _cut(t, m, first, last, factor, cuts)
            choice = 0
            while _choose(t, m, first, last, choice, dram):
                memory, traffic = _map_cost(t, m, first, last, factor, cuts, dram, begins)
                rows.append((m, choice, memory, traffic))
                choice += 1
    return rows


@njit(cache=True)
def _is_read(t, m, first, last):  # type: ignore[no-untyped-def]
    read = False
    for e in range(t.maps[m, BEGIN], t.maps[m + 1, BEGIN]):
        read = read or first <= t.edges[e, CONSUMER] <= last
    return read


@njit(cache=True)
def pareto(memory, traffic):  # type: ignore[no-untyped-def]
    """Indices of the Pareto front, by falling memory and rising traffic; of equals the first."""
    order = np.argsort(memory)
    kept = np.empty(len(order), np.int64)
    at, place = len(order), 0
    least = np.int64(1) << 62
    while place < len(order):
        best, place = order[place], place + 1
        while place < len(order) and memory[order[place]] == memory[best]:
            other = order[place]
            if traffic[other] < traffic[best] or (traffic[other] == traffic[best] and other < best):
                best = other
            place += 1
        if traffic[best] < least:
            least = traffic[best]
            at -= 1
            kept[at] = best
    return kept[at:]


@njit(cache=True)
def _options(t, m, first, last, factor, cuts, dram, begins, memory, traffic):  # type: ignore[no-untyped-def]
    """Costs of the choices of one map on its Pareto front, into ``memory`` and ``traffic``. Returns their number."""
    number, choice = 0, 0
    while _choose(t, m, first, last, choice, dram):
        memory[number], traffic[number] = _map_cost(t, m, first, last, factor, cuts, dram, begins)
        choice += 1
        if number == 0 or memory[number] < memory[0] or traffic[number] < traffic[0]:
            number += 1
    return number


@njit(cache=True)
def _lag_differs(t, m, one, other, last):  # type: ignore[no-untyped-def]
    """Whether the lags of the joins that read map m differ between two first rows of a stack."""
    differs = False
    for e in range(t.maps[m, BEGIN], t.maps[m + 1, BEGIN]):
        if t.edges[e, KIND] == JOIN and t.edges[e, CONSUMER] <= last:
            for part in range(t.lags.shape[2]):
                differs = differs or t.lags[one, e, part] != t.lags[other, e, part]
    return differs


@njit(cache=True)
def ending(t, last, factors):  # type: ignore[no-untyped-def]
    """The best ways to run all stacks that end with a row: rows of (first row, ring elements, traffic, factor).

    The cost of a map that the stack makes does not depend on the first row, except by the lags of joins. So for each
    factor the stack grows backwards, one row at a time, and only the costs of its inputs are computed anew.
    """
    most_choices, highest = 1, 1
    for m in range(last + 1):
        choices = 1
        for e in range(t.maps[m, BEGIN], t.maps[m + 1, BEGIN]):
            if t.edges[e, TREATMENT] == CHOICE:
                choices *= 2
        most_choices = max(most_choices, choices)
    for factor in factors:
        highest = max(highest, factor)
    cuts, begins = np.zeros((last + 1, highest + 1), np.int64), np.zeros(highest, np.int64)
    dram = np.zeros(len(t.edges) + 1, np.int64)
    memories, traffics = np.zeros((last + 1, most_choices), np.int64), np.zeros((last + 1, most_choices), np.int64)
    counts, costed_for = np.zeros(last + 1, np.int64), np.zeros(last + 1, np.int64)
    input_memory, input_traffic = np.zeros(most_choices, np.int64), np.zeros(most_choices, np.int64)
    found: list[Any] = [(np.int64(0), np.int64(0), np.int64(0), np.int64(0)) for _ in range(0)]
    for factor in factors:
        memory, traffic = np.zeros(1, np.int64), np.zeros(1, np.int64)
        included = last + 1
        for first in range(last, 0, -1):
            if _is_output(t, first, last) and factor > 1 and factor > t.maps[first, LINE]:
                break
            _cut(t, first, first, last, factor, cuts)
            costed_for[first] = 0
            if t.maps[first, UNTIL] < last:
                continue
            for m in range(first, last + 1):
                if costed_for[m] == 0 or _lag_differs(t, m, costed_for[m], first, last):
                    if m >= included:
                        memory, traffic = np.zeros(1, np.int64), np.zeros(1, np.int64)
                        included = last + 1
                    counts[m] = _options(t, m, first, last, factor, cuts, dram, begins, memories[m], traffics[m])
                    costed_for[m] = first
            for m in range(included - 1, first - 1, -1):
                memory, traffic = _combined(memory, traffic, memories[m], traffics[m], counts[m])
            included = first
            total_memory, total_traffic = memory, traffic
            for m in range(first):
                if _is_read(t, m, first, last):
                    _cut(t, m, first, last, factor, cuts)
                    number = _options(t, m, first, last, factor, cuts, dram, begins, input_memory, input_traffic)
                    total_memory, total_traffic = _combined(
                        total_memory, total_traffic, input_memory, input_traffic, number
                    )
            for index in range(len(total_memory)):
                found.append((first, total_memory[index], total_traffic[index], factor))
    rows = np.empty((len(found), 4), np.int64)
    for index in range(len(found)):
        rows[index, 0], rows[index, 1], rows[index, 2], rows[index, 3] = found[index]
    return rows


@njit(cache=True)
def _combined(memory, traffic, more_memory, more_traffic, options):  # type: ignore[no-untyped-def]
    """The Pareto front of all sums of one entry of the first and one of ``options`` of the second."""
    size = len(memory)
    sums_memory, sums_traffic = np.empty(size * options, np.int64), np.empty(size * options, np.int64)
    for number in range(options):
        for index in range(size):
            sums_memory[number * size + index] = memory[index] + more_memory[number]
            sums_traffic[number * size + index] = traffic[index] + more_traffic[number]
    if options == 1:
        return sums_memory, sums_traffic
    kept = pareto(sums_memory, sums_traffic)
    best_memory, best_traffic = np.empty(len(kept), np.int64), np.empty(len(kept), np.int64)
    for index in range(len(kept)):
        best_memory[index], best_traffic[index] = sums_memory[kept[index]], sums_traffic[kept[index]]
    return best_memory, best_traffic


@njit(cache=True)
def paths(rows, first, last, begin, memory, traffic):  # type: ignore[no-untyped-def]
    """The front over all ways to cut ``rows`` rows: rows of (memory, traffic), and the options that each is made of.

    Interval i covers rows ``first[i]`` to ``last[i]`` and has options ``begin[i]`` to ``begin[i + 1]``, by falling
    memory and rising traffic; intervals are sorted by their last row. Each round is a shortest path over the options
    within a limit on memory; the next limit is just below the memory that it took.
    """
    far = np.int64(1) << 62
    at = begin[:-1].copy()
    best, by = np.empty(rows + 1, np.int64), np.empty(rows + 1, np.int64)
    found: list[Any] = []
    chosen: list[Any] = []
    limit = far
    while True:
        best[:] = far
        best[0] = 0
        for i in range(len(first)):
            while at[i] < begin[i + 1] and memory[at[i]] > limit:
                at[i] += 1
            if at[i] < begin[i + 1] and best[first[i] - 1] < far:
                total = best[first[i] - 1] + traffic[at[i]]
                if total < best[last[i]]:
                    best[last[i]], by[last[i]] = total, i
        if best[rows] == far:
            return found, chosen
        reached, row, steps = np.int64(0), rows, []
        while row > 0:
            i = by[row]
            reached = max(reached, memory[at[i]])
            steps.append(at[i])
            row = first[i] - 1
        if len(found) > 0 and found[-1][1] == best[rows]:
            found.pop()
            chosen.pop()
        found.append((reached, best[rows]))
        chosen.append(steps)
        limit = reached - 1
