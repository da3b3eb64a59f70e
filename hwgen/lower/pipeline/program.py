"""The program of a pipeline: its parameters, and for each tile its register values and the data of its streams.

Plain values. A *region* is a map in DRAM, pixel by pixel: the address of an element is base + (line * columns +
column) * channels + channel. A stream carries whole pixels of one region. Its kind says what its bytes count as.
"""

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Literal

from hwgen.arch.pipeline import MapParameters, PipelineParameters, Stage
from hwgen.ir.document import InputError
from hwgen.lower.pipeline.tiles import StackPlan

__all__ = [
    "KINDS",
    "Columns",
    "Orders",
    "OverlapLine",
    "OverlapOrder",
    "PipelineMap",
    "PipelineProgram",
    "Stream",
    "TileProgram",
    "shared_pipeline",
    "with_orders",
]


Kind = Literal["input", "output", "skip_out", "skip_in", "overlap_out", "overlap_in"]
KINDS: tuple[Kind, ...] = ("input", "output", "skip_out", "skip_in", "overlap_out", "overlap_in")


@dataclass(frozen=True)
class PipelineMap:
    """A map of the pipeline, and which map of the graph it is.

    ``for_join``: the only reader, as (stage, operand); None: any stages.
    """

    graph_number: int
    name: str
    for_join: tuple[int, int] | None = None


@dataclass(frozen=True)
class Stream:
    """A stream of pixels between the pipeline and DRAM.

    Members
    -------
    name : of the port: ``i_map0``, ``o_map3``, ``i_skip2_1``.
    reads : from DRAM into the pipeline; else from the pipeline to DRAM.
    region : the graph's map.
    kind : the kind of traffic.
    beat : bytes a cycle.
    """

    name: str
    reads: bool
    region: int
    kind: Kind
    beat: int


@dataclass(frozen=True)
class Columns:
    """Columns of every line of a region, as a stream carries them in a tile."""

    first: int
    count: int


@dataclass(frozen=True)
class OverlapLine:
    """One line of a map's overlap in a tile, as it crosses the overlap port. ``map`` is the pipeline's."""

    map: int
    line: int
    first: int
    count: int


@dataclass(frozen=True)
class TileProgram:
    """One tile.

    Members
    -------
    registers : values by name.
    streams : the columns of each stream.
    overlap_in, overlap_out : the lines that cross the overlap port, in order.
    order_in, order_out : the tile's part of the order of all tiles: the maps whose lines cross the port up to the
        last line of this tile. Some may be lines of the next tile, which has to be started before this one can end.
    """

    registers: Mapping[str, int]
    streams: Mapping[str, Columns]
    overlap_in: tuple[OverlapLine, ...] = ()
    overlap_out: tuple[OverlapLine, ...] = ()
    order_in: tuple[int, ...] = ()
    order_out: tuple[int, ...] = ()


Orders = tuple[Sequence[int], Sequence[int]]
"""Map numbers, each as often as the map has lines in all tiles: of what comes in, and of what goes out."""

OverlapOrder = Callable[[PipelineParameters, Sequence[TileProgram]], Orders]
"""Finds the order for the tiles of a program."""


@dataclass(frozen=True)
class PipelineProgram:
    """A lowered stack.

    Members
    -------
    plan : the tiles that it comes from.
    parameters : of the pipeline that runs it.
    maps : the pipeline's maps, by its numbers.
    streams : all streams except those of weights and overlap.
    tiles : in order.
    weights : the bytes for the weight port; each word is padded to whole beats.
    fetched : whether the weights count as traffic; else they are resident.
    cycles : of the slowest stage if nothing stalls.
    """

    plan: StackPlan
    parameters: PipelineParameters
    maps: tuple[PipelineMap, ...]
    streams: tuple[Stream, ...]
    tiles: tuple[TileProgram, ...]
    weights: bytes
    fetched: bool
    cycles: int

    def stream(self, name: str) -> Stream:
        """The stream of a port, by its name."""
        return next(one for one in self.streams if one.name == name)

    def port_lines(self, *, incoming: bool) -> Iterator[tuple[int, OverlapLine]]:
        """The lines that cross the overlap port in a run of all tiles, in order, each with its tile."""
        waiting: dict[int, deque[tuple[int, OverlapLine]]] = {}
        for number, tile in enumerate(self.tiles):
            for line in tile.overlap_in if incoming else tile.overlap_out:
                waiting.setdefault(line.map, deque()).append((number, line))
        for tile in self.tiles:
            for number in tile.order_in if incoming else tile.order_out:
                yield waiting[number].popleft()


def with_orders(
    plan: StackPlan, maps: Sequence[PipelineMap], tiles: Sequence[TileProgram], orders: Orders
) -> tuple[TileProgram, ...]:
    """The tiles with their lines at the overlap port and their parts of its order."""
    given, found = tuple(tiles), []
    for incoming, order in zip((True, False), orders, strict=True):
        lines: list[list[OverlapLine]] = [[] for _ in tiles]
        ends = [0] * len(tiles)
        waiting = {number: _lines(plan, maps, number, len(tiles), incoming=incoming) for number in set(order)}
        for place, number in enumerate(order):
            tile, line = waiting[number].pop(0)
            lines[tile].append(line)
            ends[tile] = place + 1
        found.append((lines, _parts(order, ends)))
    (lines_in, parts_in), (lines_out, parts_out) = found
    return tuple(
        replace(
            tile, overlap_in=tuple(lines_in[n]), overlap_out=tuple(lines_out[n]), order_in=parts_in[n],
            order_out=parts_out[n],
        )
        for n, tile in enumerate(given)
    )  # fmt: skip


def _lines(
    plan: StackPlan, maps: Sequence[PipelineMap], number: int, tiles: int, *, incoming: bool
) -> list[tuple[int, OverlapLine]]:
    """The lines of a map that cross the port, tile by tile."""
    one = plan.by_number[maps[number].graph_number]
    found = []
    for tile in range(tiles):
        at = one.tiles[tile]
        first, count = (at.begin, at.overlap) if incoming else (at.end - at.saved, at.saved)
        found += [(tile, OverlapLine(number, line, first, count)) for line in range(one.lines if count else 0)]
    return found


def _parts(order: Sequence[int], ends: Sequence[int]) -> list[tuple[int, ...]]:
    """The order up to the end of each tile, from that of the tile before."""
    parts, begin = [], 0
    for end in ends:
        parts.append(tuple(order[begin : max(begin, end)]))
        begin = max(begin, end)
    return parts


# --- one pipeline for several programs ---


def shared_pipeline(pipelines: Sequence[PipelineParameters]) -> PipelineParameters:
    """The smallest pipeline that runs the programs of all given ones. They may differ in their tiles only."""
    maps = tuple(_largest(column) for column in zip(*(one.maps for one in pipelines), strict=True))
    stages = tuple(_longest(column) for column in zip(*(one.stages for one in pipelines), strict=True))
    return replace(pipelines[0], maps=maps, stages=stages)


def _largest(maps: Sequence[MapParameters]) -> MapParameters:
    sizes = {name: max(getattr(one, name) for one in maps) for name in
             ("pixels", "line", "lines", "beat", "overlap_in", "overlap_out", "queue")}  # fmt: skip
    found = {replace(one, **sizes) for one in maps}
    if len(found) > 1:
        raise InputError("pipelines: expected maps that differ in nothing but their sizes")
    return found.pop()


def _longest(stages: Sequence[Stage]) -> Stage:
    found = {reduce(lambda one, other: one.with_room_for(other), stages, stage) for stage in stages}
    if len(found) > 1:
        raise InputError("pipelines: expected stages that differ in nothing but the length of lines and of queues")
    return found.pop()
