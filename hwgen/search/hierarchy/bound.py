"""A lower bound of what any nest of the search costs on a hierarchy: every level alone, then all levels together.

For each choice of the levels that hold each operand, the cost is a sum over levels: what crosses into a level, times
the price of the level that serves it. Each term is at least the least that it can be with the bytes of its level
alone (`hwgen.search.hierarchy.relaxed_axes` says how nests are relaxed), and the datapath's accesses are at least
those of full lanes. The bound is the least sum of all choices. Where a nest is known that a choice might undercut,
`hwgen.search.hierarchy.joint_bound` bounds that choice with all its levels together.

Lanes: an innermost step below the lanes needs less room and makes the datapath access more. Steps between two powers
of two are taken together: room for the smallest, accesses of the largest.
"""

from dataclasses import dataclass, field
from itertools import permutations, product

import numpy as np
from numpy.typing import NDArray

from hwgen.search.hierarchy.joint_bound import Choice, JointBound, axis_tables
from hwgen.search.hierarchy.nest_cost import Costs
from hwgen.search.hierarchy.relaxed_axes import (
    LineClasses,
    Operands,
    axis_rows,
    classes,
    least_cost,
    line_classes,
    line_rows,
)
from hwgen.search.hierarchy.tables import LayerTables

__all__ = ["lower_bound"]

CLOSE = 1e-9
"""A bound this near to a known cost, in parts of it, is not improved further."""
Floats = NDArray[np.float64]
Ends = tuple[tuple[int, int], ...]
"""The smallest and largest innermost step of each axis."""
Chain = tuple[int, ...]
"""The levels that hold an operand, from the outside inward."""


def lower_bound(tables: LayerTables, costs: Costs, known: float = np.inf, work: int = 0) -> float:
    """What no nest goes below; never more than ``known``, the cost of some nest.

    ``work``: steps of ascent for the bound over all levels together (`hwgen.search.hierarchy.joint_bound`).
    """
    bound = _Bound(tables, costs)
    if work == 0 or not np.isfinite(known):
        return float(bound.least(known))
    return float(JointBound(bound.choices(known), known, work).least(known * (1 - CLOSE)))


@dataclass
class _Bound:
    tables: LayerTables
    costs: Costs
    _rows: dict[tuple[Operands, Ends], tuple[Floats, ...]] = field(default_factory=dict)
    _lines: dict[tuple[int, int], LineClasses] = field(default_factory=dict)
    _least: dict[tuple[object, ...], float] = field(default_factory=dict)

    def least(self, known: float) -> float:
        """The least over all choices of levels and of innermost steps."""
        best = known
        for first, chains, ends in self._choices():
            if first >= best:
                break
            best = min(best, self._of(chains, ends, best))
        return best

    def choices(self, known: float) -> list[Choice]:
        """All choices whose bound is below ``known``."""
        found = []
        for first, chains, ends in self._choices():
            if first >= known:
                break
            alone = self._of(chains, ends, known)
            if alone < known:
                found.append(self._choice(alone, chains, ends))
        return found

    def _choice(self, alone: float, chains: tuple[Chain, ...], ends: Ends) -> Choice:
        t, low = self.costs, [end[0] for end in ends]
        rest, markers = 0.0, []
        memories: list[float] = []
        number_of: dict[tuple[int, int], int] = {}
        for operand, chain in enumerate(chains):
            outer = 0
            own: list[tuple[float, float, int]] = []
            for level in chain:
                price, constant = self._price(operand, outer, level)
                rest += constant
                memory = (level, -1 if t.shared[level] else operand)
                if memory not in number_of:
                    number_of[memory] = len(memories)
                    memories.append(float(t.caps[level, operand]))
                size = self._width(chain, level, ends) if operand == 2 else float(t.sizes[operand])
                own.append((price, size, number_of[memory]))
                outer = level
            price, constant = self._price(operand, outer, 0)
            rest += price * self._datapath(operand, ends) + constant
            markers.append(tuple(own))
        groups = int(self.tables.layer.groups)
        lines = self._line(0, low[3]), self._line(1, low[4])
        axes = axis_tables(t.extents.tolist(), low, groups, *lines)
        return Choice(alone, rest, tuple(markers), tuple(memories), axes)

    def _choices(self) -> list[tuple[float, tuple[Chain, ...], Ends]]:
        """All choices of levels and of innermost steps, with what each costs if memories had no ends."""
        levels = range(1, len(self.costs.serves))
        subsets = range(0, 2 ** len(self.costs.serves), 2)
        every = [tuple(level for level in levels if held >> level & 1) for held in subsets]
        choices = []
        for ends in product(*(_ends(int(one)) for one in self.costs.least)):
            alone = [
                [(self._alone(operand, chain, ends), chain) for chain in every if self._may_hold(operand, chain)]
                for operand in range(3)
            ]
            for three in product(*alone):
                choices.append((sum(one[0] for one in three), tuple(one[1] for one in three), ends))
        return sorted(choices, key=lambda choice: choice[0])

    def _may_hold(self, operand: int, chain: Chain) -> bool:
        return all(self.costs.caps[level, operand] > 0 for level in chain)

    def _price(self, operand: int, outer: int, level: int) -> tuple[float, float]:
        """Cost of one unit of the factors' product, and what comes on top of the products, of a way inward."""
        t = self.costs
        serves, fills = t.serves[outer, operand], t.fills[level, operand] if level else 0.0
        if operand < 2:
            return float(t.elements[operand] * t.sizes[operand] * (serves + fills)), 0.0
        back = t.elements[2] * t.sizes[3] * (2 * serves + fills)
        return float(back), float(t.elements[2] * t.sizes[2] * serves - back)

    def _datapath(self, operand: int, ends: Ends) -> float:
        """Product of the factors of the datapath's accesses."""
        t, high = self.costs, [end[1] for end in ends]
        if operand == 0:
            taps, cross = int(high[5] < t.extents[5]), int(high[6] < t.extents[6])
            lines = self._fetched(0, high[3], taps) * self._fetched(1, high[4], cross)
            return max(t.groups[0, t.extents[1]], -(-t.extents[1] // high[1])) * lines
        if operand == 1:
            return float(t.counts[0, high[0]] * t.counts[3, high[3]] * t.counts[4, high[4]])
        return float(t.counts[2, high[2]] * t.counts[5, high[5]] * t.counts[6, high[6]])

    def _fetched(self, axis: int, high: int, cut: int) -> float:
        of = self._line(axis, 1)
        if cut:
            return of.cut
        return float(of.fetched[next(number for number, one in enumerate(of.steps) if one.low <= high)])

    def _line(self, axis: int, least: int) -> LineClasses:
        if (axis, least) not in self._lines:
            self._lines[axis, least] = line_classes(self.tables, axis, least)
        return self._lines[axis, least]

    def _alone(self, operand: int, chain: Chain, ends: Ends) -> float:
        """Cost of one operand with all else for nothing: each way once, and the datapath's accesses."""
        once = 1.0
        if operand == 0:
            once = self._datapath(0, tuple((extent, extent) for extent in self.costs.extents.tolist()))
        total, outer = 0.0, 0
        for level in chain:
            price, constant = self._price(operand, outer, level)
            total += price * once + constant
            outer = level
        price, constant = self._price(operand, outer, 0)
        return total + price * self._datapath(operand, ends) + constant

    def _of(self, chains: tuple[Chain, ...], ends: Ends, best: float) -> float:
        """The bound of one choice, or any number not below ``best``."""
        total = 0.0
        outer = [0, 0, 0]
        terms: list[tuple[int, Operands, tuple[float, ...]]] = []
        for level in range(1, len(self.costs.serves)):
            holding = tuple(operand for operand in range(3) if level in chains[operand])
            prices = [0.0, 0.0, 0.0]
            for operand in holding:
                prices[operand], constant = self._price(operand, outer[operand], level)
                total += constant
                outer[operand] = level
            if holding:
                terms.append((level, holding, tuple(prices)))
        for operand in range(3):
            price, constant = self._price(operand, outer[operand], 0)
            total += price * self._datapath(operand, ends) + constant
        for level, holding, paid in terms:
            wide = self._width(chains[2], level, ends)
            total += self._level(level, holding, paid, ends, wide)
            if total >= best:
                break
        return total

    def _width(self, chain: Chain, level: int, ends: Ends) -> float:
        """Bytes of an element of O in a level, at least."""
        sums = not any(one > level for one in chain) and self._datapath(2, ends) > 1
        return float(self.costs.sizes[3] if sums else min(self.costs.sizes[2:]))

    def _level(self, level: int, holding: Operands, prices: tuple[float, ...], ends: Ends, wide: float) -> float:
        """The least cost of one level."""
        key = (level, holding, prices, tuple(low for low, _ in ends), wide)
        if key not in self._least:
            t, best = self.costs, np.inf
            room = np.array([t.sizes[operand] if operand in holding else 0.0 for operand in (0, 1)] + [wide])
            room[2] = wide if 2 in holding else 0.0
            for order in permutations(holding):
                rows = self._axes(order, tuple((low, low) for low, _ in ends))
                best = least_cost(*rows, np.array(prices), room, t.caps[level], bool(t.shared[level]), best)
            self._least[key] = best
        return self._least[key]

    def _axes(self, order: Operands, ends: Ends) -> tuple[Floats, ...]:
        key = (order, ends)
        if key not in self._rows:
            extents, low = self.costs.extents.tolist(), [end[0] for end in ends]
            groups = int(self.tables.layer.groups)
            self._rows[key] = (
                line_rows(order, self._line(0, low[3])),
                line_rows(order, self._line(1, low[4])),
                axis_rows(order, 1, (0, 2), classes(extents[0], low[0])),
                axis_rows(order, 0, (1, 2), classes(extents[1], low[1]), groups),
                axis_rows(order, 2, (0, 1), classes(extents[2], low[2])),
            )
        return self._rows[key]


def _ends(lanes: int) -> list[tuple[int, int]]:
    """Ranges of innermost steps: the lanes, and below by powers of two."""
    found, high = [(lanes, lanes)], lanes - 1
    while high >= 1:
        low = 1 << (high.bit_length() - 1)
        found.append((low, high))
        high = low - 1
    return found
