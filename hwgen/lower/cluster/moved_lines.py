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

__all__ = ["MovedLines", "estimated_lines", "moved_lines"]

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
PLAYED_LINES = 1024
"""Lines of a program that are played."""
STRETCH = 64
"""Lines of a program that are played one after the other; the next ones are from elsewhere."""


class MovedLines(NamedTuple):
    """What a program moves.

    Members
    -------
    beside : what it loads and what it stores beside the work of each kind.
    numbers : lines that it loads and that it stores, in all.
    """

    beside: Sequence[tuple[Moved, Moved]]
    numbers: tuple[float, float]


def moved_lines(commands: Sequence[Command], hardware: ClusterParameters, starts: Sequence[int]) -> MovedLines:
    """What a program loads and what it stores.

    ``starts`` : of each START the kind of its work, from 0 on; -1: of no kind. What is moved beside it is what the
    program has between it and the next one: operands of the tile after, outputs of the tile before.
    """
    begun, kind, numbers = 0, -1, {Queue.LOAD: 0, Queue.STORE: 0}
    moves: dict[tuple[int, Queue], list[tuple[Descriptor, int]]] = {}
    for one in commands:
        if one.opcode is Opcode.START:
            kind, begun = starts[begun], begun + 1
        elif one.opcode is Opcode.MOVE:
            transfer = Descriptor.decode(one.payload)
            number = _number(transfer, hardware.dma)
            numbers[one.queue] += number
            if kind >= 0:
                moves.setdefault((kind, one.queue), []).append((transfer, number))
    beside = [
        (_of_transfers(moves.get((kind, Queue.LOAD), []), hardware.dma),
         _of_transfers(moves.get((kind, Queue.STORE), []), hardware.dma))
        for kind in range(1 + max(starts, default=0))
    ]  # fmt: skip
    return MovedLines(beside, (numbers[Queue.LOAD], numbers[Queue.STORE]))


def _of_transfers(moves: Sequence[tuple[Descriptor, int]], dma: DmaParameters) -> Moved:
    transfers = [one for one, _ in moves]
    ends = np.cumsum([number for _, number in moves], dtype=np.int64)
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
