"""The graph of a network for depth-first execution: feature maps, and which row reads how much of which map.

Map 0 is the network's input; map i is the output of row i of the table. A *stack* is an interval of rows. Its inputs
are the maps that it reads and earlier rows made. Its outputs are its maps that later rows read, or that no row reads.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from hwgen.ir.layer_set import Network, Node
from hwgen.ir.operators import Reading

__all__ = ["Edge", "FeatureMap", "Graph", "LineAxis", "Reach", "Rules", "Span"]

LineAxis = Literal["W", "H"]
"""The axis of the maps along which a line of pixels runs. The scan steps along it first."""

Rules = Literal["default", "published"]
"""How skips are counted. ``default``: a skip inside a stack is held in its map's ring or goes through DRAM, as the
stack says. ``published`` (Goetschalckx 2019): long skips go through DRAM, short ones cost nothing and are not cut."""

Kind = Literal["window", "join", "shuffle", "whole"]

LONG_SKIP = 8
"""A skip over more rows with weights than this is long. Residual blocks have two to four."""


@dataclass(frozen=True)
class FeatureMap:
    """One feature map; sizes in pixels."""

    name: str
    channels: int
    height: int
    width: int

    @property
    def elements(self) -> int:
        """Elements of the whole map."""
        return self.channels * self.height * self.width

    def line(self, axis: LineAxis) -> int:
        """Pixels of a line."""
        return self.width if axis == "W" else self.height

    def lines(self, axis: LineAxis) -> int:
        """Number of lines."""
        return self.height if axis == "W" else self.width


@dataclass(frozen=True)
class Reach:
    """The inputs that an output needs along one axis.

    Output o reads inputs ceil((o stride - before) / up) to floor((o stride + after) / up). ``up`` is above 1 for rows
    that enlarge a map. Padding is not clipped.
    """

    stride: int = 1
    up: int = 1
    before: int = 0
    after: int = 0

    def first(self, output: int) -> int:
        """The first input that an output reads."""
        return -((self.before - output * self.stride) // self.up)

    def last(self, output: int) -> int:
        """The last input that an output reads."""
        return (output * self.stride + self.after) // self.up


@dataclass(frozen=True)
class Edge:
    """A row reads a map.

    Kinds: ``window``; ``join``, which waits for its other operands; ``shuffle``; ``whole``, which accumulates pixels
    as they arrive and needs no ring.
    """

    producer: int
    consumer: int
    kind: Kind
    rows: Reach
    columns: Reach

    def along(self, axis: LineAxis) -> Reach:
        """The reach within a line."""
        return self.columns if axis == "W" else self.rows

    def across(self, axis: LineAxis) -> Reach:
        """The reach over lines."""
        return self.rows if axis == "W" else self.columns


@dataclass(frozen=True)
class Span:
    """The rows of a stack, first to last, counted from 1."""

    first: int
    last: int


@dataclass(frozen=True)
class Graph:
    """All maps of a network, the weights of the row that makes each, and the edges, in the table's order."""

    network: str
    maps: tuple[FeatureMap, ...]
    weights: tuple[int, ...]
    edges: tuple[Edge, ...]

    @classmethod
    def of(cls, network: Network) -> "Graph":
        """The graph of a connected network. Raises `InputError` for a layer list."""
        source = network.connected_input()
        maps = [FeatureMap(source.name, source.channels, source.height, source.width)]
        numbers, edges = {source.name: 0}, []
        for number, node in enumerate(network.layers, start=1):
            for name in dict.fromkeys(node.inputs):
                edges.append(_edge(node, numbers[name], number, maps[numbers[name]]))
            numbers[node.name] = number
            maps.append(FeatureMap(node.name, node.output_channels, node.output_height, node.output_width))
        weights = (0, *(node.weights for node in network.layers))
        return cls(network.network, tuple(maps), weights, tuple(edges))

    @property
    def rows(self) -> int:
        """Number of rows of the table."""
        return len(self.maps) - 1

    @cached_property
    def readers(self) -> tuple[tuple[Edge, ...], ...]:
        """The edges from each map to its readers."""
        return tuple(
            tuple(edge for edge in self.edges if edge.producer == number) for number in range(len(self.maps))
        )

    @cached_property
    def reads(self) -> tuple[tuple[Edge, ...], ...]:
        """The edges to each row from its inputs, in their order."""
        return tuple(
            tuple(edge for edge in self.edges if edge.consumer == number) for number in range(len(self.maps))
        )

    def inside(self, number: int, span: Span) -> tuple[Edge, ...]:
        """The edges from a map to readers in a stack."""
        return tuple(edge for edge in self.readers[number] if span.first <= edge.consumer <= span.last)

    def sources(self, span: Span) -> tuple[int, ...]:
        """The maps that a stack reads from DRAM, in order."""
        return tuple(number for number in range(span.first) if self.inside(number, span))

    def outputs(self, span: Span) -> tuple[int, ...]:
        """The maps that a stack writes to DRAM for others, in order."""
        return tuple(n for n in range(span.first, span.last + 1) if self.is_output(n, span))

    def is_output(self, number: int, span: Span) -> bool:
        """Whether a map of a stack is an output: read after the stack, or not at all."""
        readers = self.readers[number]
        return not readers or readers[-1].consumer > span.last

    def line_axis(self, span: Span) -> LineAxis:
        """Lines lie along the shorter axis of the stack's first input; along W when both are equal."""
        entry = self.maps[self.reads[span.first][0].producer]
        return "W" if entry.width <= entry.height else "H"

    def largest_factor(self, span: Span) -> int:
        """The largest tiling factor: every output has at least one column in a tile."""
        axis = self.line_axis(span)
        return min(self.maps[number].line(axis) for number in self.outputs(span))

    def is_long(self, edge: Edge) -> bool:
        """Whether an edge skips more than `LONG_SKIP` rows with weights."""
        passed = self.weights[edge.producer + 1 : edge.consumer]
        return edge.kind == "join" and sum(weight > 0 for weight in passed) > LONG_SKIP

    def may_start(self, row: int) -> bool:
        """Whether a stack may start at a row by the published rules: no short skip is cut."""
        return not any(
            edge.kind == "join" and edge.producer < row - 1 < edge.consumer and not self.is_long(edge)
            for edge in self.edges
        )

    def spans(self, rules: Rules = "default") -> Iterator[Span]:
        """All stacks that the rules allow."""
        starts = [row for row in range(1, self.rows + 1) if rules == "default" or self.may_start(row)]
        ends = [row - 1 for row in starts[1:]] + [self.rows]
        for first in starts:
            yield from (Span(first, last) for last in ends if last >= first)

    def final(self) -> tuple[int, ...]:
        """The network's outputs: the maps that no row reads."""
        return tuple(number for number in range(1, len(self.maps)) if not self.readers[number])


_KINDS: dict[Reading, Kind] = {
    Reading.PIXEL: "join",
    Reading.SQUARE: "shuffle",
    Reading.ACCUMULATED: "whole",
    Reading.FLATTENED: "whole",
}
"""The kinds of edges other than windows."""


def _edge(node: Node, producer: int, consumer: int, source: FeatureMap) -> Edge:
    reading = node.operator.reading(node)
    rows, columns = _reach(node, reading, 0, source.height), _reach(node, reading, 1, source.width)
    return Edge(producer, consumer, _KINDS.get(reading, "window"), rows, columns)


def _reach(node: Node, reading: Reading, axis: int, size: int) -> Reach:
    """How far a row reads along an axis in which its input has ``size`` pixels."""
    kernel, stride, pad = node.kernel[axis], node.stride[axis], node.padding[axis]
    match reading:
        case Reading.WINDOW | Reading.ACCUMULATED:
            return Reach(stride=stride, before=pad, after=kernel - 1 - pad)
        case Reading.TRANSPOSED:
            return Reach(up=stride, before=kernel - 1 - pad, after=pad)
        case Reading.SQUARE:
            assert node.factor is not None
            return Reach(up=node.factor, before=node.factor - 1)
        case Reading.FLATTENED:
            return Reach(after=size - 1)
    return Reach()
