"""Candidates for one order that many layers share, by a lower bound of the cost of all layers together.

A candidate is a choice of loops (`LoopSet`) and a triple of forms that no other triple beats for all layers at once.
The sum of each layer's least cost within the whole buffer is the cost of the set if each layer may split the buffer
in its own way. It is a lower bound if all layers must use the same split.
"""

from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from math import prod

import numpy as np
from numpy.typing import NDArray

from hwgen.ir.hardware import Order
from hwgen.ir.layer import Dim, Layer
from hwgen.ir.schedule import ARRAYS, ArrayName, Bits, Marker
from hwgen.search.core.branch import FOUND, Problem, improve
from hwgen.search.core.dominance import Triples, undominated
from hwgen.search.core.orders import DIM_OF_LOOP, LOOPS, TILED, LoopSet, Orders, all_orders, fixed_order
from hwgen.search.core.problems import LayerProblems
from hwgen.search.core.space import Target, steps_allowed
from hwgen.search.hwc.memory_split import least_of_each
from hwgen.search.objectives.of_hwc import HwcObjective

__all__ = ["Candidate", "LayerSet", "Variant"]

NEAR = (0.02, 0.1, 0.5, np.inf)
"""Excess over the sum of the layers' own least costs, tried one after the other."""


@dataclass(frozen=True)
class Variant:
    """One choice of loops, and the steps that each layer may take; ``absent``: dimensions without any loop."""

    orders: Orders
    loop_set: LoopSet
    absent: tuple[Dim, ...]
    loops: int
    allowed: tuple[dict[Dim, NDArray[np.bool_]], ...]

    @property
    def reduced(self) -> set[tuple[str, Dim]]:
        """The dimensions with one loop instead of two, each with the kind of that loop."""
        stepped, whole = self.loop_set.stepped, self.loop_set.whole
        return {("stepped", dim) for dim in stepped} | {("whole", dim) for dim in whole if dim not in self.absent}

    @property
    def covered(self) -> int:
        """Nests of all layers."""
        return sum(self.orders.placements * prod(int(a.sum()) for a in steps.values()) for steps in self.allowed)


@dataclass(frozen=True)
class Candidate:
    """A triple of a variant that may be the best, with the least cost of each layer within the whole budget."""

    variant: Variant
    problems: tuple[Problem, ...]
    triples: Triples
    triple: int
    by_layer: tuple[float, ...]

    @property
    def bound(self) -> float:
        return sum(self.by_layer)


@dataclass(frozen=True)
class _Costs:
    """Triples of a variant within a limit (indices), and the least cost of each layer [layer, triple]."""

    limit: float
    triples: NDArray[np.int64]
    by_layer: NDArray[np.float64]


@dataclass
class LayerSet:
    """Layers that share an order; ``costed`` counts the nests that were costed one by one."""

    layers: tuple[Layer, ...]
    target: Target
    budget: float
    objective: type[HwcObjective]
    bits: Bits
    costed: int = 0
    _known_triples: dict[tuple[int, bool], Triples] = field(default_factory=dict)
    _known_orders: dict[Order, Variant] = field(default_factory=dict)
    _known_costs: dict[tuple[int, bool], _Costs] = field(default_factory=dict)

    @cached_property
    def problems(self) -> tuple[LayerProblems, ...]:
        """The problems of each layer."""
        return tuple(LayerProblems(layer, self.bits, self.target) for layer in self.layers)

    def given(self, order: Order) -> Variant:
        """The one variant of a given order."""
        if order not in self._known_orders:
            fixed = fixed_order(order, self.target.lane_dims)
            self._known_orders[order] = self._variant(fixed.orders, fixed.loop_set, (), len(fixed.loops))
        return self._known_orders[order]

    @cached_property
    def variants(self) -> list[Variant]:
        """All choices of loops: for each of m, c, y, x both loops, one of them, or none where no layer needs one.

        The first has all loops, also over what the lanes cover: an iteration of fewer lanes needs less memory.
        """
        kernels = [dim for dim in ("k", "l") if any(layer.extents[dim] > 1 for layer in self.layers)]
        kinds = {dim: self._kinds(dim) for dim in TILED}
        found = []
        for choice in product(*kinds.values()):
            by_kind = {
                kind: tuple(dim for dim, its in zip(TILED, choice, strict=True) if its == kind)
                for kind in ("tiled", "stepped", "whole", "absent")
            }
            loop_set = LoopSet(by_kind["tiled"], by_kind["stepped"], by_kind["whole"] + by_kind["absent"])
            loops = 2 * len(loop_set.tiled) + len(loop_set.stepped) + len(by_kind["whole"]) + len(kernels)
            found.append(self._variant(all_orders(), loop_set, by_kind["absent"], loops))
        return found

    def _kinds(self, dim: Dim) -> tuple[str, ...]:
        """How the loops over a dimension may be chosen."""
        most = max(layer.extents[dim] for layer in self.layers)
        if most == 1:
            return ("absent",)
        return ("tiled", "stepped", "whole" if most > self.target.lanes.along(dim) else "absent")

    def _variant(self, orders: Orders, loop_set: LoopSet, absent: tuple[Dim, ...], loops: int) -> Variant:
        allowed = tuple(steps_allowed(layer, self.target, loop_set) for layer in self.layers)
        return Variant(orders, loop_set, absent, loops, allowed)

    def _triples(self, orders: Orders, *, words: bool) -> Triples:
        key = (id(orders), words)
        if key not in self._known_triples:
            every = [one.tables for one in self.problems]
            self._known_triples[key] = undominated(orders, every, words=words, hardware=self.target.hardware)
        return self._known_triples[key]

    def candidates(self, variant: Variant, limit: float, *, words: bool) -> list[Candidate]:
        """Candidates whose lower bound does not exceed the limit, in ascending order of the bound."""
        triples = self._triples(variant.orders, words=words)
        costs = self._costs(variant, triples, limit, words=words)
        inside = np.flatnonzero(costs.by_layer.sum(axis=0) <= limit)
        if not len(inside):
            return []
        problems = self._problems(variant, words=words)
        candidates = [
            Candidate(variant, problems, triples, int(costs.triples[at]), tuple(costs.by_layer[:, at].tolist()))
            for at in inside
        ]
        return sorted(candidates, key=lambda candidate: candidate.bound)

    def _problems(self, variant: Variant, *, words: bool) -> tuple[Problem, ...]:
        return tuple(
            one.problem(allowed, words=words) for one, allowed in zip(self.problems, variant.allowed, strict=True)
        )

    def _costs(self, variant: Variant, triples: Triples, limit: float, *, words: bool) -> _Costs:
        """The least cost of each layer for the triples whose sum is within the limit.

        What was found for a limit at least as high is used again. A variant with fewer loops costs no less than the
        one with all loops, so only the triples are looked at that are within the limit there, if that is known.
        """
        known = self._known_costs.get((id(variant), words))
        if known is not None and known.limit >= limit:
            return known
        searched = variant.orders is all_orders()
        wanted, alone = np.arange(len(triples.index)), np.zeros(len(self.layers))
        if searched:
            alone = self._alone
            every = self._known_costs.get((id(self.variants[0]), words))
            if every is not None and every.limit >= limit:
                wanted = every.triples[every.by_layer.sum(axis=0) <= limit]
        by_layer = np.zeros((0, len(wanted)))
        for n, one in enumerate(self.problems):
            if not np.isfinite(alone).all():
                wanted, by_layer = wanted[:0], np.zeros((n, 0))
            found = np.empty(len(wanted))
            if len(wanted):
                limits = limit - (by_layer.sum(axis=0) + alone[n + 1 :].sum())
                p = one.problem(variant.allowed[n], words=words)
                self.costed += least_of_each(
                    p, triples.states[wanted], self.budget, self.objective.number, limits, found
                )
            stay = np.isfinite(found)
            wanted, by_layer = wanted[stay], np.vstack([by_layer[:, stay], found[stay]])
        costs = _Costs(limit, wanted, by_layer)
        if not searched or variant is self.variants[0]:
            self._known_costs[id(variant), words] = costs
        return costs

    def nearest_candidates(self, variant: Variant, limit: float = np.inf, *, words: bool) -> list[Candidate]:
        """Candidates near the sum of the layers' own least costs: those within the first excess that has any.

        None of them has a bound above the limit.
        """
        for extra in NEAR:
            most = float(self._alone.sum()) * (1 + extra)
            found = self.candidates(variant, min(most, limit), words=words)
            if found or most >= limit:
                return found
        return []

    @property
    def least_alone(self) -> float:
        """The least cost with an HWC for each layer: no shared one costs less. Infinite if a layer fits none."""
        return float(self._alone.sum())

    @cached_property
    def _alone(self) -> NDArray[np.float64]:
        """The least cost of each layer with an HWC of its own and any loops: a lower bound for every variant."""
        costs = np.zeros(len(self.layers))
        for n, one in enumerate(self.problems):
            words = self.objective.words
            p = one.problem(steps_allowed(one.layer, self.target, None), words=words)
            states = one.triples(all_orders(), words=words).states
            best = np.full((1, FOUND), np.inf)
            self.costed += improve(p, states, np.array([self.budget]), self.objective.number, 0, best)
            costs[n] = best[0, 0]
        return costs

    def orders_of(self, variant: Variant, triple: int) -> list[Order]:
        """The order of a triple without idle loops; then the same with the idle loops that have a marker."""
        places = variant.orders.places(triple)
        loops = variant.orders.loops[variant.orders.orders[triple]].tolist()
        wanted = {LOOPS.index(dim) for dim in ("k", "l") if any(layer.extents[dim] > 1 for layer in self.layers)}
        for n, dim in enumerate(TILED):
            if dim in variant.loop_set.tiled or dim in variant.loop_set.stepped:
                wanted.add(n)
            if dim not in variant.loop_set.stepped and dim not in variant.absent:
                wanted.add(n + len(TILED))
        marked = {loops[place] for place in places if place < len(loops)}
        return [_order(loops, places, wanted), _order(loops, places, wanted | marked)]


def _order(loops: list[int], places: tuple[int, int, int], wanted: set[int]) -> Order:
    items: list[Dim | Marker] = []
    waiting: list[ArrayName] = []
    for position, loop in enumerate(loops):
        waiting += [array for array, place in zip(ARRAYS, places, strict=True) if place == position]
        if loop in wanted:
            if waiting:
                items.append(Marker(tuple(array for array in ARRAYS if array in waiting)))
                waiting = []
            items.append(DIM_OF_LOOP[loop])
    return tuple(items)
