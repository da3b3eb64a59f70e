"""Convolutions that no HWC runs as they are, as ones that it runs on a map whose elements are arranged for them.

A transposed convolution is a convolution without a stride that makes each phase of the output as channels of its own.
A stride that is too large takes the phases of the input as channels. Of a kernel that is too large parts stand beside
each other as channels, each on the map as far on as the part begins. All are exact: weights move, zeros are added.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import ceil, prod

import numpy as np
from numpy.typing import NDArray

from hwgen.ir.layer import MAX_KERNEL, MAX_STRIDE
from hwgen.ir.network.kinds import Window

__all__ = ["Arranged", "Phases", "arranged", "phases"]

Int64 = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class _Axis:
    """One direction of an arranged convolution.

    Members
    -------
    taps : for each copy of the map, which tap of the kernel is at each place; -1: none.
    places : for each copy, which row or column of the map is at each place; -1: padding.
    """

    taps: Int64
    places: Int64
    stride: int
    dilation: int
    padding: tuple[int, int]


@dataclass(frozen=True, eq=False)
class Arranged:
    """A convolution on an arranged map.

    Members
    -------
    index : of the map, as `Movement` has it.
    weights : [M, C / groups, k, l].
    """

    index: Int64
    weights: Int64
    window: Window


def arranged(
    weights: Int64, window: Window, groups: int, given: Sequence[int], made: Sequence[int]
) -> Arranged | None:
    """The convolution on an arranged map, where no HWC has its window; None where it need not be, or cannot.

    ``given``, ``made`` : channels, rows and columns of its input, and rows and columns of its output.
    """
    channels, *sizes = given
    axes = [
        _axis(window.kernel[at], window.stride[at], window.dilation[at], window.padding[at], sizes[at], made[at])
        for at in (0, 1)
    ]
    down, across = (
        axis or _same(window.kernel[at], window.stride[at], window.dilation[at], window.padding[at::2], sizes[at])
        for at, axis in enumerate(axes)
    )
    kernel = (down.taps.shape[1], across.taps.shape[1])
    reach = [(taps - 1) * axis.dilation + 1 for taps, axis in zip(kernel, (down, across), strict=True)]
    if axes == [None, None] or max(reach) > MAX_KERNEL or max(down.stride, across.stride) > MAX_STRIDE:
        return None
    copies = list(product(range(len(down.taps)), range(len(across.taps))))
    own = channels // groups
    moved = np.zeros((len(weights), len(copies), own, *kernel), np.int64)
    index = np.full((groups, len(copies), own, down.places.shape[1], across.places.shape[1]), -1, np.int64)
    planes = np.arange(channels, dtype=np.int64).reshape(groups, own, 1, 1) * prod(sizes)
    for number, (row, column) in enumerate(copies):
        taps = (down.taps[row][:, None], across.taps[column][None])
        moved[:, number] = np.where((taps[0] >= 0) & (taps[1] >= 0), weights[:, :, taps[0], taps[1]], 0)
        rows, columns = down.places[row][:, None], across.places[column][None]
        inside = (rows >= 0) & (columns >= 0)
        index[:, number] = np.where(inside, planes + rows * sizes[1] + columns, -1)
    (top, bottom), (left, right) = down.padding, across.padding
    return Arranged(
        index.reshape(1, -1, *index.shape[3:]),
        moved.reshape(len(weights), -1, *kernel),
        Window(kernel, (down.stride, across.stride), (top, left, bottom, right), (down.dilation, across.dilation)),
    )


def _same(kernel: int, stride: int, dilation: int, padding: Sequence[int], size: int) -> _Axis:
    """A direction that stays as it is."""
    return _Axis(np.arange(kernel)[None], np.arange(size)[None], stride, dilation, (padding[0], padding[1]))


def _axis(kernel: int, stride: int, dilation: int, before: int, size: int, outputs: int) -> _Axis | None:
    """A direction that is too much for an HWC; None if it is not.

    Tap t of output o reads place o * stride + t * dilation - before.
    """
    if stride > MAX_STRIDE:
        reads = np.arange(kernel) * dilation
        used = sorted(set(reads % stride))
        steps = int(reads.max()) // stride + 1
        taps = np.full((len(used), steps), -1, np.int64)
        for tap, read in enumerate(reads):
            taps[used.index(read % stride), read // stride] = tap
        places = np.arange(outputs + steps - 1) * stride + np.array(used)[:, None] - before
        stride, dilation = 1, 1
    elif (kernel - 1) * dilation + 1 > MAX_KERNEL:
        most = (MAX_KERNEL - 1) // dilation + 1
        copies = ceil(kernel / most)
        each = ceil(kernel / copies)
        taps = np.arange(copies * each, dtype=np.int64).reshape(copies, each)
        taps[taps >= kernel] = -1
        reach = (outputs - 1) * stride + (each - 1) * dilation + 1
        places = np.arange(reach) + np.arange(copies)[:, None] * each * dilation - before
    else:
        return None
    return _Axis(taps, np.where((places >= 0) & (places < size), places, -1), stride, dilation, (0, 0))


@dataclass(frozen=True, eq=False)
class Phases:
    """A transposed convolution as a convolution: each output channel becomes one channel for each phase.

    Members
    -------
    weights : [M * phases, C / groups, k, l].
    shape : of its output: channels, rows, columns.
    index : of that output, for the transposed convolution's own.
    """

    weights: Int64
    window: Window
    shape: tuple[int, int, int]
    index: Int64

    @property
    def number(self) -> int:
        """The number of phases."""
        return prod(self.window.stride)

    @property
    def plain(self) -> Window:
        """The window of the convolution."""
        return replace(self.window, stride=(1, 1))


def phases(weights: Int64, window: Window, given: Sequence[int], made: Sequence[int]) -> Phases:
    """The phases of a transposed convolution.

    ``window.padding`` is what is cut off its full output; ``given``, ``made`` : rows and columns of its input and
    output. Row o of the output is row o + top = stride * v + r of the full one; phase r of it, at v, has those taps t
    of input v - q for which t * dilation = stride * q + r.
    """
    outputs = len(weights)
    reach = [(taps - 1) * apart for taps, apart in zip(window.kernel, window.dilation, strict=True)]
    down, across = window.stride
    steps = (reach[0] // down + 1, reach[1] // across + 1)
    spread = np.zeros((outputs, down, across, weights.shape[1], *steps), np.int64)
    for row, column in np.ndindex(*window.kernel):
        (q, r), (p, s) = divmod(row * window.dilation[0], down), divmod(column * window.dilation[1], across)
        spread[:, r, s, :, steps[0] - 1 - q, steps[1] - 1 - p] = weights[:, :, row, column]
    full = [np.arange(size) + cut for size, cut in zip(made, window.padding, strict=False)]
    first = [int(places[0]) // stride for places, stride in zip(full, window.stride, strict=True)]
    rows, columns = (
        int(places[-1]) // stride - begin + 1
        for places, stride, begin in zip(full, window.stride, first, strict=True)
    )
    (v, r), (u, s) = (divmod(places, stride) for places, stride in zip(full, window.stride, strict=True))
    phase = np.arange(outputs)[:, None, None] * down * across + r[:, None] * across + s
    index = (phase * rows + (v - first[0])[:, None]) * columns + u - first[1]
    before = (steps[0] - 1 - first[0], steps[1] - 1 - first[1])
    after = (rows - given[0] + first[0], columns - given[1] + first[1])
    return Phases(
        spread.reshape(-1, weights.shape[1], *steps),
        Window(steps, window.stride, (*before, *after)),
        (outputs * down * across, rows, columns),
        index[None],
    )
