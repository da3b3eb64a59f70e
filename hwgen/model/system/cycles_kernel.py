"""The compiled model of clusters on one DRAM, cycle by cycle: the interconnect, and the whole.

The interconnect is `hwgen.gateware.bus.axi_interconnect`. A cluster in which nothing moves is not played until its
port has something for it, or an HWC ends.
"""

import numpy as np

from hwgen.arch import bus as arch_bus
from hwgen.arch import commands as arch_commands
from hwgen.arch import dma as arch_dma
from hwgen.arch import dram as arch_dram
from hwgen.arch import latency as arch_latency
from hwgen.model.compiled import borrowing, digest, inner_borrowing
from hwgen.model.dram import cycles_kernel as dram_kernel
from hwgen.model.dram.cycles_kernel import (
    D_ANSWER,
    D_ANSWER_OF,
    D_DATA,
    D_DATA_OF,
    advance_idle,
    dram_cycle,
    is_at_rest,
    takes_data,
)
from hwgen.model.system import channels_kernel, moves_kernel, queues_kernel, tables
from hwgen.model.system.queues_kernel import play_cycle
from hwgen.model.system.tables import (
    A_FIRST,
    A_FULL,
    A_LAST,
    A_STREAM,
    AWAKE,
    B_LEVEL,
    B_READY,
    ENDED,
    G_FIRST,
    G_FULL,
    G_LAST,
    P_BEATS_KEPT,
    P_RESTLESS,
    P_WRITES,
    RING,
    STORE,
    STORE_STREAM,
    STREAMS,
    X_NONE,
    X_ORDER_IN,
    X_ORDER_OUT,
    X_READ,
    X_READ_FIRST,
    X_READ_LAST,
    X_READ_STREAM,
    X_READER,
    X_WRITE,
    X_WRITE_FIRST,
    X_WRITE_LAST,
    X_WRITE_STREAM,
    X_WRITER,
    Z_BEAT,
    Z_BEAT_LAST,
)

__all__ = ["run_clusters"]

NEVER = np.int64(1) << 62


@inner_borrowing
def _granted(rows, cell, last):  # type: ignore[no-untyped-def]
    """The cluster whose burst is granted: the first one that has one in this cell after the last one; -1: none."""
    number = len(rows)
    for distance in range(1, number + 1):
        k = (last + distance) % number
        if rows[k, cell]:
            return k
    return -1


@inner_borrowing
def _addresses(rows, bus, order, read_goes, write_goes):  # type: ignore[no-untyped-def]
    """Bursts that are granted go to the registers of the interconnect, those before them to the DRAM. Returns whose
    address of a write was granted; -1: nobody's."""
    if read_goes:
        bus[X_READ] = 0
    if write_goes:
        order[bus[X_ORDER_IN] % RING] = bus[X_WRITER]
        bus[X_ORDER_IN] += 1
        bus[X_WRITE] = 0
    if not bus[X_READ]:
        k = _granted(rows, np.int64(A_FULL), bus[X_READER])
        if k >= 0:
            row = rows[k]
            bus[X_READ], bus[X_READER], row[A_FULL] = 1, k, 0
            bus[X_READ_FIRST], bus[X_READ_LAST] = row[A_FIRST], row[A_LAST]
            bus[X_READ_STREAM] = k * STREAMS + row[A_STREAM]
            row[AWAKE] = 0
    if not bus[X_WRITE]:
        k = _granted(rows, np.int64(STORE + G_FULL), bus[X_WRITER])
        if k >= 0:
            row = rows[k]
            bus[X_WRITE], bus[X_WRITER] = 1, k
            bus[X_WRITE_FIRST], bus[X_WRITE_LAST] = row[STORE + G_FIRST], row[STORE + G_LAST]
            bus[X_WRITE_STREAM] = k * STREAMS + STORE_STREAM
            return k
    return -1


@inner_borrowing
def _wakes(hwcs, now):  # type: ignore[no-untyped-def]
    """The next cycle in which a cluster changes that rests now: when an HWC has ended."""
    soonest = NEVER
    for until in hwcs:
        if until > now:
            soonest = min(soonest, until)
    return soonest


@inner_borrowing
def _at_interconnect(rows, bus, order, p, dram):  # type: ignore[no-untyped-def]
    """The handshakes of a cycle between the clusters and the DRAM. Returns the burst that is to be read, the one that
    is to be written, and the clusters whose beat is written, whose address of a write is taken, which gets a beat."""
    reads, writes, _ = takes_data(bus[X_READ], bus[X_WRITE], bus[X_NONE], p, dram)
    writes = writes and bus[X_ORDER_IN] - bus[X_ORDER_OUT] < p[P_WRITES]
    writer = order[bus[X_ORDER_OUT] % RING] if bus[X_ORDER_IN] != bus[X_ORDER_OUT] else -1
    sends = writer >= 0 and _sends(rows[writer], bus, p, dram)
    reader = dram[D_DATA_OF] // STREAMS if dram[D_DATA] else -1
    if reader >= 0 and rows[reader, B_LEVEL] >= p[P_BEATS_KEPT]:
        reader = -1
    read = reads, bus[X_READ_FIRST], bus[X_READ_LAST], bus[X_READ_STREAM]
    write = writes, bus[X_WRITE_FIRST], bus[X_WRITE_LAST], bus[X_WRITE_STREAM]
    if sends and rows[writer, Z_BEAT_LAST]:
        bus[X_ORDER_OUT] += 1
    return read, write, writer if sends else -1, _addresses(rows, bus, order, reads, writes), reader


@inner_borrowing
def _at_port(row, bus, p, dram):  # type: ignore[no-untyped-def]
    """The same of one cluster that has the DRAM for itself: it gets a beat, which stays if it does not take it."""
    reads, writes, _ = takes_data(row[A_FULL], row[STORE + G_FULL], bus[X_NONE], p, dram)
    read = reads, row[A_FIRST], row[A_LAST], row[A_STREAM]
    write = writes, row[STORE + G_FIRST], row[STORE + G_LAST], np.int64(STORE_STREAM)
    sends = _sends(row, bus, p, dram)
    row[B_READY] = dram[D_DATA]
    if reads:
        row[A_FULL] = 0
    if reads or dram[D_DATA]:
        row[AWAKE] = 0
    return read, write, 0 if sends else -1, 0 if writes else -1, -1


@inner_borrowing
def _sends(row, bus, p, dram):  # type: ignore[no-untyped-def]
    """Whether the DRAM takes a beat that a cluster has to write."""
    _, _, takes = takes_data(bus[X_NONE], bus[X_NONE], row[Z_BEAT], p, dram)
    return takes


@inner_borrowing
def _next_cycle(rows, bus, dram, now):  # type: ignore[no-untyped-def]
    """The next cycle in which anything may happen; that after this one unless all rests."""
    if not is_at_rest(dram) or bus[X_READ] or bus[X_WRITE]:
        return now + 1
    soonest = NEVER
    for row in rows:
        if not row[ENDED]:
            soonest = min(soonest, row[AWAKE])
    if soonest != NEVER and soonest > now + 1:
        advance_idle(dram, soonest - now - 1)
    return max(soonest, now + 1)


@inner_borrowing
def _run_clusters(  # type: ignore[no-untyped-def]
    rows, commands, of_queue, moves, p, coming, owed, shifts, asked, hwcs, settled, open_rows, dram, queues, bus,
    order, kept
):  # fmt: skip
    """Play all programs; False if they stand still. The rows have what came of them."""
    number = len(rows)
    bus[X_READER], bus[X_WRITER] = number - 1, number - 1
    left, now = np.int64(number), np.int64(0)
    for row in rows:
        left -= row[ENDED]
    while left and now < NEVER:
        answered = dram[D_ANSWER_OF] // STREAMS if dram[D_ANSWER] else -1
        if number > 1:
            read, write, sender, addressed, reader = _at_interconnect(rows, bus, order, p, dram)
        else:
            read, write, sender, addressed, reader = _at_port(rows[0], bus, p, dram)
        for k in range(number):
            row = rows[k]
            if row[ENDED] or not (now >= row[AWAKE] or k in (sender, addressed, answered)):
                continue
            rings = coming[k], owed[k], shifts[k], asked[k]
            acts = play_cycle(
                row, commands[k], of_queue[k], moves[k], p, rings, hwcs[k], settled[k], now, k == sender,
                k == addressed, k == answered,
            )  # fmt: skip
            row[AWAKE] = now + 1 if acts or p[P_RESTLESS] else _wakes(hwcs[k], now)
            left -= row[ENDED]
        stays = dram[D_DATA] == 1 and reader < 0
        if number == 1:
            stays = rows[0, B_READY] == 1
        elif reader >= 0:
            rows[reader, B_LEVEL] += 1
            rows[reader, AWAKE] = 0
        dram_cycle(
            p, dram, queues, open_rows, kept, read[0], read[1], read[2], read[3], write[0], write[1], write[2],
            write[3], sender >= 0, stays,
        )  # fmt: skip
        now = _next_cycle(rows, bus, dram, now)
    return left == 0


def _cached(sources: int):  # type: ignore[no-untyped-def]
    """The compiled kernel, kept in numba's cache for as long as ``sources`` stays the same: see `digest`."""

    @borrowing
    def run_clusters(  # type: ignore[no-untyped-def]
        rows, commands, of_queue, moves, p, coming, owed, shifts, asked, hwcs, settled, open_rows, dram, queues, bus,
        order, kept,
    ):  # fmt: skip
        if sources:
            return _run_clusters(
                rows, commands, of_queue, moves, p, coming, owed, shifts, asked, hwcs, settled, open_rows, dram,
                queues, bus, order, kept,
            )  # fmt: skip
        return False

    return run_clusters


PARTS = (
    *(arch_bus, arch_commands, arch_dma, arch_dram, arch_latency),
    *(tables, channels_kernel, moves_kernel, queues_kernel, dram_kernel),
)
run_clusters = _cached(digest(*PARTS))
