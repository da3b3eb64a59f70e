"""The compiled part of a pipeline's streams: the beats that they bring and take, and the turns of the overlap port.

Without movers a stream has, or takes, a beat in every cycle.
"""

from hwgen.model.compiled import inner
from hwgen.model.pipeline.kernel_tables import (
    B_BEAT,
    B_CREDIT,
    B_LEVEL,
    B_ROOM,
    B_SENT,
    B_VALID,
    IN_FLIGHT,
    L_IN,
    L_OUT,
    LEVEL,
    M_BEATS,
    M_CHANNELS,
    M_OVERLAP,
    M_QUEUE,
    M_RING,
    M_ROOM,
    M_SAVED,
    M_VALID,
    OPERAND,
    OUTPUT,
    OVERLAP_LEVEL,
    P_BEAT,
    P_FULL,
    P_INDEX,
    P_LEFT,
    P_MAP,
    P_TARGET,
    P_VALID,
    Q_AFTER,
    Q_BEATS,
    Q_BEFORE,
    Q_CHANNELS,
    Q_COLUMNS,
    Q_EACH,
    Q_LINES,
    Q_MOVER,
    Q_QUEUE,
    Q_TARGET,
    R_BEATS,
    R_KIND,
    R_MAP,
    R_MOVER,
    R_QUEUE,
    RELEASED,
    S_BEAT,
    S_COLUMN,
    S_FULL,
    S_LEVEL,
    S_LINES,
    S_ROOM,
    S_TAKEN,
    S_VALID,
    SAVED,
    VALID,
)
from hwgen.model.pipeline.movers_kernel import give, offer_turn, take

__all__ = ["incoming", "outgoing", "registered", "streams"]


@inner
def registered(maps, branches, sources, m_state, t_state, b_state, s_state):  # type: ignore[no-untyped-def]
    """What the parts see of each other in a cycle: the levels at its beginning."""
    for s in range(len(t_state)):
        t_state[s, VALID] = t_state[s, LEVEL] > 0
    for q in range(len(s_state)):
        s_state[q, S_VALID], s_state[q, S_ROOM] = s_state[q, S_LEVEL] > 0, s_state[q, S_LEVEL] < sources[q, Q_QUEUE]
    for b in range(len(branches)):
        from_ring = branches[b, R_KIND] == OPERAND and maps[branches[b, R_MAP], M_RING] > 0
        b_state[b, B_VALID] = b_state[b, B_LEVEL] > 0
        b_state[b, B_ROOM] = b_state[b, B_CREDIT] > 0 if from_ring else b_state[b, B_LEVEL] < branches[b, R_QUEUE]
    for m in range(len(m_state)):
        m_state[m, M_VALID] = m_state[m, OVERLAP_LEVEL] > 0
        m_state[m, M_ROOM] = m_state[m, OVERLAP_LEVEL] < maps[m, M_QUEUE]
        m_state[m, RELEASED] = m_state[m, IN_FLIGHT]


@inner
def streams(maps, branches, sources, b_state, s_state, movers, moving):  # type: ignore[no-untyped-def]
    """Input streams bring a beat where there is room, output streams take one. Returns the number of beats."""
    moved = 0
    for q in range(len(sources)):
        source, state = sources[q], s_state[q]
        if source[Q_TARGET] >= 0 and state[S_FULL] and state[S_ROOM]:
            state[S_TAKEN] = 1
            state[S_LEVEL] += 1
        room = not state[S_FULL] or state[S_TAKEN]
        if state[S_TAKEN]:
            state[S_FULL] = state[S_TAKEN] = 0
        wants = room and state[S_LINES] and source[Q_COLUMNS]
        if source[Q_AFTER] >= 0 and not len(movers):
            lines = source[Q_LINES] - state[S_LINES] + 1
            wants = wants and b_state[source[Q_AFTER], B_SENT] >= source[Q_BEFORE] + lines * source[Q_EACH]
        if wants and take(movers, moving, source[Q_MOVER], source[Q_CHANNELS], state[S_BEAT]):
            moved += 1
            state[S_BEAT] += 1
            if state[S_BEAT] == source[Q_BEATS]:
                state[S_BEAT], state[S_FULL] = 0, 1
                state[S_COLUMN] += 1
                if state[S_COLUMN] == source[Q_COLUMNS]:
                    state[S_COLUMN] = 0
                    state[S_LINES] -= 1
    for b in range(len(branches)):
        if branches[b, R_KIND] != OUTPUT or not b_state[b, B_VALID]:
            continue
        channels = maps[branches[b, R_MAP], M_CHANNELS]
        if give(movers, moving, branches[b, R_MOVER], channels, b_state[b, B_BEAT]):
            moved += 1
            b_state[b, B_BEAT] += 1
            if b_state[b, B_BEAT] == branches[b, R_BEATS]:
                b_state[b, B_BEAT] = 0
                b_state[b, B_LEVEL] -= 1
                b_state[b, B_SENT] += 1
    return moved


@inner
def incoming(maps, m_state, port, order, left, movers, moving, mover):  # type: ignore[no-untyped-def]
    """A cycle of the overlap port, incoming."""
    moved, ends = 0, False
    given = port[P_FULL] and m_state[port[P_TARGET], M_ROOM]
    takes = port[P_VALID] and (not port[P_FULL] or given)
    takes = takes and take(movers, moving, mover, maps[port[P_MAP], M_CHANNELS], port[P_BEAT])
    if given:
        m_state[port[P_TARGET], OVERLAP_LEVEL] += 1
        port[P_FULL] = 0
    if takes:
        moved = 1
        port[P_BEAT] += 1
        if port[P_BEAT] == maps[port[P_MAP], M_BEATS]:
            port[P_BEAT], port[P_FULL], port[P_TARGET] = 0, 1, port[P_MAP]
            port[P_LEFT] -= 1
            ends = port[P_LEFT] == 0
    _turn(port, order, ends, left, L_IN, maps[:, M_OVERLAP], moving, mover)
    return moved


@inner
def outgoing(maps, branches, b_state, port, order, left, movers, moving, mover):  # type: ignore[no-untyped-def]
    """A cycle of the overlap port, outgoing."""
    moved, ends = 0, False
    if port[P_VALID]:
        for b in range(len(branches)):
            mine = branches[b, R_KIND] == SAVED and branches[b, R_MAP] == port[P_MAP] and b_state[b, B_VALID]
            if mine and give(movers, moving, mover, maps[port[P_MAP], M_CHANNELS], port[P_BEAT]):
                moved = 1
                port[P_BEAT] += 1
                if port[P_BEAT] == maps[port[P_MAP], M_BEATS]:
                    port[P_BEAT] = 0
                    b_state[b, B_LEVEL] -= 1
                    port[P_LEFT] -= 1
                    ends = port[P_LEFT] == 0
    _turn(port, order, ends, left, L_OUT, maps[:, M_SAVED], moving, mover)
    return moved


@inner
def _turn(port, order, ends, left, way, columns, moving, mover):  # type: ignore[no-untyped-def]
    if port[P_VALID] and not ends:
        return
    following = order[port[P_INDEX]]
    port[P_VALID] = following >= 0 and left[following, way] > 0 and offer_turn(moving, mover)
    if port[P_VALID]:
        port[P_MAP] = following
        left[following, way] -= 1
        port[P_LEFT] = columns[port[P_MAP]]
        port[P_INDEX] += 1
