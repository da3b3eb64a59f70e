"""One cluster for many layers: the loop order and the memories of the HWCs that are best for all of them together.

All HWCs of a cluster are generated for one order (loops and marker places) and three memories; each layer has its own
loops around a tile, its own spread and its own steps. First each layer is searched alone, with any order and split of
the memories. For its tiles as found there, each candidate order gets the split of the budget with the least sum over
all layers, exactly (`hwgen.search.hwc.memory_split`). Then all layers are searched once more on the hardware of the
candidates of the least sums, tiles and all, and the best of these is the answer.

*The search is bounded*: candidates are the orders of `hwgen.search.hwc.canonical` and those that layers have alone,
if every layer has the loops in them that it needs; `FINALISTS` are searched to the end.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hwgen.ir.document import InputError
from hwgen.ir.hardware import Hardware, Order
from hwgen.ir.lanes import Lanes
from hwgen.ir.layer import IMAGE, Dim, Layer
from hwgen.ir.schedule import ArrayName, Bits, Loop, Marker, Schedule
from hwgen.model.cluster.levels import run_depth, tile_depth
from hwgen.search.cluster.inner_nest import InnerGoal, InnerNests
from hwgen.search.cluster.optimal import ClusterResult
from hwgen.search.cluster.spreading import Spread
from hwgen.search.core.space import Target
from hwgen.search.hwc.canonical import CANONICAL, order_from_text
from hwgen.search.hwc.memory_split import roomy, split

__all__ = ["FINALISTS", "SharedCluster", "search_shared"]

FINALISTS = 2
"""Candidates on whose hardware all layers are searched."""
MOST_OWN = 4
"""Orders of single layers that are candidates: those that most layers have."""

Solve = Callable[[Layer, Hardware], ClusterResult]
"""The search of one layer."""


@dataclass(frozen=True)
class SharedCluster:
    """One cluster for a set of layers.

    Members
    -------
    hardware : with the order and the memories of the HWCs.
    results : each layer's schedule on it.
    alone : each layer's schedule on HWCs of its own.
    tried : what all layers together cost with each order that was searched to the end.
    shapes : what they cost with each shape of the lanes that was searched.
    """

    hardware: Hardware
    results: tuple[ClusterResult, ...]
    alone: tuple[ClusterResult, ...]
    tried: tuple[tuple[Order, tuple[float, float]], ...]
    shapes: tuple[tuple[Lanes, tuple[float, float]], ...] = ()


def search_shared(layers: Sequence[Layer], hardware: Hardware, solve: Solve) -> SharedCluster:
    """The best cluster for all layers, and their schedules on it.

    Parameters
    ----------
    hardware : the cluster; what it fixes of order and buffers stays.
    solve : finds the best schedule of a layer on given hardware; with ``slack`` in its results for fewest cycles.

    Raises `InputError` if no candidate runs all layers.
    """
    alone = tuple(solve(layer, hardware) for layer in layers)
    if hardware.order is not None and hardware.buffers is not None:
        return SharedCluster(hardware, alone, alone, ((hardware.order, cost(alone)),))
    layers = [one.schedule.layer for one in alone]  # in their forms
    goal: InnerGoal = "cycles" if alone[0].times else "traffic"
    ranked = []
    for number, order in enumerate(_orders(layers, hardware, alone)):
        memories = _memories(layers, hardware.model_copy(update={"order": order}), alone, goal)
        if memories is not None:
            ranked.append((memories[0], number, order, memories[1]))
    tried, best, reason = [], None, f"no order runs all {len(layers)} layers"
    for _, _, order, buffers in sorted(ranked, key=lambda one: one[:2])[:FINALISTS]:
        machine = hardware.model_copy(update={"order": order, "buffers": buffers})
        try:
            results = tuple(solve(layer, machine) for layer in layers)
        except InputError as error:
            reason = str(error)
            continue
        tried.append((order, cost(results)))
        if best is None or tried[-1][1] < cost(best[1]):
            best = machine, results
    if best is None:
        raise InputError(f"no cluster was found that runs all {len(layers)} layers; of the last one: {reason}")
    return SharedCluster(*best, alone, tuple(tried))


def cost(results: Sequence[ClusterResult]) -> tuple[float, float]:
    """What all layers cost together: cycles and bytes of the DRAM; or what was minimised, and bytes of the TCDM."""
    if results[0].times:
        cycles = (one.schedule.layer.macs / (one.lanes * (one.judged or one.utilisation)) for one in results)
        return sum(cycles), sum(one.dram_bytes for one in results)
    return sum(one.value for one in results), sum(one.tcdm_bytes for one in results)


def _orders(layers: Sequence[Layer], hardware: Hardware, alone: Sequence[ClusterResult]) -> list[Order]:
    """The candidates, each once."""
    if hardware.order is not None:
        return [hardware.order]
    own = Counter(_local_order(one.schedule) for one in alone)
    wanted: set[Dim] = {
        dim for layer in layers for dim, extent in layer.extents.items() if extent > hardware.shape.along(dim)
    }
    fitting = [order for order, _ in own.most_common() if wanted <= {item for item in order if isinstance(item, str)}]
    return list(dict.fromkeys([*map(order_from_text, CANONICAL), *fitting[:MOST_OWN]]))


def _local_order(schedule: Schedule) -> Order:
    """The order of the HWCs' nest."""
    begin = run_depth(schedule)
    items: list[Dim | Marker] = []
    number = 0
    for item in schedule.nest:
        if isinstance(item, Loop):
            number += 1
            if number > begin:
                items.append(item.dim)
        elif number >= begin and not item.level.shared:
            items.append(item)
    return tuple(items)


def _memories(
    layers: Sequence[Layer], hardware: Hardware, alone: Sequence[ClusterResult], goal: InnerGoal
) -> tuple[float, dict[ArrayName, int]] | None:
    """The split of the budget with the least sum of goals of all layers in their tiles, with this sum."""
    fronts: list[NDArray[np.float64]] = []
    for layer, one in zip(layers, alone, strict=True):
        steps, spread = _tile(one.schedule)
        front = InnerNests(layer.of_images(1), hardware, Bits()).front(steps, spread, goal)
        if not len(front):
            return None
        front[:, 0] *= layer.batch
        fronts.append(front)
    best = np.full(6, np.inf)
    if not split(np.concatenate(fronts), np.cumsum([len(front) for front in fronts]), float(hardware.budget), best):
        return None
    needed = (int(best[3]), int(best[4]), int(best[5]))
    if hardware.buffers is not None:
        return float(best[0]), dict(hardware.buffers)
    return float(best[0]), dict(roomy(needed, hardware.budget, Target.of(hardware).units))


def _tile(schedule: Schedule) -> tuple[dict[Dim, int], Spread]:
    """The steps of a schedule's tiles of one image, and those of its spread loops."""
    depth, steps = tile_depth(schedule), dict(schedule.layer.extents)
    steps |= {loop.dim: loop.step for loop in schedule.loops[:depth] if loop.dim != IMAGE}
    return steps, {loop.dim: loop.step for loop in schedule.loops[depth:] if loop.over}
