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
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hwgen.ir.document import InputError
from hwgen.ir.hardware import Hardware, Order
from hwgen.ir.lanes import Lanes
from hwgen.ir.layer import Dim, Layer
from hwgen.ir.schedule import ARRAYS, ArrayName, Bits
from hwgen.search.core.branch import GOALS, Problem
from hwgen.search.core.optimal import Objective, Result, goal_of, search
from hwgen.search.core.orders import fixed_order
from hwgen.search.core.space import Target
from hwgen.search.hwc.memory_split import frontier, split
from hwgen.search.hwc.order_candidates import LayerSet, Lead, Variant

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
    lanes: Lanes | None = None,
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
    machine = Hardware(name=name, lanes=lanes or Lanes(x=16), budget=budget)
    together = LayerSet(tuple(layers), Target.of(machine), float(budget), GOALS[objective], bits or Bits())
    variants = [together.given(fixed_order(order, together.target.lane_dims))] if order else together.variants()
    best = _Division(together).solve(variants)
    if best.variant is None:
        raise InputError(f"no HWC of {budget} bytes runs all {len(layers)} layers")
    candidates = [order] if order else together.orders_of(best.variant, best.triple)
    needed = dict(zip(ARRAYS, best.memories, strict=True))
    for candidate in candidates:
        tight = Hardware(name=name, lanes=machine.lanes, budget=budget, order=candidate, buffers=needed)
        try:
            results = tuple(search(layer, [budget], tight, objective, bits=bits)[0] for layer in layers)
        except InputError:  # an idle loop that bears a marker is needed after all
            continue
        if sum(goal_of(result, objective) for result in results) == best.goal:
            slack = _with_slack(best.memories, budget, together.target)
            roomy = Hardware(name=name, lanes=machine.lanes, budget=budget, order=candidate, buffers=slack)
            covered = sum(variant.covered for variant in variants)
            seconds = time.perf_counter() - started
            return Shared(roomy, results, needed, covered, covered - together.costed, seconds)
    raise RuntimeError(f"search of a shared HWC: {best.goal} is not what {candidates} give")


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
class _Division:
    """Looks for the best order together with the best division of the budget."""

    layers: LayerSet

    def solve(self, variants: list[Variant]) -> _Best:
        """The best (goal, loops), then among what reaches it the best by the second criterion.

        The first variant has all loops, so no other one costs less: they matter only if they have fewer. Fewer loops
        never cost less, so what misses the goal with one dimension's loops reduced misses it with others reduced too.
        """
        best = _Best()
        words = self.layers.goal != 0
        self._settle(self.layers.nearest_leads(variants[0], words=words), best, exact=False)
        self._settle(self.layers.leads(variants[0], best.goal, words=words), best, exact=False)
        if best.variant is None:
            return best
        hopeless: list[set[tuple[str, Dim]]] = []
        for variant in sorted(variants[1:], key=lambda variant: (len(variant.reduced), variant.loops)):
            if any(less <= variant.reduced for less in hopeless):
                continue
            found = _Best(best.goal + 0.5)
            self._settle(self.layers.leads(variant, best.goal, words=words), found, exact=False)
            if found.variant is None:
                hopeless.append(variant.reduced)
            elif found.loops < best.loops:
                best = found
        for variant in variants:
            if variant.loops == best.loops and not any(less <= variant.reduced for less in hopeless):
                self._settle(self.layers.leads(variant, best.goal, words=True), best, exact=True)
        return best

    def _settle(self, leads: list[Lead], best: _Best, *, exact: bool) -> None:
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

    def _split(self, lead: Lead, target: float, best: _Best, *, exact: bool) -> None:
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
        if split(np.concatenate(points), ends, self.layers.budget, known):
            best.goal, best.loops, best.second, best.needed = known[0], loops, known[1], known[2]
            best.variant, best.triple = lead.variant, int(lead.triples.index[lead.triple])
            best.memories = (int(known[3]), int(known[4]), int(known[5]))
            if not exact:
                best.second = best.needed = np.inf

    def _frontier(self, p: Problem, states: NDArray[np.int64], limit: float, *, exact: bool) -> NDArray[np.float64]:
        room = 1024
        while True:
            found = np.empty((room, 9))
            number = frontier(p, states, self.layers.budget, self.layers.goal, int(exact), limit, found)
            if number >= 0:
                return found[:number]
            room *= 4
