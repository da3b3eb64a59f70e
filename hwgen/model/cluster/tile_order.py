"""The tiles of a cluster's schedule in program order, those for which an operand is resident in the TCDM, and what
they touch."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np
from numpy.typing import NDArray

from hwgen.ir.layer import DIMS, IMAGE, OUTPUT_DIMS, WEIGHT_DIMS, Dim, Layer
from hwgen.ir.level import TCDM
from hwgen.ir.schedule import ArrayName, Schedule
from hwgen.model.cluster.levels import tile_depth

__all__ = [
    "TILE_DIMS",
    "Iteration",
    "Iterations",
    "Range",
    "Ranges",
    "Spans",
    "TileWalk",
    "input_lines",
    "touched",
    "without",
]

TILE_DIMS: tuple[Dim, ...] = (*DIMS, IMAGE)
"""Dimensions that loops around a tile may run over: those of one image, then the images."""

Ints = NDArray[np.int64]
Range = tuple[int, int]
Ranges = tuple[Range, ...]
"""Half-open ranges, one for each dimension in the order of `TILE_DIMS`."""
Spans = tuple[Range, ...]
"""Disjoint half-open ranges of indices, ascending and merged."""


@dataclass(frozen=True)
class Iterations:
    """The iterations of the innermost of some loops in program order.

    Members
    -------
    start, stop : their ranges, [iteration, dimension in the order of `TILE_DIMS`].
    turned : the outermost loop that advanced to reach each one; all inner loops restarted. -1 for the first.
    """

    start: Ints
    stop: Ints
    turned: Ints

    def __len__(self) -> int:
        return len(self.turned)

    def along(self, dim: Dim) -> tuple[Ints, Ints]:
        """First and end of the ranges of one dimension."""
        return self.start[:, TILE_DIMS.index(dim)], self.stop[:, TILE_DIMS.index(dim)]

    @cached_property
    def ranges(self) -> list[Ranges]:
        """The ranges of each iteration."""
        both = zip(self.start.tolist(), self.stop.tolist(), strict=True)
        return [tuple(zip(starts, stops, strict=True)) for starts, stops in both]

    def executions(self, marked: int) -> Ints:
        """The number of the execution of each iteration of the loop of that index."""
        return np.cumsum(self.turned < marked)

    def split(self, index: int, dim: Dim, step: int) -> "Iterations":
        """The iterations of a loop inside them; ``index``: its place in the nest."""
        at = TILE_DIMS.index(dim)
        numbers = -(-(self.stop[:, at] - self.start[:, at]) // step)
        offset = np.arange(numbers.sum()) - np.repeat(np.cumsum(numbers) - numbers, numbers)
        start, stop = np.repeat(self.start, numbers, axis=0), np.repeat(self.stop, numbers, axis=0)
        start[:, at] += offset * step
        stop[:, at] = np.minimum(start[:, at] + step, stop[:, at])
        return Iterations(start, stop, np.where(offset == 0, np.repeat(self.turned, numbers), index))


@dataclass(frozen=True, slots=True)
class Iteration:
    """One iteration of a loop: number of its execution, its ranges, its first and last tile."""

    execution: int
    ranges: Ranges
    first: int
    last: int


class TileWalk:
    """Every iteration of every loop down to the tiles.

    Members
    -------
    depth : number of loops down to the tiles.
    """

    def __init__(self, schedule: Schedule) -> None:
        self._schedule, self.depth = schedule, tile_depth(schedule)
        whole = np.array([[schedule.layer.loop_extents[dim] for dim in TILE_DIMS]])
        self._at = [Iterations(np.zeros_like(whole), whole, np.array([-1]))]
        for index, loop in enumerate(schedule.loops[: self.depth]):
            self._at.append(self._at[-1].split(index, loop.dim, loop.step))

    @property
    def tiles(self) -> list[Ranges]:
        """The ranges of each tile."""
        return self._at[self.depth].ranges

    def marked(self, array: ArrayName) -> int:
        """The loop that an operand's ``tcdm`` marker stands above."""
        marked = self._schedule.marked_loop(array, TCDM)
        assert marked is not None
        return marked

    def of(self, array: ArrayName) -> Iterations:
        """The iterations of that loop."""
        return self._at[self.marked(array) + 1]

    def first_tiles(self, array: ArrayName) -> Ints:
        """The first tile of each of them."""
        return np.flatnonzero(self._at[self.depth].turned <= self.marked(array))

    def iterations(self, array: ArrayName) -> list[Iteration]:
        """The same, one by one."""
        own, first = self.of(array), self.first_tiles(array)
        executions = own.executions(self.marked(array)).tolist()
        last = np.append(first[1:], len(self.tiles)) - 1
        return [Iteration(*one) for one in zip(executions, own.ranges, first.tolist(), last.tolist(), strict=True)]


# --- what a tile touches ---


def touched(layer: Layer, array: ArrayName, ranges: Ranges) -> tuple[Spans, ...]:
    """What a tile touches of an array, without padding: I: channels, rows, columns; W: m, c, k, l; O: m, y, x.

    Channels of I and of O are counted over all images: in the DRAM the maps of an image are after those of the one
    before.
    """
    m, c, y, x, k, l, n = ranges  # noqa: E741
    match array:
        case "I":
            (above, left), stride = layer.padding[:2], layer.stride
            return (
                _of_images(
                    n, layer.input_channels, _input_channels(layer.outputs_per_group, layer.channels_per_group, m, c)
                ),
                input_lines(y, k, stride[0], above, layer.input_height),
                input_lines(x, (l[0], l[1] + layer.columns_beside), stride[1], left, layer.input_width),
            )
        case "W":
            return _of_dims(WEIGHT_DIMS, ranges)
        case "O":
            _, *lines = _of_dims(OUTPUT_DIMS, ranges)
            return (_of_images(n, layer.output_channels, (m,)), *lines)


def _of_dims(dims: Sequence[Dim], ranges: Ranges) -> tuple[Spans, ...]:
    return tuple((ranges[DIMS.index(dim)],) for dim in dims)


@cache
def _of_images(images: Range, channels: int, spans: Spans) -> Spans:
    """These channels of each of the images, of which each has ``channels``; counted over all images."""
    if spans == ((0, channels),):
        return ((images[0] * channels, images[1] * channels),)
    return tuple((at * channels + a, at * channels + b) for at in range(*images) for a, b in spans)


@cache
def _input_channels(outputs: int, inputs: int, m: Range, c: Range) -> Spans:
    """Input channels of the groups that a range of output channels belongs to; ``c`` is a range inside a group."""
    groups = range(m[0] // outputs, (m[1] - 1) // outputs + 1)
    if c == (0, inputs):
        return ((groups.start * inputs, groups.stop * inputs),)
    return tuple((group * inputs + c[0], group * inputs + c[1]) for group in groups)


@cache
def input_lines(outputs: Range, taps: Range, stride: int, pad: int, size: int) -> Spans:
    """Rows (or columns) of the input that these output rows touch with these kernel rows, without padding."""
    first, last = taps[0] - pad, taps[1] - pad
    if taps[1] - taps[0] >= stride or outputs[1] - outputs[0] == 1:
        spans = [(outputs[0] * stride + first, (outputs[1] - 1) * stride + last)]
    else:
        spans = [(at * stride + first, at * stride + last) for at in range(*outputs)]
    return tuple((max(a, 0), min(b, size)) for a, b in spans if max(a, 0) < min(b, size))


@cache
def without(spans: Spans, others: Spans) -> Spans:
    """The difference: the first without the second."""
    left: list[Range] = []
    for start, stop in spans:
        for low, high in others:
            if low < stop and high > start:
                if low > start:
                    left.append((start, low))
                start = max(start, high)
        if start < stop:
            left.append((start, stop))
    return tuple(left)
