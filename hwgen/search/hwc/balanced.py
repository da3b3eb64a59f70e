"""The fewest cycles among the schedules of one layer whose traffic is within a slack of the least.

*The space*: on hardware with a given order all integer steps of its tile loops that fit its memories; where the
order is free, one order for each triple of forms that no other one beats in bytes and words
(`hwgen.search.core.dominance`), and the orders of `hwgen.search.hwc.canonical`. Where the memories are free, those
that a schedule needs share the rest of the budget (`hwgen.search.hwc.memory_split.with_room`). Where the lanes are
free, those of `hwgen.search.core.lane_shapes`.

*What is proven*: the least traffic (`hwgen.search.core.optimal`). *What is judged*: cycles by the exact model
(`hwgen.model.hwc.cycles`). Where few schedules are within the slack, all are judged. Else a short list is: of each
order the best by a lower bound and by an estimate, then the best of those by the model of a layer of fewer tiles. A
short list is made for several slacks up to the one asked for (`LEVELS`), so that none of them has fewer cycles.
"""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import inf, prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hwgen.ir.document import InputError
from hwgen.ir.hardware import Hardware
from hwgen.ir.lanes import Lanes
from hwgen.ir.layer import Layer
from hwgen.ir.schedule import ARRAYS, Bits, Schedule
from hwgen.model.cycle_bound import cycle_bound
from hwgen.model.nest.one_level import PerOperand, predict
from hwgen.search.core.batch import Request
from hwgen.search.core.lane_shapes import lane_shapes
from hwgen.search.core.optimal import Balance, Cost, Result, result_of, search
from hwgen.search.core.orders import all_orders, fixed_order
from hwgen.search.core.problems import LayerProblems
from hwgen.search.core.space import Target
from hwgen.search.hwc.canonical import CANONICAL, order_from_text
from hwgen.search.hwc.fewer_tiles import cycles_of, quick_cycles
from hwgen.search.hwc.memory_split import roomy
from hwgen.search.hwc.within_slack import AT, Found, Nests, Steps, found_within, given_nests, searched_nests
from hwgen.search.layer_forms import forms_of, in_best_form

__all__ = ["ANY_TRAFFIC", "LEVELS", "NEAR", "TRAFFIC_SLACK", "BalancedRequest", "balanced", "memories_of"]

ENGINE = 4
"""Number of this engine; results that another number stored are not used again."""

TRAFFIC_SLACK = 0.01
"""Excess over the least traffic that is allowed for fewer cycles, unless another one is asked for."""
ANY_TRAFFIC = inf
"""The slack of a search for the fewest cycles, whatever is moved; of those within `NEAR`, for the least traffic."""
NEAR = 0.005
WIDE = (0.01, 0.1, 0.3, 1.0, 3.0)
"""Slacks of which a search for any traffic takes the best."""
FREE = 3
"""How many of them where the order is free, of which there are many within the others."""
LEVELS = (0.0, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0)
"""Slacks for which a short list is made if they are below the one asked for."""
SHORT_LIST, FINALISTS = 32, 3
FEW, MANY, LITTLE_WORK = 8, 100, 4e6
"""All schedules are judged if they are few, or not many that have no more iterations than this together."""

MOST_STEPS = 1000
"""All schedules of any traffic are judged if so few combinations of steps are allowed."""
Floats = NDArray[np.float64]


def memories_of(schedule: Schedule, hardware: Hardware, budget: int) -> PerOperand:
    """The memories of the hardware, or those that it gets for a schedule."""
    if hardware.buffers is not None:
        return PerOperand(*(hardware.buffers[array] for array in ARRAYS))
    target = Target(schedule.lanes, True)
    need = predict(schedule).allocation
    inputs, weights, outputs = (max(need[array], least) for array, least in zip(ARRAYS, target.least, strict=True))
    return _with_room(inputs, weights, outputs, budget, target)


def _with_room(inputs: int, weights: int, outputs: int, budget: int, target: Target) -> PerOperand:
    sizes = roomy((inputs, weights, outputs), budget, target.units)
    return PerOperand(*(sizes[array] for array in ARRAYS))


def balanced(layer: Layer, buffer_bytes: Sequence[int], hardware: Hardware, slack: float) -> list[Result]:
    """The schedule of the fewest cycles within the slack for each buffer size; see the module's docstring.

    Of equal ones that of less traffic, with its biases, is returned. Raises `InputError` if nothing fits the smallest
    buffer.
    """
    searches = [_Balancing(layer, hardware, size) for size in buffer_bytes]
    return [one.fewest() if slack == ANY_TRAFFIC else one.within(slack) for one in searches]


@dataclass(frozen=True)
class BalancedRequest(Request):
    """A request for the choice of `balanced`, for `hwgen.search.core.batch.search_layers`.

    On given lanes the form of the layer that takes the fewest cycles is taken; ``laid_out`` : see
    `hwgen.search.layer_forms.forms_of`.
    """

    slack: float = TRAFFIC_SLACK
    laid_out: bool = False

    def search(self, layer: Layer) -> list[Result]:
        """Search one layer."""
        if self.hardware is None:
            raise InputError("balanced: expected hardware: the pure model has no cycles")
        if self.hardware.lanes is None:
            return balanced(layer, self.buffer_bytes, self.hardware, self.slack)
        given = self.hardware, self.hardware.lanes, self.slack, self.laid_out
        return [_in_best_form(layer, size, *given) for size in self.buffer_bytes]

    def key(self, layer: Layer) -> dict[str, Any]:
        """Everything that the results depend on."""
        own = {"objective": "balanced", "slack": str(self.slack), "balanced": ENGINE, "laid_out": self.laid_out}
        return super().key(layer) | own


def _in_best_form(layer: Layer, size: int, hardware: Hardware, lanes: Lanes, slack: float, laid_out: bool) -> Result:
    """The choice of `balanced` for the form of the fewest cycles; the least traffic is that of the layer as it is."""

    def cycles(result: Result) -> float:
        assert result.balance is not None
        return result.balance.chosen.cycles

    found = in_best_form(
        forms_of(layer, lanes, laid_out=laid_out, window=hardware.column_window),
        lanes,
        lambda one: balanced(one, [size], hardware, slack)[0],
        cycles,
    )
    if found.balance is None or found.schedule.layer.form == layer.form:
        return found
    try:
        least = _Balancing(layer, hardware, size).least_cost
    except InputError:  # only this form fits
        return found
    return replace(found, balance=replace(found.balance, least_traffic=least))


@dataclass(frozen=True)
class _Candidate:
    """A schedule that is known by its row among those found."""

    found: Found
    row: int

    @property
    def figures(self) -> Floats:
        figures: Floats = self.found.rows[self.row]
        return figures

    @property
    def schedule(self) -> Schedule:
        return self.found.nests.schedule(self.figures)

    def memories(self, hardware: Hardware, budget: int) -> PerOperand:
        """`memories_of` its schedule."""
        if hardware.buffers is not None:
            return PerOperand(*(hardware.buffers[array] for array in ARRAYS))
        inputs, weights, outputs = (int(size) for size in self.figures[AT.inputs : AT.outputs + 1])
        return _with_room(inputs, weights, outputs, budget, self.found.nests.target)


@dataclass(frozen=True)
class _Judged:
    """A schedule and what it costs; ``with_bias``: its bytes with the biases."""

    cost: Cost
    with_bias: int
    schedule: Schedule


@dataclass
class _Balancing:
    """One layer on one piece of hardware with one budget; what was judged is remembered."""

    layer: Layer
    hardware: Hardware
    budget: int
    judged: dict[str, _Judged] = field(default_factory=dict)
    problems: dict[Lanes, LayerProblems] = field(default_factory=dict)
    quick: dict[_Candidate, tuple[float, Schedule]] = field(default_factory=dict)

    @cached_property
    def least(self) -> dict[Lanes, Result]:
        """The schedule of least traffic for each shape of lanes that has any."""
        found, refusal = {}, None
        for lanes in self._shapes:
            try:
                shaped = self._shaped(lanes)
                found[lanes] = search(self.layer, [self.budget], shaped, problems=self._problems(lanes))[0]
            except InputError as error:
                refusal = refusal or error
        if refusal is not None and not found:
            raise refusal
        return found

    @property
    def least_cost(self) -> Cost:
        """What the schedule of least traffic costs."""
        return self._judge(min(self.least.values(), key=lambda result: result.total_bytes).schedule)

    @property
    def _shapes(self) -> list[Lanes]:
        given = self.hardware
        return [given.lanes] if given.lanes else lane_shapes([self.layer], given.number_of_multipliers, self.budget)

    def _shaped(self, lanes: Lanes) -> Hardware:
        return self.hardware.model_copy(update={"lanes": lanes})

    def fewest(self) -> Result:
        """The choice whatever is moved: several slacks, until the fewest cycles are near what none goes below."""
        started = time.perf_counter()
        bound = min(cycle_bound(self.layer, self._shaped(lanes)).cycles for lanes in self.least)
        self._judge_all_of_few()
        for slack in WIDE if self.hardware.order is not None else WIDE[:FREE]:
            found = self.within(slack)
            fastest = min(one.cost.cycles for one in self.judged.values())
            if fastest <= bound * (1 + NEAR):
                break
        near = {key: one for key, one in self.judged.items() if one.cost.cycles <= fastest * (1 + NEAR)}
        _, chosen = min(near.items(), key=lambda pair: (pair[1].with_bias, pair[1].cost.cycles, pair[0]))
        result = result_of(chosen.schedule, self.budget, hardware=True, covered=found.covered, pruned=found.pruned)
        assert found.balance is not None
        balance = replace(found.balance, chosen=chosen.cost, timed=len(self.judged), within_slack=None)
        return replace(result, seconds=time.perf_counter() - started, balance=balance)

    def _judge_all_of_few(self) -> None:
        """Judge every schedule of a given order, where there are few."""
        for lanes in self.least if self.hardware.order is not None else ():
            for nests, steps in self._given_orders(lanes, coarse=False):
                if prod(int(nests.allowed[dim].sum()) for dim in nests.allowed) > MOST_STEPS:
                    continue
                found = found_within(nests, steps, self.budget, inf, self._given_memories)
                if float(found.rows[:, AT.iterations].sum()) <= LITTLE_WORK:
                    for row in range(len(found.rows)):
                        self._judge(_Candidate(found, row).schedule)

    def within(self, slack: float) -> Result:
        """The choice."""
        started = time.perf_counter()
        least = min(self.least.values(), key=lambda result: result.total_bytes)
        most = least.total_bytes * (1 + slack)
        for result in self.least.values():
            if result.total_bytes <= most:
                self._judge(result.schedule)
        found = [
            found_within(nests, steps, self.budget, most, self._given_memories)
            for lanes, result in self.least.items()
            if result.total_bytes <= most
            for nests, steps in self._orders(lanes, most)
        ]
        every = [_Candidate(one, row) for one in found for row in range(len(one.rows))]
        work = sum(float(one.rows[:, AT.iterations].sum()) for one in found)
        all_there = all(one.whole for one in found)
        if len(every) <= FEW or (len(every) <= MANY and work <= LITTLE_WORK):
            for one in every:
                self._judge(one.schedule)
        else:
            all_there = False
            for level in [*(level for level in LEVELS if level < slack), slack]:
                self._judge_best(found, least.total_bytes * (1 + level))
        timed = sum(one.cost.total_bytes <= most for one in self.judged.values())
        self._judge_best(list(self._coarse()), np.inf)
        inside = {key: one for key, one in self.judged.items() if one.cost.total_bytes <= most}
        _, chosen = min(inside.items(), key=lambda pair: (pair[1].cost.cycles, pair[1].with_bias, pair[0]))
        fastest = min((one.cost for one in self.judged.values()), key=lambda cost: (cost.cycles, cost.total_bytes))
        covered = sum(result.covered for result in self.least.values())
        pruned = sum(result.pruned for result in self.least.values())
        result = result_of(chosen.schedule, self.budget, hardware=True, covered=covered, pruned=pruned)
        least_cost = self._judge(least.schedule)
        balance = Balance(chosen.cost, least_cost, fastest, timed, timed if all_there else None)
        return replace(result, seconds=time.perf_counter() - started, balance=balance)

    @property
    def _given_memories(self) -> Floats | None:
        given = self.hardware.buffers
        return None if given is None else np.array([float(given[array]) for array in ARRAYS])

    def _orders(self, lanes: Lanes, most: float) -> Iterator[tuple[Nests, Steps]]:
        """The orders that are searched on lanes of one shape, each with its steps."""
        yield from self._given_orders(lanes, coarse=False)
        if self.hardware.order is not None:
            return
        problems, orders = self._problems(lanes), all_orders()
        triples = problems.triples(orders, words=True)
        first = searched_nests(self.layer, problems.target, orders, int(triples.index[0]))
        steps = Steps.of(first, problems.tables).with_memories(self.hardware.buffers)
        for n in steps.triples_within(triples.states, self.budget, most).tolist():
            yield searched_nests(self.layer, problems.target, orders, int(triples.index[n])), steps

    def _given_orders(self, lanes: Lanes, *, coarse: bool) -> Iterator[tuple[Nests, Steps]]:
        """The hardware's order, else the canonical ones."""
        problems, given = self._problems(lanes), self.hardware.order
        for order in [order_from_text(text) for text in CANONICAL] if given is None else [given]:
            nests = given_nests(self.layer, problems.target, fixed_order(order, problems.target.lane_dims))
            yield nests, Steps.of(nests, problems.tables, coarse=coarse).with_memories(self.hardware.buffers)

    def _problems(self, lanes: Lanes) -> LayerProblems:
        if lanes not in self.problems:
            self.problems[lanes] = LayerProblems(self.layer, Bits(), Target.of(self._shaped(lanes)))
        return self.problems[lanes]

    def _coarse(self) -> Iterator[Found]:
        """Schedules of any traffic: few steps, of the given order or of the canonical ones."""
        for lanes in self.least:
            for nests, steps in self._given_orders(lanes, coarse=True):
                yield found_within(nests, steps, self.budget, np.inf, self._given_memories)

    def _judge(self, schedule: Schedule) -> Cost:
        key = repr((schedule.nest, schedule.lanes))
        if key not in self.judged:
            memories = memories_of(schedule, self.hardware, self.budget)
            traffic = predict(schedule)
            cost = Cost(traffic.total_bytes, cycles_of(schedule, memories))
            self.judged[key] = _Judged(cost, traffic.total_with_bias, schedule)
        return self.judged[key].cost

    def _judge_best(self, found: list[Found], most: float) -> None:
        """Judge the best of a short list."""
        quick = [self._quick(one) for one in self._short_list(found, most)]
        quick.sort(key=lambda pair: pair[0])
        for _, schedule in quick[:FINALISTS]:
            self._judge(schedule)

    def _quick(self, candidate: _Candidate) -> tuple[float, Schedule]:
        """An estimate of its cycles, and its schedule."""
        if candidate not in self.quick:
            schedule, iterations = candidate.schedule, candidate.figures[AT.iterations]
            memories = candidate.memories(self.hardware, self.budget)
            self.quick[candidate] = quick_cycles(schedule, memories, iterations), schedule
        return self.quick[candidate]

    @staticmethod
    def _short_list(found: list[Found], most: float) -> list[_Candidate]:
        """The best of each order by the bound and by the estimate."""
        inside = [(one, np.flatnonzero(one.rows[:, AT.traffic] <= most)) for one in found]
        inside = [(one, rows) for one, rows in inside if len(rows)]
        share = max(1, SHORT_LIST // (2 * max(len(inside), 1)))
        chosen = []
        for one, rows in inside:
            figures = one.rows[rows]
            by_bound = np.lexsort((figures[:, AT.traffic], figures[:, AT.estimate], figures[:, AT.bound]))[:share]
            by_estimate = np.lexsort((figures[:, AT.traffic], figures[:, AT.bound], figures[:, AT.estimate]))[:share]
            chosen += [_Candidate(one, int(rows[at])) for at in dict.fromkeys([*by_estimate, *by_bound])]
        return chosen
