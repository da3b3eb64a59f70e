"""The compiled model of the movers of a pipeline and of their AXI4 port, cycle by cycle.

It does what `hwgen.gateware.pipeline.movers` does, without data. The state has a row for each mover. What is in a
queue follows from the runs, so cursors stand for its entries. Like registers, a level that changes in a cycle is seen
in the next cycle.
"""

import numpy as np

from hwgen.model.compiled import inner
from hwgen.model.dram.cycles_kernel import (
    D_ANSWER,
    D_ANSWER_OF,
    D_DATA,
    D_DATA_LAST,
    D_DATA_OF,
    DRAM_PARAMETERS,
    P_WIDTH,
    dram_cycle,
    takes_data,
)  # fmt: skip
from hwgen.model.pipeline.kernel_tables import L_EMPTY, L_LEAD, L_PASSES, L_RUNS_IN, L_RUNS_OUT, L_UNWRITTEN, M_LINES

__all__ = [
    "P_OVERLAP_IN",
    "P_OVERLAP_OUT",
    "P_PATIENCE",
    "begin_movers",
    "count_empty",
    "give",
    "is_idle",
    "offer_turn",
    "pass_cycle",
    "prepare",
    "take",
]

(P_BURST, P_QUEUE, P_OUTSTANDING, P_ORDERS, P_OVERLAP_IN, P_OVERLAP_OUT, P_PATIENCE) = range(
    DRAM_PARAMETERS, DRAM_PARAMETERS + 7
)
# The table of movers: those that read, then those that write, each in the order of its number. Those that read have
# `V_READS`. `V_AFTER`: the mover whose lines have to be written before; `V_ORDER`: the one that reads the order;
# `V_LINES`: lines of a tile, where lines are waited for. The runs are those of all tiles.
V_READS, V_BEAT, V_AFTER, V_ORDER, V_FIRST, V_LAST, V_LINES = range(7)
# The state of a mover: the next run; the run in hand, from the next byte to its end; the cursors of what leaves the
# queue of words (of one that writes: of bursts that are asked for) and of bursts that are answered; levels; the end
# of the tile's runs; tiles that the mover before leaves out, and those of them that count from the next cycle on.
(U_RUN, U_AT, U_STOP, U_OUT_RUN, U_OUT_AT, U_DONE_RUN, U_DONE_AT, U_LEVEL, U_WORDS, U_RESERVED, U_LANES, U_BURSTS,
 U_OPEN, U_MOVED, U_TAKES, U_PERMITTED, U_KNOWN, U_TURN, U_READY, U_EMITS, U_ACTIVE, U_WORD,
 U_LIMIT, U_EMPTY, U_PASSES) = range(25)  # fmt: skip
STATES = 25
# The port: in each direction a register with a burst, full or not; the write whose words are sent.
A_READ, A_READ_FIRST, A_READ_LAST, A_READER, A_WRITE, A_WRITE_FIRST, A_WRITE_LAST, A_WRITER = range(8)
A_SENDING, A_ADDRESSED, A_LEFT = range(8, 11)
PORT = 11
# What outlasts a tile: the mover that was granted last in each direction, whether the last block was written.
K_READER, K_WRITER = range(2)


@inner
def begin_movers(movers, starts):  # type: ignore[no-untyped-def]
    """The state of movers and port at the beginning of a run."""
    state = np.zeros((len(movers), STATES), np.int64)
    for v in range(len(movers)):
        first = movers[v, V_FIRST]
        state[v, U_RUN], state[v, U_OUT_RUN], state[v, U_DONE_RUN] = first, first, first
        state[v, U_LIMIT] = first
        if movers[v, V_LAST] > first:
            state[v, U_OUT_AT], state[v, U_DONE_AT] = starts[first], starts[first]
    return state, np.zeros(PORT, np.int64)


@inner
def is_idle(movers, state, port):  # type: ignore[no-untyped-def]
    """Whether all is written and answered, and nothing that was asked for is still to come."""
    if port[A_READ] or port[A_WRITE]:
        return False
    for v in range(len(movers)):
        if state[v, U_OPEN]:
            return False
        writes = not movers[v, V_READS]
        if writes and (state[v, U_WORDS] or (state[v, U_ACTIVE] and state[v, U_AT] == state[v, U_STOP])):
            return False
    return True


@inner
def count_empty(maps, movers, state, left):  # type: ignore[no-untyped-def]
    """Tiles that are left out count as written in the cycle after all lines before them are."""
    for m in range(len(maps)):
        left[m, L_LEAD] += left[m, L_PASSES] * maps[m, M_LINES]
        left[m, L_PASSES] = left[m, L_EMPTY] > 0 and left[m, L_UNWRITTEN] == 0
        left[m, L_EMPTY] -= left[m, L_PASSES]
    for v in range(len(movers)):
        after = movers[v, V_AFTER]
        if after >= 0:
            state[v, U_PERMITTED] += state[v, U_PASSES] * movers[v, V_LINES]
            written = state[after, U_RUN] == state[after, U_DONE_RUN]
            state[v, U_PASSES] = state[v, U_EMPTY] > 0 and written
            state[v, U_EMPTY] -= state[v, U_PASSES]


# --- at the stages ---


@inner
def prepare(movers, p, state):  # type: ignore[no-untyped-def]
    """What the movers that write show the stages in this cycle."""
    for v in range(len(movers)):
        state[v, U_MOVED], state[v, U_TURN] = 0, 0
        if movers[v, V_READS]:
            continue
        left, level = state[v, U_STOP] - state[v, U_AT], state[v, U_LEVEL]
        full = level >= p[P_WIDTH]
        state[v, U_EMITS] = (
            (full or (state[v, U_ACTIVE] and left == 0))
            and state[v, U_WORDS] < p[P_QUEUE]
            and state[v, U_BURSTS] < p[P_OUTSTANDING]
        )
        state[v, U_READY] = left != 0 and (not full or (state[v, U_EMITS] and level < 2 * p[P_WIDTH]))


@inner
def take(movers, state, v, channels, position):  # type: ignore[no-untyped-def]
    """Whether a mover has the beat ``position`` of a pixel, which the stages then take; without movers always."""
    if v < 0:
        return True
    size = min(movers[v, V_BEAT], channels - position * movers[v, V_BEAT])
    if state[v, U_LEVEL] < size:
        return False
    state[v, U_MOVED] = size
    return True


@inner
def give(movers, state, v, channels, position):  # type: ignore[no-untyped-def]
    """Whether a mover takes the beat ``position`` of a pixel."""
    if v < 0:
        return True
    if not state[v, U_READY]:
        return False
    state[v, U_MOVED] = min(movers[v, V_BEAT], channels - position * movers[v, V_BEAT])
    return True


@inner
def offer_turn(state, v):  # type: ignore[no-untyped-def]
    """Whether the mover of an overlap port knows the next turn, which the port then takes."""
    if v < 0:
        return True
    state[v, U_TURN] = state[v, U_KNOWN] > 0
    return state[v, U_TURN] == 1


# --- at the DRAM ---


@inner
def pass_cycle(movers, starts, stops, of, p, state, port, dram, queues, rows, kept, left, follows):  # type: ignore[no-untyped-def]
    """The rest of a cycle, after the stages. Returns whether anything moved at the port."""
    readers = int(movers[:, V_READS].sum())
    read_goes, write_goes, data_goes = takes_data(port[A_READ], port[A_WRITE], port[A_ADDRESSED], p, dram)
    data_ends = data_goes and port[A_LEFT] == 1
    reader = writer = -1
    if read_goes or not port[A_READ]:
        reader = _granted(p, state, np.int64(0), readers, kept[K_READER])
    if (write_goes or not port[A_WRITE]) and (data_ends or not port[A_SENDING]):
        writer = _granted(p, state, readers, len(movers), kept[K_WRITER])
    moved = read_goes or write_goes or data_goes or dram[D_DATA] or dram[D_ANSWER]
    for v in range(len(movers)):
        _choose_run(movers, p, stops, of, state, v, v == reader, left, follows)
    _answers(movers, starts, stops, of, p, state, dram, left, follows)
    # Movers have room for what they ask for.
    dram_cycle(
        p, dram, queues, rows, kept,
        read_goes, port[A_READ_FIRST], port[A_READ_LAST], port[A_READER],
        write_goes, port[A_WRITE_FIRST], port[A_WRITE_LAST], port[A_WRITER], data_goes, np.int64(0),
    )  # fmt: skip
    if data_goes:
        state[port[A_WRITER], U_WORDS] -= 1
        port[A_LEFT] -= 1
    if data_ends:
        port[A_SENDING], port[A_ADDRESSED] = 0, 0
    if write_goes:
        port[A_WRITE], port[A_ADDRESSED] = 0, 1
    if read_goes:
        port[A_READ] = 0
    if reader >= 0:
        port[A_READ], port[A_READER], kept[K_READER] = 1, reader, reader
        port[A_READ_FIRST] = state[reader, U_AT]
        state[reader, U_AT] = _end(p, state[reader, U_AT], state[reader, U_STOP])
        port[A_READ_LAST] = state[reader, U_AT] - 1
        state[reader, U_RESERVED] += _beats(p, port[A_READ_FIRST], port[A_READ_LAST])
        state[reader, U_LANES] += 1
        state[reader, U_OPEN] += 1
    if writer >= 0:
        port[A_WRITE], port[A_WRITER], port[A_SENDING], kept[K_WRITER] = 1, writer, 1, writer
        port[A_WRITE_FIRST] = state[writer, U_OUT_AT]
        end = _end(p, state[writer, U_OUT_AT], stops[state[writer, U_OUT_RUN]])
        port[A_WRITE_LAST] = end - 1
        port[A_LEFT] = _beats(p, port[A_WRITE_FIRST], port[A_WRITE_LAST])
        state[writer, U_BURSTS] -= 1
        state[writer, U_OPEN] += 1
        _advance(movers, starts, stops, state, writer, np.int64(U_OUT_RUN), end)
    for v in range(len(movers)):
        if movers[v, V_READS]:
            _read(movers, starts, stops, p, state, v)
        else:
            _write(p, state, v)
        if state[v, U_TAKES]:
            _take_run(movers, starts, stops, of, p, state, v, left, follows)
        if movers[v, V_ORDER] >= 0:
            state[v, U_KNOWN] += state[v, U_TAKES] - state[v, U_TURN]
    return moved


@inner
def _granted(p, state, first, last, before):  # type: ignore[no-untyped-def]
    """The next mover after ``before`` of those from ``first`` on that ask for a burst; -1 if none does."""
    found = -1
    for v in range(first, last):
        reads = first == 0
        if reads:
            asks = (
                state[v, U_STOP] > state[v, U_AT]
                and state[v, U_RESERVED] <= p[P_QUEUE] - p[P_BURST] // p[P_WIDTH]
                and state[v, U_LANES] < p[P_OUTSTANDING]
            )
        else:
            asks = state[v, U_BURSTS] > 0 and state[v, U_OPEN] < p[P_OUTSTANDING]
        if asks and v > before:
            return v
        if asks and found < 0:
            found = v
    return found


@inner
def _choose_run(movers, p, stops, of, state, v, granted, left, follows):  # type: ignore[no-untyped-def]
    """Decide whether a mover takes its next run in this cycle."""
    if movers[v, V_READS]:
        at, stop = state[v, U_AT], state[v, U_STOP]
        ready = at == stop or (granted and _end(p, at, stop) == stop)
    else:
        finishes = state[v, U_EMITS] and state[v, U_AT] == state[v, U_STOP] and state[v, U_LEVEL] <= p[P_WIDTH]
        ready = not state[v, U_ACTIVE] or finishes
    after, order = movers[v, V_AFTER], movers[v, V_ORDER]
    if after >= 0:
        ready = ready and state[v, U_PERMITTED] > 0
    if order < 0:
        state[v, U_TAKES] = ready and state[v, U_RUN] < state[v, U_LIMIT]
        return
    ready = ready and state[order, U_LEVEL] > 0 and state[v, U_KNOWN] < p[P_ORDERS]
    if ready and state[v, U_RUN] < movers[v, V_LAST]:
        m = of[state[v, U_RUN]]
        if movers[v, V_READS]:
            state[v, U_TAKES] = left[m, L_RUNS_IN] > 0 and (follows[m] < 0 or left[m, L_LEAD] > 0)
        else:
            state[v, U_TAKES] = left[m, L_RUNS_OUT] > 0
    else:
        state[v, U_TAKES] = 0
    if state[v, U_TAKES]:
        state[order, U_MOVED] = 1


@inner
def _take_run(movers, starts, stops, of, p, state, v, left, follows):  # type: ignore[no-untyped-def]
    run, after = state[v, U_RUN], movers[v, V_AFTER]
    state[v, U_AT], state[v, U_STOP], state[v, U_RUN] = starts[run], stops[run], run + 1
    if after >= 0:
        state[v, U_PERMITTED] -= 1
    if movers[v, V_ORDER] >= 0:
        m = of[run]
        if movers[v, V_READS]:
            left[m, L_RUNS_IN] -= 1
            left[m, L_LEAD] -= 1
        else:
            left[m, L_RUNS_OUT] -= 1
    for m in range(len(left)):
        if follows[m] == v and (movers[v, V_ORDER] < 0 or of[run] == m):
            left[m, L_UNWRITTEN] += 1
    if not movers[v, V_READS]:
        state[v, U_ACTIVE], state[v, U_LEVEL] = 1, starts[run] % p[P_WIDTH]
        state[v, U_WORD] = starts[run] - state[v, U_LEVEL]


@inner
def _answers(movers, starts, stops, of, p, state, dram, left, follows):  # type: ignore[no-untyped-def]
    """A beat that was read, and the answer to a burst that was written, which the DRAM shows in this cycle."""
    if dram[D_DATA]:
        state[dram[D_DATA_OF], U_OPEN] -= dram[D_DATA_LAST]
    if dram[D_ANSWER]:
        v = dram[D_ANSWER_OF]
        state[v, U_OPEN] -= 1
        stop = stops[state[v, U_DONE_RUN]]
        end = _end(p, state[v, U_DONE_AT], stop)
        for u in range(len(movers)):
            if movers[u, V_AFTER] == v and end == stop:
                state[u, U_PERMITTED] += 1
        for m in range(len(left)):
            mine = follows[m] == v and (movers[v, V_ORDER] < 0 or of[state[v, U_DONE_RUN]] == m)
            if mine and end == stop:
                left[m, L_LEAD] += 1
                left[m, L_UNWRITTEN] -= 1
        _advance(movers, starts, stops, state, v, np.int64(U_DONE_RUN), end)
    for v in range(len(movers)):
        state[v, U_READY] = dram[D_DATA] and dram[D_DATA_OF] == v  # from here on: of one that reads, a word comes


@inner
def _read(movers, starts, stops, p, state, v):  # type: ignore[no-untyped-def]
    """A cycle inside a mover that reads."""
    passes = state[v, U_WORDS] > 0 and state[v, U_LEVEL] <= movers[v, V_BEAT]
    state[v, U_LEVEL] -= state[v, U_MOVED]
    state[v, U_WORDS] += state[v, U_READY] - passes
    if passes:
        at, stop = state[v, U_OUT_AT], stops[state[v, U_OUT_RUN]]
        end = min(stop, (at // p[P_WIDTH] + 1) * p[P_WIDTH])
        state[v, U_LEVEL] += end - at
        state[v, U_RESERVED] -= 1
        state[v, U_LANES] -= end == _end(p, at, stop)
        _advance(movers, starts, stops, state, v, np.int64(U_OUT_RUN), end)


@inner
def _write(p, state, v):  # type: ignore[no-untyped-def]
    """A cycle inside a mover that writes."""
    if state[v, U_EMITS]:
        finishes = state[v, U_AT] == state[v, U_STOP] and state[v, U_LEVEL] <= p[P_WIDTH]
        state[v, U_WORD] += p[P_WIDTH]
        state[v, U_WORDS] += 1
        state[v, U_BURSTS] += finishes or state[v, U_WORD] % p[P_BURST] == 0
        state[v, U_LEVEL] = max(state[v, U_LEVEL] - p[P_WIDTH], 0)
        if finishes:
            state[v, U_ACTIVE] = 0
    state[v, U_LEVEL] += state[v, U_MOVED]
    state[v, U_AT] += state[v, U_MOVED]


@inner
def _advance(movers, starts, stops, state, v, cursor, end):  # type: ignore[no-untyped-def]
    """Move a cursor, a run and a byte, to ``end``, or to the next run if its run ends there."""
    state[v, cursor + 1] = end
    if end == stops[state[v, cursor]]:
        state[v, cursor] += 1
        if state[v, cursor] < movers[v, V_LAST]:
            state[v, cursor + 1] = starts[state[v, cursor]]


@inner
def _beats(p, first, last):  # type: ignore[no-untyped-def]
    return last // p[P_WIDTH] - first // p[P_WIDTH] + 1


@inner
def _end(p, at, stop):  # type: ignore[no-untyped-def]
    """Where the burst ends that begins at a byte of a run."""
    return min(stop, (at // p[P_BURST] + 1) * p[P_BURST])
