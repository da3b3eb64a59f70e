"""Compiled parts of the search for stacks: what an interval of rows costs in every way, and the shortest paths.

The costs are those of `hwgen.model.fusion`, tile by tile; that file is the one to read.
"""

from typing import Any, NamedTuple

import numpy as np
from numba import njit

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
"""What an edge needs of its map's ring: a window, what came in before a join fires, or nothing."""
KEPT, CHOICE, FREE, ALWAYS = 0, 1, 2, 3
"""How an edge is counted: in the ring; in the ring or through DRAM; not at all; through DRAM."""
NEVER = -(1 << 40)


class Tables(NamedTuple):
    """A graph as arrays; lines lie along one axis for all. Edges are sorted by producer, then consumer.

    ``begin``: the first edge of each map, and one more. Per map: channels, pixels of a line, number of lines, the
    last row that reads it. Per edge: consumer, kind, treatment, reach along lines (stride, up, before, after), the
    outputs between which a window lies inside the map, line lags (`hwgen.model.fusion.line_lags`), and for joins the
    lag, which depends on the stack's first row: whole lines, whether they are exact, columns. Per first row,
    ``until``: the last row of the longest stack that may start there, 0 if none may.
    """

    begin: np.ndarray
    channels: np.ndarray
    line: np.ndarray
    lines: np.ndarray
    last_reader: np.ndarray
    consumer: np.ndarray
    kind: np.ndarray
    treatment: np.ndarray
    stride: np.ndarray
    up: np.ndarray
    before: np.ndarray
    after: np.ndarray
    inner_first: np.ndarray
    inner_last: np.ndarray
    arriving: np.ndarray
    arrived: np.ndarray
    lag_lines: np.ndarray
    lag_exact: np.ndarray
    lag_columns: np.ndarray
    until: np.ndarray


@njit(cache=True)
def _last(t, e, output):  # type: ignore[no-untyped-def]
    last = output * t.stride[e] + t.after[e]
    return last if t.up[e] == 1 else last // t.up[e]


@njit(cache=True)
def _first(t, e, output):  # type: ignore[no-untyped-def]
    first = output * t.stride[e] - t.before[e]
    return first if t.up[e] == 1 else -((-first) // t.up[e])


@njit(cache=True)
def _cut(t, m, first, last, factor, cuts):  # type: ignore[no-untyped-def]
    """Where the tiles of map m end, from those of its readers: ``cuts`` [map, tile], from column 0 on."""
    size = t.line[m]
    cuts[m, 0] = 0
    cuts[m, factor] = size
    leaves = m >= first and _leaves(t, m, last)
    for tile in range(1, factor):
        end = cuts[m, tile - 1]
        if leaves:
            end = max(end, tile * size // factor)
        for e in range(t.begin[m], t.begin[m + 1]):
            if first <= t.consumer[e] <= last and cuts[t.consumer[e], tile] > 0:
                end = max(end, _last(t, e, cuts[t.consumer[e], tile] - 1) + 1)
        cuts[m, tile] = min(end, size)


@njit(cache=True)
def _leaves(t, m, last):  # type: ignore[no-untyped-def]
    return t.last_reader[m] > last or t.last_reader[m] < 0


@njit(cache=True)
def _column_lag(t, e, size, start, stop):  # type: ignore[no-untyped-def]
    """`hwgen.model.fusion.column_lag`: the most is where the window just lies inside, since the lag is concave."""
    if t.up[e] == 1:
        if max(start, t.inner_first[e]) <= min(stop - 1, t.inner_last[e]):
            return t.before[e] + t.after[e]
        most = NEVER
        left, right = t.before[e] // t.stride[e], (size - 1 - t.after[e]) // t.stride[e]
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
    if t.kind[e] == WINDOW:
        most = 0
        if t.arriving[e] != NEVER:
            most = t.arriving[e] * length + _column_lag(t, e, t.line[m], start, stop)
        if t.arrived[e] != NEVER:
            most = max(most, t.arrived[e] * length - 1 - (max(_first(t, e, start), 0) - begin))
        return most
    whole = t.lag_lines[first, e]
    if not t.lag_exact[first, e]:
        return min(whole + 1, t.lines[m]) * length - 1 - (start - begin)
    most = min(whole, t.lines[m]) * length - 1 - (start - begin)
    if whole < t.lines[m]:
        most = max(most, whole * length + min(max(start + t.lag_columns[first, e], begin - 1), end - 1) - start)
    return most


@njit(cache=True)
def _map_cost(t, m, first, last, factor, cuts, dram, begins):  # type: ignore[no-untyped-def]
    """(ring elements, traffic) of one map; ``dram``: for each of its edges, whether it goes through DRAM."""
    one, other = t.begin[m], t.begin[m + 1]
    pixels, overlap = 0, 0
    for tile in range(factor):
        old, end = cuts[m, tile], cuts[m, tile + 1]
        begin = old
        for e in range(one, other):
            c = t.consumer[e]
            kept = first <= c <= last and not dram[e - one] and t.treatment[e] != FREE
            if kept and cuts[c, tile + 1] > cuts[c, tile]:
                begin = min(begin, max(_first(t, e, cuts[c, tile]), 0))
        begins[tile] = begin
        overlap += old - begin
        for e in range(one, other):
            c = t.consumer[e]
            kept = first <= c <= last and not dram[e - one] and t.treatment[e] != FREE
            if kept and t.kind[e] != NOTHING and cuts[c, tile + 1] > cuts[c, tile]:
                pixels = max(pixels, _pixels(t, m, e, first, cuts[c, tile], cuts[c, tile + 1], begin, end))
    skips, readers = 0, 0
    for e in range(one, other):
        if first <= t.consumer[e] <= last:
            readers += 1
            skips += dram[e - one]
    whole = t.channels[m] * t.line[m] * t.lines[m]
    written = m >= first and _leaves(t, m, last)
    traffic = skips * whole + t.channels[m] * t.lines[m] * overlap
    if written or (m < first and readers > skips) or (m >= first and skips > 0):
        traffic += whole
    if m >= first and not written and skips == 0 and overlap > 0:
        distinct, reach = 0, t.line[m]
        for tile in range(factor - 1, -1, -1):
            old, begin = cuts[m, tile], begins[tile]
            distinct += max(min(old, reach) - begin, 0)
            if begin < old:
                reach = min(reach, begin)
        traffic += t.channels[m] * t.lines[m] * distinct
    return t.channels[m] * pixels, traffic


@njit(cache=True)
def _choose(t, m, first, last, choice, dram):  # type: ignore[no-untyped-def]
    """Set ``dram`` for choice number ``choice`` of a map; False if there are not so many."""
    bit = 0
    for e in range(t.begin[m], t.begin[m + 1]):
        inside = first <= t.consumer[e] <= last
        dram[e - t.begin[m]] = inside and t.treatment[e] == ALWAYS
        if inside and t.treatment[e] == CHOICE:
            dram[e - t.begin[m]] = (choice >> bit) & 1
            bit += 1
    return choice < (1 << bit)


@njit(cache=True)
def variants(t, first, last, factor):  # type: ignore[no-untyped-def]
    """For each map of a stack and each choice of its edges: rows of (map, choice, ring elements, traffic)."""
    cuts = np.zeros((last + 1, factor + 1), np.int64)
    begins = np.zeros(factor, np.int64)
    dram = np.zeros(len(t.consumer) + 1, np.bool_)
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
    for e in range(t.begin[m], t.begin[m + 1]):
        read = read or first <= t.consumer[e] <= last
    return read


@njit(cache=True)
def pareto(memory, traffic):  # type: ignore[no-untyped-def]
    """Indices of what nothing else undercuts, by falling memory and rising traffic; of equals the first."""
    order = np.argsort(traffic, kind="mergesort")
    order = order[np.argsort(memory[order], kind="mergesort")]
    kept = np.empty(len(order), np.int64)
    number, least = 0, np.int64(1) << 62
    for index in order:
        if traffic[index] < least:
            least = traffic[index]
            kept[number] = index
            number += 1
    return kept[:number][::-1].copy()


@njit(cache=True)
def _options(t, m, first, last, factor, cuts, dram, begins, memory, traffic):  # type: ignore[no-untyped-def]
    """Costs of the choices of one map that are worth it, into ``memory`` and ``traffic``; returns their number."""
    number, choice = 0, 0
    while _choose(t, m, first, last, choice, dram):
        memory[number], traffic[number] = _map_cost(t, m, first, last, factor, cuts, dram, begins)
        choice += 1
        if number == 0 or memory[number] < memory[0] or traffic[number] < traffic[0]:
            number += 1
    return number


@njit(cache=True)
def _lag_differs(t, m, one, other, last):  # type: ignore[no-untyped-def]
    """Whether what map m holds for joins depends on which of two rows a stack starts with."""
    for e in range(t.begin[m], t.begin[m + 1]):
        if t.kind[e] == JOIN and t.consumer[e] <= last:
            lines = t.lag_lines[one, e] != t.lag_lines[other, e] or t.lag_exact[one, e] != t.lag_exact[other, e]
            if lines or t.lag_columns[one, e] != t.lag_columns[other, e]:
                return True
    return False


@njit(cache=True)
def ending(t, last, factors):  # type: ignore[no-untyped-def]
    """The best ways to run all stacks that end with a row: rows of (first row, ring elements, traffic, factor).

    What a map that is made in the stack costs does not depend on where the stack starts, but for the lags of joins;
    so for each factor the stack grows backwards, a row at a time, and only its inputs are looked at anew.
    """
    most_choices = 1
    for m in range(last + 1):
        most_choices = max(most_choices, 1 << (t.treatment[t.begin[m] : t.begin[m + 1]] == CHOICE).sum())
    highest = factors.max()
    cuts, begins = np.zeros((last + 1, highest + 1), np.int64), np.zeros(highest, np.int64)
    dram = np.zeros(len(t.consumer) + 1, np.bool_)
    memories, traffics = np.zeros((last + 1, most_choices), np.int64), np.zeros((last + 1, most_choices), np.int64)
    counts, costed_for = np.zeros(last + 1, np.int64), np.zeros(last + 1, np.int64)
    input_memory, input_traffic = np.zeros(most_choices, np.int64), np.zeros(most_choices, np.int64)
    found: list[Any] = [(np.int64(0), np.int64(0), np.int64(0), np.int64(0)) for _ in range(0)]
    for factor in factors:
        memory, traffic = np.zeros(1, np.int64), np.zeros(1, np.int64)
        included = last + 1
        for first in range(last, 0, -1):
            if _leaves(t, first, last) and factor > 1 and factor > t.line[first]:
                break
            _cut(t, first, first, last, factor, cuts)
            costed_for[first] = 0
            if t.until[first] < last:
                continue
            for m in range(first, last + 1):
                if costed_for[m] == 0 or _lag_differs(t, m, costed_for[m], first, last):
                    if m >= included:
                        memory, traffic = np.zeros(1, np.int64), np.zeros(1, np.int64)
                        included = last + 1
                    counts[m] = _options(t, m, first, last, factor, cuts, dram, begins, memories[m], traffics[m])
                    costed_for[m] = first
            for m in range(included - 1, first - 1, -1):
                memory, traffic = _combined(memory, traffic, memories[m, : counts[m]], traffics[m, : counts[m]])
            included = first
            total_memory, total_traffic = memory, traffic
            for m in range(first):
                if _is_read(t, m, first, last):
                    _cut(t, m, first, last, factor, cuts)
                    number = _options(t, m, first, last, factor, cuts, dram, begins, input_memory, input_traffic)
                    total_memory, total_traffic = _combined(
                        total_memory, total_traffic, input_memory[:number], input_traffic[:number]
                    )
            for index in range(len(total_memory)):
                found.append((first, total_memory[index], total_traffic[index], factor))
    rows = np.empty((len(found), 4), np.int64)
    for index in range(len(found)):
        rows[index, 0], rows[index, 1], rows[index, 2], rows[index, 3] = found[index]
    return rows


@njit(cache=True)
def _combined(memory, traffic, more_memory, more_traffic):  # type: ignore[no-untyped-def]
    """All sums of one of the first and one of the second that nothing undercuts."""
    if len(more_memory) == 1:
        return memory + more_memory[0], traffic + more_traffic[0]
    size, options = len(memory), len(more_memory)
    sums_memory, sums_traffic = np.empty(size * options, np.int64), np.empty(size * options, np.int64)
    for number in range(options):
        sums_memory[number * size : (number + 1) * size] = memory + more_memory[number]
        sums_traffic[number * size : (number + 1) * size] = traffic + more_traffic[number]
    kept = pareto(sums_memory, sums_traffic)
    return sums_memory[kept], sums_traffic[kept]


@njit(cache=True)
def paths(rows, first, last, begin, memory, traffic):  # type: ignore[no-untyped-def]
    """The front over all ways to cut ``rows`` rows: rows of (memory, traffic), and the options that each is made of.

    Interval i covers rows ``first[i]`` to ``last[i]`` and has options ``begin[i]`` to ``begin[i + 1]``, by falling
    memory and rising traffic; intervals are sorted by their last row. Each round is a shortest path among the options
    within a limit; the next limit is just below the most that it took.
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
