"""The least energy, or least bytes of a level, of one layer on a hierarchy of any depth: found, and bounded.

*The space*: loops over images, output and input channels, rows and columns, as many over each as one likes and in any
order, with every integer step that the next step inward divides (or that is the whole extent); kernel rows and
columns whole or cut to the lanes; a marker of every operand for every level, or none.

*The search* is simulated annealing over sequences of markers with the loops between them
(`hwgen.search.hierarchy.anneal_kernel`), several times from different seeds, the best ones on from where they ended.
Equal input gives equal output. Every schedule is counted by `hwgen.model.nest.hierarchy_counts`; a difference is an
error.

*The bound* (`hwgen.search.hierarchy.bound`) holds for every nest whose kernel loops are whole or cut to the lanes,
steps that do not divide each other included. The gap is the found value over it, less 1. Where it is 0, the schedule
is proven to be best.
"""

import math
import time
from dataclasses import dataclass

import numpy as np

from hwgen.ir.lanes import ONE_LANE
from hwgen.ir.layer import Layer
from hwgen.ir.memory.hierarchy import Hierarchy
from hwgen.ir.schedule import ARRAYS, Bits, Schedule
from hwgen.model.energy import Energy, energy_of
from hwgen.model.nest.hierarchy_counts import HierarchyCounts, counts_of, require_fit
from hwgen.search.hierarchy.anneal_kernel import WHOLE, anneal, steps_of
from hwgen.search.hierarchy.bound import lower_bound
from hwgen.search.hierarchy.nest_cost import Costs
from hwgen.search.hierarchy.nests import schedule_of
from hwgen.search.hierarchy.tables import LayerTables, layer_tables
from hwgen.search.objectives.of_hierarchy import Goal, goal_of

__all__ = ["SAME", "HierarchyResult", "objective_value", "search_hierarchy"]

SAME = 1e-9
"""Parts by which two sums of the same terms may differ."""
RESTARTS, KEPT = 32, 4
"""Runs of annealing from nothing, and how many of their best states are annealed further."""
HOT, WARM, COLD = (0.3, 0.05), 0.02, 2e-4
"""Temperatures, in parts of the cost: from nothing (in turn), from a known state, in the end."""
STEPS = 1200
"""Steps of a run of annealing, for each marker and each doubling of the layer's multiply-accumulates."""
WORK = 150_000
"""Steps of ascent for the bound, for each level below the outermost one and each of these."""


@dataclass(frozen=True)
class HierarchyResult:
    """The best schedule found for one layer.

    Members
    -------
    schedule : the schedule.
    counts, energy : what it costs, as `hwgen.model.nest.hierarchy_counts` predicts it.
    objective : ``energy``, or the level whose bytes are least.
    value : pJ or bytes.
    bound : what no nest goes below.
    seconds : time spent.
    """

    schedule: Schedule
    counts: HierarchyCounts
    energy: Energy
    objective: str
    value: float
    bound: float
    seconds: float

    @property
    def gap(self) -> float:
        """The amount by which the value may exceed the least one, in parts of the bound; 0 where it is proven."""
        if self.value <= self.bound * (1 + SAME):
            return 0.0
        return self.value / self.bound - 1 if self.bound else math.inf


def search_hierarchy(
    layer: Layer,
    hierarchy: Hierarchy,
    objective: str = "energy",
    *,
    fills: bool = False,
    bits: Bits | None = None,
    effort: float = 1.0,
    line: int = 0,
) -> HierarchyResult:
    """The best schedule of a layer on a hierarchy.

    Parameters
    ----------
    layer, hierarchy
        What runs where. Lanes and widths are the hierarchy's, else one lane and ``bits``.
    objective
        ``energy``, or the name of the level that is to serve the fewest bytes.
    fills
        Whether energy counts what is written into a level on its way inward.
    bits
        Widths where the hierarchy has none; 8-bit operands and 32-bit sums if left out.
    effort
        Steps of the search, in parts of the usual number.
    line
        Bytes in whose multiples rows of I and O take room, as in a cache; 0 for any number of bytes. The needs that
        the result tells are those without lines.

    Raises `InputError` for an unknown objective.
    """
    started = time.perf_counter()
    bits = hierarchy.bits or bits or Bits()
    goal = goal_of(hierarchy, objective, fills=fills)
    tables = layer_tables(layer, hierarchy.lanes or ONE_LANE, bits, line)
    costs = costs_of(tables, hierarchy, goal)
    search = _Search(tables, costs, effort)
    # What needs no more room than lines do: the bound of the same memories without lines.
    free = layer_tables(layer, tables.lanes, bits) if line else tables
    without_lines = costs_of(free, hierarchy, goal) if line else costs
    bound = lower_bound(free, without_lines)
    best = search.run(bound)
    if best.cost > bound * (1 + SAME):
        work = int(WORK * effort * (len(hierarchy.levels) - 1) ** 2)
        bound = max(bound, lower_bound(free, without_lines, best.cost, work))
    markers, held, factors = best.state
    steps = np.empty_like(factors)
    steps_of(factors, costs.extents, steps)
    schedule = schedule_of(tables, costs, hierarchy, bits, markers, held, steps)
    counts = counts_of(schedule, hierarchy)
    require_fit(counts, hierarchy, f"{layer.name}: the search's schedule")
    value = objective_value(schedule, hierarchy, objective, fills=fills)
    macs = goal.mac * layer.macs
    if not math.isclose(value, best.cost + macs, rel_tol=SAME, abs_tol=SAME):
        raise RuntimeError(
            f"{layer.name}: search and model differ: {best.cost + macs} against {value} for "
            f"{schedule.as_data()['nest']}"
        )
    energy = energy_of(counts, hierarchy, layer.macs, fills=fills)
    least = min(bound + macs, value)
    return HierarchyResult(schedule, counts, energy, goal.name, value, least, time.perf_counter() - started)


def objective_value(schedule: Schedule, hierarchy: Hierarchy, objective: str, *, fills: bool = False) -> float:
    """pJ of a schedule, or the bytes that a level serves."""
    counts = counts_of(schedule, hierarchy)
    if objective == "energy":
        return energy_of(counts, hierarchy, schedule.layer.macs, fills=fills).total
    return float(sum(counts.served.operand_bytes(operand, objective) for operand in ARRAYS))


def costs_of(tables: LayerTables, hierarchy: Hierarchy, goal: Goal) -> Costs:
    """What the compiled parts know of a layer on a hierarchy."""
    caps = np.zeros((len(hierarchy.levels), 3))
    for number, level in enumerate(hierarchy.levels):
        caps[number] = [np.inf if (size := level.size_for(array)) is None else size for array in ARRAYS]
    shared = np.array([level.shared for level in hierarchy.levels])
    return Costs.of(tables, goal.serves, goal.fills, caps, shared)


State = tuple[np.ndarray, np.ndarray, np.ndarray]


@dataclass(frozen=True)
class _Annealed:
    """A state (markers, held, iterations of each row of loops) and its cost."""

    cost: float
    state: State


class _Search:
    """Annealing of one layer on one hierarchy."""

    def __init__(self, tables: LayerTables, costs: Costs, effort: float) -> None:
        self._costs = costs
        levels = len(costs.serves)
        self._may_hold = costs.caps > 0
        doublings = float(np.log2(tables.extents.astype(np.float64) + 1).sum())
        self._steps = max(1000, int(STEPS * effort * 3 * (levels - 1) * doublings))
        self._markers = np.array(
            [(operand, level) for level in range(1, levels) for operand in range(3)], np.int64
        ).reshape(-1, 2)

    def run(self, bound: float) -> _Annealed:
        """The best state; ends early where the bound is reached."""
        found: list[_Annealed] = []
        for seed in range(RESTARTS):
            found.append(self._annealed(seed, HOT[seed % len(HOT)], self._nothing_held(seed)))
            if found[-1].cost <= bound * (1 + SAME):
                return found[-1]
        found.sort(key=lambda one: one.cost)
        for seed, one in enumerate(found[:KEPT]):
            found.append(self._annealed(RESTARTS + seed, WARM, one.state))
        return min(found, key=lambda one: one.cost)

    def _nothing_held(self, seed: int) -> State:
        """A state that fits: single vectors, nothing held; markers in random order, the kernel cut in random rows."""
        rng, number = np.random.default_rng(seed), len(self._markers)
        factors = np.ones((number + 1, 7), np.int64)
        factors[-1] = self._costs.least
        if seed // len(HOT) % 2:
            # Fewer lanes in use, for tiles that are no multiples of them.
            factors[-1] = rng.integers((factors[-1] + 1) // 2, factors[-1] + 1)
        for axis in (5, 6):
            if self._costs.extents[axis] > self._costs.least[axis]:
                factors[rng.integers(number), axis] = WHOLE
        operands = rng.permutation(self._markers[:, 0])
        level = [0, 0, 0]
        markers = np.zeros_like(self._markers)
        for at, operand in enumerate(operands.tolist()):
            level[operand] += 1
            markers[at] = operand, level[operand]
        return markers, np.zeros(number, np.bool_), factors

    def _annealed(self, seed: int, hot: float, state: State) -> _Annealed:
        markers, held, factors = (part.copy() for part in state)
        cost = anneal(self._costs, seed, self._steps, hot, COLD, markers, held, factors, self._may_hold)
        return _Annealed(float(cost), (markers, held, factors))
