"""The compiled model of a cluster's program, cycle by cycle: the reader, three queues of commands, tokens, HWCs.

It does what `hwgen.gateware.cluster` does. HWCs are busy for as long as the command says that starts them.
"""

import numpy as np

from hwgen.model.compiled import inner_borrowing
from hwgen.model.system.channels_kernel import is_at_work, read_descriptor
from hwgen.model.system.moves_kernel import ACTED, LINE, MOVED, READ, WAITING, fetch, load, store
from hwgen.model.system.tables import (
    B_LEFT,
    B_LEVEL,
    B_OUT,
    B_READY,
    BESIDE_CYCLES,
    BESIDE_FIELDS,
    BESIDE_LAST,
    BESIDE_LINES,
    BUSY,
    C_BESIDE,
    C_KIND,
    C_LENGTH,
    C_MASK,
    C_POSTS,
    C_QUEUE,
    C_TAKES,
    C_WORK,
    COLLECTS,
    COMPUTED,
    COMPUTES,
    CONFIGURES,
    D_STATE,
    D_WAITING,
    ENDED,
    ENDS,
    F_LEVEL,
    F_TO_ASK,
    F_TO_GIVE,
    FIELDS,
    IN_ADDRESS,
    IN_DRAIN,
    IN_END,
    IN_HEADER,
    IN_PAYLOAD,
    IN_SENDING,
    IN_SETTING,
    K_BEATS,
    K_STREAM,
    L_BUSY,
    L_DRAINS,
    L_PENDING,
    LEADS,
    LINE_LAST,
    LINES_MOVED,
    LOAD,
    LOADS,
    MOVES,
    NOW,
    P_UNDER_WAY,
    POSTED,
    Q_COMMAND,
    Q_LEFT,
    Q_LEVEL,
    Q_MOVED,
    Q_OLDEST,
    Q_READY,
    Q_ROOM,
    Q_SETTLED,
    Q_STATE,
    Q_UNDER_WAY,
    QUEUE,
    QUEUES,
    R_COMMAND,
    R_LEFT,
    R_SETTLED,
    R_STATE,
    REST,
    RING,
    SETTLES,
    STARTED,
    STARTS,
    STORE,
    STORES,
    TAKEN,
    TO_ADDRESS,
    TO_HEADER,
    TO_JOIN,
    TO_LEADERS,
    TO_PAYLOAD,
    TO_REGISTER,
    TO_START,
    TO_WRITE,
    TOKENS,
    TOTAL,
    WAITING_FOR,
    WAITS,
)

__all__ = ["play_cycle"]


@inner_borrowing
def play_cycle(  # type: ignore[no-untyped-def]
    row, commands, of_queue, moves, p, rings, hwcs, settled, now, sent, addressed, answered
):
    """One cycle of a cluster; ``sent``, ``addressed``, ``answered``: what its port has for the store channel.

    Returns whether anything has changed, or will by itself.
    """
    coming, owed, shifts, asked = rings
    _count(row, now)
    waiting_loads, waiting_stores = row[LOAD + D_WAITING], row[STORE + D_WAITING]
    beat, stream, left = row[B_READY] == 1, coming[row[B_OUT] % RING, K_STREAM], row[B_LEFT]
    if not left:
        left = coming[row[B_OUT] % RING, K_BEATS]
    state = row[R_STATE]
    rests = state >= IN_DRAIN and _is_drained(row, hwcs, now)
    pushed, given = _read(row, commands, rests, settled, now)
    bits = fetch(row, coming, p, beat and stream != 0, given)
    loaded = load(row, coming, commands, moves, p, beat and stream == 0, left == 1)
    stored = store(row, owed, shifts, asked, commands, moves, p, now, sent, addressed, answered)
    if loaded & LINE:
        _count_line(row, commands, np.int64(0), now)
    if stored & LINE:
        _count_line(row, commands, np.int64(1), now)
    if (bits | loaded) & READ:
        row[B_READY], row[B_LEFT] = 0, left - 1
        row[B_OUT] += left == 1
    for place in range(POSTED, POSTED + 2 * QUEUES):
        row[place] = 0
    bits |= loaded | stored | (ACTED if given or pushed >= 0 or row[R_STATE] != state else 0)
    bits |= _move(row, np.int64(LOADS), commands, of_queue, moves, p, loaded & MOVED, waiting_loads)
    bits |= _move(row, np.int64(STORES), commands, of_queue, moves, p, stored & MOVED, waiting_stores)
    bits |= _compute(row, commands, of_queue, hwcs, now)
    _pass_tokens(row)
    for queue in range(QUEUES):
        bits |= _refill(row, QUEUE + FIELDS * queue + Q_LEVEL)
        row[QUEUE + FIELDS * queue + Q_LEVEL] += queue == pushed
    bits |= _refill(row, np.int64(B_LEVEL))
    if rests and row[R_STATE] == IN_END and not (row[F_TO_GIVE] or row[F_TO_ASK] or given):
        row[ENDED], row[TOTAL] = 1, now
    return bits & (ACTED | WAITING | MOVED | READ) != 0


@inner_borrowing
def _count(row, now):  # type: ignore[no-untyped-def]
    """Count the cycles since the last one that was played, this one included: nothing has changed in between."""
    cycles = now - row[NOW]
    row[NOW] = now
    moving = row[LOAD + L_BUSY] or row[LOAD + L_PENDING] or row[LOAD + L_DRAINS] or is_at_work(row, np.int64(LOAD))
    storing = is_at_work(row, np.int64(STORE))
    row[BUSY + LOADS] += cycles * (moving != 0)
    row[BUSY + STORES] += cycles * storing
    for queue in range(QUEUES):
        for other in range(QUEUES):
            row[WAITS + QUEUES * queue + other] += cycles * (row[WAITING_FOR + queue] >> other & 1)


@inner_borrowing
def _count_line(row, commands, channel, now):  # type: ignore[no-untyped-def]
    """Count a line of a channel, and the cycles since the one before."""
    cycles = min(now - row[LINE_LAST + channel], REST)
    row[LINE_LAST + channel] = now
    row[LINES_MOVED + channel] += 1
    if row[COMPUTED] > now:
        beside = commands[row[STARTED], C_BESIDE + BESIDE_FIELDS * channel :]
        beside[BESIDE_CYCLES] += cycles
        beside[BESIDE_LINES] += 1
        beside[BESIDE_LAST] = row[LINES_MOVED + channel]


@inner_borrowing
def _refill(row, level):  # type: ignore[no-untyped-def]
    """A word goes on from the memory of a queue to the register after it, if that is empty."""
    if row[level + 1] or not row[level]:
        return 0
    row[level] -= 1
    row[level + 1] = 1
    return ACTED


# --- the program ---


@inner_borrowing
def _read(row, commands, rests, settled, now):  # type: ignore[no-untyped-def]
    """A cycle of the reader; ``rests``: all that it has read is done.

    Returns the queue that it pushes a word to, or -1, and whether it takes a word.
    """
    there = row[F_LEVEL] != 0 and row[F_TO_GIVE] != 0
    state = row[R_STATE]
    if state == IN_END:
        return -1, there
    command = commands[row[R_COMMAND]]
    if state == IN_HEADER:
        if there:
            kind = command[C_KIND]
            row[R_STATE] = IN_END if kind == ENDS else IN_DRAIN if kind == SETTLES else IN_ADDRESS
            row[R_LEFT] = command[C_LENGTH]
        return -1, there
    if state == IN_DRAIN:
        if rests:
            settled[row[R_SETTLED], QUEUES] = now
            for queue in range(QUEUES):
                settled[row[R_SETTLED], queue] = row[BUSY + queue]
            row[R_SETTLED] += 1
            row[R_STATE] = IN_SETTING
        return -1, False
    if state == IN_SETTING:
        row[R_LEFT] -= there
        if row[R_LEFT] == 0:
            row[R_STATE] = IN_HEADER
            row[R_COMMAND] += 1
        return -1, there
    q = QUEUE + FIELDS * command[C_QUEUE]
    if row[q + Q_LEVEL] == row[q + Q_ROOM] or (state == IN_PAYLOAD and not there):
        return -1, False
    if state == IN_ADDRESS:
        row[R_STATE] = IN_SENDING
        return command[C_QUEUE], False
    row[R_LEFT] -= state == IN_PAYLOAD
    row[R_STATE] = IN_PAYLOAD if row[R_LEFT] else IN_HEADER
    row[R_COMMAND] += row[R_LEFT] == 0
    return command[C_QUEUE], state == IN_PAYLOAD


@inner_borrowing
def _is_drained(row, hwcs, now):  # type: ignore[no-untyped-def]
    """Whether the queues are empty, and all that was read is done."""
    for queue in range(QUEUES):
        q = QUEUE + FIELDS * queue
        if row[q + Q_STATE] != TO_ADDRESS or row[q + Q_LEVEL] or row[q + Q_READY] or row[q + Q_UNDER_WAY]:
            return False
    for hwc in hwcs:
        if hwc > now:
            return False
    if row[LOAD + L_BUSY] or row[LOAD + L_PENDING] or row[LOAD + L_DRAINS]:
        return False
    if is_at_work(row, np.int64(LOAD)) or is_at_work(row, np.int64(STORE)):
        return False
    return row[QUEUE + FIELDS * COMPUTES + Q_SETTLED] == 1


# --- queues ---


@inner_borrowing
def _may_take(row, queue, takes):  # type: ignore[no-untyped-def]
    """Whether a queue has all these tokens, which it then takes; it counts what it waits for."""
    waits = 0
    for other in range(QUEUES):
        if takes >> other & 1 and not row[TOKENS + QUEUES * other + queue]:
            waits |= 1 << other
    row[WAITING_FOR + queue] = waits
    return waits == 0


@inner_borrowing
def _pass_tokens(row):  # type: ignore[no-untyped-def]
    """Tokens that were posted in this cycle are there in the next one."""
    for queue in range(QUEUES):
        for other in range(QUEUES):
            row[TOKENS + QUEUES * queue + other] += row[POSTED + queue] >> other & 1
            row[TOKENS + QUEUES * queue + other] -= row[TAKEN + other] >> queue & 1


@inner_borrowing
def _move(row, queue, commands, of_queue, moves, p, done, waiting):  # type: ignore[no-untyped-def]
    """A cycle of a queue of moves and of the reader of descriptors after it. Returns whether anything changes."""
    q, c = QUEUE + FIELDS * queue, np.int64(LOAD if queue == LOADS else STORE)
    bits, word, words = 0, False, 0
    collects, under_way = row[c + D_STATE] == COLLECTS, row[q + Q_UNDER_WAY]
    if under_way:
        oldest = commands[of_queue[queue, row[q + Q_OLDEST]]]
        is_move = oldest[C_KIND] == MOVES
        if row[q + Q_MOVED] or not is_move:
            row[POSTED + queue] = oldest[C_POSTS]
            row[q + Q_OLDEST] += 1
            row[q + Q_UNDER_WAY] -= 1
            row[q + Q_MOVED] -= is_move
            bits = ACTED
    row[q + Q_MOVED] += done != 0
    row[WAITING_FOR + queue] = 0
    if row[q + Q_READY]:
        state = row[q + Q_STATE]
        command = commands[of_queue[queue, row[q + Q_COMMAND]]]
        if state == TO_ADDRESS:
            row[q + Q_STATE] = TO_HEADER
            row[q + Q_READY], bits = 0, ACTED
        elif state == TO_HEADER:
            if _may_take(row, queue, command[C_TAKES]) and under_way < p[P_UNDER_WAY]:
                row[TAKEN + queue] = command[C_TAKES]
                row[q + Q_UNDER_WAY] += 1
                row[q + Q_LEFT] = command[C_LENGTH]
                moving = command[C_KIND] == MOVES
                row[q + Q_STATE] = TO_PAYLOAD if moving else TO_ADDRESS
                row[q + Q_COMMAND] += not moving
                row[q + Q_READY], bits = 0, ACTED
        elif collects:
            word, words = True, command[C_LENGTH]
            row[q + Q_LEFT] -= 1
            if row[q + Q_LEFT] == 0:
                row[q + Q_STATE] = TO_ADDRESS
                row[q + Q_COMMAND] += 1
            row[q + Q_READY] = 0
    return bits | (ACTED if read_descriptor(row, c, moves, p, word, words, waiting) else 0)


@inner_borrowing
def _compute(row, commands, of_queue, hwcs, now):  # type: ignore[no-untyped-def]
    """A cycle of the queue for the HWCs. Returns whether anything changes."""
    q = QUEUE + FIELDS * COMPUTES
    state, there = row[q + Q_STATE], row[q + Q_READY]
    row[q + Q_SETTLED], settled = state == TO_ADDRESS, row[q + Q_SETTLED]
    row[WAITING_FOR + COMPUTES] = 0
    if state == TO_ADDRESS:
        if there:
            row[q + Q_STATE], row[q + Q_READY] = TO_HEADER, 0
            return ACTED
        return 0 if settled else ACTED
    if state == TO_HEADER and not there:
        return 0
    command = commands[of_queue[np.int64(COMPUTES), row[q + Q_COMMAND]]]
    if state == TO_HEADER:
        if not _may_take(row, np.int64(COMPUTES), command[C_TAKES]):
            return 0
        row[TAKEN + COMPUTES] = command[C_TAKES]
        kind = command[C_KIND]
        row[q + Q_READY], row[q + Q_LEFT] = 0, command[C_LENGTH] - 1
        row[q + Q_STATE] = TO_JOIN
        if kind == CONFIGURES:
            row[q + Q_STATE] = TO_REGISTER
        elif kind == STARTS:
            row[q + Q_STATE] = TO_START
        elif kind == LEADS:
            row[q + Q_STATE] = TO_LEADERS
        return ACTED
    if state == TO_REGISTER:
        if not there:
            return 0
        row[q + Q_STATE], row[q + Q_READY] = TO_WRITE, 0
        return ACTED
    for hwc in range(len(hwcs)):
        if command[C_MASK] >> hwc & 1 and hwcs[hwc] > now:
            return 0
    ends = state in (TO_START, TO_JOIN)
    if not ends:
        if not there:
            return 0
        ends = row[q + Q_LEFT] == (1 if state == TO_WRITE else 0)
        row[q + Q_LEFT] -= 1
        row[q + Q_READY] = 0
    elif state == TO_START:
        if now + 1 + command[C_WORK] > row[COMPUTED]:  # what lasts longest says what the DMA waits
            row[STARTED] = of_queue[np.int64(COMPUTES), row[q + Q_COMMAND]]
        _start(row, command, hwcs, now)
    if ends:
        row[POSTED + COMPUTES] = command[C_POSTS]
        row[q + Q_STATE] = TO_ADDRESS
        row[q + Q_COMMAND] += 1
    return ACTED


@inner_borrowing
def _start(row, command, hwcs, now):  # type: ignore[no-untyped-def]
    """HWCs are busy from the next cycle on."""
    until = now + 1 + command[C_WORK]
    for hwc in range(len(hwcs)):
        if command[C_MASK] >> hwc & 1:
            hwcs[hwc] = until
    row[BUSY + COMPUTES] += max(0, until - max(row[COMPUTED], now + 1))
    row[COMPUTED] = max(row[COMPUTED], until)
