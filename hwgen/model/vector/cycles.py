"""Accesses and cycles of a job of the vector unit, alone at the TCDM: a step in every cycle, in closed form; and what
it waits for the DMA there, as is expected.

The unit keeps the last word that it has read. It reads another one where the next element of the input is in another
word, and at the first element that it needs of each row of the output. Where a window has several rows, it reads at
the first element of each of them, too. So the words of a row of the output depend on where the words of its rows
begin alone, and rows that begin alike are counted once.
"""

from collections import Counter
from dataclasses import dataclass
from functools import lru_cache
from math import prod

import numpy as np
from numpy.typing import NDArray

from hwgen.arch.latency import REQUEST_TO_ANSWER, VECTOR_END, VECTOR_START, VECTOR_STRIPS, VECTOR_TREE
from hwgen.arch.vector.job import PAIR, VectorJob
from hwgen.arch.vector.shape import VectorShape
from hwgen.ir.counts import Access

__all__ = ["VectorAccess", "lanes_of", "vector_access", "vector_cycles", "vector_steps", "vector_waits",
           "window_rows"]  # fmt: skip


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
    return _access(_like(job, shape), shape)


def _like(job: VectorJob, shape: VectorShape) -> VectorJob:
    """The job at the first addresses of a memory that are as far into a word: what it takes depends on no more."""
    size = shape.word_bytes
    return job.at(job.input % size, job.output % size, None if job.table_from is None else 0)


@lru_cache(maxsize=1 << 14)
def _access(job: VectorJob, shape: VectorShape) -> VectorAccess:
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
    """How often windows read a word of ``size`` bytes."""
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
    """Words of ``size`` bytes that a run of ``elements`` touches, from byte ``lane`` of the first one on."""
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


# --- cycles ---


def vector_steps(job: VectorJob, shape: VectorShape) -> int:
    """Steps through elements, padding among them, and the words of a table that is read first.

    A step has one element, or several up to a multiple of ``shape.elements``; of what has no window the outputs up to
    a multiple of ``shape.outputs``. Of an addition one more in each row, for the first word of the second operand,
    and another one where a step has all of its word: then both operands need another word at once.
    """
    if job.strips:
        steps = _strip_steps(job, shape)
    elif job.by_element:
        steps = sum(number * _row_steps(job, shape, *lanes) for lanes, number in _rows(job, shape))
    elif not shape.wide or job.dilation[1] > 1:
        steps = job.channels * job.rows * job.columns * prod(job.kernel)
    else:
        steps = _window_steps(job, shape)
    return steps + (shape.table_words if job.table_from is not None else 0)


def _rows(job: VectorJob, shape: VectorShape) -> list[tuple[tuple[int, int], int]]:
    """The bytes of a word at which rows begin in the input and in the output, and how many do."""
    size, outputs = shape.word_bytes, shape.outputs
    channels = Counter(
        ((job.input + channel * job.input_plane) % size, (job.output + channel * job.output_plane) % outputs)
        for channel in range(job.channels)
    )
    rows = Counter((row * job.input_pitch % size, row * job.output_pitch % outputs) for row in range(job.rows))
    found: Counter[tuple[int, int]] = Counter()
    for (lane, out), some in channels.items():
        for (down, beside), others in rows.items():
            found[(lane + down) % size, (out + beside) % outputs] += some * others
    return sorted(found.items())


def _row_steps(job: VectorJob, shape: VectorShape, lane: int, out: int) -> int:
    """Steps of a row without windows whose input and output begin at these bytes of a word."""
    steps = _parts(lane, out, job.columns, shape)
    if job.mode != "add":
        return steps
    first = shape.word_bytes - lane
    return steps + 1 + (job.columns > first and _parts(lane, out, first, shape) == 1)


def _parts(lane: int, out: int, columns: int, shape: VectorShape) -> int:
    """Parts of a row: each up to a multiple of ``shape.outputs`` of the input's address or of the output's."""
    ends = {-lane % shape.outputs, -out % shape.outputs}
    return 1 + sum((columns - 1 - end) // shape.outputs + (end > 0) for end in ends)


def _window_steps(job: VectorJob, shape: VectorShape) -> int:
    """Steps of windows whose elements are side by side."""
    size, taps = shape.elements, job.kernel[1]
    starts = Counter((column * job.stride[1] - job.padding[1]) % size for column in range(job.columns))
    rows = [
        y * job.stride[0] - job.padding[0] + k * job.dilation[0]
        for y in range(job.rows)
        for k in range(job.kernel[0])
    ]
    lines = lanes_of(job.input, job.input_plane, job.input_pitch, job.channels, rows, size)
    return sum(
        some * number * (((lane + start) % size + taps - 1) // size + 1)
        for lane, some in lines
        for start, number in starts.items()
    )


def _strip_steps(job: VectorJob, shape: VectorShape) -> int:
    """Steps of strips, a row of the windows each, while the windows that end in the strip before are made: as many
    cycles as the longer of both takes. Those that end in the last strip are made after it."""
    rows, ends = job.kernel[0], _ends_of_rows(job, shape)
    taken = sum(number * int(np.maximum(one, rows).sum()) for one, number in ends)
    last = _last_ends(job, shape)
    return rows + taken - max(last, rows) + last - 1


def _ends_of_rows(job: VectorJob, shape: VectorShape) -> list[tuple[Ints, int]]:
    """The windows that end in each strip of a row of the output, and how many rows have them so."""
    lanes = lanes_of(
        job.input - job.padding[1], job.input_plane, job.input_pitch, job.channels, _tops(job), shape.elements
    )
    return [(_ends(job, lane, shape.elements), number) for lane, number in lanes]


def _last_ends(job: VectorJob, shape: VectorShape) -> int:
    """The windows that end in the last strip of all."""
    row = job.input - job.padding[1] + _tops(job)[-1] * job.input_pitch
    address = row + (job.channels - 1) * job.input_plane
    return int(_ends(job, address % shape.elements, shape.elements)[-1])


def _tops(job: VectorJob) -> list[int]:
    """The first row of the windows of each row of the output."""
    return [y * job.stride[0] - job.padding[0] for y in range(job.rows)]


def _ends(job: VectorJob, lane: int, size: int) -> NDArray[np.int64]:
    """The windows of a row that end in each of its strips, the first of which begins at this byte of a word."""
    columns = lane + job.kernel[1] - 1 + np.arange(job.columns) * job.stride[1]
    return np.bincount(columns // size)


def vector_cycles(job: VectorJob, shape: VectorShape) -> int:
    """Cycles from the start to where the unit rests. Steps that need no word do not wait for one."""
    return _cycles(_like(job, shape), shape)


@lru_cache(maxsize=1 << 14)
def _cycles(job: VectorJob, shape: VectorShape) -> int:
    access = _access(job, shape)
    waits = REQUEST_TO_ANSWER if access.inputs.words + access.table.words else 0
    return VECTOR_START + vector_steps(job, shape) + waits + VECTOR_END + _registers(job, shape)


def _registers(job: VectorJob, shape: VectorShape) -> int:
    """Registers that a step passes besides, on its way through the arithmetic."""
    return VECTOR_TREE * shape.wide + VECTOR_STRIPS * job.strips


# --- waits ---


def vector_waits(job: VectorJob, shape: VectorShape, chance: float) -> float:
    """Cycles that a job of several elements a cycle waits, as is expected, for the words that it reads.

    ``chance`` : the probability that the DMA is at the bank of a word, which is then there a cycle later.

    A word that follows the one before it in the memory does not wait after that: the DMA is a word ahead from then
    on. So of windows the first word of each of their rows counts, of strips and of sums, whose operands take turns,
    each word. Strips wait for their windows where more of these end in one than it has rows, and are late for
    nothing then.
    """
    apart, made_up = _apart(_like(job, shape), shape)
    return max(0.0, chance * apart - made_up)


@lru_cache(maxsize=1 << 14)
def _apart(job: VectorJob, shape: VectorShape) -> tuple[int, int]:
    """Words that are not read right after the one before them in the memory; cycles in which a strip is there before
    it is needed."""
    words = _access(job, shape).inputs.words
    if job.strips:
        ends = _ends_of_rows(job, shape)
        return words, sum(number * int(np.maximum(one - job.kernel[0], 0).sum()) for one, number in ends)
    if job.mode == "add":
        return words, 0
    if job.by_element:
        return 0, 0
    rows = job.columns * len(window_rows(job)) if job.kernel[0] > 1 else job.rows
    return min(words, job.channels * rows), 0
