"""The exact front of depth-first execution: on-chip elements against traffic, over all ways to run a network.

The space: all cuts into stacks, a tiling factor for each stack, each skip in its ring or through DRAM, weights
resident or fetched for the whole network. The cost of a stack does not depend on the other stacks. Traffic is a sum
over the stacks, memory a maximum. So for each limit on the memory the least traffic is a shortest path over intervals
of rows. The limit is lowered to just below the memory that was reached, until no path is left: this meets every point
of the front. Nothing is sampled or left out; the tests compare with plain enumeration.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import floor

import numpy as np

from hwgen.ir.document import InputError
from hwgen.model.pipeline.cost import Stack, StackCost, Traffic, WeightMode, line_lags, published_stack, stack_cost
from hwgen.model.pipeline.graph import Edge, Graph, LineAxis, Rules, Span
from hwgen.model.pipeline.pixel_times import Lag, RatesDifferError, lags
from hwgen.search.pipeline.front_kernel import (
    ALWAYS,
    CHOICE,
    FREE,
    JOIN,
    KEPT,
    NEVER,
    NOTHING,
    WINDOW,
    Tables,
    ending,
    pareto,
    paths,
    variants,
)

__all__ = ["FACTORS", "MODES", "POWERS_OF_TWO", "Front", "Point", "best_within", "search_front"]

FACTORS = tuple(range(1, 65))
POWERS_OF_TWO = (1, 2, 4, 8, 16, 32, 64)
"""The factors of the paper."""
MODES: tuple[WeightMode, ...] = ("resident", "fetched")
MOST_CHOICES = 8
"""Joins that may read one map inside a stack, at most. Each has two choices: ring or DRAM."""


@dataclass(frozen=True)
class _Option:
    """One way to run an interval of rows: elements of its rings, and its traffic without weights."""

    span: Span
    factor: int
    memory: int
    traffic: int


@dataclass(frozen=True)
class Point:
    """A point of the front: elements on chip and elements to and from DRAM, for one inference."""

    memory: int
    traffic: int
    weights: WeightMode
    options: tuple[_Option, ...]
    finder: "_Finder"

    @cached_property
    def stacks(self) -> tuple[Stack, ...]:
        """The stacks in order, with their factors and choices."""
        return tuple(self.finder.stack(option) for option in self.options)

    @property
    def spans(self) -> tuple[Span, ...]:
        """The rows of each stack."""
        return tuple(option.span for option in self.options)

    @property
    def factors(self) -> tuple[int, ...]:
        """The tiling factor of each stack."""
        return tuple(option.factor for option in self.options)

    @property
    def stack_memories(self) -> tuple[int, ...]:
        """Elements on chip while each stack runs."""
        graph = self.finder.graph
        resident = sum(graph.weights)
        return tuple(
            option.memory
            + (
                resident
                if self.weights == "resident"
                else sum(graph.weights[option.span.first : option.span.last + 1])
            )
            for option in self.options
        )

    @cached_property
    def costs(self) -> tuple[StackCost, ...]:
        """The predicted cost of each stack."""
        return tuple(stack_cost(self.finder.graph, stack) for stack in self.stacks)

    @property
    def by_kind(self) -> Traffic:
        """The traffic by kind, weights included."""
        fetched = sum(self.finder.graph.weights) if self.weights == "fetched" else 0
        return sum((cost.traffic for cost in self.costs), Traffic(weights=fetched))


@dataclass(frozen=True)
class Front:
    """All points that no other point beats in both, by rising memory and falling traffic."""

    graph: Graph
    rules: Rules
    points: tuple[Point, ...]


def search_front(
    graph: Graph,
    rules: Rules = "default",
    factors: Sequence[int] = FACTORS,
    modes: Iterable[WeightMode] = MODES,
    progress: Callable[[], None] = lambda: None,
) -> Front:
    """The front of a network.

    Parameters
    ----------
    graph
        The network.
    rules
        How skips are counted, and where stacks may be cut.
    factors
        The tiling factors that a stack may have.
    modes
        Whether weights may be resident, fetched, or either for the whole network.
    progress
        Called once for each row that a stack may end with.
    """
    finder = _Finder(graph, rules)
    options = finder.options(tuple(sorted(set(factors))), progress)
    points = [point for mode in modes for point in _front_of_mode(finder, options, mode)]
    points.sort(key=lambda point: (point.memory, point.traffic))
    kept: list[Point] = []
    for point in points:
        if not kept or point.traffic < kept[-1].traffic:
            kept.append(point)
    return Front(graph, rules, tuple(kept))


def best_within(front: Front, memory: int) -> Point | None:
    """The point of least traffic with at most ``memory`` elements on chip; None if every point needs more."""
    fitting = [point for point in front.points if point.memory <= memory]
    return fitting[-1] if fitting else None


@dataclass(frozen=True)
class _Options:
    """The ways to run each interval that no other way beats; see `hwgen.search.pipeline.front_kernel.paths`."""

    first: np.ndarray
    last: np.ndarray
    begin: np.ndarray
    memory: np.ndarray
    traffic: np.ndarray
    factor: np.ndarray


def _front_of_mode(finder: "_Finder", options: _Options, mode: WeightMode) -> list[Point]:
    weights = np.cumsum(finder.graph.weights)
    own = np.repeat(weights[options.last] - weights[options.first - 1], np.diff(options.begin))
    if mode == "fetched":
        memory, traffic, base = options.memory + own, options.traffic + own, 0
    else:
        memory, traffic, base = options.memory, options.traffic, int(weights[-1])
    found, chosen = paths(finder.graph.rows, options.first, options.last, options.begin, memory, traffic)
    which = np.repeat(np.arange(len(options.first)), np.diff(options.begin))
    points = []
    for (most, total), steps in zip(found, chosen, strict=True):
        taken = tuple(
            _Option(
                Span(int(options.first[which[step]]), int(options.last[which[step]])),
                int(options.factor[step]),
                int(options.memory[step]),
                int(options.traffic[step]),
            )
            for step in reversed(steps)
        )
        points.append(Point(int(most) + base, int(total), mode, taken, finder))
    return points


class _Finder:
    """The graph as tables for the compiled functions, and stacks from the numbers that these return."""

    def __init__(self, graph: Graph, rules: Rules) -> None:
        self.graph, self.rules = graph, rules
        self.edges = sorted(graph.edges, key=lambda edge: (edge.producer, edge.consumer))
        self.readers = [[edge for edge in self.edges if edge.producer == m] for m in range(len(graph.maps))]
        for one, readers in zip(graph.maps, self.readers, strict=True):
            if rules == "default" and sum(edge.kind == "join" for edge in readers) > MOST_CHOICES:
                raise InputError(f"{graph.network}: {one.name}: expected at most {MOST_CHOICES} joins that read it")
        self._tables: dict[LineAxis, Tables] = {}
        self._stacks: dict[_Option, Stack] = {}

    def options(self, factors: tuple[int, ...], progress: Callable[[], None]) -> _Options:
        """All intervals with their best options."""
        wanted = np.array(factors, np.int64)
        found: list[tuple[Span, np.ndarray, np.ndarray, np.ndarray]] = []
        for last in sorted({span.last for span in self.graph.spans(self.rules)}):
            for axis in self.axes:
                rows = ending(self.tables(axis), last, wanted)
                for first in np.unique(rows[:, 0]):
                    memory, traffic, factor = np.ascontiguousarray(rows[rows[:, 0] == first, 1:].T)
                    kept = pareto(memory, traffic)
                    found.append((Span(int(first), last), memory[kept], traffic[kept], factor[kept]))
            progress()
        sizes = [len(memory) for _, memory, _, _ in found]
        return _Options(
            np.array([span.first for span, *_ in found]),
            np.array([span.last for span, *_ in found]),
            np.concatenate(([0], np.cumsum(sizes))).astype(np.int64),
            *(np.concatenate([arrays[index] for _, *arrays in found]) for index in range(3)),
        )

    @cached_property
    def axes(self) -> list[LineAxis]:
        """The line axes that stacks have."""
        return sorted({self.graph.line_axis(Span(first, first)) for first in range(1, self.graph.rows + 1)})

    def tables(self, axis: LineAxis) -> Tables:
        """The tables for stacks with that line axis."""
        if axis not in self._tables:
            lag, until = self._by_first(axis)
            self._tables[axis] = Tables(self._map_table(axis, until), self._edge_table(axis), lag)
        return self._tables[axis]

    def _by_first(self, axis: LineAxis) -> tuple[np.ndarray, list[int]]:
        """The lags of the joins and the last possible row of a stack, for each first row."""
        rows, starts = self.graph.rows, {span.first for span in self.graph.spans(self.rules)}
        until = [0] * (rows + 1)
        table = np.zeros((rows + 1, len(self.edges), 3), np.int64)
        for first in starts:
            if self.graph.line_axis(Span(first, first)) != axis:
                continue
            until[first], known = self._lags(first, axis)
            for index, edge in enumerate(self.edges):
                if edge in known:
                    lag = known[edge]
                    whole = floor(lag.lines)
                    table[first, index] = whole, lag.lines == whole, floor(lag.columns)
        return table, until

    def _lags(self, first: int, axis: LineAxis) -> tuple[int, dict[Edge, Lag]]:
        """The last row that a stack may have, and the lags of its joins."""
        for until in range(self.graph.rows, first - 1, -1):
            try:
                return until, lags(self.graph, Span(first, until), axis)
            except RatesDifferError:
                continue
        return 0, {}

    def _map_table(self, axis: LineAxis, until: Sequence[int]) -> np.ndarray:
        rows, begin = [], 0
        for one, readers, reach in zip(self.graph.maps, self.readers, until, strict=True):
            last = readers[-1].consumer if readers else -1
            rows.append((begin, one.channels, one.line(axis), one.lines(axis), last, reach))
            begin += len(readers)
        return np.array([*rows, (begin, 0, 0, 0, 0, 0)], np.int64)

    def _edge_table(self, axis: LineAxis) -> np.ndarray:
        rows = []
        for edge in self.edges:
            source, reach = self.graph.maps[edge.producer], edge.along(axis)
            lag: tuple[int | None, int | None] = (None, None)
            if edge.kind == "window":
                lag = line_lags(edge.across(axis), source.lines(axis), self.graph.maps[edge.consumer].lines(axis))
            rows.append(
                (
                    edge.consumer,
                    {"window": WINDOW, "join": JOIN}.get(edge.kind, NOTHING),
                    self._treatment(edge),
                    reach.stride,
                    reach.up,
                    reach.before,
                    reach.after,
                    -(-reach.before // reach.stride),
                    (source.line(axis) - 1 - reach.after) // reach.stride,
                    NEVER if lag[0] is None else lag[0],
                    NEVER if lag[1] is None else lag[1],
                )
            )
        return np.array(rows, np.int64)

    def _treatment(self, edge: Edge) -> int:
        if edge.kind != "join":
            return KEPT
        if self.rules == "default":
            return CHOICE
        return ALWAYS if self.graph.is_long(edge) else FREE

    # --- from memory and traffic back to a stack ---

    def stack(self, option: _Option) -> Stack:
        """The stack of an option, with the edges that go through DRAM."""
        if option not in self._stacks:
            if self.rules == "published":
                stack = published_stack(self.graph, option.span, option.factor)
            else:
                stack = Stack(option.span, option.factor, self._through_dram(option))
            self._stacks[option] = stack
        return self._stacks[option]

    def _through_dram(self, option: _Option) -> frozenset[Edge]:
        span = option.span
        tables = self.tables(self.graph.line_axis(span))
        choices: dict[int, list[tuple[int, int, int]]] = {}
        for number, choice, memory, traffic in variants(tables, span.first, span.last, option.factor):
            choices.setdefault(number, []).append((choice, memory, traffic))
        # Sums over the maps so far, with the choice for each map.
        sums: dict[tuple[int, int], tuple[tuple[int, int], ...]] = {(0, 0): ()}
        for number, of_map in choices.items():
            longer: dict[tuple[int, int], tuple[tuple[int, int], ...]] = {}
            for (memory, traffic), picked in sums.items():
                for choice, more, extra in of_map:
                    more_picked = (*picked, (number, choice)) if choice else picked
                    longer.setdefault((memory + more, traffic + extra), more_picked)
            sums, least = {}, None
            for total in sorted(longer):
                if least is None or total[1] < least:
                    sums[total], least = longer[total], total[1]
        picked = sums[option.memory, option.traffic]
        return frozenset(edge for number, choice in picked for edge in self._chosen(span, number, choice))

    def _chosen(self, span: Span, number: int, choice: int) -> list[Edge]:
        joins = [
            edge for edge in self.readers[number] if edge.kind == "join" and span.first <= edge.consumer <= span.last
        ]
        return [edge for bit, edge in enumerate(joins) if choice >> bit & 1]
