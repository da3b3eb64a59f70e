"""The time at which each pixel of a stack is made, relative to the pixels that it is made from.

Every stage fires as soon as its window is complete; padding takes time as pixels do. So along each axis pixel i of a
map is made at scale * i + offset of a common clock. Of two pixels the one on the later line is later. A join waits
for its last operand. Inputs of a stack arrive no sooner than needed: two groups of maps without a common input are
aligned at the first join of both.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from hwgen.model.pipeline.graph import Edge, Graph, LineAxis, Reach, Span

__all__ = ["Lag", "RatesDifferError", "lags"]


class RatesDifferError(ValueError):
    """The operands of a join in a stack arrive at different rates."""


@dataclass(frozen=True)
class Lag:
    """The distance from the pixel that a join reads to the newest pixel of the same map, in lines and columns.

    The columns may be negative if the lines are positive.
    """

    lines: Fraction
    columns: Fraction


@dataclass(frozen=True)
class _Clock:
    """Pixel i of a map is made at ``scale * i + offset``: (across lines, within a line)."""

    scale: tuple[Fraction, Fraction]
    offset: tuple[Fraction, Fraction]

    def through(self, reaches: tuple[Reach, Reach]) -> "_Clock":
        """The clock of a reader's output: it is made with the last pixel of its window."""
        return _Clock(
            (self.scale[0] * reaches[0].stride / reaches[0].up, self.scale[1] * reaches[1].stride / reaches[1].up),
            (
                self.offset[0] + self.scale[0] * Fraction(reaches[0].after, reaches[0].up),
                self.offset[1] + self.scale[1] * Fraction(reaches[1].after, reaches[1].up),
            ),
        )

    def matching(self, own: "_Clock", target: "_Clock") -> "_Clock":
        """This clock, changed in the way that turns ``own`` into ``target``."""
        rate = (target.scale[0] / own.scale[0], target.scale[1] / own.scale[1])
        return _Clock(
            (self.scale[0] * rate[0], self.scale[1] * rate[1]),
            (
                target.offset[0] + rate[0] * (self.offset[0] - own.offset[0]),
                target.offset[1] + rate[1] * (self.offset[1] - own.offset[1]),
            ),
        )


def lags(graph: Graph, span: Span, axis: LineAxis) -> dict[Edge, Lag]:
    """The lag of each edge into a join of the stack. Raises `RatesDifferError` if a lag is not constant."""
    clocks: dict[int, _Clock] = {}
    group: dict[int, int] = {}  # maps with the same number have clocks that are aligned
    found: dict[Edge, Lag] = {}
    start = _Clock((Fraction(1), Fraction(1)), (Fraction(0), Fraction(0)))
    for row in range(span.first, span.last + 1):
        edges = graph.reads[row]
        for edge in edges:
            if edge.producer not in clocks:
                clocks[edge.producer], group[edge.producer] = start, edge.producer
        arrivals = {edge: clocks[edge.producer].through((edge.across(axis), edge.along(axis))) for edge in edges}
        groups = dict.fromkeys(group[edge.producer] for edge in edges)
        latest = {name: _latest(arrivals[e] for e in edges if group[e.producer] == name) for name in groups}
        clock = next(iter(latest.values()))
        for number, name in group.items():
            if name in latest:
                clocks[number] = clocks[number].matching(latest[name], clock)
        first = next(iter(groups))
        group = {number: first if name in latest else name for number, name in group.items()}
        clocks[row], group[row] = clock, first
        found |= {edge: _lag(clocks[edge.producer], clock) for edge in edges if edge.kind == "join"}
    return found


def _latest(clocks: Iterable[_Clock]) -> _Clock:
    every = list(clocks)
    if any(clock.scale != every[0].scale for clock in every):
        raise RatesDifferError
    return max(every, key=lambda clock: clock.offset)


def _lag(producer: _Clock, join: _Clock) -> Lag:
    return Lag(
        (join.offset[0] - producer.offset[0]) / producer.scale[0],
        (join.offset[1] - producer.offset[1]) / producer.scale[1],
    )
