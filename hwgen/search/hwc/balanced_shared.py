"""One HWC for many layers: the least time within a slack of the least traffic, then the least area.

*What is proven*: the least traffic of all layers together, over all loop orders, marker places, memories and tile
steps (`hwgen.search.hwc.shared`), and over all shapes of the lanes where they are free. A shape is left out only if
the layers' own least costs on it, each with an HWC of its own, are together above what is asked for.

*What is chosen from*: HWCs, which are a shape of the lanes, an order and the memories in which that order has the
least traffic; the orders are the best one of each shape, those of the best lower bounds, and the ones of
`hwgen.search.hwc.canonical`. On each HWC the layers share the slack: the steps of all layers together may cost so
much more. The HWCs that an estimate prefers (`hwgen.search.hwc.memory_split`) are judged by the exact cycle model.

*What is best*: time is cycles over the clock, which `hwgen.model.area` estimates from the parameters of the HWC
before it is fitted to the layers. Of HWCs within `NEAR` of the least time, that of the least estimated area is taken.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from hwgen.arch.hwc import LANES
from hwgen.ir.document import InputError
from hwgen.ir.hardware import Hardware, Order
from hwgen.ir.lanes import Lanes
from hwgen.ir.layer import Layer
from hwgen.ir.schedule import ARRAYS, Schedule
from hwgen.model.area.estimate import estimated_area
from hwgen.model.nest.one_level import PerOperand, predict
from hwgen.search.core.lane_shapes import lane_shapes
from hwgen.search.core.optimal import Balance, Cost, result_of
from hwgen.search.core.orders import fixed_order
from hwgen.search.core.space import Target
from hwgen.search.hwc.balanced import LEVELS, NEAR
from hwgen.search.hwc.canonical import CANONICAL, order_from_text
from hwgen.search.hwc.fewer_tiles import cycles_of, quick_cycles
from hwgen.search.hwc.order_candidates import LayerSet
from hwgen.search.hwc.shared import Shared, best_shared, layer_set_of, shared_on
from hwgen.search.hwc.within_slack import AT, Found, Nests, Steps, found_within, given_nests

__all__ = ["SHARED_SLACK", "SharedSearch", "WeighedHwc", "balanced_shared", "least_shared", "number_of_steps"]

Floats = NDArray[np.float64]

SHARED_SLACK = 0.05
"""Excess over the least traffic that is allowed for less time, unless another one is asked for: HWCs of a smaller
area and a higher clock move some percent more."""

BOUNDED_ORDERS = 4
"""Orders of each shape that are tried for their lower bound."""
FINALISTS, MOST_JUDGED = 2, 100
"""HWCs that are judged for each slack; by time more, as long as there are no more layers on all of them together."""
OPTIONS = 4
"""Schedules of a layer on an HWC that are weighed, by the bound and by the estimate each."""
MOST_ESTIMATES = 600
"""Estimates for one slack, about: fewer HWCs are weighed for many layers."""
FAR, FAR_SHAPES = 0.3, 3
"""Excess over the least traffic up to which HWCs are looked at for the fewest cycles of any traffic, and shapes."""


def balanced_shared(
    layers: Sequence[Layer],
    budget: int = 1024,
    lanes: Lanes | None = None,
    *,
    multipliers: int = LANES,
    order: Order | None = None,
    slack: float = SHARED_SLACK,
    clocked: bool = True,
    name: str = "shared",
    step: Callable[[], None] = lambda: None,
) -> Shared:
    """The HWC of ``budget`` bytes and the schedules on it; lanes (of ``multipliers``) and order are free if
    left out.

    ``clocked`` : whether HWCs are compared by estimated time and area; else by cycles alone, and fewer of them.

    ``step`` is called `number_of_steps` times. Raises `InputError` if no HWC of this size runs all layers.
    """
    started = time.perf_counter()
    search = SharedSearch(tuple(layers), budget, order, name, step, clocked)
    search.find_least(_shapes(layers, budget, lanes, multipliers), max(FAR, slack))
    found = search.within(slack)
    return replace(found, seconds=time.perf_counter() - started)


def least_shared(
    layers: Sequence[Layer],
    budget: int,
    lanes: Lanes | None = None,
    *,
    multipliers: int = LANES,
    order: Order | None = None,
    name: str = "shared",
    step: Callable[[], None] = lambda: None,
) -> Shared:
    """The HWC of ``budget`` bytes with the least traffic; lanes (of ``multipliers``) and order are free
    if left out.

    ``step`` is called `number_of_steps` times. Raises `InputError` if no HWC of this size runs all layers.
    """
    started = time.perf_counter()
    search = SharedSearch(tuple(layers), budget, order, name, step)
    search.find_least(_shapes(layers, budget, lanes, multipliers), 0.0)
    least = min(search.least.values(), key=lambda shared: shared.total_bytes)
    return replace(least, seconds=time.perf_counter() - started)


def _shapes(layers: Sequence[Layer], budget: int, lanes: Lanes | None, multipliers: int) -> list[Lanes]:
    return lane_shapes(layers, multipliers, budget) if lanes is None else [lanes]


def number_of_steps(
    layers: Sequence[Layer], budget: int, slack: float | None = None, multipliers: int = LANES
) -> int:
    """Steps that a search reports: `balanced_shared` for a slack, `least_shared` without one."""
    shapes = len(_shapes(layers, budget, None, multipliers))
    return shapes if slack is None else 2 * shapes + len(_levels(slack)) + 1


def _levels(slack: float) -> list[float]:
    """The slacks for which HWCs are judged."""
    return [*(level for level in LEVELS if level < slack), slack]


@dataclass(frozen=True)
class _Option:
    """A schedule of a layer, its traffic and estimated cycles."""

    traffic: float
    cycles: float
    schedule: Schedule


@dataclass(frozen=True)
class WeighedHwc:
    """A schedule of each layer on one HWC."""

    hardware: Hardware
    options: tuple[_Option, ...]

    @property
    def cycles(self) -> float:
        return sum(option.cycles for option in self.options)

    @property
    def with_bias(self) -> int:
        """Bytes of all layers with their biases."""
        return sum(predict(option.schedule).total_with_bias for option in self.options)


@dataclass
class SharedSearch:
    """A search of one HWC for some layers; what was found is kept. See the module's docstring."""

    layers: tuple[Layer, ...]
    budget: int
    order: Order | None
    name: str
    step: Callable[[], None]
    clocked: bool = False
    sets: dict[Lanes, LayerSet] = field(default_factory=dict)
    least: dict[Lanes, Shared] = field(default_factory=dict)
    known: dict[tuple[Lanes, Order], Shared | None] = field(default_factory=dict)
    exact: dict[str, int] = field(default_factory=dict)
    rows: dict[tuple[object, ...], tuple[float, Found]] = field(default_factory=dict)
    options: dict[tuple[object, ...], _Option] = field(default_factory=dict)

    def find_least(self, shapes: list[Lanes], excess: float) -> None:
        """The HWC of least traffic for each shape on which it exceeds the least of all by at most this share.

        It may be missing for shapes whose bound excludes that they have the least of all.
        """
        self.sets = {lanes: layer_set_of(self.layers, self.budget, lanes) for lanes in shapes}
        least = np.inf
        for lanes in sorted(shapes, key=lambda lanes: self.sets[lanes].least_alone):
            alone = self.sets[lanes].least_alone
            if alone <= least and np.isfinite(alone):
                found = shared_on(self.sets[lanes], self.order, self.name, least * (1 + excess))
                if found is not None:
                    self.least[lanes] = found
                    least = min(least, found.total_bytes)
            self.step()
        if not self.least:
            best_shared(self.layers, self.budget, shapes[0], order=self.order)  # says what is too small
            raise InputError(f"no HWC of {self.budget} bytes runs all {len(self.layers)} layers")

    def within(self, slack: float) -> Shared:
        """The choice for a slack."""
        least = min(self.least.values(), key=lambda shared: shared.total_bytes)
        first = self._judged(_of_results(least))
        judged = [(first, _of_results(least))]
        most = least.total_bytes * (1 + slack)
        machines = self._machines(most, bounded_orders=BOUNDED_ORDERS)
        anywhere = least.total_bytes * (1 + max(FAR, slack))
        far = self._choices(self._machines(anywhere, bounded_orders=0), anywhere)
        self.step()
        near = []
        for level in reversed(_levels(slack)):  # what is found for a slack serves the lower ones
            near.append(self._choices(machines, least.total_bytes * (1 + level)))
            self.step()
        judged += [(self._judged(one), one) for choices in (*reversed(near), far) for one in choices]
        inside = [pair for pair in judged if pair[0].total_bytes <= most]
        cost, chosen = self.best(inside)
        fewest, fastest = min(judged, key=lambda pair: (pair[0].cycles, pair[0].total_bytes))
        found = self._as_shared(chosen, least, Balance(cost, first, fewest, len(inside), None, slack))
        ends = (self._costs(chosen), self._costs(_of_results(least)), self._costs(fastest))
        parts = (Balance(*costs, timed=1, within_slack=None) for costs in zip(*ends, strict=True))
        return replace(found, parts=tuple(parts))

    def best(self, judged: Sequence[tuple[Cost, WeighedHwc]]) -> tuple[Cost, WeighedHwc]:
        """The least area of those near the least time; of equal ones the least time, then the least traffic."""
        weighed = []
        for cost, choice in judged:
            mhz, lut4 = self._clock_and_area(choice.hardware)
            weighed.append((lut4, cost.cycles / (mhz or 1.0), choice.with_bias))
        most = min(time for _, time, _ in weighed) * (1 + (NEAR if self.clocked else 0))
        near = [n for n, (_, time, _) in enumerate(weighed) if time <= most]
        return judged[min(near, key=lambda n: weighed[n])]

    def _clock_and_area(self, hardware: Hardware) -> tuple[float | None, int]:
        """Estimated MHz and LUT4; None and 0 where neither counts, or where no HWC can be made of it."""
        if not self.clocked:
            return None, 0
        try:
            area = estimated_area(hardware)
        except InputError:
            return None, 0
        return area.mhz, area.lut4

    def _as_shared(self, chosen: WeighedHwc, least: Shared, balance: Balance) -> Shared:
        results = []
        needed = dict.fromkeys(ARRAYS, 0)
        for option, known in zip(chosen.options, least.results, strict=True):
            covered, pruned = known.covered, known.pruned
            result = result_of(option.schedule, self.budget, hardware=True, covered=covered, pruned=pruned)
            results.append(result)
            for array, unit in zip(ARRAYS, Target.of(chosen.hardware).least, strict=True):
                needed[array] = max(needed[array], result.need[array], unit)
        covered = sum(shared.covered for shared in self.least.values())
        pruned = sum(shared.pruned for shared in self.least.values())
        return Shared(chosen.hardware, tuple(results), needed, covered, pruned, 0.0, balance)

    def _judged(self, choice: WeighedHwc) -> Cost:
        """Traffic and cycles of a choice by the model, and the clock if it counts."""
        costs = self._costs(choice)
        mhz, _ = self._clock_and_area(choice.hardware)
        return Cost(sum(cost.total_bytes for cost in costs), sum(cost.cycles for cost in costs), mhz)

    def _costs(self, choice: WeighedHwc) -> list[Cost]:
        """The same for each layer."""
        costs = []
        for option in choice.options:
            key = repr((option.schedule.layer.name, option.schedule.nest, choice.hardware))
            if key not in self.exact:
                self.exact[key] = cycles_of(option.schedule, _memories(choice.hardware))
            costs.append(Cost(predict(option.schedule).total_bytes, self.exact[key]))
        return costs

    def _choices(self, machines: list[Shared], limit: float) -> list[WeighedHwc]:
        """The choices of least estimated time within a limit: for an HWC one, by time also that of least traffic."""
        inside = [shared for shared in machines if shared.total_bytes <= limit]
        inside = inside[: max(2, MOST_ESTIMATES // (2 * OPTIONS * len(self.layers)))]
        found = [choice for shared in inside if (choice := self._on(shared, limit)) is not None]
        found.sort(key=lambda one: one.cycles / (self._clock_and_area(one.hardware)[0] or 1.0))
        if not self.clocked:
            return found[:FINALISTS]
        finalists = found[: max(FINALISTS, MOST_JUDGED // len(self.layers))]
        those = [one.hardware for one in finalists]
        # The estimate of cycles may be wrong on an HWC: its least traffic is judged, too.
        return finalists + [_of_results(shared) for shared in inside if shared.hardware in those]

    def _machines(self, limit: float, *, bounded_orders: int) -> list[Shared]:
        """HWCs on which the layers' least traffic is within the limit, those of less traffic first."""
        machines = list(self.least.values())
        nearest = sorted(self.sets.items(), key=lambda pair: pair[1].least_alone)
        for lanes, layer_set in nearest if bounded_orders else nearest[:FAR_SHAPES]:
            if layer_set.least_alone <= limit:
                found = [self._known(lanes, order, limit) for order in self._orders(layer_set, limit, bounded_orders)]
                machines += [shared for shared in found if shared is not None]
            if bounded_orders:
                self.step()
        machines.sort(key=lambda shared: shared.total_bytes)
        return [shared for shared in machines if shared.total_bytes <= limit]

    def _orders(self, layer_set: LayerSet, limit: float, bounded_orders: int) -> list[Order]:
        if self.order is not None:
            return [self.order]
        orders = [order_from_text(text) for text in CANONICAL]
        if bounded_orders:
            variant = layer_set.variants[0]
            for candidate in layer_set.candidates(variant, limit, words=False)[:bounded_orders]:
                triple = int(candidate.triples.index[candidate.triple])
                orders.append(layer_set.orders_of(variant, triple)[1])
        return list(dict.fromkeys(orders))

    def _known(self, lanes: Lanes, order: Order, limit: float) -> Shared | None:
        """The HWC of least traffic with this order; None if it is certain not to be within the limit."""
        if (lanes, order) not in self.known:
            layer_set = self.sets[lanes]
            variant = layer_set.given(order)
            if not layer_set.candidates(variant, limit, words=False):
                return None
            self.known[lanes, order] = shared_on(layer_set, order, self.name)
        return self.known[lanes, order]

    def _on(self, shared: Shared, limit: float) -> WeighedHwc | None:
        """The schedules of least estimated cycles on an HWC whose traffic together is within the limit."""
        spare = limit - shared.total_bytes
        fronts = [
            self._options(layer, shared.hardware, result.total_bytes + spare)
            for layer, result in enumerate(shared.results)
        ]
        if not all(fronts):
            return None
        chosen = [front[0] for front in fronts]
        while True:
            best, gain = None, 0.0
            for n, front in enumerate(fronts):
                for option in front:
                    more = option.traffic - chosen[n].traffic
                    saved = chosen[n].cycles - option.cycles
                    if saved > 0 and more <= spare and saved / max(more, 1e-9) > gain:
                        best, gain = (n, option), saved / max(more, 1e-9)
            if best is None:
                return WeighedHwc(shared.hardware, tuple(chosen))
            n, option = best
            spare -= option.traffic - chosen[n].traffic
            chosen[n] = option

    def _options(self, layer: int, hardware: Hardware, most: float) -> list[_Option]:
        """Schedules of a layer on an HWC that none other undercuts, by traffic; cycles are estimated."""
        found = self._found(layer, hardware, most)
        rows = found.rows[found.rows[:, AT.traffic] <= most]
        if not len(rows):
            return []
        by_traffic = np.lexsort((rows[:, AT.estimate], rows[:, AT.bound], rows[:, AT.traffic]))[:1]
        by_bound = np.lexsort((rows[:, AT.traffic], rows[:, AT.estimate], rows[:, AT.bound]))[:OPTIONS]
        by_estimate = np.lexsort((rows[:, AT.traffic], rows[:, AT.bound], rows[:, AT.estimate]))[:OPTIONS]
        chosen = dict.fromkeys([*by_traffic.tolist(), *by_bound.tolist(), *by_estimate.tolist()])
        options = [self._option(layer, hardware, found.nests, rows[at]) for at in chosen]
        options.sort(key=lambda option: (option.traffic, option.cycles))
        front: list[_Option] = []
        for option in options:
            if not front or option.cycles < front[-1].cycles:
                front.append(option)
        return front

    def _found(self, layer: int, hardware: Hardware, most: float) -> Found:
        """Schedules of a layer on an HWC within a limit, and others; what was found for a higher limit serves."""
        key = layer, hardware.shape, hardware.order, tuple((hardware.buffers or {}).items())
        known = self.rows.get(key)
        if known is None or known[0] < most or (known[0] > most and not known[1].whole):
            problems = self.sets[hardware.shape].problems[layer]
            target, order = problems.target, hardware.order or ()
            nests = given_nests(self.layers[layer], target, fixed_order(order, target.lane_dims))
            steps = Steps.of(nests, problems.tables).with_memories(hardware.buffers)
            sizes = np.array([float(_memories(hardware)[array]) for array in ARRAYS])
            known = self.rows[key] = most, found_within(nests, steps, self.budget, most, sizes)
        return known[1]

    def _option(self, layer: int, hardware: Hardware, nests: Nests, row: Floats) -> _Option:
        steps = tuple(int(step) for step in row[AT.m : AT.x + 1])
        key = layer, hardware.shape, hardware.order, tuple((hardware.buffers or {}).items()), steps
        if key not in self.options:
            schedule = nests.schedule(row)
            quick = quick_cycles(schedule, _memories(hardware), row[AT.iterations])
            self.options[key] = _Option(float(row[AT.traffic]), quick, schedule)
        return self.options[key]


def _memories(hardware: Hardware) -> PerOperand:
    buffers = hardware.buffers or dict.fromkeys(ARRAYS, 0)
    return PerOperand(buffers["I"], buffers["W"], buffers["O"])


def _of_results(shared: Shared) -> WeighedHwc:
    return WeighedHwc(
        shared.hardware, tuple(_Option(float(result.total_bytes), 0.0, result.schedule) for result in shared.results)
    )
