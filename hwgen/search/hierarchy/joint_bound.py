"""A lower bound of what nests cost over all levels together: branch and bound over sequences of markers and steps.

A nest's markers stand in one sequence from the outside inward, and along each axis the steps outside them descend.
`hwgen.search.hierarchy.bound` takes every level alone: there the steps of one level say nothing about the next one's.
Here all markers of all levels stand in one sequence, the markers of an operand as its levels do. The factors of an
axis are those of that module (`hwgen.search.hierarchy.relaxed_axes`), the least that any nest has with steps of a
class. Costs and needs of a sequence are products of them, and `hwgen.search.hierarchy.joint_kernel` bounds their sum.

Of markers above the same loop, those of I are taken last, so that I, where it slides along that loop, holds at least
what the step outside the next marker of another operand asks for. It slides along rows or along columns, not both.

*Branching*: first all sequences; then whether I slides along rows or columns; then the steps outside a marker along
an axis, below or above one class; then the marker from which on the kernel is cut. The least of all open bounds is a
bound. So the work can end at any time.
"""

import heapq
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from hwgen.search.hierarchy.joint_kernel import Sequence, ascend
from hwgen.search.hierarchy.relaxed_axes import LineClasses, classes

__all__ = ["AxisTables", "Choice", "JointBound", "axis_tables"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
FIRST, AGAIN, WARM = 60, 25, 15
"""Steps of ascent for a sequence; for a part, which begins with the weights of the whole; steps that it skips."""


@dataclass(frozen=True)
class AxisTables:
    """Logarithms of the factors of every axis by classes of steps; see `Sequence`."""

    classes: Ints
    ranges: Floats
    least: Floats
    fetched: Floats
    held: Floats
    taps: Floats
    cuts: Floats


def axis_tables(
    extents: list[int], low: list[int], groups: int, rows: LineClasses, columns: LineClasses
) -> AxisTables:
    """The tables with innermost steps ``low`` [axis of the search]."""
    steps = [classes(extents[0], low[0]), classes(extents[1], low[1]), classes(extents[2], low[2])]
    steps += [rows.steps, columns.steps]
    most = max(len(one) for one in steps)
    ranges, least = np.zeros((5, most)), np.zeros((5, most))
    for axis, of in enumerate(steps):
        fewest = groups if axis == 1 else 1
        ranges[axis, : len(of)] = np.log([max(one.number, fewest) for one in of])
        least[axis, : len(of)] = np.log([one.low for one in of])
    fetched, held = np.zeros((2, 2, most)), np.zeros((2, 2, most))
    taps, cuts = np.zeros((2, 2)), np.zeros(2)
    for line, lines in enumerate((rows, columns)):
        number = len(lines.steps)
        fetched[line, 0, :number] = np.log(np.maximum(lines.fetched, 1))
        fetched[line, 1, :number] = np.log(max(lines.cut, 1))
        # The largest need over all ranges is at least 1, and no smaller step has a larger one.
        held[line, :, :number] = np.log(np.maximum(np.minimum.accumulate(lines.held, axis=1), 1))
        taps[line] = np.log([lines.taps, lines.tap_step])
        cuts[line] = np.log(-(-lines.taps // lines.tap_step))
    return AxisTables(np.array([len(one) for one in steps]), ranges, least, fetched, held, taps, cuts)


@dataclass(frozen=True)
class Choice:
    """Levels that hold each operand, and innermost steps.

    Members
    -------
    alone : the bound with every level alone.
    rest : what is paid whatever the sequence.
    markers : [operand], from the outside inward: price, bytes of an element, memory.
    memories : bytes.
    """

    alone: float
    rest: float
    markers: tuple[tuple[tuple[float, float, int], ...], ...]
    memories: tuple[float, ...]
    axes: AxisTables


@dataclass(frozen=True)
class _Part:
    """Some nests of one sequence, with weights to begin with."""

    choice: Choice
    sequence: Sequence
    low: Ints
    high: Ints
    wholes: Ints
    slides: Ints
    w: Floats
    v: Floats
    spread: Ints
    spread_wholes: Ints


class JointBound:
    """The least of all choices; ``known`` is the cost of a nest, ``work`` the steps of ascent that are allowed."""

    def __init__(self, choices: list[Choice], known: float, work: int) -> None:
        self._known, self._work, self._number = known, work, 0
        self._settled = known  # the least bound of parts that cannot be cut further, or what is known
        self._weights: dict[int, tuple[dict[tuple[int, int], float], dict[tuple[int, int], float]]] = {}
        self._open: list[tuple[float, int, Choice | _Part]] = []
        for choice in choices:
            self._add(choice.alone, choice)

    def least(self, enough: float) -> float:
        """A bound: the least open one after the work, or once it is at least ``enough``."""
        while self._open and self._open[0][0] < min(enough, self._settled) and self._work > 0:
            bound, _, top = heapq.heappop(self._open)
            if isinstance(top, Choice):
                for operands in _orders([len(of) for of in top.markers]):
                    self._of_sequence(top, operands)
            else:
                parts = _halves(top)
                if not parts:
                    self._settled = min(self._settled, bound)
                for part in parts:
                    self._add_part(part, bound, AGAIN)
        return min(self._settled, self._open[0][0]) if self._open else self._settled

    def _add(self, bound: float, what: Choice | _Part) -> None:
        self._number += 1
        heapq.heappush(self._open, (bound, self._number, what))

    def _of_sequence(self, choice: Choice, operands: tuple[int, ...]) -> None:
        """Add all nests of one sequence."""
        number, axes = len(operands), choice.axes
        taken = [0, 0, 0]
        rows, names = [], []
        for operand in operands:
            names.append((operand, taken[operand]))
            rows.append(choice.markers[operand][taken[operand]])
            taken[operand] += 1
        beyond = [next((to for to in range(at, number) if operands[to]), number) for at in range(number)]
        with np.errstate(divide="ignore"):
            prices = np.log([row[0] for row in rows])
        sequence = Sequence(
            np.array(operands), np.array(beyond), prices, np.log([row[1] for row in rows]),
            np.array([row[2] for row in rows]), np.log(choice.memories), axes.classes, axes.ranges, axes.least,
            axes.fetched, axes.held, axes.taps, axes.cuts,
        )  # fmt: skip
        paid = prices > -np.inf
        if not paid.any():
            self._settled = min(self._settled, choice.alone)
            return
        wholes = np.array([[0 if cuts else number, number] for cuts in axes.cuts])
        high = np.repeat(axes.classes[:, None] - 1, number, axis=1)
        w, v = paid / paid.sum(), np.full(number, 0.1)
        known = self._weights.get(id(choice))
        if known is not None:
            w, v = np.array([known[0][one] for one in names]), np.array([known[1][one] for one in names])
        part = _Part(
            choice, sequence, np.zeros_like(high), high, wholes,
            np.array([-1 if operand == 0 else 2 for operand in operands]), w, v,
            np.zeros((5, number, 2), np.int64), np.zeros((2, 2), np.int64),
        )  # fmt: skip
        self._add_part(part, choice.alone, FIRST)
        self._weights[id(choice)] = dict(zip(names, w, strict=True)), dict(zip(names, v, strict=True))

    def _add_part(self, part: _Part, bound: float, steps: int) -> None:
        enough = self._known - part.choice.rest
        self._work -= steps
        value = ascend(
            part.sequence, part.low, part.high, part.wholes, part.slides, part.w, part.v, steps,
            0 if steps == FIRST else WARM, np.log(enough) if enough > 0 else -np.inf, part.spread, part.spread_wholes,
        )  # fmt: skip
        bound = max(bound, np.exp(min(value, 700.0)) + part.choice.rest)
        if bound < self._known:
            self._add(bound, part)


def _orders(left: list[int]) -> Iterator[tuple[int, ...]]:
    """All sequences of markers, with as many of each operand as ``left`` says."""
    if not any(left):
        yield ()
    for operand in range(3):
        if left[operand]:
            rest = [number - (other == operand) for other, number in enumerate(left)]
            for tail in _orders(rest):
                yield (operand, *tail)


def _halves(part: _Part) -> list[_Part]:
    """The nests of a part in parts; none if it cannot be cut."""
    free = np.flatnonzero(part.slides == -1)
    if len(free):
        at = int(free[part.v[free].argmax()])
        lines = (0,) if len(free) == (part.sequence.operands == 0).sum() and _alike(part) else (0, 1)
        return [replace(_copy(part), slides=_set(part.slides, at, line)) for line in lines]
    values = part.sequence.least
    width = np.array(
        [[values[axis, pair[0]] - values[axis, pair[1]] for pair in part.spread[axis]] for axis in range(5)]
    )
    axis, at = (int(one) for one in np.unravel_index(int(width.argmax()), width.shape))
    open_wholes = part.wholes[:, 1] - part.wholes[:, 0]
    if width[axis, at] > 0:
        first, last = (int(one) for one in part.spread[axis, at])
        middle = (values[axis, first] + values[axis, last]) / 2
        cut = next(one for one in range(first, last + 1) if values[axis, one] <= middle)
        cut = max(cut, first + 1)
        return _cut(part, axis, at, cut)
    for line in range(2):
        if part.spread_wholes[line, 1] > part.spread_wholes[line, 0]:
            return _cut_wholes(part, line, int(part.spread_wholes.sum(axis=1)[line]) // 2)
    room = part.high - part.low
    if room.max(initial=0) > 0:
        axis, at = (int(one) for one in np.unravel_index(int(room.argmax()), room.shape))
        return _cut(part, axis, at, int(part.low[axis, at] + part.high[axis, at] + 1) // 2)
    if open_wholes.max() > 0:
        line = int(open_wholes.argmax())
        return _cut_wholes(part, line, int(part.wholes[line].sum()) // 2)
    return []


def _copy(part: _Part) -> _Part:
    """The same part, with weights of its own."""
    spread, spread_wholes = part.spread.copy(), part.spread_wholes.copy()
    return replace(part, w=part.w.copy(), v=part.v.copy(), spread=spread, spread_wholes=spread_wholes)


def _alike(part: _Part) -> bool:
    """Whether rows and columns may change places: the same tables, and nothing cut yet."""
    t = part.sequence
    tables = (t.ranges[3:], t.least[3:], t.fetched, t.held, t.taps, t.cuts, part.low[3:], part.high[3:], part.wholes)
    return all(np.array_equal(one[0], one[1]) for one in tables) and bool(t.classes[3] == t.classes[4])


def _cut(part: _Part, axis: int, at: int, cut: int) -> list[_Part]:
    """Classes below ``cut`` outside a marker, and from it on."""
    below, above = part.high.copy(), part.low.copy()
    below[axis, : at + 1] = np.minimum(below[axis, : at + 1], cut - 1)
    above[axis, at:] = np.maximum(above[axis, at:], cut)
    return [replace(_copy(part), high=below), replace(_copy(part), low=above)]


def _cut_wholes(part: _Part, line: int, last: int) -> list[_Part]:
    below, above = part.wholes.copy(), part.wholes.copy()
    below[line, 1], above[line, 0] = last, last + 1
    return [replace(_copy(part), wholes=below), replace(_copy(part), wholes=above)]


def _set(array: Ints, at: int, value: int) -> Ints:
    copy = array.copy()
    copy[at] = value
    return copy
