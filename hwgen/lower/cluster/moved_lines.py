"""The lines of a cluster's DMA, which it writes to or reads from the memory at once: of programs, and estimated."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hwgen.arch.bus import WORD_BYTES
from hwgen.arch.cluster import ClusterParameters
from hwgen.arch.commands import Command, Opcode, Queue
from hwgen.arch.descriptor import Descriptor
from hwgen.arch.dma import DmaParameters
from hwgen.ir.lanes import Lanes
from hwgen.model.cluster.bank_waits import Moved
from hwgen.model.system.times import Beside, Moves

__all__ = ["estimated_lines", "moved_lines"]

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
PLAYED_LINES = 1024
"""Lines of a program that are played."""
QUEUES = (Queue.LOAD, Queue.STORE)
STRETCH = 64
"""Lines of a program that are played one after the other; the next ones are from elsewhere."""


class Part(NamedTuple):
    """A part of a transfer: ``number`` of its lines, from line ``first`` on."""

    transfer: Descriptor
    first: int
    number: int


def moved_lines(
    commands: Sequence[Command], hardware: ClusterParameters, starts: Sequence[int], beside: Sequence[Beside]
) -> list[tuple[Moved, Moved]]:
    """What a program loads and what it stores beside the work of each kind.

    ``starts`` : of each START the kind of its work, from 0 on; -1: of no kind.
    ``beside`` : what the DMA moves beside the work of each START, wherever the program has it: some waits for a
    tile, some comes long before it is needed.
    """
    moves: dict[Queue, list[tuple[Descriptor, int]]] = {Queue.LOAD: [], Queue.STORE: []}
    for one in commands:
        if one.opcode is Opcode.MOVE:
            transfer = Descriptor.decode(one.payload)
            moves[one.queue].append((transfer, _number(transfer, hardware.dma)))
    kinds = 1 + max(starts, default=0)
    found = [
        _beside(moves[queue], starts, [one[place] for one in beside], kinds) for place, queue in enumerate(QUEUES)
    ]
    loads, stores = ([_of_parts(parts, hardware.dma) for parts in each] for each in found)
    return list(zip(loads, stores, strict=True))


def _beside(
    moves: Sequence[tuple[Descriptor, int]], starts: Sequence[int], beside: Sequence[Moves], kinds: int
) -> list[list[Part]]:
    """The parts of transfers that are moved beside the work of each kind."""
    found: list[list[Part]] = [[] for _ in range(kinds)]
    ends = np.cumsum([number for _, number in moves], dtype=np.int64)
    for kind, (_, lines, last) in zip(starts, beside, strict=True):
        end = min(last, int(ends[-1])) if lines else 0  # bytes that begin within a beat may take a line more
        begin = max(0, end - lines)
        number = int(np.searchsorted(ends, begin, "right"))
        while kind >= 0 and begin < end:
            skipped = begin - int(ends[number]) + moves[number][1]
            lines = min(end, int(ends[number])) - begin
            found[kind].append(Part(moves[number][0], skipped, lines))
            begin, number = begin + lines, number + 1
    return found


def _of_parts(parts: Sequence[Part], dma: DmaParameters) -> Moved:
    ends = np.cumsum([part.number for part in parts], dtype=np.int64)
    if not parts:
        return Moved(np.full((1, dma.ports), -1, np.int64), np.zeros(1, np.bool_), 0)
    if ends[-1] <= PLAYED_LINES:
        found = [_lines(part.transfer, dma, part.first, part.number) for part in parts]
    else:
        found = [lines for at in range(0, PLAYED_LINES, STRETCH) for lines in _stretch(parts, ends, dma, at)]
    words, single = (np.concatenate(each) for each in zip(*found, strict=True))
    return Moved(words, single, int(ends[-1]))


def _stretch(parts: Sequence[Part], ends: Ints, dma: DmaParameters, at: int) -> Iterator[tuple[Ints, Bools]]:
    """`STRETCH` lines of many, from the part ``at`` of `PLAYED_LINES` on."""
    start, left = at * int(ends[-1]) // PLAYED_LINES, STRETCH
    number = int(np.searchsorted(ends, start, "right"))
    skipped = start - (int(ends[number - 1]) if number else 0)
    while left and number < len(parts):
        part = parts[number]
        words, single = _lines(part.transfer, dma, part.first + skipped, min(left, part.number - skipped))
        yield words, single
        left, number, skipped = left - len(words), number + 1, 0


def _number(one: Descriptor, dma: DmaParameters) -> int:
    """The lines of a transfer."""
    runs = one.count_1 * one.count_2
    if one.apart:
        return runs * -(-one.length // dma.scattered_bytes)
    # Where runs begin in the same byte of a word they are alike.
    alike = one.tcdm_stride_1 % WORD_BYTES == 0 and one.tcdm_stride_2 % WORD_BYTES == 0
    begins = _begins(one, np.arange(1 if alike else runs))
    return int(_segment_lines(*_segments(one, begins), dma.ports).sum()) * (runs if alike else 1)


def _segment(one: Descriptor) -> int:
    """Bytes that are contiguous in the memory, at most."""
    return min(one.fold, one.length) if one.scattered else one.length


def _lines(one: Descriptor, dma: DmaParameters, first: int = 0, most: int = PLAYED_LINES) -> tuple[Ints, Bools]:
    """The words of lines of a transfer [line, port], and whether they are single bytes; -1 : none at this port.

    They begin with the run that line number ``first`` is in, and are ``most`` at most.
    """
    runs, number, ports = one.count_1 * one.count_2, _number(one, dma), dma.ports
    begin = first * runs // number
    run = np.arange(begin, min(runs, begin + most * runs // number + 1))
    begins = _begins(one, run)
    if one.apart:
        together = dma.scattered_bytes
        places = (begins[:, None] + np.array(one.offsets())) // WORD_BYTES
        lines = np.full((len(run), -(-one.length // together) * together), -1, np.int64)
        lines[:, : one.length] = places
        words = np.full((lines.size // together, ports), -1, np.int64)
        words[:, :together] = lines.reshape(-1, together)
    else:
        words = _of_segments(*_segments(one, begins), ports)
    return words[:most], np.full(min(most, len(words)), one.apart)


def _begins(one: Descriptor, run: Ints) -> Ints:
    """The addresses of runs."""
    return one.tcdm_address + run // one.count_1 * one.tcdm_stride_2 + run % one.count_1 * one.tcdm_stride_1


def _segments(one: Descriptor, begins: Ints) -> tuple[Ints, Ints]:
    """The first and the last word of each segment of runs."""
    size = _segment(one)
    offsets = np.arange(0, one.length, size)
    starts = (begins[:, None] + offsets // size * one.slow_stride).ravel()
    ends = starts + np.tile(np.minimum(size, one.length - offsets), len(begins)) - 1
    return starts // WORD_BYTES, ends // WORD_BYTES


def _segment_lines(lowest: Ints, highest: Ints, ports: int) -> Ints:
    """How many lines segments take: each begins with its first word."""
    return (highest - lowest) // ports + 1


def _of_segments(lowest: Ints, highest: Ints, ports: int) -> Ints:
    """The words of the lines of segments."""
    lines = _segment_lines(lowest, highest, ports)
    line = np.arange(lines.sum()) - np.repeat(np.cumsum(lines) - lines, lines)
    words = (np.repeat(lowest, lines) + line * ports)[:, None] + np.arange(ports)
    return np.where(words <= np.repeat(highest, lines)[:, None], words, -1)


def estimated_lines(
    dma: DmaParameters, lanes: Lanes, taps: int, moved: tuple[float, float, float]
) -> tuple[Moved, Moved]:
    """The same of a program that is not made.

    ``moved`` : words that are loaded, in a row; bytes of weights that are loaded one by one: the DRAM has them filter
    by filter, each with its ``taps`` in a row, the memory lane by lane; words that are stored.
    """
    words, single, stored = moved
    lines = np.arange(PLAYED_LINES)
    in_row = lines[:, None] * dma.ports + np.arange(dma.ports)
    byte = lines[:, None] * dma.scattered_bytes + np.arange(dma.ports)
    channels, filters = lanes.along("c"), lanes.along("m")
    tap, channel, output = byte % taps, byte // taps % channels, byte // taps // channels % filters
    apart = ((tap * channels + channel) * filters + output) // WORD_BYTES
    apart[:, dma.scattered_bytes :] = -1
    of_words, of_bytes = words / dma.ports, single / dma.scattered_bytes
    scatters = lines % STRETCH < STRETCH * of_bytes / max(1.0, of_words + of_bytes)
    return (
        Moved(np.where(scatters[:, None], apart, in_row), scatters, of_words + of_bytes),
        Moved(in_row, np.zeros(PLAYED_LINES, np.bool_), stored / dma.ports),
    )
