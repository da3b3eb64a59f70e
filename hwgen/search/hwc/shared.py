"""The best HWC for a set of layers: loop order, marker places and memory sizes.

An HWC is generated for one order (loops and marker places) and three memories; each layer has its own steps. The best
HWC has the least sum of the layers' costs; among equals the fewest loops (loops are hardware), then the least second
criterion (words), then the least need. The rest of the budget goes to W and I, so that their address generators can
prefetch.

*Why it is exact.* A candidate is a choice of the ten loops (`LoopSet`) and a triple of forms that no other triple
beats for all layers at once. Its bound is the sum of each layer's least cost within the whole budget: no split of
the budget costs less. Candidates are taken in ascending order of their bounds. For a target cost, a layer may cost
at most its own bound plus the amount by which the target exceeds the candidate's bound. All nests of a layer within
this limit are enumerated, and those are kept that no other one undercuts in cost and in all three memories. Then
every split that some kept nest uses is tried. A solution within the target is optimal; if there is none, the target
is raised.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hwgen.ir.document import InputError
from hwgen.ir.hardware import Hardware, Order
from hwgen.ir.lanes import Lanes
from hwgen.ir.layer import Dim, Layer
from hwgen.ir.schedule import ARRAYS, ArrayName, Bits
from hwgen.search.core.branch import Problem
from hwgen.search.core.optimal import Balance, Result, search
from hwgen.search.core.space import Target
from hwgen.search.hwc.memory_split import frontier, roomy, split
from hwgen.search.hwc.order_candidates import Candidate, LayerSet, Variant
from hwgen.search.objectives.of_hwc import hwc_objective

__all__ = ["Shared", "best_shared", "layer_set_of", "shared_on"]

_LARGEST = 1 << 24
"""Bytes of an HWC's memories, at most."""
TARGETS = (0.0, 0.02, 0.1, 0.5, 2.0, 10.0, np.inf)
"""Excess of the target over the least bound, tried one after the other."""


@dataclass(frozen=True)
class Shared:
    """The best HWC for a set of layers.

    Members
    -------
    hardware : order, memories, lanes and budget.
    results : each layer's best schedule on it.
    needed : bytes of I, W and O that the schedules need; the memories may be larger.
    covered, pruned : nests (order, markers, steps of a layer) in all choices of loops, and those never costed.
    seconds : time spent.
    balance : where cycles were weighed against traffic, what came of it for all layers together.
    parts : each layer's share in that.
    """

    hardware: Hardware
    results: tuple[Result, ...]
    needed: dict[ArrayName, int]
    covered: int
    pruned: int
    seconds: float
    balance: Balance | None = None
    parts: tuple[Balance, ...] = ()

    @property
    def total_bytes(self) -> int:
        """Traffic of all layers."""
        return sum(result.total_bytes for result in self.results)


def best_shared(
    layers: Sequence[Layer],
    budget: int = 1024,
    lanes: Lanes | None = None,
    *,
    order: Order | None = None,
    name: str = "shared",
) -> Shared:
    """The best HWC of ``budget`` bytes for all layers layer_set; with ``order`` the best memories for that order.

    Raises `InputError` if no HWC of this size runs all layers.
    """
    layer_set = layer_set_of(layers, budget, lanes or Lanes(x=16))
    found = shared_on(layer_set, order, name)
    if found is None:
        least = _least_budget(layer_set, order)
        more = f"the smallest that would do has {least}" if least else "nor does a larger one"
        raise InputError(f"no HWC of {budget} bytes runs all {len(layers)} layers; {more}")
    return found


def layer_set_of(layers: Sequence[Layer], budget: int, lanes: Lanes) -> LayerSet:
    """The layers on lanes of one shape, with what the search keeps of them."""
    target = Target.of(Hardware(name="any", lanes=lanes))
    return LayerSet(tuple(layers), target, float(budget), hwc_objective("traffic"), Bits())


def shared_on(layer_set: LayerSet, order: Order | None, name: str, limit: float = np.inf) -> Shared | None:
    """The best HWC for the layers; None if no HWC of this size runs all of them at a cost within the limit."""
    started = time.perf_counter()
    budget, lanes = int(layer_set.budget), layer_set.target.lanes
    objective = layer_set.objective
    costed = layer_set.costed
    variants = _variants(layer_set, order)
    best = _SplitSearch(layer_set).solve(variants, limit)
    if best.variant is None or best.goal > limit:
        return None
    orders = [order] if order else layer_set.orders_of(best.variant, best.triple)
    needed = dict(zip(ARRAYS, best.memories, strict=True))
    for its_order in orders:
        tight = Hardware(name=name, lanes=lanes, budget=budget, order=its_order, buffers=needed)
        try:
            results = tuple(
                search(one.layer, [budget], tight, objective.name, bits=layer_set.bits, problems=one)[0]
                for one in layer_set.problems
            )
        except InputError:  # an idle loop is needed after all, for its marker
            continue
        if sum(result.value(objective) for result in results) == best.goal:
            buffers = roomy(best.memories, budget, layer_set.target.units)
            hardware = Hardware(name=name, lanes=lanes, budget=budget, order=its_order, buffers=buffers)
            covered = sum(variant.covered for variant in variants)
            seconds = time.perf_counter() - started
            return Shared(hardware, results, needed, covered, covered - (layer_set.costed - costed), seconds)
    raise RuntimeError(f"search of a shared HWC: {best.goal} is not what {orders} give")


def _least_budget(layer_set: LayerSet, order: Order | None) -> int | None:
    """The least bytes with which an HWC runs all layers; None if there are none below `_LARGEST`."""

    def suffices(budget: int) -> bool:
        s = layer_set
        wider = LayerSet(s.layers, s.target, float(budget), s.objective, s.bits)
        return _SplitSearch(wider).solve(_variants(wider, order)).variant is not None

    low, high = int(layer_set.budget), max(int(layer_set.budget) + 1, sum(layer_set.target.least))
    while not suffices(high):
        if high >= _LARGEST:
            return None
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if suffices(middle) else (middle, high)
    return high


def _variants(layer_set: LayerSet, order: Order | None) -> list[Variant]:
    return [layer_set.given(order)] if order else layer_set.variants


# --- the search ---


@dataclass
class _Best:
    """The best so far."""

    goal: float = np.inf
    loops: int = 99
    second: float = np.inf
    needed: float = np.inf
    variant: Variant | None = None
    triple: int = 0
    memories: tuple[int, int, int] = (0, 0, 0)


@dataclass
class _SplitSearch:
    """Finds the best order layer_set with the best split of the budget."""

    layers: LayerSet

    def solve(self, variants: list[Variant], limit: float = np.inf) -> _Best:
        """The best by goal and number of loops; among equals the best by the second criterion.

        The first variant has all loops, so no other variant has a lower goal; a variant matters only if it has fewer
        loops. Removing loops never lowers the goal. So if a variant misses the goal, so does every variant that lacks
        the same loops and more. If the goal exceeds the limit, or is certain to, the search ends with that.
        """
        best = _Best(limit + 0.5)
        words = self.layers.objective.words
        self._improve(self.layers.nearest_candidates(variants[0], limit, words=words), best, exact=False)
        self._improve(self.layers.candidates(variants[0], min(best.goal, limit), words=words), best, exact=False)
        if best.variant is None or best.goal > limit:
            return best
        missed: list[set[tuple[str, Dim]]] = []
        for variant in sorted(variants[1:], key=lambda variant: (len(variant.reduced), variant.loops)):
            if any(less <= variant.reduced for less in missed):
                continue
            found = _Best(best.goal + 0.5)
            self._improve(self.layers.candidates(variant, best.goal, words=words), found, exact=False)
            if found.variant is None:
                missed.append(variant.reduced)
            elif found.loops < best.loops:
                best = found
        last = [
            variant
            for variant in variants
            if variant.loops == best.loops and not any(less <= variant.reduced for less in missed)
        ]
        if len(last) > 1:
            self.layers.candidates(variants[0], best.goal, words=True)  # what is beyond the goal here is so in all
        for variant in last:
            self._improve(self.layers.candidates(variant, best.goal, words=True), best, exact=True)
        return best

    def _improve(self, candidates: list[Candidate], best: _Best, *, exact: bool) -> None:
        """Improve ``best`` by these candidates."""
        for extra in TARGETS:
            if not candidates:
                return
            target = min(best.goal, candidates[0].bound * (1 + extra))
            for candidate in candidates:
                if candidate.bound > target:
                    break
                self._split(candidate, target, best, exact=exact)
                target = min(target, best.goal)
            if best.goal <= target:
                return

    def _split(self, candidate: Candidate, target: float, best: _Best, *, exact: bool) -> None:
        """The best split of the budget for one candidate, within the target."""
        loops = candidate.variant.loops
        if candidate.bound == best.goal and (loops > best.loops or (loops == best.loops and not exact)):
            return
        points = []
        for p, least in zip(candidate.problems, candidate.by_layer, strict=True):
            limit = target - (candidate.bound - least)
            points.append(self._frontier(p, candidate.triples.states[candidate.triple], limit, exact=exact))
        ends = np.cumsum([len(some) for some in points])
        known = np.full(6, np.inf)
        if exact:
            known[:3] = best.goal, best.second, best.needed
        else:
            known[0] = best.goal + (0.5 if loops < best.loops else 0.0)
        if split(np.concatenate(points), ends, self.layers.budget, known):
            best.goal, best.loops, best.second, best.needed = known[0], loops, known[1], known[2]
            best.variant, best.triple = candidate.variant, int(candidate.triples.index[candidate.triple])
            best.memories = (int(known[3]), int(known[4]), int(known[5]))
            if not exact:
                best.second = best.needed = np.inf

    def _frontier(self, p: Problem, states: NDArray[np.int64], limit: float, *, exact: bool) -> NDArray[np.float64]:
        room = 1024
        while True:
            found = np.empty((room, 9))
            number = frontier(p, states, self.layers.budget, self.layers.objective.number, int(exact), limit, found)
            if number >= 0:
                return found[:number]
            room *= 4
