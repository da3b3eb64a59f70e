"""The tiles of a stack: which columns of each map a tile has, and which of them are new.

Lines run along the stack's line axis. If that is H, everything is transposed here; the rest of lowering knows lines
and columns only. Absolute columns count from the first column of the map. In a tile a line begins with the overlap
columns, which an earlier tile made, and ends with the new ones.
"""

from dataclasses import dataclass
from functools import cached_property

from hwgen.ir.layer_set import Node
from hwgen.ir.requantisation import RequantisationForm
from hwgen.lower.pipeline.solution import Solution
from hwgen.model.pipeline.cost import Stack, StackCost, Tiles, boundaries, stack_cost
from hwgen.model.pipeline.graph import Edge, LineAxis
from hwgen.model.pipeline.pixel_times import Lag, lags

__all__ = ["EdgePlan", "MapPlan", "MapTile", "StackPlan", "StagePlan", "plan_stack"]


@dataclass(frozen=True)
class MapTile:
    """Absolute columns of a map in a tile: overlap from ``begin`` to ``old``, new columns from there to ``end``.

    Later tiles read the last ``saved`` new columns as overlap.
    """

    begin: int
    old: int
    end: int
    saved: int

    @property
    def overlap(self) -> int:
        """Overlap columns."""
        return self.old - self.begin

    @property
    def new(self) -> int:
        """New columns."""
        return self.end - self.old

    @property
    def line(self) -> int:
        """All columns of a line."""
        return self.end - self.begin


@dataclass(frozen=True)
class MapPlan:
    """A map of a stack: its sizes in pixels, its ring, and its way to and from DRAM.

    Members
    -------
    number : in the graph; 0 is the network's input.
    source : comes from DRAM; else a row of the stack makes it.
    written : goes to DRAM for other stacks or as the network's output.
    skips : goes to DRAM (if it is not there anyway) for a join of this stack.
    ring : pixels of the ring.
    line : the longest line of any tile.
    """

    number: int
    name: str
    channels: int
    lines: int
    columns: int
    source: bool
    written: bool
    skips: bool
    ring: int
    line: int
    tiles: tuple[MapTile, ...]

    @property
    def in_dram(self) -> bool:
        """Whether all its pixels are in DRAM, so that a later tile can read its overlap there."""
        return self.source or self.written or self.skips


@dataclass(frozen=True)
class EdgePlan:
    """A row reads a map, from its ring or through DRAM.

    ``after_line``: a join reads a line of the map only after the map's line is complete.
    """

    edge: Edge
    through_dram: bool
    after_line: bool = False


@dataclass(frozen=True)
class StagePlan:
    """A row of the stack by lines and columns. Padding: before the lines, before the columns, after both."""

    number: int
    node: Node
    kernel: tuple[int, int]
    stride: tuple[int, int]
    padding: tuple[int, int, int, int]
    edges: tuple[EdgePlan, ...]


@dataclass(frozen=True)
class StackPlan:
    """All maps and rows of a stack in order, its predicted cost, and how its sums become outputs."""

    name: str
    axis: LineAxis
    factor: int
    maps: tuple[MapPlan, ...]
    stages: tuple[StagePlan, ...]
    cost: StackCost
    requantisation: RequantisationForm = "shift"

    @cached_property
    def by_number(self) -> dict[int, MapPlan]:
        """The maps by their numbers."""
        return {one.number: one for one in self.maps}


def plan_stack(solution: Solution, stack: Stack) -> StackPlan:
    """The tiles of a stack."""
    graph, span = solution.graph, stack.span
    axis, cuts, cost = graph.line_axis(span), boundaries(graph, span, stack.factor), stack_cost(graph, stack)
    rings = {ring.number: ring for ring in cost.rings}
    maps = []
    for number in cuts:
        one, tiles = graph.maps[number], Tiles(graph, stack, cuts, number)
        source = number < span.first
        through = any(edge in stack.through_dram for edge in graph.inside(number, span))
        maps.append(
            MapPlan(
                number, one.name, one.channels, one.lines(axis), one.line(axis), source,
                written=not source and graph.is_output(number, span), skips=through and not source,
                ring=rings[number].pixels, line=rings[number].line, tiles=_map_tiles(tiles),
            )
        )  # fmt: skip
    stages = tuple(_stage(solution, stack, axis, number) for number in range(span.first, span.last + 1))
    return StackPlan(solution.name(stack), axis, stack.factor, tuple(maps), stages, cost, solution.requantisation)


def _map_tiles(tiles: Tiles) -> tuple[MapTile, ...]:
    made = list(zip(tiles.begins, tiles.old, tiles.ends, strict=True))
    found, oldest = [], tiles.ends[-1]
    for begin, old, end in reversed(made):
        found.append(MapTile(begin, old, end, saved=max(end - max(oldest, old), 0)))
        if begin < old:
            oldest = min(oldest, begin)
    return tuple(reversed(found))


def _stage(solution: Solution, stack: Stack, axis: LineAxis, number: int) -> StagePlan:
    node = solution.network.layers[number - 1]
    top, left, bottom, right = node.padding
    kernel, stride, padding = node.kernel, node.stride, (top, left, bottom, right)
    if axis == "H":
        kernel, stride, padding = (kernel[1], kernel[0]), (stride[1], stride[0]), (left, top, right, bottom)
    lag = lags(solution.graph, stack.span, axis)
    edges = tuple(
        EdgePlan(edge, edge in stack.through_dram, _after_line(lag.get(edge)))
        for edge in solution.graph.reads[number]
    )
    return StagePlan(number, node, kernel, stride, padding, edges)


def _after_line(lag: Lag | None) -> bool:
    return lag is not None and (lag.lines >= 2 or (lag.lines >= 1 and lag.columns >= 0))
