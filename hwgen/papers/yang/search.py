"""The search of Yang et al. 2016 (Section 3.5) on a fixed hierarchy: level by level, the best 128 nests as seeds.

It begins with the innermost level, served by the next one, and adds one level after the other outside. For every
seed and every order of the new level's three markers, loop sizes are sought for the new level alone. The best 128
nests are the seeds of the next level, and with each of them one whose loop sizes are perturbed and of which two
adjacent markers of different operands are exchanged. The paper does not say how it searches one level: here by random
loop sizes, then by changes of the best ones, one at a time.
"""

from itertools import permutations

import numpy as np
from numpy.typing import NDArray

from hwgen.ir.lanes import ONE_LANE
from hwgen.ir.layer import Layer
from hwgen.ir.memory.hierarchy import Hierarchy
from hwgen.ir.schedule import Bits, Schedule
from hwgen.model.compiled import borrowing, njit
from hwgen.search.hierarchy.anneal_kernel import WHOLE, below, drawn, random_state, steps_of
from hwgen.search.hierarchy.nest_cost import Costs, cost_of
from hwgen.search.hierarchy.nests import schedule_of
from hwgen.search.hierarchy.optimal import costs_of
from hwgen.search.hierarchy.tables import layer_tables
from hwgen.search.objectives.of_hierarchy import goal_of

__all__ = ["SEEDS", "level_by_level"]

SEEDS = 128
"""Nests that are kept from level to level."""
DRAWS = 4000
"""Loop sizes that are tried for a seed and an order; the first quarter of them at random."""

Ints = NDArray[np.int64]
Nest = tuple[Ints, NDArray[np.bool_], Ints]
"""Markers, which of them are held, and iterations of each row of loops: as in the annealing."""


@borrowing
def _draw(t, state, factors, steps, axis):  # type: ignore[no-untyped-def]
    """New loop sizes of the three outermost rows along one axis."""
    inside = steps[3, axis]
    for row in range(3):
        factors[row, axis] = 1
    if axis >= 5:
        if inside < t.extents[axis] and drawn(state) < 0.8:
            factors[below(state, 3), axis] = WHOLE
        return
    for row in range(2, -1, -1):
        if drawn(state) < 0.5:
            factors[row, axis] = int(np.exp(drawn(state) * np.log(-(-t.extents[axis] // inside) + 0.999)))
            inside = min(inside * factors[row, axis], t.extents[axis])


@njit(cache=True)
def _add_level(t, seed, draws, may_hold, markers, held, factors):  # type: ignore[no-untyped-def]
    """Seek loops of the three outermost rows, in place; returns the least cost."""
    state = random_state(seed)
    steps, used = np.empty_like(factors), np.empty((len(t.serves), 3))
    best, best_held, best_factors = np.inf, held.copy(), factors.copy()
    for turn in range(draws):
        if 4 * turn < draws or best == np.inf:
            for at in range(3):
                held[at] = may_hold[markers[at, 0]] and drawn(state) < 0.8
            steps_of(factors, t.extents, steps)
            for axis in range(7):
                _draw(t, state, factors, steps, axis)
        else:
            held[:], factors[:] = best_held, best_factors
            at = below(state, 3)
            if drawn(state) < 0.2:
                held[at] = may_hold[markers[at, 0]] and not held[at]
            steps_of(factors, t.extents, steps)
            _draw(t, state, factors, steps, below(state, 7))
        steps_of(factors, t.extents, steps)
        cost = cost_of(t, markers, held, steps, used)
        if cost < best:
            best = cost
            best_held[:], best_factors[:] = held, factors
    held[:], factors[:] = best_held, best_factors
    return best


def level_by_level(layer: Layer, hierarchy: Hierarchy, bits: Bits | None = None) -> Schedule:
    """The schedule of least energy that the search meets; equal input gives equal output."""
    bits = hierarchy.bits or bits or Bits()
    tables = layer_tables(layer, hierarchy.lanes or ONE_LANE, bits)
    costs = costs_of(tables, hierarchy, goal_of(hierarchy, "energy", fills=False))
    rng = np.random.default_rng(0)
    seeds: list[Nest] = [(np.empty((0, 2), np.int64), np.empty(0, np.bool_), costs.least[None].copy())]
    for level in range(len(costs.serves) - 1, 0, -1):
        found: list[tuple[float, Nest]] = []
        of_level = _from(costs, level - 1)
        for inner in seeds + [_perturbed(one, costs, rng) for one in seeds]:
            for order in permutations(range(3)):
                nest = _outside(inner, order, level)
                own = nest[0] - np.array([0, level - 1])
                cost = _add_level(of_level, len(found), DRAWS, costs.caps[level] > 0, own, nest[1], nest[2])
                found.append((float(cost), nest))
        found.sort(key=lambda one: one[0])
        seeds = [nest for cost, nest in found[:SEEDS] if cost < np.inf]
    markers, held, factors = seeds[0]
    steps = np.empty_like(factors)
    steps_of(factors, costs.extents, steps)
    return schedule_of(tables, costs, hierarchy, bits, markers, held, steps)


def _from(costs: Costs, level: int) -> Costs:
    """The hierarchy from a level inward, which serves what nothing else does."""
    return costs._replace(
        serves=costs.serves[level:].copy(),
        fills=costs.fills[level:].copy(),
        caps=costs.caps[level:].copy(),
        shared=costs.shared[level:].copy(),
    )


def _outside(inner: Nest, order: tuple[int, ...], level: int) -> Nest:
    """A nest with three more markers outside, nothing held there."""
    markers = np.concatenate([np.array([(operand, level) for operand in order], np.int64), inner[0]])
    factors = np.concatenate([np.ones((3, 7), np.int64), inner[2]])
    return markers, np.concatenate([np.zeros(3, np.bool_), inner[1]]), factors


def _perturbed(nest: Nest, costs: Costs, rng: np.random.Generator) -> Nest:
    """A nest of smaller loops in places, and with two adjacent markers exchanged; it may not fit."""
    markers, held, factors = nest[0].copy(), nest[1].copy(), nest[2].copy()
    if len(markers) == 0:
        return markers, held, factors
    for _ in range(2):
        row, axis = int(rng.integers(len(markers))), int(rng.integers(5))
        if factors[row, axis] > 1:
            factors[row, axis] = rng.integers(1, min(int(factors[row, axis]), int(costs.extents[axis])) + 1)
    at = int(rng.integers(max(1, len(markers) - 1)))
    if at + 1 < len(markers) and markers[at, 0] != markers[at + 1, 0]:
        markers[[at, at + 1]] = markers[[at + 1, at]]
        held[[at, at + 1]] = held[[at + 1, at]]
    return markers, held, factors
