"""The compiled part of `hwgen.model.pipeline.cycles`: one tile, cycle by cycle.

The state is an array of rows for each kind of part, maps, stages, branches, sources, and the two ways of the overlap
port; its columns, and those of the tables that `hwgen.model.pipeline.cycles` makes of its values, are numbered here.
Everything in a cycle is decided by what was there when it began: what is counted up or down in it shows in the next
one.
"""

import numpy as np
from numba import njit

from hwgen.arch import latency
from hwgen.arch.latency import CONV_REGISTERS, POOL_REGISTERS
from hwgen.model.core.compiled import digest

__all__ = ["CONV", "GLOBAL", "JOIN", "OPERAND", "OUTPUT", "POOL", "SAVED", "SHUFFLE", "run_tile"]

CONV, POOL, GLOBAL, SHUFFLE, JOIN = range(5)
OUTPUT, SAVED, OPERAND = range(3)

PRESENT, OVER, LINE, COLUMN, COMING, LEAVES, WAITING_OVERLAP, M_VALID = range(8)
(HELD, AT_LINE, AT_COLUMN, LEFT_COLUMNS, LEFT_LINES, LOWERED, STEP, ONE, TWO, THREE, FULL, LEVEL, VALID, PLACE,
 FETCHES, DONE) = range(16)  # fmt: skip
B_HELD, B_LEVEL, B_VALID, B_ROOM, B_BEHIND, B_COLUMN, B_CREDIT, B_READ, B_BEAT, B_PASSES = range(10)
S_BEAT, S_FULL, S_VALID, S_COLUMN, S_LINES, S_LEVEL, S_TAKEN = range(7)
P_VALID, P_MAP, P_LEFT, P_INDEX, P_BEAT, P_FULL, P_TARGET = range(7)
M_LINE, M_LINES, M_OVERLAP, M_SAVED, M_RING, M_MAKER, M_SOURCE, M_BEATS, M_QUEUE = range(9)
(T_KIND, T_READS, T_MAKES, T_STEPS, T_ACROSS, T_ALONG, T_STRIDE0, T_STRIDE1, T_LINES, T_COLUMNS, T_LINE0,
 T_COLUMN0, T_QUEUE) = range(13)  # fmt: skip
R_KIND, R_MAP, R_FIRST, R_COLUMNS, R_QUEUE, R_BEATS, R_TARGET = range(7)
Q_COLUMNS, Q_LINES, Q_BEATS, Q_TARGET, Q_QUEUE = range(5)
STILL = 100
"""Cycles without any movement after which nothing will move any more: longer than anything takes to pass."""


@njit
def _run_tile(maps, stages, branches, sources, order_in, order_out, free_in, free_out, seen_in, seen_out):  # type: ignore[no-untyped-def]
    m_state, t_state = np.zeros((len(maps), 8), np.int64), np.zeros((len(stages), 16), np.int64)
    b_state, s_state = np.zeros((len(branches), 10), np.int64), np.zeros((len(sources), 7), np.int64)
    port_in, port_out = np.zeros(7, np.int64), np.zeros(7, np.int64)
    m_state[:, OVER] = (maps[:, M_LINE] == 0) | (maps[:, M_LINES] == 0)
    for s in range(len(stages)):
        t_state[s, AT_LINE], t_state[s, AT_COLUMN] = stages[s, T_LINE0], stages[s, T_COLUMN0]
        t_state[s, LEFT_LINES], t_state[s, LEFT_COLUMNS] = stages[s, T_LINES], stages[s, T_COLUMNS]
    b_state[:, B_CREDIT] = branches[:, R_QUEUE]
    s_state[:, S_LINES] = sources[:, Q_LINES]
    lines_in = lines_out = still = 0
    cycles = 1
    while still < STILL:
        cycles += 1
        if _ended(maps, branches, m_state, b_state):
            return cycles
        t_state[:, VALID] = t_state[:, LEVEL] > 0
        s_state[:, S_VALID] = s_state[:, S_LEVEL] > 0
        b_state[:, B_VALID] = b_state[:, B_LEVEL] > 0
        b_state[:, B_ROOM] = b_state[:, B_LEVEL] < branches[:, R_QUEUE]
        m_state[:, M_VALID] = m_state[:, WAITING_OVERLAP] > 0
        m_state[:, LEAVES] = m_state[:, PRESENT]
        moved = 0
        for s in range(len(stages)):
            moved += _stage(stages[s], t_state[s], maps, m_state, s, branches, b_state, sources, s_state)
        lines_out = _decide(maps, branches, m_state, b_state, free_out, seen_out, lines_out)
        lines_in = _move_maps(maps, stages, branches, m_state, t_state, b_state, s_state, free_in, seen_in, lines_in)
        moved += m_state[:, LEAVES].sum() + b_state[:, B_PASSES].sum()
        moved += _streams(branches, sources, b_state, s_state)
        if not free_in:
            moved += _incoming(maps, m_state, port_in, order_in)
        if not free_out:
            moved += _outgoing(maps, branches, b_state, port_out, order_out)
        still = 0 if moved else still + 1
    return -1


@njit
def _ended(maps, branches, m_state, b_state):  # type: ignore[no-untyped-def]
    if not m_state[:, OVER].all():
        return False
    for b in range(len(branches)):
        if b_state[b, B_BEHIND] or (branches[b, R_KIND] != OPERAND and b_state[b, B_LEVEL]):
            return False
    return True


@njit
def _stage(stage, state, maps, m_state, number, branches, b_state, sources, s_state):  # type: ignore[no-untyped-def]
    """A cycle of a stage; sets whether it is done with the pixel in flight. Gives whether it took a step."""
    read = stage[T_READS]
    active = m_state[read, PRESENT] and not state[HELD]
    state[DONE] = 0
    if stage[T_KIND] == SHUFFLE:
        moved = _shuffle(stage, state, maps[read], m_state[read], active)
    else:
        go = not (state[FULL] and state[LEVEL] >= stage[T_QUEUE])
        if state[FULL] and go:
            state[FULL] = 0
            state[LEVEL] += 1
        if stage[T_KIND] == JOIN:
            return _join(stage, state, go, number, branches, b_state, sources, s_state)
        if stage[T_KIND] == GLOBAL:
            moved = _global(stage, state, maps[read], m_state[read], active, go)
        else:
            moved = go and _window(stage, state, maps[read], m_state[read], active)
    if m_state[read, PRESENT] and not state[HELD] and not state[DONE]:
        m_state[read, LEAVES] = 0
    return moved


@njit
def _window(stage, state, one, at, active):  # type: ignore[no-untyped-def]
    if state[ONE - 1 + (POOL_REGISTERS if stage[T_KIND] == POOL else CONV_REGISTERS)]:
        state[FULL] = 1
    state[THREE], state[TWO], state[ONE] = state[TWO], state[ONE], 0
    last_column = at[COLUMN] == one[M_LINE] - 1
    tail = last_column and at[LINE] == one[M_LINES] - 1
    below = state[AT_LINE] - at[LINE]
    complete = (below == 0 and (state[AT_COLUMN] == at[COLUMN] or last_column)) or (tail and below >= 0)
    if not active:
        return False
    if not (complete and state[LEFT_LINES] and state[LEFT_COLUMNS]):
        state[DONE] = 1
        return True
    if below != state[LOWERED]:
        state[LOWERED] += 1
        return True
    state[STEP] += 1
    if state[STEP] < stage[T_STEPS]:
        return True
    state[STEP], state[ONE] = 0, 1
    state[LEFT_COLUMNS] -= 1
    state[AT_COLUMN] += stage[T_STRIDE1]
    more = last_column
    if state[LEFT_COLUMNS] == 0:
        state[LEFT_COLUMNS], state[AT_COLUMN] = stage[T_COLUMNS], stage[T_COLUMN0]
        state[LEFT_LINES] -= 1
        state[AT_LINE] += stage[T_STRIDE0]
        more = tail and state[LEFT_LINES] > 0
    state[DONE] = not more
    return True


@njit
def _global(stage, state, one, at, active, go):  # type: ignore[no-untyped-def]
    """``ONE``: the sums are drained."""
    if state[ONE]:
        if not go:
            return False
        state[STEP] += 1
        if state[STEP] == stage[T_STEPS]:
            state[STEP], state[ONE], state[FULL] = 0, 0, 1
        return True
    if not active:
        return False
    state[STEP] += 1
    if state[STEP] == stage[T_STEPS]:
        state[STEP], state[DONE] = 0, 1
        state[ONE] = at[LINE] == one[M_LINES] - 1 and at[COLUMN] == one[M_LINE] - 1
    return True


@njit
def _shuffle(stage, state, one, at, active):  # type: ignore[no-untyped-def]
    """``ONE``: line of the squares, ``STEP``: column in a square, ``TWO``: square, ``PLACE``: output column."""
    if state[FETCHES]:
        state[FETCHES] = 0
        return True
    inside = 0 <= state[PLACE] - stage[T_COLUMN0] < stage[T_COLUMNS]
    if not (state[ONE] or active) or (inside and state[LEVEL] >= stage[T_QUEUE]):
        return False
    state[LEVEL] += inside
    state[PLACE] += 1
    state[STEP] += 1
    if state[STEP] == stage[T_ACROSS]:
        state[STEP] = 0
        state[DONE] = state[ONE] == 0
        state[TWO] += 1
        if state[TWO] == one[M_LINE]:
            state[TWO], state[PLACE] = 0, 0
            state[FETCHES] = state[ONE] == 0
            state[ONE] = (state[ONE] + 1) % stage[T_ACROSS]
    return True


@njit
def _join(stage, state, go, number, branches, b_state, sources, s_state):  # type: ignore[no-untyped-def]
    if not go:
        return False
    for b in range(len(branches)):
        if branches[b, R_TARGET] == number and not b_state[b, B_VALID]:
            return False
    for q in range(len(sources)):
        if sources[q, Q_TARGET] == number and not s_state[q, S_VALID]:
            return False
    state[STEP] += 1
    if state[STEP] == stage[T_STEPS]:
        state[STEP], state[FULL] = 0, 1
        for b in range(len(branches)):
            if branches[b, R_TARGET] == number:
                b_state[b, B_LEVEL] -= 1
                b_state[b, B_CREDIT] += 1
        for q in range(len(sources)):
            if sources[q, Q_TARGET] == number:
                s_state[q, S_LEVEL] -= 1
    return True


@njit
def _decide(maps, branches, m_state, b_state, free, seen, lines):  # type: ignore[no-untyped-def]
    """What each branch passes on in this cycle, and which pixels leave; gives how many lines were saved so far."""
    for b in range(len(branches)):
        branch, state, at, one = branches[b], b_state[b], m_state[branches[b, R_MAP]], maps[branches[b, R_MAP]]
        if branch[R_KIND] == OPERAND and one[M_RING]:
            inside = 0 <= state[B_COLUMN] - branch[R_FIRST] < branch[R_COLUMNS]
            takes = state[B_BEHIND] > 0 and inside and state[B_CREDIT] > 0
            state[B_PASSES] = takes or (state[B_BEHIND] > 0 and not inside)
            state[B_LEVEL] += state[B_READ]
            state[B_READ] = takes
            state[B_CREDIT] -= takes
            if state[B_BEHIND] == one[M_RING] and not state[B_PASSES]:
                at[LEAVES] = 0
            if state[B_PASSES]:
                state[B_BEHIND] -= 1
                state[B_COLUMN] = (state[B_COLUMN] + 1) % one[M_LINE]
            continue
        inside = 0 <= at[COLUMN] - branch[R_FIRST] < branch[R_COLUMNS]
        endless = free and branch[R_KIND] == SAVED
        active = at[PRESENT] and not state[B_HELD]
        state[B_PASSES] = active and (not inside or state[B_ROOM] or endless)
        if active and not state[B_PASSES]:
            at[LEAVES] = 0
        if state[B_PASSES] and inside:
            if not endless:
                state[B_LEVEL] += 1
            elif at[COLUMN] == one[M_LINE] - 1:
                seen[lines] = branch[R_MAP]
                lines += 1
    return lines


@njit
def _move_maps(maps, stages, branches, m_state, t_state, b_state, s_state, free, seen, lines):  # type: ignore[no-untyped-def]
    """Pixels in flight leave and come; gives how many lines of overlap have begun."""
    for s in range(len(stages)):
        if stages[s, T_KIND] != JOIN:
            at = m_state[stages[s, T_READS]]
            t_state[s, HELD] = not at[LEAVES] and (t_state[s, HELD] or (at[PRESENT] and t_state[s, DONE]))
    for b in range(len(branches)):
        at, one = m_state[branches[b, R_MAP]], maps[branches[b, R_MAP]]
        if branches[b, R_KIND] == OPERAND and one[M_RING]:
            b_state[b, B_BEHIND] += at[LEAVES]
        else:
            b_state[b, B_HELD] = not at[LEAVES] and (b_state[b, B_HELD] or b_state[b, B_PASSES])
    for m in range(len(maps)):
        at, one = m_state[m], maps[m]
        last = at[COLUMN] == one[M_LINE] - 1 and at[LINE] == one[M_LINES] - 1
        ready = not at[OVER] and (not at[PRESENT] or (at[LEAVES] and not last))
        if at[LEAVES]:
            at[PRESENT] = 0
            at[COLUMN] += 1
            if at[COLUMN] == one[M_LINE]:
                at[COLUMN] = 0
                at[LINE] += 1
            at[OVER] = last
        if not ready:
            continue
        if at[COMING] < one[M_OVERLAP]:
            if not (free or at[M_VALID]):
                continue
            if free and at[COMING] == 0:
                seen[lines] = m
                lines += 1
            at[WAITING_OVERLAP] -= not free
        elif one[M_MAKER] >= 0:
            if not t_state[one[M_MAKER], VALID]:
                continue
            t_state[one[M_MAKER], LEVEL] -= 1
        else:
            if not s_state[one[M_SOURCE], S_FULL]:
                continue
            s_state[one[M_SOURCE], S_TAKEN] = 1
        at[PRESENT] = 1
        at[COMING] = (at[COMING] + 1) % one[M_LINE]
    return lines


@njit
def _streams(branches, sources, b_state, s_state):  # type: ignore[no-untyped-def]
    """Input streams bring a beat a cycle where there is room, output streams take one; gives how many."""
    moved = 0
    for q in range(len(sources)):
        source, state = sources[q], s_state[q]
        if source[Q_TARGET] >= 0 and state[S_FULL] and state[S_LEVEL] < source[Q_QUEUE]:
            state[S_TAKEN] = 1
            state[S_LEVEL] += 1
        room = not state[S_FULL] or state[S_TAKEN]
        if state[S_TAKEN]:
            state[S_FULL] = state[S_TAKEN] = 0
        if room and state[S_LINES] and source[Q_COLUMNS]:
            moved += 1
            state[S_BEAT] += 1
            if state[S_BEAT] == source[Q_BEATS]:
                state[S_BEAT], state[S_FULL] = 0, 1
                state[S_COLUMN] += 1
                if state[S_COLUMN] == source[Q_COLUMNS]:
                    state[S_COLUMN] = 0
                    state[S_LINES] -= 1
    for b in range(len(branches)):
        if branches[b, R_KIND] == OUTPUT and b_state[b, B_VALID]:
            moved += 1
            b_state[b, B_BEAT] += 1
            if b_state[b, B_BEAT] == branches[b, R_BEATS]:
                b_state[b, B_BEAT] = 0
                b_state[b, B_LEVEL] -= 1
    return moved


@njit
def _incoming(maps, m_state, port, order):  # type: ignore[no-untyped-def]
    """A cycle of the overlap port, inwards."""
    moved, ends = 0, False
    given = port[P_FULL] and m_state[port[P_TARGET], WAITING_OVERLAP] < maps[port[P_TARGET], M_QUEUE]
    takes = port[P_VALID] and (not port[P_FULL] or given)
    if given:
        m_state[port[P_TARGET], WAITING_OVERLAP] += 1
        port[P_FULL] = 0
    if takes:
        moved = 1
        port[P_BEAT] += 1
        if port[P_BEAT] == maps[port[P_MAP], M_BEATS]:
            port[P_BEAT], port[P_FULL], port[P_TARGET] = 0, 1, port[P_MAP]
            port[P_LEFT] -= 1
            ends = port[P_LEFT] == 0
    _turn(port, order, ends, maps[:, M_OVERLAP])
    return moved


@njit
def _outgoing(maps, branches, b_state, port, order):  # type: ignore[no-untyped-def]
    """A cycle of the overlap port, outwards."""
    moved, ends = 0, False
    if port[P_VALID]:
        for b in range(len(branches)):
            if branches[b, R_KIND] == SAVED and branches[b, R_MAP] == port[P_MAP] and b_state[b, B_VALID]:
                moved = 1
                port[P_BEAT] += 1
                if port[P_BEAT] == maps[port[P_MAP], M_BEATS]:
                    port[P_BEAT] = 0
                    b_state[b, B_LEVEL] -= 1
                    port[P_LEFT] -= 1
                    ends = port[P_LEFT] == 0
    _turn(port, order, ends, maps[:, M_SAVED])
    return moved


@njit
def _turn(port, order, ends, columns):  # type: ignore[no-untyped-def]
    if port[P_VALID] and not ends:
        return
    port[P_VALID] = order[port[P_INDEX]] >= 0
    if port[P_VALID]:
        port[P_MAP] = order[port[P_INDEX]]
        port[P_LEFT] = columns[port[P_MAP]]
        port[P_INDEX] += 1


def _cached(sources: int):  # type: ignore[no-untyped-def]
    """The compiled kernel, kept in numba's cache for as long as ``sources`` stays the same: see `digest`."""

    @njit(cache=True)
    def run_tile(maps, stages, branches, sources_, order_in, order_out, free_in, free_out, seen_in, seen_out):  # type: ignore[no-untyped-def]
        if sources:
            return _run_tile(
                maps, stages, branches, sources_, order_in, order_out, free_in, free_out, seen_in, seen_out
            )
        return -1

    return run_tile


run_tile = _cached(digest(latency))
