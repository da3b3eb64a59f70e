"""The literal oracle of the vector unit: a job step by step on the bytes of a memory, every access counted.

Slow and obvious on purpose: what it reads and writes is what the hardware is to read and write, in this order.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from hwgen.arch.requantisation import LOWEST
from hwgen.arch.vector.job import VectorJob
from hwgen.arch.vector.shape import VectorShape
from hwgen.ir.counts import Access
from hwgen.ir.requantisation import TABLE_ENTRIES
from hwgen.model.vector.cycles import VectorAccess

__all__ = ["walk_vector"]


Bytes = NDArray[np.uint8]


class _Reader:
    """One operand: the word that is held, and how many were read."""

    def __init__(self, memory: Bytes, size: int) -> None:
        self._memory, self._size, self.held, self.read = memory, size, -1, 0
        self.strips = 0

    def element(self, address: int) -> int:
        if address // self._size != self.held:
            self.held = address // self._size
            self.read += 1
        return int(self._memory[address].view(np.int8))


def walk_vector(job: VectorJob, memory: Bytes, table: NDArray[np.int8], shape: VectorShape) -> VectorAccess:
    """Run a job of a unit of this shape on the bytes of the TCDM and the 256 entries that the unit holds.

    Both are modified in place.
    """
    loaded, size = 0, shape.word_bytes
    if job.table_from is not None:
        table[:] = memory[job.table_from : job.table_from + TABLE_ENTRIES].view(np.int8)
        loaded = shape.table_words
    first, second = _Reader(memory, size), _Reader(memory, size)
    written, elements = 0, 0
    for channel in range(job.channels):
        for row in range(job.rows):
            first.held = second.held = -1
            touched = set()
            if job.strips:
                first.strips += _strip_words(job, channel, row, size)
            for column in range(job.columns):
                values = []
                for line in _window(job, memory, first, channel, row, column):
                    values += line
                other = 0
                if job.mode == "add":
                    place = channel * job.input_plane + row * job.input_pitch + column
                    other = second.element(job.second + place) - job.zeros[1]
                address = job.output + channel * job.output_plane + row * job.output_pitch + column
                memory[address] = np.array(_output(job, values, other, table)).astype(np.int8).view(np.uint8)
                touched.add(address // size)
                elements += 1
            written += len(touched)
    words = second.read + (first.strips if job.strips else first.read)
    return VectorAccess(
        Access(size * words, size * words, words),
        Access(size * loaded, size * loaded, loaded),
        Access(elements, elements, written),
    )


def _window(
    job: VectorJob, memory: Bytes, reader: _Reader, channel: int, row: int, column: int
) -> Iterator[list[int]]:
    """The elements of a window that are no padding, line by line."""
    for k in range(job.kernel[0]):
        if job.kernel[0] > 1:
            reader.held = -1
        y = row * job.stride[0] - job.padding[0] + k * job.dilation[0]
        line = []
        for tap in range(job.kernel[1]):
            x = column * job.stride[1] - job.padding[1] + tap * job.dilation[1]
            if 0 <= y < job.height and 0 <= x < job.width:
                line.append(reader.element(job.input + channel * job.input_plane + y * job.input_pitch + x))
        yield line


def _strip_words(job: VectorJob, channel: int, row: int, size: int) -> int:
    """Words that the strips of a row of the output take: one for each row of its windows, if it has an element."""
    found = set()
    for k in range(job.kernel[0]):
        y = row * job.stride[0] - job.padding[0] + k
        for x in range(-job.padding[1], job.span - job.padding[1]):
            if 0 <= y < job.height and 0 <= x < job.width:
                found.add((k, (job.input + channel * job.input_plane + y * job.input_pitch + x) // size))
    return len(found)


def _output(job: VectorJob, values: list[int], other: int, table: NDArray[np.int8]) -> int:
    value = max([LOWEST, *values]) if job.mode == "maximum" else sum(value - job.zeros[0] for value in values)
    scaled = value * job.multipliers[0] + other * job.multipliers[1]
    shifted = (scaled + (1 << (job.shift - 1))) >> job.shift
    clipped = min(max(shifted + job.zero_out, job.low), job.high)
    return int(table[clipped - LOWEST]) if job.table else clipped
