"""The compiled model of a DMA's channels, cycle by cycle: descriptors, runs, bursts, and data without their values.

It does what `hwgen.gateware.dma` does with a TCDM that grants every access at once, but to bytes of one bank that are
scattered together. Within a cycle what takes comes before what gives: a register that is emptied may be filled again.
"""

from hwgen.model.compiled import inner_borrowing
from hwgen.model.dram.cycles_kernel import P_WIDTH
from hwgen.model.system.tables import (
    AHEAD,
    COLLECTS,
    D_NUMBER,
    D_STATE,
    D_WAITING,
    D_WORDS,
    E_CONTINUES,
    E_COUNT_1,
    E_COUNT_2,
    E_DRAM,
    E_DRAM_1,
    E_DRAM_2,
    E_FOLD,
    E_LENGTH,
    E_SLOW,
    E_TCDM,
    E_TCDM_1,
    E_TCDM_2,
    FOLLOWING,
    G_ENDS,
    G_FIRST,
    G_FULL,
    G_LAST,
    JUDGES,
    N_BUSY,
    N_GIVE,
    N_KEEPS,
    N_PRIMES,
    N_TAKE,
    O_BURSTS,
    OFFERS,
    P_DESCRIPTORS,
    P_WINDOW,
    S_BEGIN,
    S_GATHERED,
    S_GATHERS,
    S_INSIDE,
    S_LATER,
    S_REST,
    SUMS,
    T_BUSY,
    T_DRAM,
    T_FOLD,
    T_JOINS,
    T_LAST,
    T_LENGTH,
    T_SLOW,
    T_TCDM,
    W_BUSY,
    W_DESCRIPTOR,
    W_DRAM,
    W_DRAM_0,
    W_JOINS,
    W_LAST,
    W_LEFT_1,
    W_LEFT_2,
    W_TCDM,
    W_TCDM_0,
)

__all__ = [
    "align",
    "begin_alignment",
    "cut_run",
    "is_at_work",
    "leave_run",
    "read_descriptor",
    "split",
    "take_descriptor",
    "take_segment",
]


@inner_borrowing
def is_at_work(row, c):  # type: ignore[no-untyped-def]
    """Whether a channel's front end or its path of data has anything to do; ``c``: where the channel begins."""
    return (
        row[c + O_BURSTS] != 0
        or row[c + G_FULL] != 0
        or row[c + D_STATE] != COLLECTS
        or row[c + D_WORDS] != 0
        or row[c + AHEAD + W_BUSY] != 0
        or row[c + D_WAITING] != 0
        or row[c + FOLLOWING + W_BUSY] != 0
        or row[c + T_BUSY] != 0
        or row[c + N_BUSY] != 0
    )


# --- descriptors ---


@inner_borrowing
def read_descriptor(row, c, moves, p, word, words, waiting):  # type: ignore[no-untyped-def]
    """A cycle of the reader of descriptors: ``word``: whether it gets one, of ``words``. Returns whether it moved.

    ``waiting`` : checked descriptors that waited at the beginning of the cycle.
    """
    state = row[c + D_STATE]
    if state == COLLECTS:
        if word:
            row[c + D_WORDS] += 1
            if row[c + D_WORDS] == words:
                row[c + D_STATE] = SUMS
        return word
    if state == SUMS:
        row[c + D_STATE] = JUDGES
    elif state == JUDGES:
        row[c + D_STATE] = OFFERS
    elif waiting < p[P_DESCRIPTORS] and not row[c + AHEAD + W_BUSY]:
        _begin_walk(row, c + AHEAD, moves, row[c + D_NUMBER])
        row[c + D_NUMBER] += 1
        row[c + D_WAITING] += 1
        row[c + D_STATE], row[c + D_WORDS] = COLLECTS, 0
    else:
        return False
    return True


@inner_borrowing
def take_descriptor(row, c, moves, waiting):  # type: ignore[no-untyped-def]
    """The walker that follows the data takes the next descriptor, if it has none. Returns whether it does."""
    w = c + FOLLOWING
    if row[w + W_BUSY] or not waiting:
        return False
    _begin_walk(row, w, moves, row[c + D_NUMBER] - row[c + D_WAITING])
    row[c + D_WAITING] -= 1
    return True


@inner_borrowing
def _begin_walk(row, w, moves, number):  # type: ignore[no-untyped-def]
    move = moves[number]
    row[w + W_BUSY], row[w + W_DESCRIPTOR] = 1, number
    row[w + W_DRAM], row[w + W_DRAM_0] = move[E_DRAM], move[E_DRAM]
    row[w + W_TCDM], row[w + W_TCDM_0] = move[E_TCDM], move[E_TCDM]
    row[w + W_LEFT_1], row[w + W_LEFT_2] = move[E_COUNT_1], move[E_COUNT_2]
    _look_ahead(row, w, move)


@inner_borrowing
def _look_ahead(row, w, move):  # type: ignore[no-untyped-def]
    """Whether the run at hand is the last one, and whether the next one is contiguous with it in the DRAM."""
    ends_row = row[w + W_LEFT_1] == 1
    row[w + W_LAST] = ends_row and row[w + W_LEFT_2] == 1
    if row[w + W_LAST]:
        row[w + W_JOINS] = move[E_CONTINUES]
    else:
        following = row[w + W_DRAM_0] + move[E_DRAM_2] if ends_row else row[w + W_DRAM] + move[E_DRAM_1]
        row[w + W_JOINS] = following == row[w + W_DRAM] + move[E_LENGTH]


@inner_borrowing
def _step(row, w, moves):  # type: ignore[no-untyped-def]
    """A walker goes on to its next run, or rests."""
    if row[w + W_LAST]:
        row[w + W_BUSY] = 0
        return
    move = moves[row[w + W_DESCRIPTOR]]
    if row[w + W_LEFT_1] == 1:
        row[w + W_DRAM_0] += move[E_DRAM_2]
        row[w + W_TCDM_0] += move[E_TCDM_2]
        row[w + W_DRAM], row[w + W_TCDM] = row[w + W_DRAM_0], row[w + W_TCDM_0]
        row[w + W_LEFT_1] = move[E_COUNT_1]
        row[w + W_LEFT_2] -= 1
    else:
        row[w + W_DRAM] += move[E_DRAM_1]
        row[w + W_TCDM] += move[E_TCDM_1]
        row[w + W_LEFT_1] -= 1
    _look_ahead(row, w, move)


# --- bursts ---


@inner_borrowing
def split(row, c, moves, p, hold):  # type: ignore[no-untyped-def]
    """A cycle of the splitter. Returns the beats of the burst that it offers from now on; 0: it has joined a run with
    the next one; -1: nothing."""
    w = c + AHEAD
    if not row[w + W_BUSY] or hold:
        return -1
    length = moves[row[w + W_DESCRIPTOR], E_LENGTH]
    address = row[c + S_LATER] if row[c + S_INSIDE] else row[w + W_DRAM]
    left = row[c + S_REST] if row[c + S_INSIDE] else length
    first = row[c + S_BEGIN] if row[c + S_GATHERS] else address
    room = p[P_WINDOW] - address % p[P_WINDOW]
    size = min(left, room)
    total = size + (row[c + S_GATHERED] if row[c + S_GATHERS] else 0)
    ends, closes = left <= room, left >= room or not row[w + W_JOINS]
    if not closes:
        row[c + S_GATHERS], row[c + S_BEGIN], row[c + S_GATHERED], row[c + S_INSIDE] = 1, first, total, 0
        _step(row, w, moves)
        return 0
    if row[c + G_FULL]:
        return -1
    row[c + G_FULL], row[c + G_FIRST], row[c + G_LAST] = 1, first, first + total - 1
    row[c + G_ENDS] = ends and row[w + W_LAST]
    row[c + S_GATHERS], row[c + S_INSIDE] = 0, not ends
    row[c + S_REST], row[c + S_LATER] = left - size, address + size
    if ends:
        _step(row, w, moves)
    return (first + total - 1) // p[P_WIDTH] - first // p[P_WIDTH] + 1


# --- segments ---


@inner_borrowing
def take_segment(row, c, moves):  # type: ignore[no-untyped-def]
    """The segmenter takes a run, if it has none and there is one for it. Returns whether it does."""
    w = c + FOLLOWING
    if row[c + T_BUSY] or not row[w + W_BUSY]:
        return False
    move = moves[row[w + W_DESCRIPTOR]]
    row[c + T_BUSY], row[c + T_DRAM], row[c + T_TCDM] = 1, row[w + W_DRAM], row[w + W_TCDM]
    row[c + T_LENGTH], row[c + T_JOINS], row[c + T_LAST] = move[E_LENGTH], row[w + W_JOINS], row[w + W_LAST]
    row[c + T_FOLD], row[c + T_SLOW] = move[E_FOLD], move[E_SLOW]
    _step(row, w, moves)
    return True


@inner_borrowing
def leave_run(row, c, moves):  # type: ignore[no-untyped-def]
    """The walker that follows the data goes on to the next run."""
    _step(row, c + FOLLOWING, moves)


@inner_borrowing
def cut_run(row, c, p):  # type: ignore[no-untyped-def]
    """The next segment leaves the segmenter. Returns DRAM and TCDM address, length, whether the next one follows in
    its last beat, whether it is the last one of its descriptor."""
    dram, tcdm, length = row[c + T_DRAM], row[c + T_TCDM], row[c + T_LENGTH]
    ends = length <= row[c + T_FOLD]
    size = min(length, row[c + T_FOLD])
    joins = (not ends or row[c + T_JOINS] == 1) and (dram + size) % p[P_WIDTH] != 0
    last = ends and row[c + T_LAST] == 1
    row[c + T_DRAM] += size
    row[c + T_TCDM] += row[c + T_SLOW]
    row[c + T_LENGTH] -= size
    if ends:
        row[c + T_BUSY] = 0
    return dram, tcdm, size, joins, last


# --- the aligner ---


@inner_borrowing
def begin_alignment(row, c, p, source, target, length):  # type: ignore[no-untyped-def]
    """The aligner takes a run of bytes: from place ``source`` in a unit to place ``target`` in another one."""
    width = p[P_WIDTH]
    row[c + N_BUSY], row[c + N_PRIMES] = 1, target < source
    row[c + N_TAKE] = (source + length + width - 1) // width
    row[c + N_GIVE] = (target + length + width - 1) // width


@inner_borrowing
def align(row, c, there, accepted):  # type: ignore[no-untyped-def]
    """A cycle of the aligner.

    ``there`` : whether a unit waits for it; ``accepted``: whether what it gives is taken.

    Returns whether it takes the unit, and what it gives: 0: nothing; 1: a unit, 2: the last one of its run.
    """
    if not row[c + N_BUSY]:
        return False, 0
    takes = row[c + N_TAKE]
    if row[c + N_PRIMES]:
        if not there:
            return False, 0
        gives = 0
    elif accepted and (there or takes == 0):
        gives = 2 if row[c + N_GIVE] == 1 else 1
    else:
        return False, 0
    row[c + N_PRIMES] = 0
    if takes:
        row[c + N_TAKE] -= 1
    if gives:
        row[c + N_GIVE] -= 1
        if gives == 2:
            row[c + N_BUSY] = 0
    return takes != 0 and not (row[c + N_KEEPS] and takes == 1), gives
