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

from hwgen.ir.counts import Direction, Operand
from hwgen.ir.layer import DIMS, REDUCTION_DIMS, Dim
from hwgen.ir.schedule import ArrayName, Schedule
from hwgen.model.cluster.tile_order import Spans, TileWalk, touched, without

__all__ = ["Part", "loads", "stores", "weight_loads"]

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


def loads(schedule: Schedule) -> Iterator[Part]:
    """All loads, in the order of the stream."""
    walk = TileWalk(schedule)
    biases = Part(0, "B", "read", (((0, schedule.layer.output_channels),),))
    streams = (_weights(schedule, walk), _inputs(schedule, walk), iter((biases,)), _returns(schedule, walk))
    return heapq.merge(*streams, key=lambda part: (part.tile, _ORDER[part.operand]))


def stores(schedule: Schedule) -> Iterator[Part]:
    """All stores, in the order of the stream."""
    extents, walk = schedule.layer.extents, TileWalk(schedule)
    last = None
    for visit in _visits(schedule, walk, "O"):
        if last is not None and (visit.before is None or visit.before != visit.axes):
            yield Part(visit.tile - 1, "O", _way(last, extents), last.axes)
        last = visit
    assert last is not None
    yield Part(len(walk.tiles) - 1, "O", _way(last, extents), last.axes)


def weight_loads(schedule: Schedule) -> Iterator[Part]:
    """The loads of weights only."""
    return _weights(schedule, TileWalk(schedule))


# --- visits: the iterations of one operand's marked loop ---


@dataclass(frozen=True)
class _Visit:
    """One iteration: its first tile, what it touches, and what of the previous iteration is resident."""

    tile: int
    axes: tuple[Spans, ...]
    before: tuple[Spans, ...] | None
    reduced: tuple[tuple[int, int], ...]


def _visits(schedule: Schedule, walk: TileWalk, array: ArrayName) -> Iterator[_Visit]:
    iterations = walk.of(array)
    continues = (iterations.turned == walk.marked(array)) & (not schedule.in_halves(array))
    reduction, axes = [DIMS.index(dim) for dim in REDUCTION_DIMS], None
    every = zip(walk.first_tiles(array).tolist(), continues.tolist(), iterations.ranges, strict=True)
    for tile, kept, ranges in every:
        before, axes = axes if kept else None, touched(schedule.layer, array, ranges)
        yield _Visit(tile, axes, before, tuple(ranges[at] for at in reduction))


def _inputs(schedule: Schedule, walk: TileWalk) -> Iterator[Part]:
    for visit in _visits(schedule, walk, "I"):
        new = visit.axes if visit.before is None else _new(visit.axes, visit.before)
        if all(new):
            yield Part(visit.tile, "I", "read", new)


def _weights(schedule: Schedule, walk: TileWalk) -> Iterator[Part]:
    for visit in _visits(schedule, walk, "W"):
        if visit.axes != visit.before:
            yield Part(visit.tile, "W", "read", visit.axes)


def _returns(schedule: Schedule, walk: TileWalk) -> Iterator[Part]:
    """Loads of partial sums that were stored before: those of every iteration whose reduction has begun."""
    for visit in _visits(schedule, walk, "O"):
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
    return tuple(now if now == then else without(now, then) for now, then in zip(axes, before, strict=True))
