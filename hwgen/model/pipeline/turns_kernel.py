"""The compiled part of how the parts of a pipeline go on from tile to tile, each by itself.

A part that has done with its tile takes the settings of the next one in the first cycle in which that has been
started; in the next cycle it begins; in the cycle after that it works. `hwgen.gateware.pipeline.turn` does so.
"""

from hwgen.model.compiled import inner
from hwgen.model.pipeline.kernel_tables import (
    AT_COLUMN,
    AT_LINE,
    B_BACKLOG,
    COMPLETE,
    FETCHING,
    JOIN,
    L_EMPTY,
    L_IN,
    L_LEAD,
    L_OUT,
    L_READ,
    L_RUNS_IN,
    L_RUNS_OUT,
    LEFT_COLUMNS,
    LEFT_LINES,
    LINE,
    M_LINE,
    M_LINES,
    M_MAKER,
    M_OVERLAP,
    M_SAVED,
    M_SOURCE,
    N_BEGINS,
    N_TILE,
    N_WAITS,
    Q_COLUMNS,
    Q_LINES,
    Q_TARGET,
    R_MAP,
    S_LINES,
    SHIFTED,
    SHUFFLE,
    SQUARE_LINE,
    T_COLUMN0,
    T_COLUMNS,
    T_KIND,
    T_LINE0,
    T_LINES,
    T_READS,
    W_ACCESS,
    W_POLL,
    W_START,
    W_TILE,
)
from hwgen.model.pipeline.movers_kernel import U_EMPTY, U_LIMIT, U_PERMITTED, U_RUN, V_AFTER, V_LINES, V_ORDER

__all__ = ["all_begun", "begin_first", "begin_next", "pass_turns"]


@inner
def begin_first(tables, now, state, turns, left, runs, follows):  # type: ignore[no-untyped-def]
    """All parts work on the first tile."""
    for unit in range(len(turns)):
        _begin(unit, turns[unit, N_TILE], tables, now, state, left, runs, follows)


@inner
def begin_next(tables, now, state, turns, left, runs, follows):  # type: ignore[no-untyped-def]
    """The parts that began a tile in the cycle before work on it from this cycle on."""
    for unit in range(len(turns)):
        if turns[unit, N_BEGINS] == 2:
            turns[unit, N_BEGINS] = 0
            turns[unit, N_TILE] += 1
            _begin(unit, turns[unit, N_TILE], tables, now, state, left, runs, follows)


@inner
def all_begun(turns, software, tiles):  # type: ignore[no-untyped-def]
    """Whether every part works on the last tile."""
    if software[W_TILE] < tiles - 1:
        return False
    begun = True
    for unit in range(len(turns)):
        begun = begun and not turns[unit, N_WAITS] and not turns[unit, N_BEGINS]
    return begun


@inner
def pass_turns(cycle, now, state, turns, left, software, accesses, free_out):  # type: ignore[no-untyped-def]
    """Software starts a tile, or not yet, and every part that is ready takes the settings."""
    if software[W_TILE] < len(accesses) - 1:
        if software[W_START] < 0 and cycle >= software[W_POLL]:
            full = False
            for unit in range(len(turns)):
                full = full or turns[unit, N_WAITS] == 1
            if full:
                software[W_POLL] += software[W_ACCESS]
            else:
                software[W_START] = cycle + software[W_ACCESS] * (accesses[software[W_TILE] + 1] + 1)
        if software[W_START] == cycle:
            software[W_TILE] += 1
            software[W_START], software[W_POLL] = -1, cycle + max(software[W_ACCESS], 1)
            for unit in range(len(turns)):
                turns[unit, N_WAITS] = 1
    for unit in range(len(turns)):
        if turns[unit, N_BEGINS] == 1:
            turns[unit, N_BEGINS] = 2
        elif turns[unit, N_WAITS] and _is_done(unit, now, state, left, free_out):
            turns[unit, N_WAITS], turns[unit, N_BEGINS] = 0, 1


@inner
def _is_done(unit, now, state, left, free_out):  # type: ignore[no-untyped-def]
    """Whether a part has done with its tile."""
    maps, stages, branches, sources, movers = now
    m_state, t_state, b_state, s_state, moving = state
    if unit < len(maps):
        if not m_state[unit, COMPLETE] or (left[unit, L_OUT] and not free_out):
            return False
        for b in range(len(branches)):
            if branches[b, R_MAP] == unit and b_state[b, B_BACKLOG]:
                return False
        for s in range(len(stages)):
            shuffles = stages[s, T_KIND] == SHUFFLE and stages[s, T_READS] == unit
            if shuffles and (t_state[s, SQUARE_LINE] or t_state[s, FETCHING]):
                return False
        return True
    unit -= len(maps)
    if unit < len(sources):
        return sources[unit, Q_TARGET] < 0 or s_state[unit, S_LINES] == 0
    unit -= len(sources)
    if unit < len(moving):
        return movers[unit, V_ORDER] >= 0 or moving[unit, U_RUN] == moving[unit, U_LIMIT]
    unit -= len(moving)
    if not len(moving):
        return True
    if unit < len(maps):
        return left[unit, L_RUNS_IN] == 0
    return left[unit - len(maps), L_RUNS_OUT] == 0


@inner
def _begin(unit, tile, tables, now, state, left, runs, follows):  # type: ignore[no-untyped-def]
    """A part begins a tile: the row of a map, with those of its readers; of a source; what a mover moves."""
    maps, _, _, sources, movers = now
    s_state, moving = state[3], state[4]
    if unit < len(maps):
        _begin_map(unit, tile, tables, now, state, left)
        return
    unit -= len(maps)
    if unit < len(sources):
        if sources[unit, Q_TARGET] >= 0:
            _begin_source(unit, tile, tables[3], sources, s_state)
        return
    unit -= len(sources)
    if unit < len(moving):
        if movers[unit, V_ORDER] >= 0:
            return
        moving[unit, U_LIMIT] += runs[tile, unit]
        if runs[tile, unit] == 0:
            if movers[unit, V_AFTER] >= 0:
                moving[unit, U_PERMITTED] -= movers[unit, V_LINES]
            for v in range(len(moving)):
                if movers[v, V_AFTER] == unit:
                    moving[v, U_EMPTY] += 1
            for m in range(len(maps)):
                if follows[m] == unit:
                    left[m, L_EMPTY] += 1
        return
    unit -= len(moving)
    m = unit % len(maps)
    lines = tables[0][tile, m, M_LINES]
    if unit < len(maps):
        left[m, L_RUNS_IN] = lines if tables[0][tile, m, M_OVERLAP] else 0
        left[m, L_LEAD] += (0 if left[m, L_READ] else lines) - (lines - left[m, L_RUNS_IN])
        left[m, L_READ] = 1
    else:
        left[m, L_RUNS_OUT] = lines if tables[0][tile, m, M_SAVED] else 0
        if follows[m] >= 0 and follows[m] == follows[len(maps)]:
            left[m, L_EMPTY] += lines > left[m, L_RUNS_OUT]


@inner
def _begin_map(m, tile, tables, now, state, left):  # type: ignore[no-untyped-def]
    maps, stages, branches, sources, _ = now
    m_state, t_state, _, s_state, _ = state
    for column in range(maps.shape[1]):
        maps[m, column] = tables[0][tile, m, column]
    one = maps[m]
    m_state[m, COMPLETE], m_state[m, LINE] = one[M_LINE] == 0 or one[M_LINES] == 0, 0
    left[m, L_IN] = one[M_LINES] if one[M_OVERLAP] else 0
    left[m, L_OUT] = one[M_LINES] if one[M_SAVED] else 0
    for s in range(len(stages)):
        if stages[s, T_READS] != m or stages[s, T_KIND] == JOIN:
            continue
        for column in range(stages.shape[1]):
            stages[s, column] = tables[1][tile, s, column]
        t_state[s, AT_LINE], t_state[s, AT_COLUMN] = stages[s, T_LINE0], stages[s, T_COLUMN0]
        t_state[s, LEFT_LINES], t_state[s, LEFT_COLUMNS] = stages[s, T_LINES], stages[s, T_COLUMNS]
        t_state[s, SHIFTED] = 0
    for b in range(len(branches)):
        if branches[b, R_MAP] == m:
            for column in range(branches.shape[1]):
                branches[b, column] = tables[2][tile, b, column]
    if one[M_MAKER] < 0:
        _begin_source(one[M_SOURCE], tile, tables[3], sources, s_state)


@inner
def _begin_source(q, tile, table, sources, s_state):  # type: ignore[no-untyped-def]
    for column in range(sources.shape[1]):
        sources[q, column] = table[tile, q, column]
    s_state[q, S_LINES] = sources[q, Q_LINES] if sources[q, Q_COLUMNS] else 0
