"""Each layer's front of traffic and cycles on every HWC that `hwgen.search.hwc.utilisation` chooses from.

An HWC here is a shape of the lanes, an order (`hwgen.search.hwc.canonical`) and a split of the budget into three
memories. One price for idle lanes, the same for all layers, decides which HWCs are chosen. Where the mean utilisation
then exceeds the demand, the surplus is traded for less traffic layer by layer.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hwgen.ir.document import InputError
from hwgen.ir.hardware import Hardware
from hwgen.ir.lanes import Lanes
from hwgen.ir.layer import Layer
from hwgen.ir.schedule import ARRAYS, Bits, Schedule
from hwgen.model.nest.one_level import predict
from hwgen.search.core.optimal import search
from hwgen.search.core.shared_out import shared_out
from hwgen.search.core.space import Target, tables
from hwgen.search.hwc.canonical import order_from_text, orders_for, points, schedule_of, splits_of

__all__ = ["Choice", "LayerFronts", "Point"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Choice:
    """One layer's schedule, the HWC that it runs on, its traffic in bytes and its estimated cycles."""

    schedule: Schedule
    hardware: Hardware
    total_bytes: int
    cycles: float

    @property
    def utilisation(self) -> float:
        """Multiply-accumulates over what the lanes can do in the estimated cycles."""
        return self.schedule.layer.macs / (self.hardware.shape.product * self.cycles)


@dataclass(frozen=True)
class Point:
    """A schedule of one layer on one HWC; ``hardware`` is the index of the HWC."""

    hardware: int
    traffic: float
    cycles: float
    steps: tuple[int, int, int, int]


@dataclass(frozen=True)
class _Front:
    """Points of one layer, in the order of their HWCs."""

    hardware: Ints
    traffic: Floats
    cycles: Floats
    steps: Ints


@dataclass
class LayerFronts:
    """The fronts of all layers on all HWCs that are considered.

    Members
    -------
    weights : how often each layer occurs.
    multipliers : of each HWC.
    hwcs : of each HWC the shape of the lanes, the order, and the bytes of I, W and O.
    fronts : of each layer.
    free : of each layer the least traffic without hardware.
    """

    layers: list[Layer]
    weights: Floats
    budget: int
    multipliers: int
    hwcs: list[tuple[Target, str, tuple[int, int, int]]]
    fronts: list[_Front]
    free: Floats

    @classmethod
    def of(
        cls,
        layers: list[Layer],
        weights: Floats,
        budget: int,
        shapes: list[Lanes],
        *,
        everywhere: bool,
        jobs: int | None,
    ) -> "LayerFronts":
        """The fronts of every layer; ``everywhere``: also points of much traffic or of low utilisation."""
        targets = [Target.of(Hardware(name="lanes", lanes=shape, budget=budget)) for shape in shapes]
        hwcs, families = [], []
        for target in targets:
            for text in orders_for(budget):
                splits = splits_of(layers, budget, target, text)
                families.append((target, text, splits))
                hwcs += [(target, text, (int(i), int(w), int(o))) for i, w, o in splits]
        free = np.array([float(search(layer, [budget])[0].total_bytes) for layer in layers])
        most = free + np.maximum(0.6 * free, 0.01 * float(weights @ free))
        tasks = [(layer, families, float(bytes_), everywhere) for layer, bytes_ in zip(layers, most, strict=True)]
        fronts = _in_parallel(_front, tasks, jobs)
        return cls(layers, weights, budget, shapes[0].product, hwcs, fronts, free)

    @property
    def free_bytes(self) -> float:
        """Traffic of the best schedules without hardware."""
        return float(self.weights @ self.free)

    def choose(self, min_utilisation: float, max_ratio: float, most_hardware: int) -> list[Point]:
        """The point of each layer; see the module's docstring."""
        best: tuple[float, list[int]] | None = None
        highest = 0.0
        for price in np.geomspace(0.02, 50, 28):
            hwcs = self._chosen_hwcs(price, most_hardware)
            if hwcs is None:
                continue
            chosen = self._points(hwcs, min_utilisation)
            traffic, utilisation = self._sums(chosen)
            highest = max(highest, utilisation if traffic <= max_ratio * self.free_bytes else 0.0)
            if utilisation >= min_utilisation and (best is None or traffic < best[0]):
                best = traffic, hwcs
        if best is None:
            raise InputError(
                f"utilisation: no choice reaches {min_utilisation:g} with {self.budget} bytes; the highest mean "
                f"found within {max_ratio:g} times the least traffic is {highest:.3f}"
            )
        if best[0] > max_ratio * self.free_bytes:
            raise InputError(
                f"utilisation: {min_utilisation:g} with {self.budget} bytes takes {best[0] / self.free_bytes:.3f} "
                f"times the least traffic, more than {max_ratio:g}"
            )
        return self._trade_surplus(self._points(best[1], min_utilisation), min_utilisation, most_hardware)

    def _utilisation(self, layer: int, cycles: Floats) -> Floats:
        return self.layers[layer].macs / (self.multipliers * cycles)

    def _costs(self, price: float) -> Floats:
        """[layer, HWC]: traffic relative to the least traffic of all layers, plus the price of idle lanes."""
        costs = np.full((len(self.layers), len(self.hwcs)), np.inf)
        for n, front in enumerate(self.fronts):
            cost = self._cost(n, front.traffic, front.cycles, price)
            np.minimum.at(costs[n], front.hardware, cost)
        return costs

    def _cost(self, layer: int, traffic: Floats, cycles: Floats, price: float) -> Floats:
        idle = 1 - self._utilisation(layer, cycles)
        cost: Floats = self.weights[layer] * (traffic / self.free_bytes + price * idle / self.weights.sum())
        return cost

    def _chosen_hwcs(self, price: float, most: int) -> list[int] | None:
        """HWCs for this price, chosen greedily by how much each lowers the costs; None if a layer runs on none."""
        costs = self._costs(price)
        # The cost of a layer before an HWC is chosen that runs it: higher than any other cost.
        lowest = np.full(len(self.layers), 1e3)
        costs = np.minimum(costs, 1e3)
        hwcs: list[int] = []
        while len(hwcs) < most:
            sums = np.minimum(costs, lowest[:, None]).sum(axis=0)
            at = int(sums.argmin())
            if sums[at] >= lowest.sum() * (1 - 1e-4):
                break
            hwcs.append(at)
            lowest = np.minimum(lowest, costs[:, at])
        return hwcs if (lowest < 1e3).all() else None

    def _points(self, hwcs: list[int], min_utilisation: float) -> list[Point]:
        """Points of least traffic on these HWCs whose mean utilisation meets the demand; else of the highest mean."""
        fronts = []
        for front in self.fronts:
            here = np.isin(front.hardware, hwcs)
            fronts.append(_Front(front.hardware[here], front.traffic[here], front.cycles[here], front.steps[here]))
        low, high = 0.0, 1e4
        chosen = self._at_price(fronts, high)
        for _ in range(40):
            middle = (low + high) / 2 if low > 0 else high / 10
            some = self._at_price(fronts, middle)
            if self._mean(fronts, some) >= min_utilisation:
                high, chosen = middle, some
            else:
                low = middle
        return [self._point(front, at) for front, at in zip(fronts, chosen, strict=True)]

    @staticmethod
    def _point(front: _Front, at: int) -> Point:
        m, c, y, x = (int(step) for step in front.steps[at])
        return Point(int(front.hardware[at]), float(front.traffic[at]), float(front.cycles[at]), (m, c, y, x))

    def _at_price(self, fronts: list[_Front], price: float) -> list[int]:
        return [int(self._cost(n, f.traffic, f.cycles, price).argmin()) for n, f in enumerate(fronts)]

    def _mean(self, fronts: list[_Front], chosen: list[int]) -> float:
        each = [
            float(self._utilisation(n, f.cycles[at])) for n, (f, at) in enumerate(zip(fronts, chosen, strict=True))
        ]
        return float(self.weights @ np.array(each) / self.weights.sum())

    def _trade_surplus(self, chosen: list[Point], min_utilisation: float, most_hardware: int) -> list[Point]:
        """Trade the surplus of the mean utilisation for traffic: exchange points, the greatest saving first.

        A point may be on any HWC while fewer than the allowed number are in use.
        """
        chosen = list(chosen)
        spare = (self._sums(chosen)[1] - min_utilisation) * self.weights.sum()
        while spare >= 0:
            best, saving = None, 0.0
            for n, front in enumerate(self.fronts):
                others = {point.hardware for at, point in enumerate(chosen) if at != n}
                saved = self.weights[n] * (chosen[n].traffic - front.traffic)
                now = self.layers[n].macs / (self.multipliers * chosen[n].cycles)
                lost = self.weights[n] * (now - self._utilisation(n, front.cycles))
                allowed = lost <= spare
                if len(others) >= most_hardware:
                    allowed &= np.isin(front.hardware, list(others))
                gain = np.where(allowed, saved, 0.0)
                at = int(gain.argmax()) if len(gain) else 0
                if len(gain) and gain[at] > saving:
                    best, saving = (n, at, float(lost[at])), float(gain[at])
            if best is None:
                break
            n, at, lost_here = best
            chosen[n] = self._point(self.fronts[n], at)
            spare -= lost_here
        return chosen

    def _sums(self, chosen: list[Point]) -> tuple[float, float]:
        """Traffic and mean utilisation."""
        traffic = float(self.weights @ np.array([point.traffic for point in chosen]))
        each = [
            layer.macs / (self.multipliers * point.cycles) for layer, point in zip(self.layers, chosen, strict=True)
        ]
        return traffic, float(self.weights @ np.array(each) / self.weights.sum())

    def choice(self, layer: Layer, point: Point, number: int) -> Choice:
        """A point as schedule and hardware, after the model has confirmed it."""
        target, text, memories = self.hwcs[point.hardware]
        schedule = schedule_of(layer, target, text, point.steps)
        hardware = Hardware(
            name=f"hwc_{number}",
            lanes=target.lanes,
            budget=self.budget,
            buffers=dict(zip(ARRAYS, memories, strict=True)),
            order=order_from_text(text),
        )
        prediction = predict(schedule)
        fits = all(prediction.allocation[array] <= size for array, size in zip(ARRAYS, memories, strict=True))
        if prediction.total_bytes != point.traffic or not fits:
            raise RuntimeError(f"{layer.name}: search and model differ for {text}, {point}, {memories}")
        return Choice(schedule, hardware, prediction.total_bytes, point.cycles)


LIMITS = ((1.0, 0.8), (4.0, 0.5), (np.inf, 1e-3))
"""Limits tried one after the other: traffic relative to ``most_bytes``, and the share of lanes with work."""


def _front(layer: Layer, families: list[tuple[Target, str, Floats]], most_bytes: float, everywhere: bool) -> _Front:
    """All points of a layer within the first limit that has any; with ``everywhere``, for each family."""
    known = {target: tables(layer, Bits(), target) for target, _, _ in families}
    firsts = np.cumsum([0, *(len(splits) for _, _, splits in families)])
    found: list[tuple[Ints, Floats, Floats, Ints]] = []
    missing = list(range(len(families)))
    for ratio, share in LIMITS:
        still = []
        for n in missing:
            target, text, splits = families[n]
            p = points(layer, target, text, splits, known[target], ratio * most_bytes, share)
            found.append((p.split + firsts[n], p.traffic, p.cycles, p.steps))
            if not len(p.split):
                still.append(n)
        missing = still
        if len(missing) < len(families) and not everywhere:
            break
    hardware, traffic, cycles, steps = (np.concatenate(parts) for parts in zip(*found, strict=True))
    if not len(hardware):
        raise InputError(f"{layer.name}: utilisation: no schedule of the canonical orders fits")
    return _Front(hardware, traffic, cycles, steps)


def _in_parallel(function: Callable[..., _Front], tasks: Sequence[tuple[Any, ...]], jobs: int | None) -> list[_Front]:
    """What the function makes of each task, whose first argument is a layer."""
    found = dict(shared_out(function, tasks, [task[0].macs for task in tasks], jobs))
    return [found[number] for number in range(len(tasks))]
