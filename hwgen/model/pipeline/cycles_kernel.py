"""The compiled part of `hwgen.model.pipeline.cycles`: a run of tiles, cycle by cycle.

The state is one table for each kind of part: maps, stages, branches, sources, both directions of the overlap port.
`kernel_tables` numbers the columns of these tables and of the tables that `hwgen.model.pipeline.cycles` makes from
its values; those of maps, stages, branches and sources have a table for each tile, and one of the rows that each part
works with at the moment. Like registers, a level that changes in a cycle is seen in the next cycle.
"""

import numpy as np

from hwgen.arch import dram as arch_dram
from hwgen.arch import latency
from hwgen.model.compiled import digest, inner, njit
from hwgen.model.dram import cycles_kernel as dram_kernel
from hwgen.model.dram.cycles_kernel import begin_dram
from hwgen.model.pipeline import kernel_tables, movers_kernel, streams_kernel, turns_kernel
from hwgen.model.pipeline.kernel_tables import (
    AT_COLUMN,
    AT_LINE,
    B_BACKLOG,
    B_COLUMN,
    B_CREDIT,
    B_HAS_RELEASED,
    B_LEVEL,
    B_PASSES,
    B_READ,
    B_ROOM,
    B_VALID,
    COLUMN,
    COMPLETE,
    DONE,
    DRAINING,
    FETCHING,
    FULL,
    GLOBAL,
    HAS_RELEASED,
    IN_FLIGHT,
    JOIN,
    LEFT,
    LEFT_COLUMNS,
    LEFT_LINES,
    LEVEL,
    LINE,
    M_LINE,
    M_LINES,
    M_MAKER,
    M_OVERLAP,
    M_RING,
    M_SOURCE,
    M_VALID,
    N_TILE,
    NEXT_COLUMN,
    OPERAND,
    OUTPUT_COLUMN,
    OVERLAP_LEVEL,
    Q_TARGET,
    R_COLUMNS,
    R_FIRST,
    R_KIND,
    R_MAP,
    R_QUEUE,
    R_TARGET,
    RELEASED,
    S_FULL,
    S_LEVEL,
    S_TAKEN,
    S_VALID,
    SAVED,
    SHIFTED,
    SHUFFLE,
    SQUARE,
    SQUARE_LINE,
    STEP,
    T_ACROSS,
    T_COLUMN0,
    T_COLUMNS,
    T_KIND,
    T_QUEUE,
    T_READS,
    T_REGISTERS,
    T_STEPS,
    T_STRIDE0,
    T_STRIDE1,
    UNDER_WAY,
    VALID,
    W_START,
)
from hwgen.model.pipeline.movers_kernel import (
    P_OVERLAP_IN,
    P_OVERLAP_OUT,
    P_PATIENCE,
    begin_movers,
    count_empty,
    is_idle,
    pass_cycle,
    prepare,
)
from hwgen.model.pipeline.streams_kernel import incoming, outgoing, registered, streams
from hwgen.model.pipeline.turns_kernel import all_begun, begin_first, begin_next, pass_turns

__all__ = ["run_tiles"]

STILL = 100
"""Cycles without any movement after which the tile is in deadlock. No part takes that long, beside the DRAM."""


@inner
def _run_tiles(  # type: ignore[no-untyped-def]
    all_maps, all_stages, all_branches, all_sources, order_in, order_out, free_in, free_out, seen_in, seen_out,
    worked, movers, starts, stops, p, rows, kept, of, runs, follows, software, accesses
):  # fmt: skip
    maps, stages = all_maps[0].copy(), all_stages[0].copy()
    branches, sources = all_branches[0].copy(), all_sources[0].copy()
    m_state, t_state = np.zeros((len(maps), 9), np.int64), np.zeros((len(stages), 16), np.int64)
    b_state, s_state = np.zeros((len(branches), 11), np.int64), np.zeros((len(sources), 8), np.int64)
    port_in, port_out = np.zeros(7, np.int64), np.zeros(7, np.int64)
    for b in range(len(branches)):
        b_state[b, B_CREDIT] = branches[b, R_QUEUE]
    moving, bus = begin_movers(movers, starts)
    turns = np.zeros((3 * len(maps) + len(sources) + len(movers), 3), np.int64)
    left = np.zeros((len(maps), LEFT), np.int64)
    tables, now = (all_maps, all_stages, all_branches, all_sources), (maps, stages, branches, sources, movers)
    state = (m_state, t_state, b_state, s_state, moving)
    begin_first(tables, now, state, turns, left, runs, follows)
    dram, bursts = begin_dram()
    mover_in, mover_out = p[P_OVERLAP_IN], p[P_OVERLAP_OUT]
    # No literals, for which numba would compile what they are given to once more.
    lines_in, lines_out, still, cycles = np.int64(0), np.int64(0), 0, 1
    while still < STILL + p[P_PATIENCE]:
        cycles += 1
        begin_next(tables, now, state, turns, left, runs, follows)
        if len(movers):
            count_empty(maps, movers, moving, left)
        begun = all_begun(turns, software, len(accesses))
        if begun and _ended(maps, branches, m_state, b_state) and is_idle(movers, moving, bus):
            return cycles
        pass_turns(cycles, now, state, turns, left, software, accesses, free_out)
        prepare(movers, p, moving)
        registered(maps, branches, sources, m_state, t_state, b_state, s_state)
        moved = 0
        for s in range(len(stages)):
            if _stage(stages[s], t_state[s], maps, m_state, s, branches, b_state, sources, s_state):
                moved += 1
                if stages[s, T_KIND] != JOIN:
                    worked[turns[stages[s, T_READS], N_TILE], s] = cycles
        lines_out = _copy(maps, branches, m_state, b_state, free_out, seen_out, lines_out)
        lines_in = _replace_pixels(
            maps, stages, branches, m_state, t_state, b_state, s_state, free_in, seen_in, lines_in
        )
        moved += m_state[:, RELEASED].sum() + b_state[:, B_PASSES].sum()
        moved += streams(maps, branches, sources, b_state, s_state, movers, moving)
        if not free_in:
            moved += incoming(maps, m_state, port_in, order_in, left, movers, moving, mover_in)
        if not free_out:
            moved += outgoing(maps, branches, b_state, port_out, order_out, left, movers, moving, mover_out)
        if len(movers):
            moved += pass_cycle(movers, starts, stops, of, p, moving, bus, dram, bursts, rows, kept, left, follows)
        still = 0 if moved or software[W_START] >= 0 else still + 1
    return -1


@inner
def _ended(maps, branches, m_state, b_state):  # type: ignore[no-untyped-def]
    if not m_state[:, COMPLETE].all():
        return False
    for b in range(len(branches)):
        if b_state[b, B_BACKLOG] or (branches[b, R_KIND] != OPERAND and b_state[b, B_LEVEL]):
            return False
    return True


@inner
def _stage(stage, state, maps, m_state, number, branches, b_state, sources, s_state):  # type: ignore[no-untyped-def]
    """A cycle of a stage. Sets whether it has released the pixel in flight; returns whether it took a step."""
    read = stage[T_READS]
    active = m_state[read, IN_FLIGHT] and not state[HAS_RELEASED]
    state[DONE] = 0
    if stage[T_KIND] == SHUFFLE:
        moved = _shuffle(stage, state, maps[read], m_state[read], active)
    else:
        go = not (state[FULL] and state[LEVEL] >= stage[T_QUEUE])
        if state[FULL] and go:
            state[FULL] = 0
            state[LEVEL] += 1
        if go:
            _advance(stage, state)
        if stage[T_KIND] == JOIN:
            return _join(stage, state, go, number, branches, b_state, sources, s_state)
        if stage[T_KIND] == GLOBAL:
            moved = _global(stage, state, maps[read], m_state[read], active, go)
        else:
            moved = go and _window(stage, state, maps[read], m_state[read], active)
    if m_state[read, IN_FLIGHT] and not state[HAS_RELEASED] and not state[DONE]:
        m_state[read, RELEASED] = 0
    return moved


@inner
def _advance(stage, state):  # type: ignore[no-untyped-def]
    """What is in the datapath's registers goes on; what leaves the last one is a pixel for the queue."""
    if stage[T_REGISTERS]:
        if (state[UNDER_WAY] >> (stage[T_REGISTERS] - 1)) & 1:
            state[FULL] = 1
        state[UNDER_WAY] = (state[UNDER_WAY] << 1) & ((1 << stage[T_REGISTERS]) - 1)


@inner
def _enter(stage, state):  # type: ignore[no-untyped-def]
    """The last step of a pixel: it goes to the datapath's first register, or to the queue if there is none."""
    if stage[T_REGISTERS]:
        state[UNDER_WAY] |= 1
    else:
        state[FULL] = 1


@inner
def _window(stage, state, one, at, active):  # type: ignore[no-untyped-def]
    last_column = at[COLUMN] == one[M_LINE] - 1
    tail = last_column and at[LINE] == one[M_LINES] - 1
    below = state[AT_LINE] - at[LINE]
    complete = (below == 0 and (state[AT_COLUMN] == at[COLUMN] or last_column)) or (tail and below >= 0)
    if not active:
        return False
    if not (complete and state[LEFT_LINES] and state[LEFT_COLUMNS]):
        state[DONE] = 1
        return True
    if below != state[SHIFTED]:
        state[SHIFTED] += 1
        return True
    state[STEP] += 1
    if state[STEP] < stage[T_STEPS]:
        return True
    state[STEP] = 0
    _enter(stage, state)
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


@inner
def _global(stage, state, one, at, active, go):  # type: ignore[no-untyped-def]
    """A cycle of a global pool. ``DRAINING``: the accumulators are drained."""
    if state[DRAINING]:
        if not go:
            return False
        state[STEP] += 1
        if state[STEP] == stage[T_STEPS]:
            state[STEP], state[DRAINING] = 0, 0
            _enter(stage, state)
        return True
    if not active:
        return False
    state[STEP] += 1
    if state[STEP] == stage[T_STEPS]:
        state[STEP], state[DONE] = 0, 1
        state[DRAINING] = at[LINE] == one[M_LINES] - 1 and at[COLUMN] == one[M_LINE] - 1
    return True


@inner
def _shuffle(stage, state, one, at, active):  # type: ignore[no-untyped-def]
    """A cycle of a pixel shuffle.

    ``SQUARE_LINE``: line in the squares. ``STEP``: column in a square. ``SQUARE``: number of the square.
    ``OUTPUT_COLUMN``: column of the output line.
    """
    if state[FETCHING]:
        state[FETCHING] = 0
        return True
    inside = 0 <= state[OUTPUT_COLUMN] - stage[T_COLUMN0] < stage[T_COLUMNS]
    if not (state[SQUARE_LINE] or active) or (inside and state[LEVEL] >= stage[T_QUEUE]):
        return False
    state[LEVEL] += inside
    state[OUTPUT_COLUMN] += 1
    state[STEP] += 1
    if state[STEP] == stage[T_ACROSS]:
        state[STEP] = 0
        state[DONE] = state[SQUARE_LINE] == 0
        state[SQUARE] += 1
        if state[SQUARE] == one[M_LINE]:
            state[SQUARE], state[OUTPUT_COLUMN] = 0, 0
            state[FETCHING] = state[SQUARE_LINE] == 0
            state[SQUARE_LINE] = (state[SQUARE_LINE] + 1) % stage[T_ACROSS]
    return True


@inner
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
        state[STEP] = 0
        _enter(stage, state)
        for b in range(len(branches)):
            if branches[b, R_TARGET] == number:
                b_state[b, B_LEVEL] -= 1
                b_state[b, B_CREDIT] += 1
        for q in range(len(sources)):
            if sources[q, Q_TARGET] == number:
                s_state[q, S_LEVEL] -= 1
    return True


@inner
def _copy(maps, branches, m_state, b_state, free, seen, lines):  # type: ignore[no-untyped-def]
    """Decide what each branch copies in this cycle, and which pixels are released. Returns the lines saved so far."""
    for b in range(len(branches)):
        branch, state, at, one = branches[b], b_state[b], m_state[branches[b, R_MAP]], maps[branches[b, R_MAP]]
        if branch[R_KIND] == OPERAND and one[M_RING]:
            inside = 0 <= state[B_COLUMN] - branch[R_FIRST] < branch[R_COLUMNS]
            takes = state[B_BACKLOG] > 0 and inside and state[B_ROOM]
            state[B_PASSES] = takes or (state[B_BACKLOG] > 0 and not inside)
            state[B_LEVEL] += state[B_READ]
            state[B_READ] = takes
            state[B_CREDIT] -= takes
            if state[B_BACKLOG] == one[M_RING] and not state[B_PASSES]:
                at[RELEASED] = 0
            if state[B_PASSES]:
                state[B_BACKLOG] -= 1
                state[B_COLUMN] = (state[B_COLUMN] + 1) % one[M_LINE]
            continue
        inside = 0 <= at[COLUMN] - branch[R_FIRST] < branch[R_COLUMNS]
        endless = free and branch[R_KIND] == SAVED
        active = at[IN_FLIGHT] and not state[B_HAS_RELEASED]
        state[B_PASSES] = active and (not inside or state[B_ROOM] or endless)
        if active and not state[B_PASSES]:
            at[RELEASED] = 0
        if state[B_PASSES] and inside:
            if not endless:
                state[B_LEVEL] += 1
            elif at[COLUMN] == one[M_LINE] - 1:
                seen[lines] = branch[R_MAP]
                lines += 1
    return lines


@inner
def _replace_pixels(maps, stages, branches, m_state, t_state, b_state, s_state, free, seen, lines):  # type: ignore[no-untyped-def]
    """Replace the pixels in flight that are released. Returns the lines of overlap that have begun."""
    for s in range(len(stages)):
        if stages[s, T_KIND] != JOIN:
            at = m_state[stages[s, T_READS]]
            t_state[s, HAS_RELEASED] = not at[RELEASED] and (
                t_state[s, HAS_RELEASED] or (at[IN_FLIGHT] and t_state[s, DONE])
            )
    for b in range(len(branches)):
        at, one = m_state[branches[b, R_MAP]], maps[branches[b, R_MAP]]
        if branches[b, R_KIND] == OPERAND and one[M_RING]:
            b_state[b, B_BACKLOG] += at[RELEASED]
        else:
            b_state[b, B_HAS_RELEASED] = not at[RELEASED] and (b_state[b, B_HAS_RELEASED] or b_state[b, B_PASSES])
    for m in range(len(maps)):
        at, one = m_state[m], maps[m]
        last = at[COLUMN] == one[M_LINE] - 1 and at[LINE] == one[M_LINES] - 1
        ready = not at[COMPLETE] and (not at[IN_FLIGHT] or (at[RELEASED] and not last))
        if at[RELEASED]:
            at[IN_FLIGHT] = 0
            at[COLUMN] += 1
            if at[COLUMN] == one[M_LINE]:
                at[COLUMN] = 0
                at[LINE] += 1
            at[COMPLETE] = last
        if not ready:
            continue
        if at[NEXT_COLUMN] < one[M_OVERLAP]:
            if not (free or at[M_VALID]):
                continue
            if free and at[NEXT_COLUMN] == 0:
                seen[lines] = m
                lines += 1
            at[OVERLAP_LEVEL] -= not free
        elif one[M_MAKER] >= 0:
            if not t_state[one[M_MAKER], VALID]:
                continue
            t_state[one[M_MAKER], LEVEL] -= 1
        else:
            if not s_state[one[M_SOURCE], S_FULL]:
                continue
            s_state[one[M_SOURCE], S_TAKEN] = 1
        at[IN_FLIGHT] = 1
        at[NEXT_COLUMN] = (at[NEXT_COLUMN] + 1) % one[M_LINE]
    return lines


def _cached(sources: int):  # type: ignore[no-untyped-def]
    """The compiled kernel, kept in numba's cache for as long as ``sources`` stays the same: see `digest`."""

    @njit(cache=True)
    def run_tiles(  # type: ignore[no-untyped-def]
        maps, stages, branches, sources_, order_in, order_out, free_in, free_out, seen_in, seen_out, worked, movers,
        starts, stops, p, rows, kept, of, runs, follows, software, accesses
    ):  # fmt: skip
        if sources:
            return _run_tiles(
                maps, stages, branches, sources_, order_in, order_out, free_in, free_out, seen_in, seen_out, worked,
                movers, starts, stops, p, rows, kept, of, runs, follows, software, accesses
            )  # fmt: skip
        return -1

    return run_tiles


run_tiles = _cached(
    digest(arch_dram, latency, kernel_tables, streams_kernel, movers_kernel, dram_kernel, turns_kernel)
)
