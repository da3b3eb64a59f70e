"""What the DMA moves, tile by tile, in the order of its load and store streams. Only this module knows that order.

A tile is one iteration of the innermost loop with a `tcdm` marker. Where an iteration of an operand's own marked
loop starts with a tile, its new part is loaded before that tile; what is dropped is stored after the last tile that
uses it.

- Loads of one tile: weights, inputs, biases (all of the layer's, once, with the first tile), partial sums.
- Stores: outputs, in the order in which they are dropped.

A part is a product of index sets, one for each axis of its tensor: only one axis changes from one iteration to the
next. Nests are expected as `hwgen.model.cluster.levels.normalised` leaves them.
"""

import heapq
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from hwgen.ir.counts import Direction, Operand
from hwgen.ir.layer import DIMS, OUTPUT_DIMS, REDUCTION_DIMS, WEIGHT_DIMS, Dim, Layer
from hwgen.ir.level import TCDM
from hwgen.ir.schedule import ArrayName, Schedule
from hwgen.model.cluster.levels import tile_depth

__all__ = ["Iterations", "Part", "Spans", "iterations_of", "loads", "stores", "tiles", "touched_axes", "weight_loads"]

Ints = NDArray[np.int64]
Spans = tuple[tuple[int, int], ...]
"""Disjoint half-open ranges of indices, ascending and merged."""

_ORDER: dict[Operand, int] = {"W": 0, "I": 1, "B": 2, "O": 3}


@dataclass(frozen=True)
class Part:
    """The part of one operand that is moved for a tile.

    Members
    -------
    tile : loaded before this tile, or stored after it.
    axes : index sets along the axes of the tensor; their product is moved. I: channels, rows, columns; W: m, c,
        k, l; O: m, y, x; B: m.
    """

    tile: int
    operand: Operand
    direction: Direction
    axes: tuple[Spans, ...]


@dataclass(frozen=True)
class Iterations:
    """The iterations of the innermost of some loops in program order: their ranges, and the loop that turned.

    ``turned``: the outermost loop that advanced to reach the iteration; all inner loops restarted. -1 for the first.
    """

    start: dict[Dim, Ints]
    stop: dict[Dim, Ints]
    turned: Ints

    def __len__(self) -> int:
        return len(self.turned)


def iterations_of(schedule: Schedule, depth: int) -> Iterations:
    """All iterations of ``loops[depth - 1]``."""
    start: dict[Dim, Ints] = {dim: np.zeros(1, np.int64) for dim in DIMS}
    stop: dict[Dim, Ints] = {dim: np.array([extent]) for dim, extent in schedule.layer.extents.items()}
    turned = np.array([-1])
    for index, loop in enumerate(schedule.loops[:depth]):
        numbers = -(-(stop[loop.dim] - start[loop.dim]) // loop.step)
        offset = np.arange(numbers.sum()) - np.repeat(np.cumsum(numbers) - numbers, numbers)
        start = {dim: np.repeat(values, numbers) for dim, values in start.items()}
        stop = {dim: np.repeat(values, numbers) for dim, values in stop.items()}
        start[loop.dim] = start[loop.dim] + offset * loop.step
        stop[loop.dim] = np.minimum(start[loop.dim] + loop.step, stop[loop.dim])
        turned = np.where(offset == 0, np.repeat(turned, numbers), index)
    return Iterations(start, stop, turned)


def tiles(schedule: Schedule) -> Iterations:
    """All tiles in program order."""
    return iterations_of(schedule, tile_depth(schedule))


def loads(schedule: Schedule) -> Iterator[Part]:
    """All loads, in the order of the stream."""
    turned = tiles(schedule).turned
    biases = Part(0, "B", "read", (((0, schedule.layer.output_channels),),))
    streams = (_weights(schedule, turned), _inputs(schedule, turned), iter((biases,)), _returns(schedule, turned))
    return heapq.merge(*streams, key=lambda part: (part.tile, _ORDER[part.operand]))


def stores(schedule: Schedule) -> Iterator[Part]:
    """All stores, in the order of the stream."""
    extents = schedule.layer.extents
    last = None
    for visit in _visits(schedule, "O", tiles(schedule).turned):
        if last is not None and (visit.before is None or visit.before != visit.axes):
            yield Part(visit.tile - 1, "O", _way(last, extents), last.axes)
        last = visit
    assert last is not None
    yield Part(len(tiles(schedule)) - 1, "O", _way(last, extents), last.axes)


def weight_loads(schedule: Schedule) -> Iterator[Part]:
    """The loads of weights only."""
    return _weights(schedule, tiles(schedule).turned)


def touched_axes(layer: Layer, array: ArrayName, ranges: dict[Dim, tuple[int, int]]) -> tuple[Spans, ...]:
    """What an iteration touches of an array, axis by axis, without padding."""
    match array:
        case "I":
            return (
                _channels(layer.outputs_per_group, layer.channels_per_group, ranges["m"], ranges["c"]),
                _window(layer.stride[0], layer.padding[0], layer.input_height, ranges["y"], ranges["k"]),
                _window(layer.stride[1], layer.padding[1], layer.input_width, ranges["x"], ranges["l"]),
            )
        case "W":
            return tuple((ranges[dim],) for dim in WEIGHT_DIMS)
        case "O":
            return tuple((ranges[dim],) for dim in OUTPUT_DIMS)


# --- visits: the iterations of one operand's marked loop ---


@dataclass(frozen=True)
class _Visit:
    """One iteration: its first tile, what it touches, and what of the previous iteration is resident."""

    tile: int
    axes: tuple[Spans, ...]
    before: tuple[Spans, ...] | None
    reduced: tuple[tuple[int, int], ...]


def _visits(schedule: Schedule, array: ArrayName, turned: Ints) -> Iterator[_Visit]:
    marked = schedule.marked_loop(array, TCDM)
    assert marked is not None
    iterations = iterations_of(schedule, marked + 1)
    first_tiles = np.flatnonzero(turned <= marked).tolist()
    continues = (iterations.turned == marked) & (not schedule.in_halves(array))
    low = {dim: values.tolist() for dim, values in iterations.start.items()}
    high = {dim: values.tolist() for dim, values in iterations.stop.items()}
    axes = None
    for number, (tile, kept) in enumerate(zip(first_tiles, continues.tolist(), strict=True)):
        ranges = {dim: (low[dim][number], high[dim][number]) for dim in DIMS}
        before, axes = axes if kept else None, touched_axes(schedule.layer, array, ranges)
        yield _Visit(tile, axes, before, tuple(ranges[dim] for dim in REDUCTION_DIMS))


def _inputs(schedule: Schedule, turned: Ints) -> Iterator[Part]:
    for visit in _visits(schedule, "I", turned):
        new = visit.axes if visit.before is None else _new(visit.axes, visit.before)
        if all(new):
            yield Part(visit.tile, "I", "read", new)


def _weights(schedule: Schedule, turned: Ints) -> Iterator[Part]:
    for visit in _visits(schedule, "W", turned):
        if visit.axes != visit.before:
            yield Part(visit.tile, "W", "read", visit.axes)


def _returns(schedule: Schedule, turned: Ints) -> Iterator[Part]:
    """Loads of partial sums that were stored before: those of every iteration whose reduction has begun."""
    for visit in _visits(schedule, "O", turned):
        if visit.axes != visit.before and any(start for start, _ in visit.reduced):
            yield Part(visit.tile, "O", "read_partial", visit.axes)


def _way(visit: _Visit, extents: dict[Dim, int]) -> Direction:
    finished = all(stop == extents[dim] for dim, (_, stop) in zip(REDUCTION_DIMS, visit.reduced, strict=True))
    return "write" if finished else "write_partial"


def _new(axes: tuple[Spans, ...], before: tuple[Spans, ...]) -> tuple[Spans, ...]:
    """The difference of two products of index sets, which differ along one axis at most."""
    if axes == before:
        return ((),) * len(axes)
    if not all(before):
        return axes
    return tuple(now if now == then else _without(now, then) for now, then in zip(axes, before, strict=True))


# --- spans ---


@cache
def _without(spans: Spans, others: Spans) -> Spans:
    left: list[tuple[int, int]] = []
    for start, stop in spans:
        for low, high in others:
            if low < stop and high > start:
                if low > start:
                    left.append((start, low))
                start = max(start, high)
        if start < stop:
            left.append((start, stop))
    return tuple(left)


@cache
def _channels(outputs: int, inputs: int, m: tuple[int, int], c: tuple[int, int]) -> Spans:
    """Input channels of the groups that a range of output channels belongs to."""
    groups = range(m[0] // outputs, (m[1] - 1) // outputs + 1)
    return _joined(tuple((group * inputs + c[0], group * inputs + c[1]) for group in groups))


@cache
def _window(stride: int, padding: int, size: int, outputs: tuple[int, int], taps: tuple[int, int]) -> Spans:
    """Rows or columns of the image that a range of outputs touches with a range of the kernel."""
    spans = ((at * stride + taps[0] - padding, at * stride + taps[1] - padding) for at in range(*outputs))
    clipped = ((max(start, 0), min(stop, size)) for start, stop in spans)
    return _joined(tuple((start, stop) for start, stop in clipped if start < stop))


def _joined(spans: Spans) -> Spans:
    joined: list[tuple[int, int]] = []
    for start, stop in spans:
        if joined and start <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(joined[-1][1], stop))
        else:
            joined.append((start, stop))
    return tuple(joined)
