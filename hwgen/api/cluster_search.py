"""Searches for clusters, as commands start them: one cluster for all layers, or HWCs of its own for each."""

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial

from hwgen.api.progress import note, steps
from hwgen.arch.hwc import LANES
from hwgen.ir.hardware import Hardware
from hwgen.ir.lanes import Lanes
from hwgen.ir.layer import Layer
from hwgen.lower.cluster.cost import judge_of
from hwgen.lower.cluster.cycles import estimated_cycles
from hwgen.search.cluster.fewest_cycles import SLACK, search_fewest_cycles
from hwgen.search.cluster.images import search_batch
from hwgen.search.cluster.lane_shapes import search_lanes, shapes_to_search
from hwgen.search.cluster.least_cycles import search_least_cycles
from hwgen.search.cluster.optimal import ClusterResult, search_cluster
from hwgen.search.cluster.outer_parts import telling
from hwgen.search.cluster.shared import FINALISTS, SharedCluster, search_shared
from hwgen.search.least_need import require_room
from hwgen.search.objectives.of_cluster import CYCLES

__all__ = ["Moving", "lanes_chosen", "search_clusters", "shapes_known"]


def search_clusters(
    layers: Sequence[Layer],
    hardware: Hardware,
    *,
    per_layer: bool,
    objective: str | None = None,
    min_utilisation: float | None = None,
    slack: float = SLACK,
    ends: bool = False,
) -> SharedCluster:
    """The schedules of all layers; layers of the same shape share one.

    With ``per_layer``, or of one shape, the hardware is as it was given, but for lanes that it leaves free: these are
    chosen for all layers together. Without ``objective`` and ``min_utilisation``: fewest cycles within
    ``slack`` of the fewest bytes of the DRAM; ``ends``: and what those would be. With the objective
    ``cycles``: fewest bytes within half a percent of the fewest cycles.
    """
    require_room([layer.of_images(1) for layer in layers], hardware)
    shapes: dict[str, Layer] = {}
    for layer in layers:
        shapes.setdefault(_shape(layer), layer)
    one_each = per_layer or len(shapes) == 1 or (hardware.order is not None and hardware.buffers is not None)
    lanes = shapes_to_search(tuple(shapes.values()), hardware)
    total = len(lanes) * len(shapes) * (1 if one_each else 1 + FINALISTS)
    what = "" if one_each else ": each alone, then on one cluster for all"
    note(f"searching schedules of {len(shapes)} layers on {hardware.name}{what}")
    with steps(total, "searching") as step:
        moving = Moving(step)
        solve = _solver(objective, min_utilisation, slack, ends, moving)

        def find(machine: Hardware) -> SharedCluster:
            if not one_each:
                return search_shared(tuple(shapes.values()), machine, solve)
            alone = tuple(solve(layer, machine) for layer in shapes.values())
            return SharedCluster(machine, alone, alone, ())

        found = search_lanes(lanes, hardware, find)
    if hardware.lanes is None:
        note(lanes_chosen(found))
    numbers = {shape: number for number, shape in enumerate(shapes)}

    def of_all(results: Sequence[ClusterResult]) -> tuple[ClusterResult, ...]:
        return tuple(_named(results[numbers[_shape(layer)]], layer) for layer in layers)

    return SharedCluster(found.hardware, of_all(found.results), of_all(found.alone), found.tried, found.shapes)


def shapes_known(hardware: Hardware) -> int:
    """How many shapes the lanes may have."""
    return len(Lanes.shapes(LANES)) if hardware.lanes is None else 1


def lanes_chosen(found: SharedCluster) -> str:
    """Which shape of the lanes was taken, of how many."""
    searched = ", ".join(str(lanes) for lanes, _ in found.shapes)
    return (
        f"Lanes: {found.hardware.lanes}, the best of {len(found.shapes)} shapes that were searched ({searched}); "
        f"all {len(Lanes.shapes(LANES))} were ranked by the estimated cycles of the multipliers."
    )


def _solver(
    objective: str | None, min_utilisation: float | None, slack: float, ends: bool, moving: "Moving"
) -> Callable[[Layer, Hardware], ClusterResult]:
    def solve(layer: Layer, hardware: Hardware) -> ClusterResult:
        with moving.search(), telling(moving.tell):
            if layer.batch == 1:
                return of_one_image(layer, hardware)
            weighs_cycles = objective in (None, CYCLES) or min_utilisation is not None
            judge = judge_of(hardware, timed=weighs_cycles)
            return search_batch(
                layer, hardware, of_one_image, judge=judge, objective=objective, slack=slack,
                min_utilisation=min_utilisation,
            )  # fmt: skip

    def of_one_image(layer: Layer, hardware: Hardware) -> ClusterResult:
        timed, runs = (judge_of(hardware, timed=timed) for timed in (True, False))
        if objective is None and min_utilisation is None:
            return search_fewest_cycles(layer, hardware, timed=timed, runs=runs, slack=slack, ends=ends)
        if objective == CYCLES:
            estimate = partial(estimated_cycles, hardware=hardware, ordered=False)
            return search_least_cycles(layer, hardware, timed=timed, estimate=estimate)
        judge = runs if min_utilisation is None else timed
        named = objective or "dram-bytes"
        return search_cluster(layer, hardware, named, min_utilisation=min_utilisation, judge=judge)

    return solve


class Moving:
    """A bar that moves within the search of a layer.

    How many stages it has is not known before: each takes half of what is left of the step.
    """

    def __init__(self, advance: Callable[[float], None]) -> None:
        self._advance = advance
        self._begun = self._told = self._last = 0.0

    @contextmanager
    def search(self) -> Iterator[None]:
        """The search of one layer: one step of the bar, found or not."""
        self._begun = self._told = self._last = 0.0
        try:
            yield
        finally:
            self._advance(1 - self._told)

    def tell(self, share: float) -> None:
        """Report the part of a stage that is done; a smaller part than before belongs to the next stage."""
        if share < self._last:
            self._begun += (1 - self._begun) / 2
        self._last = share
        now = self._begun + (1 - self._begun) / 2 * share
        self._advance(now - self._told)
        self._told = now


def _shape(layer: Layer) -> str:
    return json.dumps(layer.shape_data)


def _named(found: ClusterResult, layer: Layer) -> ClusterResult:
    return replace(found, schedule=found.schedule.of_layer(layer))
