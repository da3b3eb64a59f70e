"""Accesses of the vector unit at the TCDM, in closed form.

The unit keeps the last word that it has read. It reads another one where the next element of the input is in another
word, and at the first element that it needs of each row of the output. Where a window has several rows, it reads at
the first element of each of them, too. So the words of a row of the output depend on where the words of its rows
begin alone, and rows that begin alike are counted once.
"""

from collections import Counter
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hwgen.arch.vector.job import PAIR, VectorJob
from hwgen.arch.vector.shape import VectorShape
from hwgen.ir.counts import Access

__all__ = ["VectorAccess", "lanes_of", "vector_access", "window_rows"]

Ints = NDArray[np.int64]
NOTHING = Access()


@dataclass(frozen=True)
class VectorAccess:
    """What a job reads and writes. What is read are whole words.

    Members
    -------
    inputs : of the operands.
    table : of the table.
    output : what is written.
    """

    inputs: Access = NOTHING
    table: Access = NOTHING
    output: Access = NOTHING

    def __add__(self, other: "VectorAccess") -> "VectorAccess":
        return VectorAccess(self.inputs + other.inputs, self.table + other.table, self.output + other.output)


def vector_access(job: VectorJob, shape: VectorShape) -> VectorAccess:
    """The accesses of one job of a unit of this shape."""
    size = shape.word_bytes
    elements = job.channels * job.rows * job.columns
    written = sum(
        number * _words(lane, job.columns, size)
        for lane, number in lanes_of(
            job.output, job.output_plane, job.output_pitch, job.channels, range(job.rows), size
        )
    )
    if job.mode == "add":
        read = PAIR * sum(
            number * _words(lane, job.columns, size)
            for lane, number in lanes_of(
                job.input, job.input_plane, job.input_pitch, job.channels, range(job.rows), size
            )
        )
    elif job.strips:
        read = _strips(job, size)
    else:
        read = _windows(job, size)
    table = shape.table_words if job.table_from is not None else 0
    return VectorAccess(
        Access(size * read, size * read, read),
        Access(size * table, size * table, table),
        Access(elements, elements, written),
    )


def window_rows(job: VectorJob) -> list[int]:
    """The rows of the input that are visited in a channel, one for each row of the output that needs it."""
    (taps, _), (down, _), (apart, _) = job.kernel, job.stride, job.dilation
    rows = (y * down - job.padding[0] + k * apart for y in range(job.rows) for k in range(taps))
    return [row for row in rows if 0 <= row < job.height]


def _windows(job: VectorJob, size: int) -> int:
    """Words of so many bytes that windows read."""
    columns = _columns(job)
    lanes = lanes_of(job.input, job.input_plane, job.input_pitch, job.channels, window_rows(job), size)
    return sum(number * _changes(columns, lane, size, afresh=job.kernel[0] > 1) for lane, number in lanes)


def _strips(job: VectorJob, size: int) -> int:
    """Words of strips, one of each row of the windows, unless all of it is padding."""
    first, end = max(0, -job.padding[1]), min(job.width, job.span - job.padding[1])
    lanes = lanes_of(job.input + first, job.input_plane, job.input_pitch, job.channels, window_rows(job), size)
    return sum(number * _words(lane, end - first, size) for lane, number in lanes) if first < end else 0


def _columns(job: VectorJob) -> Ints:
    """Columns of the input that each window visits, [columns, taps]; -1: padding."""
    first = np.arange(job.columns, dtype=np.int64) * job.stride[1] - job.padding[1]
    columns = first[:, None] + np.arange(job.kernel[1]) * job.dilation[1]
    return np.where((columns >= 0) & (columns < job.width), columns, -1)


def _changes(columns: Ints, lane: int, size: int, *, afresh: bool) -> int:
    """Words that are read where a row begins at this byte of a word; ``afresh``: again in each window."""
    words = np.where(columns < 0, -1, (columns + lane) // size)
    windows = np.broadcast_to(np.arange(len(columns))[:, None] if afresh else np.int64(0), words.shape)
    inside = words >= 0
    words, windows = words[inside], windows[inside]
    if not words.size:
        return 0
    return 1 + int(((words[1:] != words[:-1]) | (windows[1:] != windows[:-1])).sum())


def _words(lane: int, elements: int, size: int) -> int:
    """Words that so many bytes touch from this byte of a word on."""
    return (lane + elements - 1) // size + 1


def lanes_of(
    base: int, plane: int, pitch: int, channels: int, rows: "range | list[int]", size: int
) -> list[tuple[int, int]]:
    """The bytes of a word of ``size`` bytes at which these rows of all channels begin, and how many do."""
    by_channel = Counter((base + channel * plane) % size for channel in range(channels))
    by_row = Counter(row * pitch % size for row in rows)
    found: Counter[int] = Counter()
    for first, some in by_channel.items():
        for after, others in by_row.items():
            found[(first + after) % size] += some * others
    return sorted(found.items())
