"""Cycles of the programs of clusters on one DRAM: those of the RTL but for waits at the memories of the clusters.

Readers of programs, queues of commands, channels of the DMAs, interconnect and DRAM are played cycle by cycle,
without data: every burst has its own beats, blocks and row misses, waits for the bursts of others, and is asked for
when there is room for it. HWCs compute for as long as they are told to, with what they wait at the banks of their
cluster's memory as that is estimated, and so wait lines of the DMA while HWCs compute
(`hwgen.model.cluster.bank_waits`). Bytes that the DMA writes one by one wait for each other at the banks; what the
vector unit waits there is not in it.
"""

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from hwgen.arch.bus import BURST_BEATS, WORD_BYTES, WRITES_IN_ORDER
from hwgen.arch.cluster import START_AFTER_START, START_ANSWERED, ClusterParameters
from hwgen.arch.commands import Command, Opcode, Queue
from hwgen.arch.descriptor import Descriptor
from hwgen.arch.dma import CHUNK_BYTES, CHUNKS_AHEAD, DESCRIPTORS_AHEAD, LINES_AHEAD
from hwgen.arch.dram import Dram, closed_rows
from hwgen.arch.latency import COMMANDS_UNDER_WAY, LINE_READ, PROGRAM_STARTED
from hwgen.model.dram.cycles_kernel import dram_parameters, idle_dram
from hwgen.model.system import tables
from hwgen.model.system.cycles_kernel import run_clusters
from hwgen.model.system.times import Beside, ClusterTimes, Moves, QueueName, Work

__all__ = ["PlayedProgram", "play_together"]

Ints = NDArray[np.int64]
NAMES: tuple[QueueName, ...] = ("load", "compute", "store")
KINDS = {
    Opcode.MOVE: tables.MOVES,
    Opcode.CONFIGURE: tables.CONFIGURES,
    Opcode.START: tables.STARTS,
    Opcode.JOIN: tables.JOINS,
    Opcode.SYNC: tables.JOINS,
    Opcode.MULTICAST: tables.LEADS,
    Opcode.END: tables.ENDS,
}
UNFOLDED = 1 << 20
"""More bytes than a run has."""


@dataclass(frozen=True)
class PlayedProgram:
    """The program of one cluster.

    Members
    -------
    commands : up to END.
    works : what each START begins, in their order: numbers are cycles, in which the DMA does not wait.
    address, words : where the program is in the DRAM, and its length.
    """

    commands: Sequence[Command]
    works: Iterable[float | Work]
    address: int
    words: int


def play_together(
    programs: Sequence[PlayedProgram],
    hardware: ClusterParameters,
    timing: Dram,
    *,
    clusters: int | None = None,
    restless: bool = False,
) -> list[ClusterTimes]:
    """Play the programs of one or more clusters, started one after the other; raises ValueError if one stands still.

    ``clusters`` : how many there are, if not all have a program. A cluster alone has no interconnect.

    The times of each are from its own start on: of one cluster from the grant of the write that starts it, of several
    from the answer to that write. A queue is busy while its channel has anything to do.
    ``restless`` : play every cycle of every cluster, which takes longer and changes nothing.
    """
    number = clusters or len(programs)
    known = [_known(one.commands) for one in programs]
    lists = [found.with_works(one.works) for found, one in zip(known, programs, strict=True)]
    moves = _together([one.moves for one in known])
    orders = [[np.flatnonzero(one[:, tables.C_QUEUE] == queue) for queue in range(tables.QUEUES)] for one in lists]
    of_queue = np.zeros((number, tables.QUEUES, 1 + max(len(one) for each in orders for one in each)), np.int64)
    for k, each in enumerate(orders):
        for queue, one in enumerate(each):
            of_queue[k, queue, : len(one)] = one
    begin = PROGRAM_STARTED - (START_ANSWERED if number > 1 else 0)
    rows = np.zeros((number, tables.ROW), np.int64)
    rows[len(programs) :, tables.ENDED] = 1
    for k, program in enumerate(programs):
        rows[k] = _row(program, hardware, begin + START_AFTER_START * k)
    rings = [np.zeros((number, tables.RING, width), np.int64) for width in (2, 2, 4)]
    asked, hwcs = np.zeros((number, tables.RING), np.int64), np.zeros((number, hardware.units), np.int64)
    settled = np.zeros((number, 1 + max(one.settling for one in known), 1 + tables.QUEUES), np.int64)
    open_rows = closed_rows(timing, tables.STREAMS * number)
    commands = _together(lists)
    ends = run_clusters(
        rows, commands, of_queue, moves, _parameters(hardware, timing, restless), *rings, asked,
        hwcs, settled, open_rows, *idle_dram(), np.zeros(tables.BUS, np.int64), np.zeros(tables.RING, np.int64),
        np.zeros(3, np.int64),
    )  # fmt: skip
    if not ends:
        raise ValueError("program: some command waits for a token that never comes")
    return [_times(rows[k], settled[k], commands[k, known[k].starts], k) for k in range(len(programs))]


def _settles(one: Command) -> bool:
    return one.queue is Queue.PROGRAM and one.opcode is Opcode.CONFIGURE


def _times(row: Ints, settled: Ints, starts: Ints, number: int) -> ClusterTimes:
    queues, begin = range(tables.QUEUES), START_AFTER_START * number
    waited = settled[: row[tables.R_SETTLED]]
    waits = {
        (NAMES[queue], NAMES[other]): float(row[tables.WAITS + tables.QUEUES * queue + other])
        for queue in queues
        for other in queues
        if row[tables.WAITS + tables.QUEUES * queue + other]
    }
    busy = {NAMES[queue]: float(row[tables.BUSY + queue]) for queue in queues}
    return ClusterTimes(
        float(row[tables.TOTAL] - begin),
        busy,
        waits,
        tuple(float(one[tables.QUEUES] - begin) for one in waited),
        tuple({NAMES[queue]: float(one[queue]) for queue in queues} for one in waited),
        tuple(
            Beside(Moves(*one[: tables.BESIDE_FIELDS]), Moves(*one[tables.BESIDE_FIELDS :]))
            for one in starts[:, tables.C_BESIDE : tables.COMMAND].tolist()
        ),
    )


def _row(program: PlayedProgram, hardware: ClusterParameters, first: int) -> Ints:
    """A cluster before its start, which has its program from cycle ``first`` on."""
    row = np.zeros(tables.ROW, np.int64)
    row[tables.AWAKE], row[tables.NOW] = first, first - 1
    row[tables.STORE + tables.D_NUMBER] = sum(
        one.queue is Queue.LOAD and one.opcode is Opcode.MOVE for one in program.commands
    )
    row[tables.F_ADDRESS] = program.address
    row[tables.F_TO_ASK] = row[tables.F_TO_GIVE] = program.words
    for queue, words in enumerate((hardware.load_words, hardware.compute_words, hardware.store_words)):
        row[tables.QUEUE + tables.FIELDS * queue + tables.Q_ROOM] = words - 1  # the last one is in a register
    return row


def _parameters(hardware: ClusterParameters, timing: Dram, restless: bool) -> Ints:
    dma = hardware.dma
    own = [
        dma.burst_window, dma.outstanding, dma.beats_ahead, dma.scattered_bytes, DESCRIPTORS_AHEAD, LINES_AHEAD,
        LINE_READ, COMMANDS_UNDER_WAY, CHUNK_BYTES, CHUNKS_AHEAD, BURST_BEATS - 1, WRITES_IN_ORDER,
        hardware.tcdm_banks, restless,
    ]  # fmt: skip
    return np.array([*dram_parameters(timing, dma.beat_bytes), *own], np.int64)


@dataclass(frozen=True, eq=False)
class _Known:
    """Commands as arrays.

    Members
    -------
    rows : a command each, its work left open.
    starts : the numbers of those that begin work.
    moves : a descriptor each.
    settling : commands that wait until all before them is done.
    """

    commands: Sequence[Command]
    rows: Ints
    starts: Ints
    moves: Ints
    settling: int

    def with_works(self, works: Iterable[float | Work]) -> Ints:
        """The rows with what each START begins."""
        rows, begun = self.rows.copy(), islice(works, len(self.starts))
        ones = [one if isinstance(one, Work) else Work(one) for one in begun]
        rows[self.starts, tables.C_WORK] = [round(one.cycles) for one in ones]
        for kind in range(tables.LINES):
            rows[self.starts, tables.C_LATE + kind] = [round(one.late[kind] * tables.PARTS) for one in ones]
        return rows


_latest: deque[_Known] = deque(maxlen=8)
"""Programs are played several times in a row."""


def _known(commands: Sequence[Command]) -> _Known:
    if not isinstance(commands, tuple):  # which may change
        return _read(commands)
    found = next((one for one in tuple(_latest) if one.commands is commands), None)
    if found is None:
        found = _read(commands)
        _latest.append(found)
    return found


def _read(commands: Sequence[Command]) -> _Known:
    rows = []
    for one in commands:
        kind = tables.SETTLES if _settles(one) else KINDS[one.opcode]
        takes, posts = (sum(1 << queue for queue in queues) for queues in (one.takes, one.posts))
        rows.append((int(one.queue), kind, len(one.payload), takes, posts, one.mask))
    found, moves = np.zeros((len(rows), tables.COMMAND), np.int64), _descriptors(commands)
    found[:, : tables.C_WORK] = np.array(rows, np.int64).reshape(-1, tables.C_WORK)
    kinds = found[:, tables.C_KIND]
    return _Known(
        commands, found, np.flatnonzero(kinds == tables.STARTS), moves, int((kinds == tables.SETTLES).sum())
    )


def _descriptors(commands: Iterable[Command]) -> Ints:
    """Those of loads, then those of stores."""
    found: list[tuple[int, ...]] = []
    for queue in (tables.LOADS, tables.STORES):
        for one in commands:
            if one.queue == queue and one.opcode is Opcode.MOVE:
                d = Descriptor.decode(one.payload)
                found.append((
                    d.dram_address, d.tcdm_address % WORD_BYTES, d.length, d.count_1, d.count_2, d.dram_stride_1,
                    d.dram_stride_2, d.tcdm_stride_1, d.tcdm_stride_2, d.fold if d.scattered else UNFOLDED,
                    d.slow_stride, d.apart, d.continues,
                    d.fast_stride,
                ))  # fmt: skip
    return np.array(found, np.int64).reshape(-1, tables.DESCRIPTOR)


def _together(arrays: Sequence[Ints]) -> Ints:
    """Arrays of rows as one, the shorter ones filled up."""
    found = np.zeros((len(arrays), 1 + max(map(len, arrays)), arrays[0].shape[1]), np.int64)
    for number, one in enumerate(arrays):
        found[number, : len(one)] = one
    return found
