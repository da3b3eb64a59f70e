"""The cost of depth-first execution in closed form: pixels on chip and traffic to DRAM.

The accounting is that of Goetschalckx and Verhelst 2019 (line buffers, Eq. 1; tiles, Eq. 2 and 3; stacks; the bound
of Section 2.3), made exact at edges and for strides. One feature or weight is one element.

- A *stack* is an interval of the table's rows. Pixels are streamed through it line by line. Each map has one ring
  buffer. While the newest pixel is in flight the ring holds what the most delayed reader still needs: k-1 lines
  and k-1 pixels for a window of k x k; for a join, the pixels that arrive before its last operand. Padding takes
  no space.
  Accumulators (global pools, fc) and shuffles hold nothing in the ring.
- *Tiles* cut the lines of a stack. An output is cut at floor(t N / factor), an earlier map where the needs of its
  readers end. A tile of a map is a run of columns: the *overlap*, which an earlier tile made, then the new columns.
- *DRAM*: a map between two stacks is written once, and read once by each stack that uses it. An operand of a join may
  go through DRAM instead of the ring, which costs one read more. An overlap column is read once by each later tile
  that uses it. It is written once, unless its map is in DRAM anyway.
- *Weights* are resident (all on chip for good, no traffic) or fetched once for each stack (on chip while it runs).

`tests.oracles.stack_walk` computes the same pixel by pixel and is the reference for this file.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import lru_cache
from math import floor
from typing import Literal

from hwgen.ir.document import InputError
from hwgen.model.pipeline.graph import Edge, Graph, LineAxis, Reach, Span
from hwgen.model.pipeline.pixel_times import Lag, RatesDifferError, lags

__all__ = [
    "Stack",
    "StackCost",
    "Tiles",
    "Traffic",
    "WeightMode",
    "boundaries",
    "layer_by_layer",
    "line_lags",
    "published_stack",
    "stack_cost",
]

WeightMode = Literal["resident", "fetched"]


@dataclass(frozen=True)
class Traffic:
    """Elements to and from DRAM, by kind.

    ``overlap_in`` counts the overlap columns of all maps, ``overlap_out`` those of maps that are not in DRAM anyway.
    """

    input: int = 0
    output: int = 0
    skip_out: int = 0
    skip_in: int = 0
    overlap_out: int = 0
    overlap_in: int = 0
    weights: int = 0

    def __add__(self, other: "Traffic") -> "Traffic":
        return Traffic(*(getattr(self, kind.name) + getattr(other, kind.name) for kind in fields(self)))

    @property
    def total(self) -> int:
        """The sum of all kinds."""
        return sum(getattr(self, kind.name) for kind in fields(self))


@dataclass(frozen=True)
class Stack:
    """A stack and how it runs: its tiling factor, and which edges into joins go through DRAM."""

    span: Span
    factor: int = 1
    through_dram: frozenset[Edge] = frozenset()
    free: frozenset[Edge] = field(default=frozenset())
    """Edges into joins that are not counted at all, as the paper treats short skips."""


@dataclass(frozen=True)
class Ring:
    """The ring buffer of one map: its pixels, and the longest line of any tile."""

    number: int
    name: str
    channels: int
    line: int
    pixels: int

    @property
    def elements(self) -> int:
        """Elements of the ring."""
        return self.channels * self.pixels


@dataclass(frozen=True)
class StackCost:
    """The cost of a stack: rings, traffic without weights, and weights.

    ``in_flight`` counts what is on chip beside the rings: the newest pixel of each map, and the memories of pixel
    shuffles.
    """

    rings: tuple[Ring, ...]
    traffic: Traffic
    weights: int
    in_flight: int

    @property
    def ring_elements(self) -> int:
        """Elements of all rings."""
        return sum(ring.elements for ring in self.rings)


def published_stack(graph: Graph, span: Span, factor: int = 1) -> Stack:
    """A stack as the paper counts it: long skips go through DRAM, short skips cost nothing."""
    joins = [edge for edge in graph.edges if edge.kind == "join" and span.first <= edge.consumer <= span.last]
    long = frozenset(edge for edge in joins if graph.is_long(edge))
    return Stack(span, factor, long, frozenset(joins) - long)


def stack_cost(graph: Graph, stack: Stack) -> StackCost:
    """Rings and traffic of a stack. Raises `InputError` if it cannot run so."""
    span, axis = stack.span, graph.line_axis(stack.span)
    if not 1 <= stack.factor <= graph.largest_factor(span):
        raise InputError(f"factor: expected 1 to {graph.largest_factor(span)}, got {stack.factor}")
    try:
        lag = lags(graph, span, axis)
    except RatesDifferError:
        raise InputError(f"rows {span.first} to {span.last}: a join's operands come at different rates") from None
    cuts = boundaries(graph, span, stack.factor)
    rings, traffic, in_flight = [], Traffic(), 0
    for number in cuts:
        tiles = Tiles(graph, stack, cuts, number)
        pixels = max((_lag_pixels(tiles, edge, lag.get(edge)) for edge in tiles.in_ring), default=0)
        one = graph.maps[number]
        rings.append(Ring(number, one.name, one.channels, max(tiles.lines), pixels))
        traffic += _traffic(graph, stack, tiles)
        in_flight += one.channels + _shuffled(graph, span, number, max(tiles.lines))
    weights = sum(graph.weights[span.first : span.last + 1])
    return StackCost(tuple(rings), traffic, weights, in_flight)


def boundaries(graph: Graph, span: Span, factor: int) -> dict[int, tuple[int, ...]]:
    """Boundaries in each map of a stack, inputs included: 0, then the column at which each tile ends."""
    axis = graph.line_axis(span)
    found: dict[int, tuple[int, ...]] = {}
    for number in [*graph.sources(span), *range(span.first, span.last + 1)][::-1]:
        size = graph.maps[number].line(axis)
        edges = graph.inside(number, span)
        ends = [0]
        for tile in range(1, factor):
            needs = [tile * size // factor] if number >= span.first and graph.is_output(number, span) else []
            done = ((edge, found[edge.consumer][tile]) for edge in edges)
            needs += [edge.along(axis).last(end - 1) + 1 for edge, end in done if end]
            ends.append(min(max([ends[-1], *needs]), size))
        found[number] = (*ends, size)
    return dict(sorted(found.items()))


class Tiles:
    """The tiles of one map in a stack.

    Members
    -------
    in_ring : the edges to readers that read the map on chip.
    begins, old, ends : for each tile its first column, its first new column, and the column after its last.
    """

    def __init__(self, graph: Graph, stack: Stack, cuts: Mapping[int, tuple[int, ...]], number: int) -> None:
        self.axis: LineAxis = graph.line_axis(stack.span)
        self.number, self.map, self.maps = number, graph.maps[number], graph.maps
        self.cuts = cuts
        self.ends = cuts[number][1:]
        self.old = cuts[number][:-1]
        inside = graph.inside(number, stack.span)
        self.in_ring = [edge for edge in inside if edge not in stack.through_dram and edge not in stack.free]
        self.begins = tuple(self._begin(tile) for tile in range(len(self.ends)))
        self.lines = tuple(end - begin for begin, end in zip(self.begins, self.ends, strict=True))

    def outputs(self, edge: Edge, tile: int) -> range:
        """The new columns of a reader's output in a tile."""
        cuts = self.cuts[edge.consumer]
        return range(cuts[tile], cuts[tile + 1])

    def _begin(self, tile: int) -> int:
        begin = self.old[tile]
        for edge in self.in_ring:
            made = self.outputs(edge, tile)
            if made:
                begin = min(begin, max(edge.along(self.axis).first(made.start), 0))
        return begin

    @property
    def overlap(self) -> int:
        """Overlap columns, counted once for each tile that uses them."""
        return sum(old - begin for old, begin in zip(self.old, self.begins, strict=True))

    @property
    def distinct_overlap(self) -> int:
        """Overlap columns, counted once."""
        distinct, reach = 0, self.ends[-1]
        for old, begin in zip(reversed(self.old), reversed(self.begins), strict=True):
            distinct += max(min(old, reach) - begin, 0)
            if begin < old:
                reach = min(reach, begin)
        return distinct


def _traffic(graph: Graph, stack: Stack, tiles: Tiles) -> Traffic:
    number, one = tiles.number, tiles.map
    dram = sum(edge in stack.through_dram for edge in graph.inside(number, stack.span))
    source = number < stack.span.first
    written = not source and graph.is_output(number, stack.span)
    column = one.channels * one.lines(tiles.axis)
    others = len(graph.inside(number, stack.span)) > dram
    return Traffic(
        input=one.elements if source and others else 0,
        output=one.elements if written else 0,
        skip_out=one.elements if dram and not source and not written else 0,
        skip_in=dram * one.elements,
        overlap_out=0 if source or written or dram else column * tiles.distinct_overlap,
        overlap_in=column * tiles.overlap,
    )


def _shuffled(graph: Graph, span: Span, number: int, line: int) -> int:
    """Elements of the memory of a pixel shuffle that reads the map: a line, without its first output line."""
    axis = graph.line_axis(span)
    ups = [edge.across(axis).up for edge in graph.inside(number, span) if edge.kind == "shuffle"]
    return max((line * graph.maps[number].channels * (up - 1) // up for up in ups), default=0)


# --- the distance from the newest pixel to the oldest that a reader needs ---


def _lag_pixels(tiles: Tiles, edge: Edge, lag: Lag | None) -> int:
    """Pixels of the ring that one reader needs: the most over all tiles."""
    if edge.kind in ("shuffle", "whole"):
        return 0
    most = 0
    for tile in range(len(tiles.ends)):
        made = tiles.outputs(edge, tile)
        if made:
            most = max(most, _window(tiles, edge, tile, made) if lag is None else _join(tiles, lag, tile, made))
    return most


def _window(tiles: Tiles, edge: Edge, tile: int, made: range) -> int:
    """Pixels for a window. It fires while its last line arrives; after the whole map if that line is padding."""
    lines, count = tiles.map.lines(tiles.axis), tiles.maps[edge.consumer].lines(tiles.axis)
    across, along = edge.across(tiles.axis), edge.along(tiles.axis)
    arriving, arrived = line_lags(across, lines, count)
    length, begin = tiles.lines[tile], tiles.begins[tile]
    most = 0
    if arriving is not None:
        most = arriving * length + column_lag(along, tiles.map.line(tiles.axis), made)
    if arrived is not None:
        most = max(most, arrived * length - 1 - (max(along.first(made.start), 0) - begin))
    return most


@lru_cache(maxsize=1 << 12)
def line_lags(across: Reach, lines: int, outputs: int) -> tuple[int | None, int | None]:
    """The most lines from the newest line to the oldest that a window reads.

    First for windows that fire while their newest line arrives, then for those that fire after a complete line.
    """
    arriving, arrived = [], []
    for output in range(outputs):
        oldest, newest = max(across.first(output), 0), across.last(output)
        between = (output * across.stride + across.after) % across.up > 0  # it fires between two lines
        if newest >= lines or between:
            arrived.append(min(newest, lines - 1) + 1 - oldest)
        else:
            arriving.append(newest - oldest)
    return max(arriving, default=None), max(arrived, default=None)


def column_lag(along: Reach, size: int, made: range) -> int:
    """The most columns from the first that a window reads to its last, over the outputs of a tile."""
    return max(min(along.last(output), size - 1) - max(along.first(output), 0) for output in made)


def _join(tiles: Tiles, lag: Lag, tile: int, made: range) -> int:
    """Pixels for a join: those that have arrived since the pixel that it reads."""
    lines, length = tiles.map.lines(tiles.axis), tiles.lines[tile]
    begin, end = tiles.begins[tile], tiles.ends[tile]
    whole = floor(lag.lines)
    start = made.start - begin
    if lag.lines != whole:
        return min(whole + 1, lines) * length - 1 - start
    most = min(whole, lines) * length - 1 - start
    if whole < lines:
        newest = min(max(made.start + floor(lag.columns), begin - 1), end - 1)
        most = max(most, whole * length + newest - made.start)
    return most


# --- layer by layer ---


def layer_by_layer(graph: Graph, memory: int, *, convolutions_only: bool = False) -> int:
    """The least traffic of any execution layer by layer with ``memory`` elements on chip (Section 2.3 of the paper).

    Counted are the network's inputs and outputs, and twice the part of each intermediate map that exceeds the memory.
    Weights and skips cost nothing. With ``convolutions_only`` adds, shuffles and pools are left out: an intermediate
    map is one that a row with weights makes and another row with weights needs.
    """
    total = graph.maps[0].elements + sum(graph.maps[number].elements for number in graph.final())
    between = [number for number in range(1, len(graph.maps)) if graph.readers[number]]
    if convolutions_only:
        needed: set[int] = set()
        for edge in reversed(graph.edges):
            if graph.weights[edge.consumer] or edge.consumer in needed:
                needed.add(edge.producer)
        between = [number for number in between if graph.weights[number] and number in needed]
    return total + 2 * sum(max(graph.maps[number].elements - memory, 0) for number in between)
