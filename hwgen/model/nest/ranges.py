"""How loops cut a dimension into ranges, and what of the input the iterations of a nest touch.

Rows ``y * stride + k`` of one residue class modulo the stride are consecutive in ``q = row // stride``, however the
kernel is cut and whether or not the stride exceeds it. Touches are intervals in q, clipped to the image, and so are
their differences: both ends of the next iteration's interval are at or after those of the last one's.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from hwgen.ir.layer import Dim, Layer
from hwgen.ir.schedule import Loop, Schedule

__all__ = ["Ints", "Nest", "Ranges", "Tile", "Window", "column_words", "split", "tiles", "whole", "window_of"]


Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Ranges:
    """Half-open ranges of a dimension, ascending, which is program order.

    ``first`` marks those that start an execution of the last loop. Two are equal if they are the same object.
    """

    start: Ints
    stop: Ints
    first: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.start)

    @cached_property
    def sizes(self) -> Ints:
        """Length of each range."""
        return self.stop - self.start

    @cached_property
    def largest(self) -> int:
        """Length of the longest range."""
        return int(self.sizes.max())

    def split(self, step: int) -> "Ranges":
        """The ranges into which a loop of this step cuts them."""
        numbers = -(-self.sizes // step)
        offset = np.arange(numbers.sum()) - np.repeat(np.cumsum(numbers) - numbers, numbers)
        start = np.repeat(self.start, numbers) + offset * step
        return Ranges(start, np.minimum(start + step, np.repeat(self.stop, numbers)), offset == 0)

    def widened(self, beside: int) -> "Ranges":
        """Ranges that each end later, so that they overlap."""
        return Ranges(self.start, self.stop + beside, self.first) if beside else self

    def mapped(self, figure: Callable[[int], int]) -> Ints:
        """A figure of each range by its size."""
        sizes = self.sizes.tolist()
        figures = {size: figure(size) for size in set(sizes)}
        return np.array([figures[size] for size in sizes], np.int64)

    def most_pieces(self, pieces: "Ranges") -> int:
        """The largest number of the pieces into which one of these ranges is cut."""
        begins = np.searchsorted(pieces.start, self.start)
        return max(len(pieces) - int(begins[-1]), int((begins[1:] - begins[:-1]).max(initial=0)))

    def sums_of(self, pieces: "Ranges", values: Ints) -> Ints:
        """The sum, for each range, of the values of the pieces that it is cut into."""
        sums: Ints = np.add.reduceat(values, np.searchsorted(pieces.start, self.start))
        return sums

    def words_of_each(self, size: int, word: int) -> Ints:
        """Aligned words of ``word`` bytes of each range of elements of ``size`` bytes."""
        words: Ints = (self.stop * size - 1) // word - self.start * size // word + 1
        return words

    def words(self, size: int, word: int) -> int:
        """The same of all ranges, each by itself."""
        return int(self.words_of_each(size, word).sum())


class Nest:
    """The loops of a schedule, and the ranges into which they cut the dimensions."""

    def __init__(self, schedule: Schedule) -> None:
        self.schedule, self.layer, self.bits = schedule, schedule.layer, schedule.bits
        self.loops = schedule.loops
        self._extents = schedule.layer.loop_extents
        self._known: dict[tuple[Dim, int], Ranges] = {}

    @property
    def depth(self) -> int:
        """The number of loops."""
        return len(self.loops)

    def ranges(self, dim: Dim, depth: int) -> Ranges:
        """The ranges of one dimension that iterations of ``loops[depth - 1]`` cover; ``first`` refers to that loop.

        If that loop runs over another dimension, every range is a first one.
        """
        key = dim, depth
        if key not in self._known:
            loops = self.loops[:depth]
            steps = tuple([loop.step for loop in loops if loop.dim == dim])
            self._known[key] = _cut(self._extents[dim], steps, turning=bool(loops) and loops[-1].dim == dim)
        return self._known[key]


@lru_cache(maxsize=512)
def _cut(extent: int, steps: tuple[int, ...], *, turning: bool) -> Ranges:
    """The ranges into which loops of these steps cut an extent; every one is a first one unless the last loop turns.

    A count asks for the same ones many times. The arrays are shared, so they cannot be written.
    """
    if not steps:
        ranges = Ranges(np.zeros(1, np.int64), np.array([extent]), np.ones(1, np.bool_))
    elif turning:
        ranges = _cut(extent, steps[:-1], turning=False).split(steps[-1])
    else:
        cut = _cut(extent, steps, turning=True)
        ranges = Ranges(cut.start, cut.stop, np.ones(len(cut), np.bool_))
    for array in (ranges.start, ranges.stop, ranges.first):
        array.flags.writeable = False
    return ranges


# --- the iterations of a nest, one by one ---

Tile = dict[Dim, range]
"""What one iteration covers: a range of each dimension."""


def whole(layer: Layer) -> Tile:
    """The whole layer as one tile."""
    return {dim: range(extent) for dim, extent in layer.loop_extents.items()}


def split(tile: Tile, loop: Loop) -> Iterator[Tile]:
    """One execution of a loop: each iteration covers ``step`` of its dimension, the last one what is left."""
    span = tile[loop.dim]
    for start in range(span.start, span.stop, loop.step):
        yield {**tile, loop.dim: range(start, min(start + loop.step, span.stop))}


def tiles(tile: Tile, loops: tuple[Loop, ...]) -> Iterator[Tile]:
    """The tiles of the innermost of ``loops``, in program order."""
    if not loops:
        yield tile
        return
    for iteration in split(tile, loops[0]):
        yield from tiles(iteration, loops[1:])


# --- rows and columns of the input ---


@dataclass(frozen=True, eq=False)
class Window:
    """Rows (or columns) that each range of the map touches with each range of the kernel.

    ``start`` and ``stop`` are intervals of q, clipped to the image, indexed [residue class, map range, kernel range];
    the coordinate is ``q * stride + residue - padding``. ``along`` is the index that the marked loop moves, if any.
    """

    start: Ints
    stop: Ints
    stride: int
    padding: int
    map_ranges: Ranges
    kernel_ranges: Ranges
    along: int | None

    @cached_property
    def lengths(self) -> Ints:
        """Rows of each interval."""
        lengths: Ints = np.maximum(self.stop - self.start, 0)
        return lengths

    @cached_property
    def largest(self) -> int:
        """The most rows that one iteration touches."""
        return int(self.lengths.sum(axis=0).max())

    @cached_property
    def fetched(self) -> "Window":
        """The same with only the new part of each iteration: what is after the interval of the previous iteration."""
        if self.along is None:
            return self
        first = (self.map_ranges, self.kernel_ranges)[self.along - 1].first
        start, stop = np.moveaxis(self.start, self.along, -1).copy(), np.moveaxis(self.stop, self.along, -1)
        continued = ~first[1:]
        start[..., 1:] = np.where(continued, np.maximum(start[..., 1:], stop[..., :-1]), start[..., 1:])
        return replace(self, start=np.moveaxis(start, -1, self.along))


def window_of(layer: Layer, over_map: Dim, outputs: Ranges, taps: Ranges, moving: Dim | None) -> Window:
    """Touches of these ranges of the map and of the kernel, of rows (``over_map``: y) or columns (x).

    ``moving``: the dimension of the marked loop, along which touches are reused.
    """
    axis, over_kernel = (0, "k") if over_map == "y" else (1, "l")
    stride, padding, kernel = layer.stride[axis], layer.padding[axis], layer.kernel[axis]
    image = (layer.input_height, layer.input_width)[axis]
    along = 1 if moving == over_map else 2 if moving == over_kernel else None
    if over_map == "x":
        taps = taps.widened(layer.columns_beside)
    return _window(stride, padding, kernel, image, outputs, taps, along)


@lru_cache(maxsize=256)
def _window(
    stride: int, padding: int, kernel: int, image: int, outputs: Ranges, taps: Ranges, along: int | None
) -> Window:
    """A count asks for the same window several times."""
    residue = np.arange(min(stride, kernel))[:, None, None]
    first_tap = -(-(taps.start[None, None, :] - residue) // stride)
    end_tap = -(-(taps.stop[None, None, :] - residue) // stride)
    lowest, beyond = -(-(padding - residue) // stride), -(-(image + padding - residue) // stride)
    start = np.maximum(outputs.start[None, :, None] + first_tap, lowest)
    stop = np.minimum(outputs.stop[None, :, None] + end_tap - 1, beyond)
    stop = np.where(first_tap < end_tap, stop, lowest)
    return Window(start, stop, stride, padding, outputs, taps, along)


def column_words(window: Window, size: int, word: int) -> int:
    """Aligned words of ``word`` bytes that hold a byte of the window's columns, summed over its iterations.

    A run of columns is a matter of its two ends. Sets with gaps recur at every whole number of words, so only those
    that differ by more than a shift are looked at column by column.
    """
    classes = window.start.shape[0]
    start, stop = window.start.reshape(classes, -1).T, window.stop.reshape(classes, -1).T
    met = (stop > start).any(axis=1)
    start, stop = start[met], stop[met]
    offset = np.arange(classes) - window.padding
    some = stop > start
    low = np.where(some, start * window.stride + offset, np.iinfo(np.int64).max).min(axis=1)
    high = np.where(some, (stop - 1) * window.stride + offset, -1).max(axis=1) + 1
    runs = np.where(some, stop - start, 0).sum(axis=1) == high - low
    words = int(((high[runs] * size - 1) // word - low[runs] * size // word + 1).sum())
    if runs.all():
        return words
    start, stop, low = start[~runs], stop[~runs], low[~runs]
    some = stop > start
    period = np.lcm(window.stride, word)
    shift = low // period * (period // window.stride)
    shapes = np.hstack([np.where(some, start - shift[:, None], 0), np.where(some, stop - shift[:, None], 0)])
    distinct, occurrences = np.unique(shapes, axis=0, return_counts=True)
    for shape, number in zip(distinct, occurrences, strict=True):
        columns = np.concatenate(
            [
                np.arange(shape[residue], shape[classes + residue]) * window.stride + offset[residue]
                for residue in range(classes)
            ]
        )
        touched = columns[:, None] * size + np.arange(size)
        words += int(number) * len(np.unique(touched // word))
    return words
