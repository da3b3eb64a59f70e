"""The compiled model of loads, stores and the fetch of a program: what a DMA takes from and gives to its port.

Each function is a cycle of one cluster's. They return bits of `ACTED`, `LINE`, `MOVED`, `READ` and `WAITING`.
"""

import numpy as np

from hwgen.arch.bus import WORD_BYTES
from hwgen.arch.dma import SCATTERED_BYTES
from hwgen.model.compiled import inner_borrowing
from hwgen.model.dram.cycles_kernel import P_WIDTH
from hwgen.model.system.channels_kernel import (
    align,
    begin_alignment,
    cut_run,
    leave_run,
    split,
    take_descriptor,
    take_segment,
)
from hwgen.model.system.tables import (
    A_FIRST,
    A_FULL,
    A_LAST,
    A_STREAM,
    B_IN,
    BYTES_LOADED,
    C_LATE,
    COMPUTED,
    D_WAITING,
    E_APART,
    E_FAST,
    E_FOLD,
    E_LENGTH,
    E_SLOW,
    F_ADDRESS,
    F_LEVEL,
    F_OFFERED,
    F_PROMISED,
    F_TO_ASK,
    F_TO_GIVE,
    F_WORD,
    FOLLOWING,
    G_ENDS,
    G_FIRST,
    G_FULL,
    G_LAST,
    H_JOINS,
    H_LENGTH,
    H_SOURCE,
    H_TARGET,
    K_BEATS,
    K_STREAM,
    KEPT,
    L_BANKS,
    L_BUSY,
    L_BYTE,
    L_DRAINS,
    L_FIRST,
    L_GRANTS,
    L_JOINS,
    L_LANE,
    L_LAST,
    L_LEFT,
    L_MOVE,
    L_PENDING,
    L_WAITS,
    LATE,
    LOAD,
    LOAD_STREAM,
    N_BUSY,
    N_ENDS,
    N_GIVE,
    N_JOINS,
    N_KEEPS,
    N_PRIMES,
    NOW,
    O_BEATS,
    O_BURSTS,
    P_BANKS,
    P_BEATS_AHEAD,
    P_CHUNK,
    P_CHUNKS,
    P_LINE_READ,
    P_LINES,
    P_OUTSTANDING,
    P_SCATTERED,
    PARTS,
    PROGRAM_STREAM,
    RING,
    STARTED,
    STORE,
    T_BUSY,
    W_BUSY,
    W_DESCRIPTOR,
    W_DRAM,
    W_JOINS,
    W_LAST,
    W_TCDM,
    WORDS_LOADED,
    WORDS_STORED,
    Z_ANSWERED,
    Z_ASKED,
    Z_BEAT,
    Z_BEAT_LAST,
    Z_GIVEN,
    Z_LEFT,
    Z_NUMBER,
    Z_OFFERED,
    Z_OWED_IN,
    Z_OWED_OUT,
    Z_SHIFTS_IN,
    Z_SHIFTS_OUT,
    Z_WAITS,
    Z_WALKING,
)

__all__ = ["ACTED", "LINE", "MOVED", "READ", "WAITING", "fetch", "load", "store"]

ACTED, MOVED, READ, WAITING, LINE = 1, 2, 4, 8, 16
"""Something has changed; a descriptor has been done; a beat of the port was taken; something comes by itself; a line
of the memory is written or asked for."""


@inner_borrowing
def load(row, coming, commands, moves, p, beat, last):  # type: ignore[no-untyped-def]
    """The load channel; ``beat``: whether one of its beats is at the port; ``last``: of its burst.

    The register before the port has been emptied, if it is, and the program has been served.
    """
    c = np.int64(LOAD)
    holds = row[c + O_BURSTS] == p[P_OUTSTANDING] or row[c + O_BEATS] >= p[P_BEATS_AHEAD]
    waiting, cuts = row[c + D_WAITING], row[c + T_BUSY]
    quiet = not (row[c + T_BUSY] or row[c + N_BUSY])
    scatters = row[c + L_BUSY]
    bits = 0
    # The line that is being written: the end of one descriptor is awaited at a time.
    drains, ends = row[c + L_DRAINS], row[c + L_PENDING] == 2
    free = not (ends and drains) and row[c + L_WAITS] == 0
    if drains:
        bits |= WAITING | (MOVED if drains == 1 else 0)
        row[c + L_DRAINS] -= 1
    if ends and not drains and row[c + L_WAITS] == 0:
        row[c + L_DRAINS] = 3 + _unwritten(row, c)
    if row[c + L_WAITS]:
        row[c + L_WAITS] -= 1
        bits |= ACTED
    if free and row[c + L_PENDING]:
        row[c + L_PENDING] = 0
        bits |= ACTED
    primes = row[c + N_PRIMES]
    taken, line = _place(row, c, commands, moves, p, beat, free)
    if primes and not row[c + N_PRIMES]:  # even if the beat stays for the next run
        bits |= ACTED
    if line:
        row[c + L_PENDING] = line
        bits |= LINE
    bits |= ACTED | READ if taken else (ACTED if line else 0)
    if taken:
        row[c + O_BEATS] -= 1
        row[c + O_BURSTS] -= last
    if cuts and not row[c + N_BUSY]:
        dram, tcdm, size, joins, final = cut_run(row, c, p)
        begin_alignment(row, c, p, dram % p[P_WIDTH], tcdm % WORD_BYTES, size)
        row[c + N_KEEPS], row[c + N_ENDS] = joins, final
        bits |= ACTED
    bits |= _next_run(row, c, moves, p, scatters, quiet)
    if take_descriptor(row, c, moves, waiting):
        bits |= ACTED
    # Bursts.
    if row[c + G_FULL] and not row[A_FULL]:
        _offer(row, coming, p, row[c + G_FIRST], row[c + G_LAST], np.int64(LOAD_STREAM))
        row[c + G_FULL] = 0
        bits |= ACTED
    beats = split(row, c, moves, p, holds)
    if beats > 0:
        row[c + O_BURSTS] += 1
        row[c + O_BEATS] += beats
    return bits | (ACTED if beats >= 0 else 0)


@inner_borrowing
def _late(row, commands, kind):  # type: ignore[no-untyped-def]
    """Cycles that a line of this kind waits for HWCs."""
    if row[COMPUTED] <= row[NOW]:
        return 0
    row[LATE + kind] += commands[row[STARTED], C_LATE + kind]
    waits = row[LATE + kind] // PARTS
    row[LATE + kind] %= PARTS
    return waits


@inner_borrowing
def _place(row, c, commands, moves, p, beat, free):  # type: ignore[no-untyped-def]
    """Place a beat in a line. Returns whether it takes the beat; 0: no line, 1: one, 2: the last of its
    descriptor."""
    if not row[c + L_BUSY]:
        taken, gives = align(row, c, beat, free)
        if gives:
            row[c + L_WAITS] = _late(row, commands, np.int64(WORDS_LOADED))
        return taken and beat, 0 if not gives else 2 if gives == 2 and row[c + N_ENDS] else 1
    if not (beat and free):
        return False, 0
    width = p[P_WIDTH]
    count = min(p[P_SCATTERED], row[c + L_LEFT], width - row[c + L_LANE])
    late = _late(row, commands, np.int64(BYTES_LOADED))
    row[c + L_WAITS] = _write_bytes(row, c, moves, p, count, late)
    row[c + L_LEFT] -= count
    row[c + L_LANE] += count
    ends = row[c + L_LEFT] == 0
    leaves = (ends and not row[c + L_JOINS]) or row[c + L_LANE] == width
    row[c + L_LANE] %= width
    if ends:
        row[c + L_BUSY] = 0
    return leaves, 2 if ends and row[c + L_LAST] else 1


@inner_borrowing
def _write_bytes(row, c, moves, p, count, late):  # type: ignore[no-untyped-def]
    """Each of the scatterer's next ``count`` bytes goes to a port, ``late`` cycles after it could; returns the cycles
    in which no other line follows.

    A port takes two bytes before the first one is granted (`hwgen.gateware.bus.tcdm.TcdmMaster`), and the line of a
    third one is there; bytes of a bank are granted in their order.
    """
    move, first, byte = moves[row[c + L_MOVE]], row[c + L_FIRST], row[c + L_BYTE]
    row[c + L_BYTE] += count
    waits = 0
    for port in range(count):
        grants, bank = c + L_GRANTS + KEPT * port, _word_of(move, first, byte + port) % p[P_BANKS]
        granted = max(row[NOW], row[grants] + 1)
        for other in range(p[P_SCATTERED]):
            if row[c + L_BANKS + other] == bank:
                granted = max(granted, row[c + L_GRANTS + KEPT * other] + 1)
        for place in range(KEPT - 1, 0, -1):
            row[grants + place] = row[grants + place - 1]
        row[grants], row[c + L_BANKS + port] = granted + (late if port == 0 else 0), bank
        waits = max(waits, row[grants + KEPT - 1] + 2 - row[NOW])
    return waits


@inner_borrowing
def _unwritten(row, c):  # type: ignore[no-untyped-def]
    """Cycles until all single bytes are written, from the cycle after the last line on."""
    last = row[NOW] - 1
    for port in range(SCATTERED_BYTES):
        last = max(last, row[c + L_GRANTS + KEPT * port])
    return last - row[NOW] + 1


@inner_borrowing
def _word_of(move, first, byte):  # type: ignore[no-untyped-def]
    """The word of the TCDM that a byte of a scattered run is in, which begins at address ``first``."""
    fold = move[E_FOLD]
    return (first + byte % fold * move[E_FAST] + byte // fold * move[E_SLOW]) // WORD_BYTES


@inner_borrowing
def _next_run(row, c, moves, p, scatters, quiet):  # type: ignore[no-untyped-def]
    """The run at hand goes to the segmenter or to the scatterer, each of which waits until the other has done."""
    w = c + FOLLOWING
    if not row[w + W_BUSY]:
        return 0
    move = moves[row[w + W_DESCRIPTOR]]
    if not move[E_APART]:
        return ACTED if not scatters and take_segment(row, c, moves) else 0
    if not quiet or row[c + L_BUSY]:
        return 0
    row[c + L_BUSY], row[c + L_LEFT], row[c + L_LANE] = 1, move[E_LENGTH], row[w + W_DRAM] % p[P_WIDTH]
    row[c + L_JOINS], row[c + L_LAST] = row[w + W_JOINS], row[w + W_LAST]
    row[c + L_MOVE], row[c + L_FIRST], row[c + L_BYTE] = row[w + W_DESCRIPTOR], row[w + W_TCDM], 0
    leave_run(row, c, moves)
    return ACTED


@inner_borrowing
def _offer(row, coming, p, first, last, stream):  # type: ignore[no-untyped-def]
    """A burst that is to be read comes to the port."""
    row[A_FULL], row[A_FIRST], row[A_LAST], row[A_STREAM] = 1, first, last, stream
    slot = row[B_IN] % RING
    coming[slot, K_STREAM] = stream
    coming[slot, K_BEATS] = last // p[P_WIDTH] - first // p[P_WIDTH] + 1
    row[B_IN] += 1


@inner_borrowing
def fetch(row, coming, p, beat, given):  # type: ignore[no-untyped-def]
    """The fetch of the program; ``beat``: one of its beats is at the port; ``given``: a word of it is taken.

    The register before the port has been emptied, if it is.
    """
    words, chunk = p[P_WIDTH] // WORD_BYTES, p[P_CHUNK] // p[P_WIDTH]
    bits = READ | ACTED if beat else 0
    promised = row[F_PROMISED]
    if given:
        row[F_TO_GIVE] -= 1
        row[F_WORD] += 1
        if row[F_WORD] == words or row[F_TO_GIVE] == 0:
            row[F_WORD] = 0
            row[F_LEVEL] -= 1
            row[F_PROMISED] -= 1
    if beat:
        row[F_LEVEL] += 1
    if row[F_OFFERED]:
        if not row[A_FULL]:
            number = min(row[F_TO_ASK], p[P_CHUNK] // WORD_BYTES)
            last = row[F_ADDRESS] + WORD_BYTES * number - 1
            _offer(row, coming, p, row[F_ADDRESS], last, np.int64(PROGRAM_STREAM))
            row[F_ADDRESS] += p[P_CHUNK]
            row[F_TO_ASK] -= number
            row[F_PROMISED] += (number + words - 1) // words
            row[F_OFFERED] = 0
            bits |= ACTED
    elif row[F_TO_ASK] and promised <= (p[P_CHUNKS] - 1) * chunk:
        row[F_OFFERED] = 1
        bits |= ACTED
    return bits


@inner_borrowing
def store(row, owed, shifts, asked, commands, moves, p, now, sent, addressed, answered):  # type: ignore[no-untyped-def]
    """The store channel: whether its beat was taken, its burst, and whether a burst was answered."""
    c = np.int64(STORE)
    holds = row[c + O_BURSTS] == p[P_OUTSTANDING]
    waiting, cuts = row[c + D_WAITING], row[c + T_BUSY]
    owes, shifted = row[Z_OWED_IN] != row[Z_OWED_OUT], row[Z_SHIFTS_IN] != row[Z_SHIFTS_OUT]
    room_for_shift = row[Z_SHIFTS_IN] - row[Z_SHIFTS_OUT] < p[P_LINES]
    ahead = row[Z_ASKED] - row[Z_GIVEN]
    bits = ACTED if sent or addressed or answered else 0
    if answered:
        row[c + O_BURSTS] -= 1
        bits |= MOVED if owed[row[Z_ANSWERED] % RING, 1] else 0
        row[Z_ANSWERED] += 1
    if sent:
        row[Z_BEAT] = 0
    # From lines to beats.
    if row[c + N_BUSY]:
        there = ahead > 0 and asked[row[Z_GIVEN] % RING] + p[P_LINE_READ] <= now
        if ahead > 0 and not there:
            bits |= WAITING
        joins = row[c + N_GIVE] == 1 and row[c + N_JOINS] == 1
        primes = row[c + N_PRIMES]
        taken, gives = align(row, c, there, joins or (owes and not row[Z_BEAT]))
        bits |= ACTED if taken or gives else 0
        if taken and there:
            row[Z_GIVEN] += 1
        if gives and not joins and not primes:
            row[Z_BEAT], row[Z_BEAT_LAST] = 1, row[Z_NUMBER] + 1 == owed[row[Z_OWED_OUT] % RING, 0]
            row[Z_NUMBER] += 1
            if row[Z_BEAT_LAST]:
                row[Z_NUMBER] = 0
                row[Z_OWED_OUT] += 1
    if shifted and not row[c + N_BUSY]:
        one = shifts[row[Z_SHIFTS_OUT] % RING]
        begin_alignment(row, c, p, one[H_SOURCE], one[H_TARGET], one[H_LENGTH])
        row[c + N_JOINS] = one[H_JOINS]
        row[Z_SHIFTS_OUT] += 1
        bits |= ACTED
    # Lines are asked for.
    if row[Z_WAITS]:
        row[Z_WAITS] -= 1
        bits |= ACTED
    elif row[Z_WALKING] and ahead < p[P_LINES]:
        row[Z_WAITS] = _late(row, commands, np.int64(WORDS_STORED))
        asked[row[Z_ASKED] % RING] = now + row[Z_WAITS]
        row[Z_ASKED] += 1
        row[Z_LEFT] -= p[P_WIDTH]
        if row[Z_LEFT] <= 0:
            row[Z_WALKING] = 0
        bits |= ACTED | LINE
    if cuts and room_for_shift and not row[Z_WALKING]:
        dram, tcdm, size, joins, _ = cut_run(row, c, p)
        one = shifts[row[Z_SHIFTS_IN] % RING]
        one[H_SOURCE], one[H_TARGET], one[H_LENGTH], one[H_JOINS] = (
            tcdm % WORD_BYTES,
            dram % p[P_WIDTH],
            size,
            joins,
        )
        row[Z_SHIFTS_IN] += 1
        row[Z_WALKING], row[Z_LEFT] = 1, size + tcdm % WORD_BYTES
        bits |= ACTED
    if take_segment(row, c, moves):
        bits |= ACTED
    if take_descriptor(row, c, moves, waiting):
        bits |= ACTED
    # Bursts: the beats of one are owed from the cycle after it is offered.
    if row[c + G_FULL] and not row[Z_OFFERED]:
        slot = row[Z_OWED_IN] % RING
        owed[slot, 0] = row[c + G_LAST] // p[P_WIDTH] - row[c + G_FIRST] // p[P_WIDTH] + 1
        owed[slot, 1] = row[c + G_ENDS]
        row[Z_OWED_IN] += 1
        bits |= ACTED
    row[Z_OFFERED] = row[c + G_FULL] and not addressed
    if addressed:
        row[c + G_FULL] = 0
    beats = split(row, c, moves, p, holds)
    if beats > 0:
        row[c + O_BURSTS] += 1
    return bits | (ACTED if beats >= 0 else 0)
