"""Cycles that the DMA takes for descriptors, with a memory of the TCDM's kind that never stalls, alone on the DRAM.

The model follows each burst, beat and line through the registers between them (`hwgen/gateware/dma_*.py`) and
through the DRAM of the harness (`cosim/harness/dram/dram.sv`), which moves blocks of 128 bytes one after the other.
It looks at one direction at a time; what loads and stores cost each other at the DRAM is not in it.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from hwgen.arch.bus import WORD_BYTES
from hwgen.arch.descriptor import Descriptor, OperandTag
from hwgen.arch.dma import DESCRIPTORS_AHEAD, LINES_AHEAD, DmaParameters
from hwgen.arch.dram import BLOCK_BYTES, TICKS, Dram, DramPort, OpenRows, ticks
from hwgen.arch.latency import (
    CHECK_DESCRIPTOR,
    DRAM_QUEUE,
    LINE_READ,
    LINE_WRITTEN,
    LOAD_ADDRESS_REGISTERS,
    QUEUED,
    STORE_ADDRESS_REGISTERS,
    WALKER_TO_ALIGNER,
)
from hwgen.ir.counts import Access
from hwgen.model.dram.streams import Stream

__all__ = ["Times", "load_times", "shared_accesses", "store_times", "transfer_accesses", "transfer_words"]

Ints = NDArray[np.int64]


def transfer_accesses(
    moves: Iterable[Descriptor], port: DramPort, stream: Stream | None = None
) -> dict[OperandTag, Access]:
    """The accesses of one channel's transfers, in their order, by what they are counted as. An element is a byte.

    The channel has open rows of its own. ``stream``: what the channel has moved before; continued.
    """
    found = shared_accesses(((0, move) for move in moves), port, stream)
    return {tag: access for (_, tag), access in found.items()}


def shared_accesses(
    moves: Iterable[tuple[int, Descriptor]], port: DramPort, stream: Stream | None = None
) -> dict[tuple[int, OperandTag], Access]:
    """The same of transfers that belong to several, each with the number of the one that it belongs to."""
    start, stop, owners, tags = _contiguous(moves)
    if not len(start):
        return {}
    counted = (stream or Stream(port)).counted(start, stop)
    found: dict[tuple[int, OperandTag], Access] = {}
    for owner, tag in sorted(set(zip(owners.tolist(), tags.tolist(), strict=True))):
        mine = (owners == owner) & (tags == tag)
        values = {entry.name: int(getattr(counted, entry.name)[mine].sum()) for entry in fields(counted)}
        found[owner, OperandTag(tag)] = Access(elements=values["bytes"], **values)
    return found


def transfer_words(moves: Iterable[Descriptor]) -> dict[OperandTag, int]:
    """The words of the TCDM that these transfers access: those of each piece that is contiguous on both sides."""
    found: dict[OperandTag, int] = defaultdict(int)
    for move in moves:
        found[move.tag] += _words(move)
    return dict(found)


def _words(move: Descriptor) -> int:
    if move.scattered:
        return sum((at + size - 1) // WORD_BYTES - at // WORD_BYTES + 1 for _, at, size, _ in move.segments())
    starts = _starts(move.tcdm_address, (move.count_2, move.tcdm_stride_2), (move.count_1, move.tcdm_stride_1))
    return int(((starts + move.length - 1) // WORD_BYTES - starts // WORD_BYTES + 1).sum())


def _starts(first: int, outer: tuple[int, int], inner: tuple[int, int]) -> Ints:
    """The addresses of runs, in order; ``outer``, ``inner`` : a count, and the bytes from one to the next."""
    (rows, down), (columns, across) = outer, inner
    return (first + down * np.arange(rows)[:, None] + across * np.arange(columns)).reshape(-1)


def _contiguous(moves: Iterable[tuple[int, Descriptor]]) -> tuple[Ints, Ints, Ints, Ints]:
    """First byte of what is contiguous in the DRAM, the one after its last, whose it is, and its tag: columns."""
    columns: list[tuple[Ints, ...]] = []
    for owner, move in moves:
        starts = _starts(move.dram_address, (move.count_2, move.dram_stride_2), (move.count_1, move.dram_stride_1))
        ends = starts + move.length
        joins = np.append(starts[1:] == ends[:-1], move.continues)
        columns.append((starts, ends, joins, np.full(len(starts), owner), np.full(len(starts), move.tag)))
    if not columns:
        nothing = np.zeros(0, np.int64)
        return nothing, nothing, nothing, nothing
    starts, ends, joins, owners, tags = (np.concatenate(column) for column in zip(*columns, strict=True))
    last = np.flatnonzero(joins == 0)
    first = np.append(0, last + 1)[: len(last)]
    return starts[first], ends[last], owners[last], tags[last]


@dataclass(frozen=True)
class Times:
    """The cycles of each descriptor's first word and of its end."""

    begins: tuple[int, ...]
    ends: tuple[int, ...]

    @property
    def cycles(self) -> tuple[int, ...]:
        """Cycles from the first word to the end of each."""
        return tuple(end - begin for begin, end in zip(self.begins, self.ends, strict=True))


class _Dram:
    """When beats of one stream may move, in their order."""

    def __init__(self, dma: DmaParameters, timing: Dram) -> None:
        self._dma, self._timing = dma, timing
        self._rows = OpenRows(timing)
        self._free, self._spare = 0, 0.0

    def beats(self, accepted: int, begin: int, size: int, first: int) -> Iterator[int]:
        """The first cycle in which each beat of a burst may move, from ``first`` on.

        The address came in cycle ``accepted``.
        """
        timing, width = self._timing, self._dma.beat_bytes
        block, moved, last = -1, 0, (begin + size - 1) // width
        for beat in range(begin // width, last + 1):
            if not timing.immediate and beat * width // BLOCK_BYTES != block:
                block = beat * width // BLOCK_BYTES
                beats = min(last, (block + 1) * BLOCK_BYTES // width - 1) - beat + 1
                moved = self._move(accepted + 1, block, beats) + 1
            yield max(first, moved)

    def _move(self, asked: int, block: int, beats: int) -> int:
        """The cycle at whose end these beats of a block have been moved."""
        cost = ticks(self._timing.block_cycles)
        if self._timing.access_cycles:
            cost = ticks(self._timing.access_cycles) + cost * beats * self._dma.beat_bytes // BLOCK_BYTES
        if self._rows.misses(block * BLOCK_BYTES):
            cost += ticks(self._timing.miss_cycles)
        spare = self._spare if asked <= self._free else 0
        begin = max(self._free, asked)
        left = max(1, cost - spare)
        self._free = begin + -(-int(left) // TICKS)
        self._spare = (self._free - begin) * TICKS - left
        return self._free


class _Front:
    """When descriptors are handed on, and when their bursts are offered."""

    def __init__(self, dma: DmaParameters, moves: Sequence[Descriptor], *, serial: bool) -> None:
        self.dma, self.moves, self.serial = dma, moves, serial
        self.begins: list[int] = []
        self.handed: list[int] = []  # the cycle in which the walkers take a descriptor
        self.taken_on: list[int] = []  # the cycle in which the second walker does, which bounds how many are ahead
        self._walked = 0  # the cycle in which the first walker has done with the last descriptor

    def read(self, number: int, done: int) -> None:
        """Read and check the next descriptor; ``done``: the end of the one before it."""
        begin = self.handed[-1] + 1 if self.handed else 0
        if self.serial and number:
            begin = done + 1
        ready = begin + self.moves[number].words - 1 + CHECK_DESCRIPTOR + 1
        if number > DESCRIPTORS_AHEAD:
            ready = max(ready, self.taken_on[number - DESCRIPTORS_AHEAD - 1] + 1)
        self.begins.append(begin)
        self.handed.append(max(ready, self._walked))

    def bursts(self, offer: Callable[[int], int]) -> Iterator[tuple[int, int, int, bool]]:
        """Begin, bytes, cycle in which a burst leaves the splitter, and whether a descriptor ends with it.

        ``offer(earliest)`` gives the first cycle from ``earliest`` on in which nothing holds a burst back.
        """
        window = self.dma.burst_window
        begin, gathered, now = 0, 0, 0
        for number, move in enumerate(self.moves):
            yield number, 0, 0, False  # a descriptor has to be read first
            now = max(now, self.handed[number] + QUEUED)
            runs = list(move.joined_runs())
            for place, (dram, _, joins) in enumerate(runs):
                address, end = dram, dram + move.length
                while address < end:
                    reach = min(end, address // window * window + window)
                    begin = begin if gathered else address
                    gathered += reach - address
                    address = reach
                    if address == end and joins and address % window:
                        now += 1
                        continue
                    now = offer(now)
                    yield begin, gathered, now, address == end and place == len(runs) - 1
                    gathered = 0
                    now += 1
            self._walked = now - 1


class _Aligner:
    """Units in and out of a byte aligner: `hwgen/gateware/dma/align.py`."""

    def __init__(self, unit: int, arrival: Callable[[], int], leave: Callable[[int], None]) -> None:
        self._unit, self._arrival, self._leave = unit, arrival, leave
        self.free = 0  # the first cycle in which the next run may step

    def run(self, source: int, target: int, length: int, *, keeps: bool, give: Callable[[int, bool], int]) -> int:
        """Step through one run; ``give(cycle, last)`` says in which cycle from ``cycle`` on a unit can be given."""
        takes = -(-(source + length) // self._unit)
        gives = -(-(target + length) // self._unit)
        step = 0
        if target < source:
            step = max(self.free, self._arrival())
            takes -= 1
            if takes or not keeps:
                self._leave(step)
            self.free = step + 1
        for place in range(gives):
            step = max(self.free, self._arrival()) if takes else self.free
            step = give(step, place == gives - 1)
            if takes:
                takes -= 1
                if takes or not keeps:
                    self._leave(step)
            self.free = step + 1
        return step


class _Loads:
    """The load channel."""

    def __init__(self, dma: DmaParameters, timing: Dram, moves: Sequence[Descriptor], *, serial: bool) -> None:
        self._dma = dma
        self._latency = max(1, timing.latency)
        self._dram = _Dram(dma, timing)
        self._front = _Front(dma, moves, serial=serial)
        self._bursts = self._front.bursts(self._offer)
        self._issued = 0
        self._burst_ends: list[int] = []  # of each burst: its last beat
        self._ready: list[int] = []  # of each beat: the first cycle in which the DRAM may give it
        self._given: list[int] = []  # the cycle in which it does
        self._taken: list[int] = []  # the cycle in which it is taken
        self._accepted: list[int] = []
        self.ends: list[int] = []

    def _offer(self, earliest: int) -> int:
        held = earliest
        if len(self._burst_ends) >= self._dma.outstanding:
            held = max(held, self._taken[self._burst_ends[-self._dma.outstanding]] + 1)
        if self._issued >= self._dma.beats_ahead:
            held = max(held, self._taken[self._issued - self._dma.beats_ahead] + 1)
        if len(self._accepted) >= LOAD_ADDRESS_REGISTERS:
            held = max(held, self._accepted[-LOAD_ADDRESS_REGISTERS])
        return held

    def _next_burst(self) -> None:
        begin, size, now, _ = next(self._bursts)
        if size == 0:
            self._front.read(begin, self.ends[-1] if self.ends else 0)
            return
        accepted = max(now + LOAD_ADDRESS_REGISTERS, self._accepted[-1] + 1 if self._accepted else 0)
        if len(self._burst_ends) >= DRAM_QUEUE:
            accepted = max(accepted, self._given[self._burst_ends[-DRAM_QUEUE]] + 2)
        self._accepted.append(accepted)
        self._ready += self._dram.beats(accepted, begin, size, accepted + self._latency)
        self._issued = len(self._ready)
        self._burst_ends.append(self._issued - 1)

    def _arrival(self) -> int:
        """The cycle from which on the next beat stands on the bus."""
        number = len(self._taken)
        while len(self._ready) <= number:
            self._next_burst()
        if len(self._given) == number:
            before = max(self._given[-1] + 1, self._taken[-1]) if number else 0
            self._given.append(max(self._ready[number], before))
        return self._given[number] + 1

    def times(self) -> Times:
        """Move everything."""
        width = self._dma.beat_bytes
        aligner = _Aligner(width, self._arrival, self._taken.append)
        for number, move in enumerate(self._front.moves):
            while len(self._front.handed) <= number:
                self._next_burst()
            handed = self._front.handed[number]
            self._front.taken_on.append(max(handed + QUEUED, aligner.free - WALKER_TO_ALIGNER))
            aligner.free = max(aligner.free, handed + QUEUED + WALKER_TO_ALIGNER)
            step = 0
            if move.apart:
                step = self._bytes(aligner, move)
            else:
                for dram, tcdm, length, joins in move.segments():
                    keeps = joins and (dram + length) % width != 0
                    step = aligner.run(dram % width, tcdm % WORD_BYTES, length, keeps=keeps, give=lambda at, last: at)
            self.ends.append(max(step + LINE_WRITTEN, self.ends[-1] + 1 if self.ends else 0))
        return Times(tuple(self._front.begins), tuple(self.ends))

    def _bytes(self, aligner: _Aligner, move: Descriptor) -> int:
        """Bytes that are written one by one."""
        width, at_once = self._dma.beat_bytes, self._dma.scattered_bytes
        step = 0
        for dram, _, joins in move.joined_runs():
            address, end = dram, dram + move.length
            while address < end:
                reach = min(end, address // width * width + width)
                step = max(aligner.free, self._arrival()) + -(-(reach - address) // at_once) - 1
                if reach % width == 0 or (reach == end and not joins):
                    self._taken.append(step)
                aligner.free = step + 1
                address = reach
        return step


class _Stores:
    """The store channel."""

    def __init__(self, dma: DmaParameters, timing: Dram, moves: Sequence[Descriptor], *, serial: bool) -> None:
        self._dma, self._timing = dma, timing
        self._dram = _Dram(dma, timing)
        self._front = _Front(dma, moves, serial=serial)
        self._bursts = self._front.bursts(self._offer)
        self._answered: list[int] = []  # of each burst
        self._accepted: list[int] = []
        self._finals: list[int] = []  # the cycle of each burst's last beat
        self._ready: list[tuple[int, int, bool, bool]] = []  # of each beat: cycles of the offer, DRAM; ends
        self._sent: list[int] = []
        self._asked: list[int] = []  # of each line
        self._used: list[int] = []
        self._earliest, self._joins = 0, False
        self.ends: list[int] = []

    def _offer(self, earliest: int) -> int:
        held = earliest
        if len(self._accepted) >= self._dma.outstanding:
            held = max(held, self._answered[len(self._accepted) - self._dma.outstanding] + 1)
        return max(held, self._accepted[-1]) if self._accepted else held

    def _next_burst(self) -> None:
        begin, size, now, ends = next(self._bursts)
        if size == 0:
            self._front.read(begin, self.ends[-1] if self.ends else 0)
            return
        offered = accepted = now + STORE_ADDRESS_REGISTERS
        if len(self._accepted) >= DRAM_QUEUE:
            accepted = max(offered, self._finals[len(self._accepted) - DRAM_QUEUE] + 2)
        self._accepted.append(accepted)
        moved = list(self._dram.beats(accepted, begin, size, accepted + 1))
        self._ready += [(offered, at, i == len(moved) - 1, ends) for i, at in enumerate(moved)]

    def _give(self, at: int, last: bool) -> int:
        """Give a unit of the aligner as a beat, unless it joins the next one; the cycle."""
        if last and self._joins:
            return at
        number = len(self._sent)
        while len(self._ready) <= number:
            self._next_burst()
        offered, ready, final, ends = self._ready[number]
        step = max(at, offered + 1, self._sent[-1] if self._sent else 0)
        self._sent.append(max(step + 1, ready))
        if final:
            self._finals.append(self._sent[-1])
            response = self._sent[-1] + max(1, self._timing.latency) + 1
            self._answered.append(max(response, self._answered[-1] + 1 if self._answered else 0))
            if ends:
                self.ends.append(self._answered[-1])
        return step

    def _arrival(self) -> int:
        """The cycle from which on the next line waits."""
        number = len(self._used)
        if len(self._asked) == number:
            asked = max(self._earliest, self._asked[-1] + 1 if number else 0)
            if number >= LINES_AHEAD:
                asked = max(asked, self._used[number - LINES_AHEAD] + 1)
            self._asked.append(asked)
        return self._asked[number] + LINE_READ

    def times(self) -> Times:
        """Move everything."""
        width = self._dma.beat_bytes
        aligner = _Aligner(width, self._arrival, self._used.append)
        starts: list[int] = []
        for number, move in enumerate(self._front.moves):
            while len(self._front.handed) <= number:
                self._next_burst()
            handed = self._front.handed[number]
            self._earliest = max(self._earliest, handed + QUEUED + WALKER_TO_ALIGNER)
            self._front.taken_on.append(max(handed + QUEUED, aligner.free - WALKER_TO_ALIGNER))
            for dram, tcdm, length, joins in move.segments():
                if len(starts) >= LINES_AHEAD:
                    self._earliest = max(self._earliest, starts[-LINES_AHEAD] + 2)
                starts.append(aligner.free)
                self._joins = joins and (dram + length) % width != 0
                aligner.run(tcdm % WORD_BYTES, dram % width, length, keeps=False, give=self._give)
        return Times(tuple(self._front.begins), tuple(self.ends))


def load_times(
    moves: Sequence[Descriptor], dma: DmaParameters | None = None, timing: Dram | None = None, *, serial: bool = False
) -> Times:
    """When load descriptors begin and end that are offered at once, or with ``serial`` each after the one before."""
    return _Loads(dma or DmaParameters(), timing or Dram(), moves, serial=serial).times()


def store_times(
    moves: Sequence[Descriptor], dma: DmaParameters | None = None, timing: Dram | None = None, *, serial: bool = False
) -> Times:
    """When store descriptors begin and end; see `load_times`."""
    return _Stores(dma or DmaParameters(), timing or Dram(), moves, serial=serial).times()
