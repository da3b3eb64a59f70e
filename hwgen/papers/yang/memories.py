"""Memories and blocking chosen together for one layer, as in Yang et al. 2016 (Sections 3.2, 3.4 and 3.5).

Every operand has memories of its own. Each holds what one iteration of the loops at its marker touches and costs what
a memory of that size costs; all of them together have at most a given number of bytes. So the nest alone says which
memories there are. The paper enumerates strings, or extends the best 128 level by level; here the same states as in
`hwgen.search.hierarchy` are annealed, with every integer tile size. What is found has no proof.

A memory is smaller than the one around it. Partial sums are as wide as outputs, as in the paper.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hwgen.ir.lanes import Lanes
from hwgen.ir.layer import Layer
from hwgen.ir.memory.hierarchy import Hierarchy
from hwgen.ir.memory.yang_2016 import DRAM_BYTES, MAC_PICOJOULE, energy_per_byte
from hwgen.ir.schedule import ARRAYS, ArrayName, Bits, Schedule
from hwgen.model.compiled import borrowing, njit
from hwgen.search.hierarchy.anneal_kernel import change, copy_state, drawn, random_state, steps_of
from hwgen.search.hierarchy.nest_cost import held_of, traffic_of
from hwgen.search.hierarchy.nests import schedule_of
from hwgen.search.hierarchy.optimal import SAME, costs_of, objective_value
from hwgen.search.hierarchy.tables import layer_tables
from hwgen.search.objectives.of_hierarchy import goal_of

__all__ = ["BITS", "Fitted", "MemorySpace", "fitted_memories"]

BITS = Bits(I=16, W=16, O=16, acc=16)
RESTARTS = 8
"""Runs of annealing from nothing, for the first budget; a larger one begins with the best of the one before."""
HOT, WARM, COLD = 0.3, 0.03, 1e-4
STEPS = 500
"""Steps of a run of annealing, for each marker and each doubling of the layer's multiply-accumulates."""

Ints = NDArray[np.int64]
State = tuple[Ints, NDArray[np.bool_], Ints]


@dataclass(frozen=True)
class MemorySpace:
    """What may be built: memories of each operand at most, the datapath's lanes, the bits of an access."""

    memories: int
    lanes: Lanes
    width: int = 64


@dataclass(frozen=True)
class Fitted:
    """A schedule and the memories that it asks for.

    Members
    -------
    budget : bytes that were allowed.
    hierarchy : its levels: the first one of each operand's outermost memory, then the next ones.
    energy : pJ, of the memories, the DRAM and the multiply-accumulates.
    """

    budget: int
    hierarchy: Hierarchy
    schedule: Schedule
    energy: float

    @property
    def bytes(self) -> int:
        """Bytes of all memories but the DRAM."""
        return sum(level.total or 0 for level in self.hierarchy.inner)


@borrowing
def _price(curve, size):  # type: ignore[no-untyped-def]
    """pJ of a byte by the bytes of its memory: between two points of the curve in both logarithms."""
    at, last = 0, curve.shape[1] - 1
    place = np.log(size)
    if place <= curve[0, 0]:
        return np.exp(curve[1, 0])
    while at < last - 1 and place > curve[0, at + 1]:
        at += 1
    slope = (curve[1, at + 1] - curve[1, at]) / (curve[0, at + 1] - curve[0, at])
    return np.exp(curve[1, at] + slope * (place - curve[0, at]))


@borrowing
def _cost(t, curve, outermost, budget, markers, held, steps):  # type: ignore[no-untyped-def]
    """pJ of all memories for a nest; infinite above the budget, and where a memory is not below the one around it."""
    number, total, used = len(markers), 0.0, 0.0
    for operand in range(3):
        price, around = outermost, np.inf
        for at in range(number + 1):
            final = at == number
            if not final and (markers[at, 0] != operand or not held[at]):
                continue
            moved = traffic_of(t, operand, steps, at)
            if operand == 2:
                moved = t.elements[2] * (2 * moved - 1)
            total += moved * t.sizes[operand] * price
            if not final:
                room = held_of(t, operand, steps, at) * t.sizes[operand]
                used += room
                if room >= around or used > budget:
                    return np.inf
                price, around = _price(curve, room), room
    return total


@njit(cache=True)
def _anneal(t, curve, outermost, budget, seed, iterations, hot, cold, markers, held, factors):  # type: ignore[no-untyped-def]
    """Improve a state in place; returns the least cost. The state must fit."""
    state = random_state(seed)
    steps = np.empty((len(markers) + 1, 7), np.int64)
    may_hold = np.ones((len(t.serves), 3), np.bool_)
    steps_of(factors, t.extents, steps)
    cost = best = _cost(t, curve, outermost, budget, markers, held, steps)
    best_markers, best_held, best_factors = markers.copy(), held.copy(), factors.copy()
    old_markers, old_held, old_factors = markers.copy(), held.copy(), factors.copy()
    cooling, heat = (cold / hot) ** (1.0 / iterations), hot
    for _ in range(iterations):
        heat *= cooling
        change(t, state, markers, held, factors, may_hold)
        factors[-1] = t.least
        steps_of(factors, t.extents, steps)
        found = _cost(t, curve, outermost, budget, markers, held, steps)
        if found <= cost or (found < np.inf and drawn(state) < np.exp((cost - found) / (cost * heat))):
            cost = found
            copy_state(markers, held, factors, old_markers, old_held, old_factors)
            if cost < best:
                best = cost
                copy_state(markers, held, factors, best_markers, best_held, best_factors)
        else:
            copy_state(old_markers, old_held, old_factors, markers, held, factors)
    copy_state(best_markers, best_held, best_factors, markers, held, factors)
    return best


def fitted_memories(
    layer: Layer, space: MemorySpace, budgets: Sequence[int], *, effort: float = 1.0
) -> list[list[Fitted]]:
    """Schedules for each budget of bytes, ascending: those of the different runs, that of least energy first.

    Equal input gives equal output. No budget above 16 MB, where a memory is a DRAM.
    """
    if max(budgets) > DRAM_BYTES or list(budgets) != sorted(budgets):
        raise ValueError(f"expected ascending budgets of at most {DRAM_BYTES} bytes, got {list(budgets)}")
    search = _Search(layer, space, effort)
    found: list[list[Fitted]] = []
    best: tuple[float, State] | None = None
    for budget in budgets:
        runs = search.run(budget, best)
        best = runs[0]
        found.append([search.fitted(budget, *one) for one in runs])
    return found


class _Search:
    """Annealing of one layer."""

    def __init__(self, layer: Layer, space: MemorySpace, effort: float) -> None:
        self._space = space
        self._tables = layer_tables(layer, space.lanes, BITS)
        widest = [dict.fromkeys(ARRAYS, DRAM_BYTES - level) for level in range(space.memories)]
        hierarchy = self._hierarchy(widest)
        self._costs = costs_of(self._tables, hierarchy, goal_of(hierarchy, "energy", fills=False))
        points = [8, *(1024 << doublings for doublings in range(11)), DRAM_BYTES]
        self._curve = np.log(np.array([points, [energy_per_byte(size, space.width) for size in points]]))
        doublings = float(np.log2(self._tables.extents.astype(np.float64) + 1).sum())
        self._steps = max(1000, int(STEPS * effort * 3 * space.memories * doublings))

    def run(self, budget: int, before: tuple[float, State] | None) -> list[tuple[float, State]]:
        """Costs and states, the best first: annealed from nothing, or from the best of a smaller budget too."""
        restarts = RESTARTS if before is None else RESTARTS // 2
        found = [self._annealed(budget, seed, HOT, self._nothing_held(seed)) for seed in range(restarts)]
        found += [] if before is None else [before]
        found.sort(key=lambda one: one[0])
        found += [self._annealed(budget, RESTARTS + seed, WARM, state) for seed, (_, state) in enumerate(found[:2])]
        return sorted(found, key=lambda one: one[0])

    def _nothing_held(self, seed: int) -> State:
        rng, number = np.random.default_rng(seed), 3 * self._space.memories
        factors = np.ones((number + 1, 7), np.int64)
        factors[-1] = self._tables.least
        factors[rng.integers(number), 5:] = self._tables.extents[5:]
        operands = rng.permutation(np.repeat(np.arange(3), self._space.memories))
        levels = [int((operands[:at] == operand).sum()) + 1 for at, operand in enumerate(operands)]
        return np.stack([operands, np.array(levels)], axis=1), np.zeros(number, np.bool_), factors

    def _annealed(self, budget: int, seed: int, hot: float, state: State) -> tuple[float, State]:
        markers, held, factors = state[0].copy(), state[1].copy(), state[2].copy()
        outermost = energy_per_byte(None, self._space.width)
        cost = _anneal(
            self._costs, self._curve, outermost, float(budget), seed, self._steps, hot, COLD, markers, held, factors
        )
        return float(cost), (markers, held, factors)

    def fitted(self, budget: int, cost: float, state: State) -> Fitted:
        """The schedule and the memories of a state, counted by the model of a hierarchy."""
        markers, held, factors = state[0].copy(), state[1].copy(), state[2].copy()
        steps = np.empty_like(factors)
        steps_of(factors, self._costs.extents, steps)
        sizes: list[dict[ArrayName, int]] = [{} for _ in range(self._space.memories)]
        number = [0, 0, 0]
        for at, operand in enumerate(markers[:, 0].tolist()):
            if held[at]:
                room = held_of(self._costs, operand, steps, at) * self._tables.sizes[operand]
                sizes[number[operand]][ARRAYS[operand]] = int(room)
                number[operand] += 1
                markers[at, 1] = number[operand]
        hierarchy = self._hierarchy([one for one in sizes if one])
        schedule = schedule_of(self._tables, self._costs, hierarchy, BITS, markers, held, steps)
        energy = objective_value(schedule, hierarchy, "energy")
        expected = cost + MAC_PICOJOULE * schedule.layer.macs
        if abs(energy / expected - 1) > SAME:
            raise RuntimeError(f"{schedule.layer.name}: search and model differ: {expected} against {energy}")
        return Fitted(budget, hierarchy, schedule, energy)

    def _hierarchy(self, sizes: Sequence[dict[ArrayName, int]]) -> Hierarchy:
        levels = [{"name": f"sram{number + 1}", "bytes": own} for number, own in enumerate(sizes)]
        return Hierarchy.from_data({
            "format": 1, "kind": "hierarchy", "name": "fitted", "levels": [{"name": "dram"}, *levels],
            "lanes": self._space.lanes.as_data(), "bits": BITS.model_dump(), "width": self._space.width,
        })  # fmt: skip
