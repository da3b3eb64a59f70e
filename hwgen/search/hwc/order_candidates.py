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
from hwgen.search.core.branch import FOUND, Problem, improve, lists_of, problem
from hwgen.search.core.dominance import StepLists, Triples, step_list, undominated
from hwgen.search.core.orders import DIM_OF_LOOP, LOOPS, TILED, FixedOrder, LoopSet, Orders, all_orders
from hwgen.search.core.space import Tables, Target, steps_allowed, tables
from hwgen.search.hwc.memory_split import least_of_each

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


@dataclass
class LayerSet:
    """Layers that share an order; ``costed`` counts the nests that were costed one by one."""

    layers: tuple[Layer, ...]
    target: Target
    budget: float
    goal: int
    bits: Bits
    costed: int = 0
    _known_triples: dict[bool, Triples] = field(default_factory=dict)
    _known_lists: dict[tuple[int, Dim, bytes, bool], StepLists] = field(default_factory=dict)

    @cached_property
    def tables(self) -> tuple[Tables, ...]:
        """The tables of each layer."""
        return tuple(tables(layer, self.bits, self.target) for layer in self.layers)

    def given(self, fixed: FixedOrder) -> Variant:
        """The one variant of a given order."""
        return self._variant(fixed.orders, fixed.loop_set, (), len(fixed.loops))

    def variants(self) -> list[Variant]:
        """All choices of loops: for each of m, c, y, x both loops, one of them, or none where no layer needs one.

        The first has all loops.
        """
        kernels = [dim for dim in ("k", "l") if any(layer.extents[dim] > 1 for layer in self.layers)]
        kinds = {dim: ("tiled", "stepped", "whole") if self._needs_loop(dim) else ("absent",) for dim in TILED}
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

    def _needs_loop(self, dim: Dim) -> bool:
        return any(layer.extents[dim] > self.target.lanes.along(dim) for layer in self.layers)

    def _variant(self, orders: Orders, loop_set: LoopSet, absent: tuple[Dim, ...], loops: int) -> Variant:
        allowed = tuple(steps_allowed(layer, self.target, loop_set) for layer in self.layers)
        return Variant(orders, loop_set, absent, loops, allowed)

    def _problem(self, variant: Variant, layer: int, *, words: bool) -> Problem:
        """One layer's problem. The lists of a dimension are reused by all variants in which it has the same loops."""
        t, allowed = self.tables[layer], variant.allowed[layer]
        found = []
        for dim in TILED:
            key = (layer, dim, allowed[dim].tobytes(), words)
            if key not in self._known_lists:
                self._known_lists[key] = step_list(t, dim, allowed[dim], words=words)
            found.append(self._known_lists[key])
        return problem(t, lists_of(found))

    def _triples(self, orders: Orders, *, words: bool) -> Triples:
        if orders is not all_orders():
            return undominated(orders, self.tables, words=words, hardware=self.target.hardware)
        if words not in self._known_triples:
            self._known_triples[words] = undominated(orders, self.tables, words=words, hardware=self.target.hardware)
        return self._known_triples[words]

    def candidates(self, variant: Variant, limit: float, *, words: bool) -> list[Candidate]:
        """Candidates whose lower bound does not exceed the limit, in ascending order of the bound."""
        triples = self._triples(variant.orders, words=words)
        problems = tuple(self._problem(variant, layer, words=words) for layer in range(len(self.layers)))
        alone = self._alone if variant.orders is all_orders() else np.zeros(len(self.layers))
        sums = np.zeros(len(triples.index))
        found = np.zeros((len(self.layers), len(triples.index)))
        for n, p in enumerate(problems):
            spent = np.where(np.isfinite(sums), sums, np.inf) + alone[n + 1 :].sum()
            limits = np.where(np.isfinite(spent), limit - np.where(np.isfinite(spent), spent, 0), -1.0)
            self.costed += least_of_each(p, triples.states, self.budget, self.goal, limits, found[n])
            sums += found[n]
        candidates = [
            Candidate(variant, problems, triples, triple, tuple(found[:, triple].tolist()))
            for triple in np.flatnonzero(sums < np.inf).tolist()
        ]
        return sorted(candidates, key=lambda candidate: candidate.bound)

    def nearest_candidates(self, variant: Variant, *, words: bool) -> list[Candidate]:
        """Candidates near the sum of the layers' own least costs: those within the first excess that has any."""
        for extra in NEAR:
            found = self.candidates(variant, float(self._alone.sum()) * (1 + extra), words=words)
            if found:
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
        for n, (layer, t) in enumerate(zip(self.layers, self.tables, strict=True)):
            allowed = steps_allowed(layer, self.target, None)
            triples = undominated(all_orders(), [t], words=self.goal != 0, hardware=self.target.hardware)
            lists = [step_list(t, dim, allowed[dim], words=self.goal != 0) for dim in TILED]
            best = np.full((1, FOUND), np.inf)
            self.costed += improve(
                problem(t, lists_of(lists)), triples.states, np.array([self.budget]), self.goal, 0, best
            )
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
