"""The lines of a cluster's DMA, which it writes to or reads from the memory at once: of programs, and estimated."""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from hwgen.arch.bus import WORD_BYTES
from hwgen.arch.cluster import ClusterParameters
from hwgen.arch.commands import Command, Opcode, Queue
from hwgen.arch.descriptor import Descriptor
from hwgen.arch.dma import DmaParameters
from hwgen.ir.lanes import Lanes
from hwgen.model.cluster.bank_waits import Moved

__all__ = ["estimated_lines", "moved_lines"]

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
PLAYED_LINES = 1024
"""Lines of a program that are played."""
STRETCH = 64
"""Lines of a program that are played one after the other; the next ones are from elsewhere."""


def moved_lines(commands: Sequence[Command], hardware: ClusterParameters) -> tuple[Moved, Moved]:
    """What a program loads and what it stores."""
    return _of_queue(commands, hardware.dma, Queue.LOAD), _of_queue(commands, hardware.dma, Queue.STORE)


def _of_queue(commands: Sequence[Command], dma: DmaParameters, queue: Queue) -> Moved:
    moves = [one.payload for one in commands if one.queue is queue and one.opcode is Opcode.MOVE]
    transfers = [Descriptor.decode(one) for one in moves]
    ends = np.cumsum([_number(one, dma) for one in transfers], dtype=np.int64)
    if not transfers:
        return Moved(np.full((1, dma.ports), -1, np.int64), np.zeros(1, np.bool_), 0)
    if ends[-1] <= PLAYED_LINES:
        found = [_lines(one, dma) for one in transfers]
    else:
        found = [part for at in range(0, PLAYED_LINES, STRETCH) for part in _stretch(transfers, ends, dma, at)]
    words, single = (np.concatenate(parts) for parts in zip(*found, strict=True))
    return Moved(words, single, int(ends[-1]))


def _stretch(
    transfers: Sequence[Descriptor], ends: Ints, dma: DmaParameters, at: int
) -> Iterator[tuple[Ints, Bools]]:
    """`STRETCH` lines of many, from the part ``at`` of `PLAYED_LINES` on."""
    start, left = at * int(ends[-1]) // PLAYED_LINES, STRETCH
    number = int(np.searchsorted(ends, start, "right"))
    skipped = start - (int(ends[number - 1]) if number else 0)
    while left and number < len(transfers):
        words, single = _lines(transfers[number], dma, skipped, left)
        yield words, single
        left, number, skipped = left - len(words), number + 1, 0


def _number(one: Descriptor, dma: DmaParameters) -> int:
    """About the lines of a transfer."""
    runs = one.count_1 * one.count_2
    if one.apart:
        return runs * -(-one.length // dma.scattered_bytes)
    size = _segment(one)
    return runs * -(-one.length // size) * -(-size // dma.beat_bytes)


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
    begins = one.tcdm_address + run // one.count_1 * one.tcdm_stride_2 + run % one.count_1 * one.tcdm_stride_1
    if one.apart:
        together = dma.scattered_bytes
        places = (begins[:, None] + np.array(one.offsets())) // WORD_BYTES
        lines = np.full((len(run), -(-one.length // together) * together), -1, np.int64)
        lines[:, : one.length] = places
        words = np.full((lines.size // together, ports), -1, np.int64)
        words[:, :together] = lines.reshape(-1, together)
    else:
        words = _of_segments(one, begins, ports)
    return words[:most], np.full(min(most, len(words)), one.apart)


def _of_segments(one: Descriptor, begins: Ints, ports: int) -> Ints:
    """The words of the lines of runs of segments."""
    size = _segment(one)
    offsets = np.arange(0, one.length, size)
    starts = (begins[:, None] + offsets // size * one.slow_stride).ravel()
    ends = starts + np.tile(np.minimum(size, one.length - offsets), len(begins)) - 1
    lowest, highest = starts // WORD_BYTES, ends // WORD_BYTES
    lines = highest // ports - lowest // ports + 1
    before = np.repeat(np.cumsum(lines) - lines, lines)
    line = np.repeat(lowest // ports, lines) + np.arange(lines.sum()) - before
    words = line[:, None] * ports + np.arange(ports)
    inside = (words >= np.repeat(lowest, lines)[:, None]) & (words <= np.repeat(highest, lines)[:, None])
    return np.where(inside, words, -1)


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
