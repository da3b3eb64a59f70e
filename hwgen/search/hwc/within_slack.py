"""All schedules of one order whose traffic does not exceed a limit, with what is known of their cycles at once.

What is known at once is a lower bound (the busiest of datapath and ports) and the quick estimate of
`hwgen.search.hwc.estimate`, which is made for orders that hold O's tile during the whole reduction.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hwgen.ir.layer import Dim, Layer
from hwgen.ir.schedule import ArrayName, Bits, Schedule
from hwgen.model.compiled import njit
from hwgen.search.core.branch import Problem, advance, lists_of, memories, missing_bytes, prepare, problem
from hwgen.search.core.dominance import StepLists
from hwgen.search.core.nests import fixed_schedule, free_schedule
from hwgen.search.core.orders import INPUT_STATES, OUTPUT_STATES, TILED, WEIGHT_STATES, FixedOrder, Orders
from hwgen.search.core.problems import with_memories
from hwgen.search.core.space import Tables, Target, steps_allowed
from hwgen.search.hwc.estimate import estimate, shapes_of, waiting_of
from hwgen.search.hwc.memory_split import least_of_each, with_room
from hwgen.search.objectives.of_hwc import criteria

__all__ = ["COLUMNS", "Found", "Nests", "Steps", "found_within", "given_nests", "searched_nests"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

EVERY_STEP = 256
"""Steps up to this are all tried; beyond, the multiples of the lanes that cut the extent into fewer tiles each."""
COARSE_STEPS = 20
"""Steps of each dimension where the traffic has no limit."""
MOST_ESTIMATED = 4096
"""Layers of greater extents are not estimated: the tables would take too long."""
MOST_FOUND = 1 << 17
COMBINATIONS: dict[Dim, int] = {"m": 45, "c": 27, "y": 117, "x": 117}
"""Combinations of the states of I, W and O along a dimension."""


class COLUMNS(NamedTuple):
    """Columns of what is found: what each number is."""

    bound: int = 0
    traffic: int = 1
    inputs: int = 2
    weights: int = 3
    outputs: int = 4
    row_bytes: int = 5
    rows: int = 6
    m: int = 7
    c: int = 8
    y: int = 9
    x: int = 10
    iterations: int = 11
    estimate: int = 12


AT = COLUMNS()


@dataclass(frozen=True)
class Nests:
    """One order of a layer on lanes of one shape, with any steps.

    Members
    -------
    orders : the order with its marker places, as the only one.
    allowed : steps of each tile loop.
    build : from steps to the schedule.
    """

    layer: Layer
    target: Target
    orders: Orders
    allowed: Mapping[Dim, NDArray[np.bool_]]
    build: Callable[[Mapping[Dim, int]], Schedule]

    @property
    def states(self) -> Ints:
        """The states of the forms of I, W and O."""
        shapes = (INPUT_STATES, WEIGHT_STATES, OUTPUT_STATES)
        parts = [np.unravel_index(n, shape) for n, shape in zip(self.orders.numbers, shapes, strict=True)]
        return np.concatenate([np.array(part).reshape(-1) for part in parts]).astype(np.int64)

    def schedule(self, row: Floats) -> Schedule:
        """The schedule of a row of what was found."""
        return self.build({dim: int(row[AT.m + n]) for n, dim in enumerate(TILED)})


def given_nests(layer: Layer, target: Target, fixed: FixedOrder) -> Nests:
    """The schedules with exactly the loops and markers of a given order."""

    def build(steps: Mapping[Dim, int]) -> Schedule:
        return fixed_schedule(layer, Bits(), target, fixed, steps)

    return Nests(layer, target, fixed.orders, steps_allowed(layer, target, fixed.loop_set), build)


def searched_nests(layer: Layer, target: Target, orders: Orders, triple: int) -> Nests:
    """The schedules of one of the ten-loop orders, as short as each gets."""
    loops, places = orders.loops[orders.orders[triple]].tolist(), orders.places(triple)

    def build(steps: Mapping[Dim, int]) -> Schedule:
        return free_schedule(layer, Bits(), target, loops, places, steps)

    return Nests(layer, target, orders.alone(triple), steps_allowed(layer, target, None), build)


@dataclass(frozen=True, eq=False)
class Found:
    """Schedules of one order: ``rows`` by `COLUMNS`; ``whole``: every one within the limit is there."""

    nests: Nests
    rows: Floats
    whole: bool


@dataclass(frozen=True)
class Steps:
    """The steps that are tried; ``whole``: none that is allowed was left out."""

    problem: Problem
    tables: Tables
    whole: bool

    @classmethod
    def of(cls, nests: Nests, t: Tables, *, coarse: bool = False) -> "Steps":
        """Those of an order, and of any other that allows the same.

        ``coarse``: few steps of each dimension, multiples of the lanes, for limits that exclude little.
        """
        lists, whole = [], not coarse
        for dim in TILED:
            steps = np.flatnonzero(nests.allowed[dim])
            if len(steps) > EVERY_STEP or (coarse and len(steps) > COARSE_STEPS):
                most = COARSE_STEPS if coarse else EVERY_STEP
                steps, all_there = _fewer(steps, nests.layer.extents[dim], nests.target.lanes.along(dim), most)
                whole = whole and all_there
            number = COMBINATIONS[dim]
            lists.append(StepLists(np.arange(number + 1) * len(steps), np.tile(steps, number)))
        return cls(problem(t, lists_of(lists)), t, whole)

    def with_memories(self, memories: Mapping[ArrayName, int] | None) -> "Steps":
        """The same steps for given sizes of the three memories, in bytes."""
        return replace(self, problem=with_memories(self.problem, memories))

    def triples_within(self, states: Ints, budget: int, limit: float) -> Ints:
        """Which triples of forms have a schedule within the limit."""
        found = np.empty(len(states))
        least_of_each(self.problem, states, float(budget), 0, np.full(len(states), limit), found)
        return np.flatnonzero(np.isfinite(found))


def found_within(nests: Nests, steps: Steps, budget: int, limit: float, memory_sizes: Floats | None) -> Found:
    """Schedules whose traffic is at most ``limit`` and whose memories fit.

    Parameters
    ----------
    budget
        Bytes of the three memories together.
    limit
        Bytes.
    memory_sizes
        Bytes of I, W and O; without them the memories that a schedule needs get the rest of the budget.
    """
    rows = np.empty((1024, len(AT)))
    while True:
        number = _within(steps.problem, nests.states, float(budget), limit, rows)
        if number >= 0 or len(rows) >= MOST_FOUND:
            break
        rows = np.empty((8 * len(rows), len(AT)))
    whole = steps.whole and number >= 0
    rows = rows[: number if number >= 0 else len(rows)]
    if len(rows) and max(nests.layer.extents.values()) <= MOST_ESTIMATED:
        kinds = shapes_of(nests.layer, Bits(), nests.target, nests.orders)
        waiting = waiting_of(nests.layer, nests.target, nests.orders)
        given = np.zeros(3) if memory_sizes is None else memory_sizes
        _estimate(kinds, waiting, given, float(budget), steps.tables.units, rows)
    return Found(nests, rows, whole)


def _fewer(steps: Ints, extent: int, lanes: int, most: int) -> tuple[Ints, bool]:
    """Fewer steps, at most about ``most``: multiples of the lanes, the extent, and for many tiles few sizes of
    them."""
    near = np.geomspace(lanes, extent, most)
    wanted = {min(-(-int(size) // lanes) * lanes, extent) for size in near} | {1, extent}
    if most >= EVERY_STEP:
        wanted |= set(range(1, EVERY_STEP // 2 + 1))
    chosen = np.array([step for step in steps.tolist() if step in wanted], dtype=np.int64)
    return chosen, len(chosen) == len(steps)


@njit(cache=True)
def _within(p, s, budget, limit, found):  # type: ignore[no-untyped-def]
    """Fill ``found``; returns the number of rows, -1 if they do not fit."""
    sizes, best = np.array([budget]), np.full((1, 10), np.inf)
    best[0, 0] = limit + 0.5
    number = 0
    traffic = no = np.int64(0)  # not literals, for which numba would compile everything once more
    cycles = np.int64(2)
    counts, ms, m, cs, c, ys, y, xs, x = prepare(p, s, traffic, no, sizes, best)
    at = np.full(5, -1, np.int64)
    while counts[0] > 0 and advance(p, s, traffic, no, sizes, best, counts, m, c, y, x, at):
        a, e, b, d = at[0], at[1], at[2], at[3]
        if number == len(found):
            return -1
        row = found[number]
        row[0], row[1], _ = criteria(p.scale, s, cycles, m[a], c[e], y[b], x[d], missing_bytes(p, s, ms[a], cs[e]))
        if row[1] > limit:
            continue
        row[2], row[3], row[4] = memories(p, s, m[a], c[e], y[b], x[d])
        row[5], row[6] = m[a, 1] * c[e, 0] * x[d, 2], y[b, 2]
        row[7], row[8], row[9], row[10] = ms[a], cs[e], ys[b], xs[d]
        row[11] = p.scale.taps * m[a, 4] * y[b, 4] * x[d, 4]
        row[12] = row[0]
        number += 1
    return number


@njit(cache=True)
def _estimate(kinds, waiting, given, budget, units, rows):  # type: ignore[no-untyped-def]
    """Fill in the estimates."""
    sizes = given.copy()
    for n in range(len(rows)):
        row = rows[n]
        if given[0] == 0:
            i, w, o = with_room(row[2], row[3], row[4], budget, units[0], units[1])
            sizes[0], sizes[1], sizes[2] = i, w, o
        steps = row[7:11].astype(np.int64)
        cycles = estimate(kinds, waiting, steps[0], steps[1], steps[2], steps[3], row[2:7], sizes)
        row[12] = max(row[0], cycles)
