"""Rows and columns of the input that the iterations of a nest touch, and the words that hold them.

Rows ``y * stride + k`` of one residue class modulo the stride are consecutive in ``q = row // stride``, however the
kernel is cut and whether or not the stride exceeds it. Touches are intervals in q, clipped to the image, and so are
their differences: both ends of the next iteration's interval are at or after those of the last one's.
"""

from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

import numpy as np

from hwgen.ir.layer import Dim, Layer
from hwgen.model.nest.ranges import Ints, Ranges

__all__ = ["Window", "column_words", "window_of"]


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
