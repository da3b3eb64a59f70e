"""The compiled model of a DRAM at an AXI4 port, cycle by cycle.

It moves blocks one at a time, reads and writes in turn, each in its order; open rows are kept for each stream. A beat
that was read waits until it is taken; answers to writes are taken at once. See `hwgen.arch.dram`.
"""

import numpy as np
from numpy.typing import NDArray

from hwgen.arch import dram as arch_dram
from hwgen.arch.dram import BLOCK_BYTES, TICKS, Dram, ticks
from hwgen.arch.latency import DRAM_QUEUE
from hwgen.model.compiled import inner, inner_borrowing

__all__ = [
    "DRAM_PARAMETERS",
    "D_ANSWER",
    "D_ANSWER_OF",
    "D_DATA",
    "D_DATA_LAST",
    "D_DATA_OF",
    "P_WIDTH",
    "advance_idle",
    "begin_dram",
    "dram_cycle",
    "dram_parameters",
    "idle_dram",
    "is_at_rest",
    "takes_data",
]

Ints = NDArray[np.int64]
P_WIDTH, P_LATENCY, P_MISS, P_BLOCK, P_ROW, P_ACCESS = range(6)
DRAM_PARAMETERS = 6
"""Those come first in the array of parameters, see `dram_parameters`; others may follow."""
# What it shows in a cycle: whether an address is accepted, a beat that was read, an answer.
D_READ_OPEN, D_WRITE_OPEN, D_DATA, D_DATA_OF, D_DATA_LAST, D_ANSWER, D_ANSWER_OF = range(7)
# The block that it moves, and the time.
D_MOVING, D_WRITES, D_LEFT, D_NOW = range(7, 11)
# In each direction: the burst to come, the one whose blocks are moved, the one whose beats are; blocks that have been
# moved and whose beats have not come to an end; the beat and the block in hand.
READ, WRITE = 11, 17
O_IN, O_MOVE, O_OUT, O_CREDIT, O_BEAT, O_BLOCK = range(6)
D_DONE_IN, D_DONE_OUT = 23, 24
DRAM = 25
# A burst in a queue: first and last byte, stream, time.
F_FIRST, F_LAST, F_STREAM, F_TIME = range(4)
READS, WRITES, DONE = range(3)
SLOTS = 16
K_WROTE = 2


def dram_parameters(timing: Dram, beat_bytes: int) -> list[int]:
    """The parameters of a DRAM of this timing at a port of this width."""
    block, access = ticks(timing.block_cycles), ticks(timing.access_cycles)
    return [beat_bytes, timing.latency, timing.miss_cycles, block, timing.row_bytes, access]


_opens_row = inner_borrowing(arch_dram.opens_row)


def idle_dram() -> tuple[Ints, Ints]:
    """An idle DRAM, and its queues of reads, writes and writes that are to be answered; for kernels: `begin_dram`."""
    dram = np.zeros(DRAM, np.int64)
    dram[D_READ_OPEN], dram[D_WRITE_OPEN] = 1, 1
    return dram, np.zeros((3, SLOTS, 4), np.int64)


begin_dram = inner(idle_dram)


@inner_borrowing
def is_at_rest(dram):  # type: ignore[no-untyped-def]
    """Whether nothing is under way, so that cycles without a handshake change nothing but the time."""
    return (
        dram[READ + O_IN] == dram[READ + O_OUT]
        and dram[WRITE + O_IN] == dram[WRITE + O_OUT]
        and dram[D_DONE_IN] == dram[D_DONE_OUT]
        and not (dram[D_DATA] or dram[D_ANSWER] or dram[D_MOVING])
    )


@inner_borrowing
def advance_idle(dram, cycles):  # type: ignore[no-untyped-def]
    """Let time pass in which it is at rest."""
    dram[D_NOW] += cycles


@inner_borrowing
def takes_data(read, write, addressed, p, dram):  # type: ignore[no-untyped-def]
    """Whether a read's address, a write's address and a beat to be written, which are offered, are accepted."""
    has_room = dram[WRITE + O_OUT] != dram[WRITE + O_IN] and (_immediate(p) or dram[WRITE + O_CREDIT] > 0)
    return (read == 1 and dram[D_READ_OPEN] == 1, write == 1 and dram[D_WRITE_OPEN] == 1, addressed == 1 and has_room)


@inner_borrowing
def dram_cycle(  # type: ignore[no-untyped-def]
    p, dram, queues, rows, kept, read, read_first, read_last, reader, write, write_first, write_last, writer, data,
    stays
):  # fmt: skip
    """One cycle with the handshakes that there are: addresses of a read and of a write, a beat that is written.

    ``stays`` : whether the beat that it shows is not taken.
    """
    now = dram[D_NOW]
    head = queues[READS, dram[READ + O_OUT] % SLOTS]
    shows = (
        not (dram[D_DATA] and stays)
        and dram[READ + O_OUT] != dram[READ + O_IN]
        and (_immediate(p) or dram[READ + O_CREDIT] > 0)
        and (dram[READ + O_BEAT] > 0 or now - head[F_TIME] >= p[P_LATENCY])
    )
    answer = queues[DONE, dram[D_DONE_OUT] % SLOTS]
    answers = dram[D_DONE_OUT] != dram[D_DONE_IN] and now - answer[F_TIME] >= p[P_LATENCY]
    write_head = queues[WRITES, dram[WRITE + O_OUT] % SLOTS]
    read_room = dram[READ + O_IN] + read - dram[READ + O_OUT] < DRAM_QUEUE
    write_room = dram[WRITE + O_IN] + write - dram[WRITE + O_OUT] < DRAM_QUEUE
    read_left, write_left = dram[D_READ_OPEN] and not read, dram[D_WRITE_OPEN] and not write
    if not _immediate(p):
        _blocks(p, dram, queues, rows, kept)
    dram[D_DATA], dram[D_ANSWER] = shows or (dram[D_DATA] and stays), answers
    if answers:
        dram[D_ANSWER_OF] = answer[F_STREAM]
        dram[D_DONE_OUT] += 1
    if shows:
        dram[D_DATA_OF] = head[F_STREAM]
        dram[D_DATA_LAST] = _beat(p, dram, np.int64(READ), head)
    if data and _beat(p, dram, np.int64(WRITE), write_head):
        _push(queues, np.int64(DONE), dram[D_DONE_IN], np.int64(0), np.int64(0), write_head[F_STREAM], now)
        dram[D_DONE_IN] += 1
    if read:
        _push(queues, np.int64(READS), dram[READ + O_IN], read_first, read_last, reader, now)
        dram[READ + O_IN] += 1
    if write:
        _push(queues, np.int64(WRITES), dram[WRITE + O_IN], write_first, write_last, writer, now)
        dram[WRITE + O_IN] += 1
    dram[D_READ_OPEN], dram[D_WRITE_OPEN] = read_left or read_room, write_left or write_room
    dram[D_NOW] = now + 1


@inner_borrowing
def _immediate(p):  # type: ignore[no-untyped-def]
    return p[P_BLOCK] == 0 and p[P_MISS] == 0 and p[P_ACCESS] == 0


@inner_borrowing
def _push(queues, which, place, first, last, stream, now):  # type: ignore[no-untyped-def]
    entry = queues[which, place % SLOTS]
    entry[F_FIRST], entry[F_LAST], entry[F_STREAM], entry[F_TIME] = first, last, stream, now


@inner_borrowing
def _beat(p, dram, way, burst):  # type: ignore[no-untyped-def]
    """A beat of the oldest burst of a direction. Returns whether it is the last one."""
    place = burst[F_FIRST] // p[P_WIDTH] + dram[way + O_BEAT]
    last = place == burst[F_LAST] // p[P_WIDTH]
    if not _immediate(p) and (last or (place + 1) * p[P_WIDTH] % BLOCK_BYTES == 0):
        dram[way + O_CREDIT] -= 1
    dram[way + O_BEAT] = 0 if last else dram[way + O_BEAT] + 1
    dram[way + O_OUT] += last
    return last


@inner_borrowing
def _blocks(p, dram, queues, rows, kept):  # type: ignore[no-untyped-def]
    """A cycle of the block that is moved, and the choice of the next one."""
    ends = dram[D_MOVING] and dram[D_LEFT] <= TICKS
    reads, writes = dram[READ + O_MOVE] != dram[READ + O_IN], dram[WRITE + O_MOVE] != dram[WRITE + O_IN]
    if ends:
        dram[(WRITE if dram[D_WRITES] else READ) + O_CREDIT] += 1
    if (ends or not dram[D_MOVING]) and (reads or writes):
        write = writes and (not reads or not kept[K_WROTE])
        over = TICKS - dram[D_LEFT] if ends else 0
        way = WRITE if write else READ
        burst = queues[WRITES if write else READS, dram[way + O_MOVE] % SLOTS]
        block = burst[F_FIRST] // BLOCK_BYTES + dram[way + O_BLOCK]
        cost = p[P_BLOCK]
        if p[P_ACCESS]:  # and a part of a block takes its part
            first = max(burst[F_FIRST], block * BLOCK_BYTES) // p[P_WIDTH]
            beats = min(burst[F_LAST], (block + 1) * BLOCK_BYTES - 1) // p[P_WIDTH] - first + 1
            cost = p[P_ACCESS] + p[P_BLOCK] * beats * p[P_WIDTH] // BLOCK_BYTES
        if _opens_row(rows, burst[F_STREAM], block * BLOCK_BYTES // p[P_ROW]):
            cost += p[P_MISS] * TICKS
        dram[D_MOVING], dram[D_WRITES], kept[K_WROTE] = 1, write, write
        dram[D_LEFT] = max(cost - over, 1)
        if block == burst[F_LAST] // BLOCK_BYTES:
            dram[way + O_BLOCK] = 0
            dram[way + O_MOVE] += 1
        else:
            dram[way + O_BLOCK] += 1
    elif ends:
        dram[D_MOVING] = 0
    elif dram[D_MOVING]:
        dram[D_LEFT] -= TICKS
