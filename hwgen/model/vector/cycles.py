"""Cycles of a job of the vector unit, alone at the TCDM: a step in every cycle, in closed form."""

from collections import Counter
from math import prod

import numpy as np
from numpy.typing import NDArray

from hwgen.arch.latency import REQUEST_TO_ANSWER, VECTOR_END, VECTOR_START, VECTOR_STRIPS, VECTOR_TREE
from hwgen.arch.vector.job import VectorJob
from hwgen.arch.vector.shape import VectorShape
from hwgen.model.vector.access import lanes_of, vector_access

__all__ = ["vector_cycles", "vector_steps"]


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
    (_, left), (down, _), rows = job.padding, job.stride, job.kernel[0]
    tops = [y * down - job.padding[0] for y in range(job.rows)]
    lanes = lanes_of(job.input - left, job.input_plane, job.input_pitch, job.channels, tops, shape.elements)
    ends = {lane: _ends(job, lane, shape.elements) for lane, _ in lanes}
    taken = sum(number * int(np.maximum(ends[lane], rows).sum()) for lane, number in lanes)
    address = job.input - left + (job.channels - 1) * job.input_plane + tops[-1] * job.input_pitch
    last = int(ends[address % shape.elements][-1])
    return rows + taken - max(last, rows) + last - 1


def _ends(job: VectorJob, lane: int, size: int) -> NDArray[np.int64]:
    """The windows of a row that end in each of its strips, the first of which begins at this byte of a word."""
    columns = lane + job.kernel[1] - 1 + np.arange(job.columns) * job.stride[1]
    return np.bincount(columns // size)


def vector_cycles(job: VectorJob, shape: VectorShape) -> int:
    """Cycles from the start to where the unit rests. Steps that need no word do not wait for one."""
    access = vector_access(job, shape)
    waits = REQUEST_TO_ANSWER if access.inputs.words + access.table.words else 0
    return VECTOR_START + vector_steps(job, shape) + waits + VECTOR_END + _registers(job, shape)


def _registers(job: VectorJob, shape: VectorShape) -> int:
    """Registers that a step passes besides, on its way through the arithmetic."""
    return VECTOR_TREE * shape.wide + VECTOR_STRIPS * job.strips
