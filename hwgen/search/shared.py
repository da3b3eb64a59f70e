"""One HWC for a set of layers: the loop order, marker places and memory sizes that serve them best.

An HWC is generated for one order (loops and marker places) and three memories; each layer takes its own steps. The
best one makes the sum of the layers' costs least; then it has the fewest loops (they are hardware), then the least
second criterion (words), then needs the least memory. What is left of the budget goes to W and I, so that their
address generators can run ahead.

*Why it is exact.* For each choice of which of the ten loops there are (`LoopSet`) and each triple of forms that no
other beats for all layers at once, the sum of each layer's least cost within the whole budget bounds the sum under
any split of it from below. Taken in the order of these bounds, each triple's layers are enumerated up to the cost
that leaves the sum within a target; what a layer may cost is then its bound and what the target exceeds the sum of
bounds by. Of these candidates those are kept that no other undercuts in cost and in all three memories, and every
split that some of them use is tried. A solution within the target is the best there is; without one the target
grows.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from math import prod

import numpy as np
from numpy.typing import NDArray

from hwgen.ir.document import InputError
from hwgen.ir.hardware import Hardware, Order
from hwgen.ir.layer import Dim, Layer
from hwgen.ir.schedule import ARRAYS, ArrayName, Bits, Marker
from hwgen.search.branch import FOUND, GOALS, Problem, improve, lists_of, problem
from hwgen.search.dominance import StepLists, Triples, step_list, undominated
from hwgen.search.frontier import frontier, least_of_each, split
from hwgen.search.optimal import Objective, Result, search
from hwgen.search.orders import DIM_OF_LOOP, LOOPS, TILED, FixedOrder, LoopSet, Orders, all_orders, fixed_order
from hwgen.search.space import Tables, Target, steps_allowed, tables

__all__ = ["Shared", "best_shared"]

TARGETS = (0.0, 0.02, 0.1, 0.5, 2.0, 10.0, np.inf)
"""By how much the sum may exceed the least bound, tried one after the other."""


@dataclass(frozen=True)
class Shared:
    """The best HWC for a set of layers.

    Members
    -------
    hardware : order, memories, lanes and budget.
    results : each layer's best schedule on it.
    needed : bytes of I, W and O that the schedules really need; the memories have slack beyond.
    covered, pruned : nests (order, markers, steps of a layer) that all choices of loops hold, and those never costed.
    seconds : time spent.
    """

    hardware: Hardware
    results: tuple[Result, ...]
    needed: dict[ArrayName, int]
    covered: int
    pruned: int
    seconds: float

    @property
    def total_bytes(self) -> int:
        """Traffic of all layers."""
        return sum(result.total_bytes for result in self.results)


def best_shared(
    layers: Sequence[Layer],
    budget: int = 1024,
    lanes: dict[Dim, int] | None = None,
    *,
    order: Order | None = None,
    objective: Objective = "traffic",
    bits: Bits | None = None,
    name: str = "shared",
) -> Shared:
    """The best HWC of ``budget`` bytes for all layers together; with ``order`` the best memories for that order.

    Raises `InputError` if no HWC of this size runs all layers.
    """
    started = time.perf_counter()
    machine = Hardware(name=name, lanes=lanes or {"x": 16}, budget=budget)
    job = _Job(tuple(layers), Target.of(machine), float(budget), GOALS[objective], bits or Bits())
    variants = [job.given(fixed_order(order, job.target.lane_dims))] if order else job.variants()
    best = job.solve(variants)
    if best.variant is None:
        raise InputError(f"no HWC of {budget} bytes runs all {len(layers)} layers")
    candidates = [order] if order else job.orders_of(best.variant, best.triple)
    needed = dict(zip(ARRAYS, best.memories, strict=True))
    for candidate in candidates:
        tight = Hardware(name=name, lanes=machine.lanes, budget=budget, order=candidate, buffers=needed)
        try:
            results = tuple(search(layer, [budget], tight, objective, bits=bits)[0] for layer in layers)
        except InputError:  # an idle loop that bears a marker is needed after all
            continue
        if sum(_goal_of(result, objective) for result in results) == best.goal:
            slack = _with_slack(best.memories, budget, job.target)
            roomy = Hardware(name=name, lanes=machine.lanes, budget=budget, order=candidate, buffers=slack)
            covered = sum(variant.covered for variant in variants)
            seconds = time.perf_counter() - started
            return Shared(roomy, results, needed, covered, covered - job.costed, seconds)
    raise RuntimeError(f"search of a shared HWC: {best.goal} is not what {candidates} give")


def _goal_of(result: Result, objective: Objective) -> float:
    if objective == "traffic":
        return result.total_bytes
    return result.counts.total_words() if objective == "words" else result.cycles


def _with_slack(needed: tuple[int, int, int], budget: int, target: Target) -> dict[ArrayName, int]:
    """Memories of the needed sizes or more: W, then I is made to hold two boxes, the rest goes to both."""
    inputs, weights, outputs = needed
    rest = budget - sum(needed)
    for _ in range(2):
        more = min(rest, weights) // target.units[1] * target.units[1]
        weights, rest = weights + more, rest - more
        more = min(rest, inputs) // target.units[0] * target.units[0]
        inputs, rest = inputs + more, rest - more
    return {"I": inputs, "W": weights, "O": outputs}


# --- the search ---


@dataclass(frozen=True)
class _Variant:
    """One choice of loops and the steps that each layer may take; ``absent``: dimensions without any loop."""

    orders: Orders
    loop_set: LoopSet
    absent: tuple[Dim, ...]
    loops: int
    allowed: tuple[dict[Dim, NDArray[np.bool_]], ...]

    @property
    def reduced(self) -> set[tuple[str, Dim]]:
        """What it lacks of all loops: dimensions with one loop, by which one."""
        stepped, whole = self.loop_set.stepped, self.loop_set.whole
        return {("stepped", dim) for dim in stepped} | {("whole", dim) for dim in whole if dim not in self.absent}

    @property
    def covered(self) -> int:
        """Nests of all layers."""
        return sum(self.orders.placements * prod(int(a.sum()) for a in steps.values()) for steps in self.allowed)


@dataclass(frozen=True)
class _Lead:
    """A triple in a variant that may be the best: the least cost of each layer within the whole budget."""

    variant: _Variant
    problems: tuple[Problem, ...]
    triples: Triples
    triple: int
    by_layer: tuple[float, ...]

    @property
    def bound(self) -> float:
        return sum(self.by_layer)


@dataclass
class _Best:
    """The best so far."""

    goal: float = np.inf
    loops: int = 99
    second: float = np.inf
    needed: float = np.inf
    variant: _Variant | None = None
    triple: int = 0
    memories: tuple[int, int, int] = (0, 0, 0)


@dataclass
class _Job:
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

    def given(self, fixed: FixedOrder) -> _Variant:
        """The one variant of a given order."""
        return self._variant(fixed.orders, fixed.loop_set, (), len(fixed.loops))

    def variants(self) -> list[_Variant]:
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
        return any(layer.extents[dim] > self.target.lane(dim) for layer in self.layers)

    def _variant(self, orders: Orders, loop_set: LoopSet, absent: tuple[Dim, ...], loops: int) -> _Variant:
        allowed = tuple(steps_allowed(layer, self.target, loop_set) for layer in self.layers)
        return _Variant(orders, loop_set, absent, loops, allowed)

    def _problem(self, variant: _Variant, layer: int, *, words: bool) -> Problem:
        """One layer's problem; a dimension's lists are the same wherever it has the same loops."""
        t, allowed = self.tables[layer], variant.allowed[layer]
        found = []
        for dim in TILED:
            key = (layer, dim, allowed[dim].tobytes(), words)
            if key not in self._known_lists:
                self._known_lists[key] = step_list(t, dim, allowed[dim], words=words)
            found.append(self._known_lists[key])
        return problem(t, lists_of(found))

    def solve(self, variants: list[_Variant]) -> _Best:
        """The best (goal, loops), then among what reaches it the best by the second criterion.

        The first variant has all loops, so no other one costs less: they matter only if they have fewer. Fewer loops
        never cost less, so what misses the goal with one dimension's loops reduced misses it with others reduced too.
        """
        best = _Best()
        self._settle(self._leads(variants[0], np.inf, words=self.goal != 0), best, exact=False)
        if best.variant is None:
            return best
        hopeless: list[set[tuple[str, Dim]]] = []
        for variant in sorted(variants[1:], key=lambda variant: (len(variant.reduced), variant.loops)):
            if any(less <= variant.reduced for less in hopeless):
                continue
            found = _Best(best.goal + 0.5)
            self._settle(self._leads(variant, best.goal, words=self.goal != 0), found, exact=False)
            if found.variant is None:
                hopeless.append(variant.reduced)
            elif found.loops < best.loops:
                best = found
        for variant in variants:
            if variant.loops == best.loops and not any(less <= variant.reduced for less in hopeless):
                self._settle(self._leads(variant, best.goal, words=True), best, exact=True)
        return best

    def _triples(self, orders: Orders, *, words: bool) -> Triples:
        if words not in self._known_triples:
            self._known_triples[words] = undominated(orders, self.tables, words=words, hardware=self.target.hardware)
        return self._known_triples[words]

    def _leads(self, variant: _Variant, limit: float, *, words: bool) -> list[_Lead]:
        """Triples whose least costs do not sum up to more than the limit."""
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
        leads = [
            _Lead(variant, problems, triples, triple, tuple(found[:, triple].tolist()))
            for triple in np.flatnonzero(sums < np.inf).tolist()
        ]
        return sorted(leads, key=lambda lead: lead.bound)

    @cached_property
    def _alone(self) -> NDArray[np.float64]:
        """What each layer costs with an HWC of its own and whatever loops: no choice of loops costs less."""
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

    def _settle(self, leads: list[_Lead], best: _Best, *, exact: bool) -> None:
        """Improve the best by what these triples reach."""
        for extra in TARGETS:
            if not leads:
                return
            target = min(best.goal, leads[0].bound * (1 + extra))
            for lead in leads:
                if lead.bound > target:
                    break
                self._split(lead, target, best, exact=exact)
                target = min(target, best.goal)
            if best.goal <= target:
                return

    def _split(self, lead: _Lead, target: float, best: _Best, *, exact: bool) -> None:
        """The best split of the budget for one triple, within the target."""
        loops = lead.variant.loops
        if lead.bound == best.goal and (loops > best.loops or (loops == best.loops and not exact)):
            return
        points = []
        for p, least in zip(lead.problems, lead.by_layer, strict=True):
            limit = target - (lead.bound - least)
            points.append(self._frontier(p, lead.triples.states[lead.triple], limit, exact=exact))
        ends = np.cumsum([len(some) for some in points])
        known = np.full(6, np.inf)
        if exact:
            known[:3] = best.goal, best.second, best.needed
        else:
            known[0] = best.goal + (0.5 if loops < best.loops else 0.0)
        if split(np.concatenate(points), ends, self.budget, known):
            best.goal, best.loops, best.second, best.needed = known[0], loops, known[1], known[2]
            best.variant, best.triple = lead.variant, int(lead.triples.index[lead.triple])
            best.memories = (int(known[3]), int(known[4]), int(known[5]))
            if not exact:
                best.second = best.needed = np.inf

    def _frontier(self, p: Problem, states: NDArray[np.int64], limit: float, *, exact: bool) -> NDArray[np.float64]:
        room = 1024
        while True:
            found = np.empty((room, 9))
            number = frontier(p, states, self.budget, self.goal, int(exact), limit, found)
            if number >= 0:
                return found[:number]
            room *= 4

    def orders_of(self, variant: _Variant, triple: int) -> list[Order]:
        """The order of a triple without the loops that the variant lacks; then with those that bear a marker."""
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
