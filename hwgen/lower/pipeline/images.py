"""The DRAM image of a program, and the segments of it that each stream moves."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hwgen.arch.dram import BLOCK_BYTES
from hwgen.arch.layout import STREAM_ALIGNMENT, aligned
from hwgen.lower.pipeline.program import Columns, OverlapLine, PipelineProgram
from hwgen.model.pipeline.graph import LineAxis

__all__ = ["Images", "Layout", "Segment", "images_of", "in_scan_order", "layout_of"]

MOST_IN_LINE = (1 << 16) - 1
"""Pixels of a segment's line, at most."""


@dataclass(frozen=True)
class Segment:
    """``lines`` x ``columns`` pixels of ``size`` bytes from ``address``; the pitch of lines is ``pitch`` bytes."""

    address: int
    pitch: int
    lines: int
    columns: int
    size: int


@dataclass(frozen=True)
class Layout:
    """Where the DRAM has what a program moves.

    Members
    -------
    regions : base address of each map, by its number in the graph.
    places : base address of what else is read, by the stream that reads it. The weights are last.
    """

    regions: Mapping[int, int]
    places: Mapping[str, int]


@dataclass(frozen=True)
class Images:
    """The memory of a run.

    Members
    -------
    layout : where what is.
    memory : all bytes.
    written : which bytes are valid before the run.
    segments : for each port of the pipeline, by name, what it moves in order; none with movers.
    """

    layout: Layout
    memory: NDArray[np.uint8]
    written: NDArray[np.bool_]
    segments: Mapping[str, tuple[Segment, ...]]

    @property
    def regions(self) -> Mapping[int, int]:
        """Base address of each map, by its number in the graph."""
        return self.layout.regions


def in_scan_order(data: NDArray[np.int8], axis: LineAxis) -> NDArray[np.uint8]:
    """A map [channels, rows, columns] in the order of DRAM: line by line, pixel by pixel, channels innermost."""
    order = (1, 2, 0) if axis == "W" else (2, 1, 0)
    return np.ascontiguousarray(data.transpose(order)).view(np.uint8).reshape(-1)


def layout_of(program: PipelineProgram) -> Layout:
    """The maps one after the other, then the orders of the overlap port, then the weights."""
    regions, at = dict[int, int](), 0
    unit = _alignment(program)
    for one in program.plan.maps:
        regions[one.number] = at
        at += aligned(one.channels * one.lines * one.columns, unit)
    places = {}
    for name, content in _rest(program).items():
        places[name] = at
        at += aligned(len(content), unit)
    return Layout(regions, places)


def _alignment(program: PipelineProgram) -> int:
    """Bytes of which all that a program moves begins at a multiple."""
    movers = program.parameters.movers
    return STREAM_ALIGNMENT if movers is None else max(movers.burst_bytes, BLOCK_BYTES)


def _rest(program: PipelineProgram) -> dict[str, bytes]:
    """What is read beside the maps, by stream."""
    return {
        "i_overlap_in_order": bytes(number for tile in program.tiles for number in tile.order_in),
        "i_overlap_out_order": bytes(number for tile in program.tiles for number in tile.order_out),
        "i_weights": program.weights,
    }


def images_of(program: PipelineProgram, maps: Mapping[str, NDArray[np.int8]], rng: np.random.Generator) -> Images:
    """The memory before a run: sources, weights, orders of the overlap port, and random bytes elsewhere."""
    plan, layout, rest = program.plan, layout_of(program), _rest(program)
    regions, bases = layout.regions, layout.places
    size = bases["i_weights"] + aligned(len(program.weights), _alignment(program))
    memory = rng.integers(0, 256, size, dtype=np.uint8)
    written = np.zeros(size, bool)
    for one in plan.maps:
        if one.source:
            _put(memory, written, regions[one.number], in_scan_order(maps[one.name], plan.axis))
    for name, content in rest.items():
        _put(memory, written, bases[name], np.frombuffer(content, np.uint8))
    if program.parameters.movers is not None:
        return Images(layout, memory, written, {})
    segments = _Segments(program, regions).of_streams()
    beats = {"i_weights": program.parameters.weight_beat, "i_overlap_in_order": 1, "i_overlap_out_order": 1}
    for name, content in rest.items():
        if content:
            segments[name] = _plain(bases[name], len(content) // beats[name], beats[name])
    return Images(layout, memory, written, segments)


def _put(memory: NDArray[np.uint8], written: NDArray[np.bool_], base: int, content: NDArray[np.uint8]) -> None:
    memory[base : base + content.size] = content
    written[base : base + content.size] = True


def _plain(base: int, count: int, size: int) -> tuple[Segment, ...]:
    return tuple(
        Segment(base + first * size, 0, 1, min(MOST_IN_LINE, count - first), size)
        for first in range(0, count, MOST_IN_LINE)
    )


@dataclass(frozen=True)
class _Segments:
    program: PipelineProgram
    regions: Mapping[int, int]

    def of_streams(self) -> dict[str, tuple[Segment, ...]]:
        found: dict[str, tuple[Segment, ...]] = {}
        for stream in self.program.streams:
            each = [self._columns(stream.region, tile.streams[stream.name]) for tile in self.program.tiles]
            found[stream.name] = tuple(segment for segment in each if segment.columns)
        found["i_overlap"] = self._overlap(incoming=True)
        found["o_overlap"] = self._overlap(incoming=False)
        return found

    def _columns(self, region: int, columns: Columns) -> Segment:
        one = self.program.plan.by_number[region]
        address = self.regions[region] + columns.first * one.channels
        return Segment(address, one.columns * one.channels, one.lines, columns.count, one.channels)

    def _overlap(self, *, incoming: bool) -> tuple[Segment, ...]:
        return tuple(self._line(line) for _, line in self.program.port_lines(incoming=incoming))

    def _line(self, line: OverlapLine) -> Segment:
        number = self.program.maps[line.map].graph_number
        one = self.program.plan.by_number[number]
        place = line.line * one.columns + line.first
        return Segment(self.regions[number] + place * one.channels, 0, 1, line.count, one.channels)
