"""Among schedules whose DRAM bytes are near the fewest: the one of fewest cycles.

Tiles whose loops cost within a slack of the least are ranked by estimated cycles: those of the multipliers or of the
DRAM, whichever take longer, besides the first load and the last store, which nothing overlaps, and a price for each
tile. The best of them are spread over the HWCs in every way, and get two nests of the HWCs each: that of fewest
cycles of multipliers and ports, and that of fewest bytes. The judge times these.

*The search is bounded*: `MOST_TILES` tiles, of these `MOST_PLANS` spreads, and of these as many as have
`MOST_TIMED` tiles in their programs together. Programs of more tiles are not timed: the estimate decides.
"""

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import islice
from math import prod

import numpy as np
from numpy.typing import NDArray

from hwgen.arch.bus import beat_bytes
from hwgen.ir.document import InputError
from hwgen.ir.hardware import BLOCK_BYTES, Cluster, Dram, Hardware
from hwgen.ir.layer import REDUCTION_DIMS, Dim, Layer
from hwgen.ir.schedule import Bits, Schedule
from hwgen.model.cluster.cluster_counts import dram_bytes
from hwgen.model.cluster.placement import place
from hwgen.search.cluster.cost_levels import MAX_TRIED, CostLevels, Tile
from hwgen.search.cluster.inner_nest import InnerGoal, InnerNests
from hwgen.search.cluster.lane_shapes import in_best_cluster_form
from hwgen.search.cluster.optimal import ClusterResult, Judge, search_cluster
from hwgen.search.cluster.outer_nest import OuterLoops, Rows
from hwgen.search.cluster.outer_parts import tell
from hwgen.search.cluster.spreading import Spread, busiest_iterations, spreads_of, utilisation
from hwgen.search.core.space import Target
from hwgen.search.least_need import require_room
from hwgen.search.objectives.of_cluster import cluster_objective

__all__ = ["MOST_TIMED", "SLACK", "FewestCycles", "Near", "Plan", "search_fewest_cycles"]

SLACK = 0.01
"""The part by which the bytes of the DRAM may exceed the fewest."""

MOST_TILES = 24
"""Tiles of which the loops around them are tried to fit the TCDM."""
MOST_PLANS = 8
"""Tiles with a spread for which nests of the HWCs are searched."""
MOST_PLACED = 100_000
"""Tiles that are placed together, of all tiles that are tried."""
MOST_TIMED = 4_000
"""Tiles of all programs together that are timed."""
TILE_CYCLES = 150
"""About what a tile costs beyond its work: commands, the wait for the slowest HWC, the start of the next."""
MOVE_CYCLES = 100
"""About what the DMA spends on a tile beyond its bytes: reading commands, and the first bytes of each load."""
Floats = NDArray[np.float64]
GOALS: tuple[InnerGoal, ...] = ("cycles", "traffic")


@dataclass(frozen=True)
class Plan:
    """A tile, loops around it that fit, its spread, its estimated cycles, bytes that the DMA moves."""

    steps: dict[Dim, int]
    loops: OuterLoops
    spread: Spread
    estimate: float
    dram_bytes: int
    tiles: int


@dataclass(frozen=True)
class Near:
    """A schedule, its bytes, its utilisation by the judge (None: not timed), and that without any stall."""

    schedule: Schedule
    plan: Plan
    tcdm_bytes: int
    judged: float | None


@lru_cache(maxsize=256)
def _plans(layer: Layer, bits: Bits, cluster: Cluster, target: Target, slack: float) -> tuple[CostLevels, list[Plan]]:
    """The tiles and spreads that cost at most ``slack`` more than the fewest bytes, by estimated cycles."""
    objective = cluster_objective("dram-bytes", Hardware(name="plans", cluster=cluster))
    levels = CostLevels(layer, bits, cluster, target, objective, demand=None, max_tried=MAX_TRIED, spreads=True)
    taps = prod(layer.extents[dim] for dim in REDUCTION_DIMS)
    timing = cluster.dram or Dram()
    a_byte = max(1 / beat_bytes(cluster.axi_bits), (timing.block_cycles + timing.access_cycles) / BLOCK_BYTES)

    def estimate(busy: Floats | float, tiles: Floats | float, moved: Floats | float) -> Floats:
        moving = moved * a_byte
        work, moves = busy * taps + TILE_CYCLES * tiles, moving + MOVE_CYCLES * tiles
        return np.asarray(np.maximum(work, moves) + moving / tiles)

    def near(least: int) -> Iterator[Tile]:
        def ranked(rows: Rows) -> Floats:
            moved = least + levels.space.gaps(rows)
            return estimate(levels.space.iterations(rows), levels.space.tiles(rows), moved)

        found = levels.space.between(least, int(least * (1 + slack)), ranked)
        return ((steps, loops) for _, steps, loops in islice(found, MOST_TILES))

    plans: list[Plan] = []
    level = levels.space.least()
    while level is not None and not plans:
        placed = 0
        for number, (steps, loops) in enumerate(levels.fitting(near(level))):
            tell(number / MOST_TILES)
            tiles = _tiles(layer, steps)
            placed += tiles
            if placed > MOST_PLACED and plans:
                break
            moved = dram_bytes(levels.trial(steps, loops))
            gaps = levels.space.gaps_of(steps["m"], steps["c"])
            for spread in spreads_of(steps, cluster.hwcs, levels.slices):
                busy = busiest_iterations(layer, steps, spread, target)
                cycles = float(estimate(busy, tiles, moved + gaps))
                plans.append(Plan(steps, loops, spread, cycles, moved, tiles))
        if not plans:
            level = levels.space.least(int(level * (1 + slack / 4)))
    return levels, sorted(plans, key=lambda plan: plan.estimate)[:MOST_PLANS]


class FewestCycles:
    """One layer on one cluster."""

    def __init__(
        self, layer: Layer, hardware: Hardware, bits: Bits, slack: float, most_timed: int = MOST_TIMED
    ) -> None:
        self._most_timed = most_timed
        self._inner = InnerNests(layer, hardware, bits)
        cluster = hardware.cluster or Cluster()
        self._levels, self._plans = _plans(layer, bits, cluster, Target.of(hardware), slack)

    @property
    def small(self) -> bool:
        """Whether programs are small enough to be timed."""
        return all(plan.tiles <= self._most_timed for plan in self._plans)

    def best(self, timed: Judge, runs: Judge) -> Near | None:
        """The schedule of fewest cycles; None if there is none.

        ``runs`` only refuses what the hardware does not run.
        """
        best: Near | None = None
        left = self._most_timed
        for number, plan in enumerate(self._plans):
            tell(number / len(self._plans))
            if plan.tiles > left:
                continue
            for schedule, tcdm_bytes in self._nests(plan):
                left -= plan.tiles
                try:
                    judged = timed(schedule)
                except InputError:
                    continue
                if best is None or (judged, -tcdm_bytes) > (best.judged or 0.0, -best.tcdm_bytes):
                    best = Near(schedule, plan, tcdm_bytes, judged)
        if best is not None:
            return best
        for plan in self._plans:
            for schedule, tcdm_bytes in self._nests(plan):
                try:
                    runs(schedule)
                except InputError:
                    continue
                return Near(schedule, plan, tcdm_bytes, None)
        return None

    def _nests(self, plan: Plan) -> Iterator[tuple[Schedule, int]]:
        """The nests of the HWCs with their bytes at the TCDM, each once."""
        known: set[Schedule] = set()
        for goal in GOALS:
            for spills in (True, False):
                found = self._inner.best(plan.loops, plan.steps, plan.spread, spills=spills, goal=goal)
                if found is None:
                    break
                schedule, tcdm_bytes = found
                if self._levels.fits(schedule):
                    if schedule.nest not in {one.nest for one in known}:
                        known.add(schedule)
                        yield schedule, tcdm_bytes
                    break


def search_fewest_cycles(
    layer: Layer,
    hardware: Hardware,
    *,
    timed: Judge,
    runs: Judge,
    slack: float = SLACK,
    ends: bool = False,
    bits: Bits | None = None,
    most_timed: int = MOST_TIMED,
) -> ClusterResult:
    """The schedule of fewest cycles among those whose DRAM bytes exceed the fewest by ``slack`` at most.

    On given lanes the layer is in the form of the fewest cycles, the slack beside the fewest bytes of this form.

    Parameters
    ----------
    timed : says whether the hardware runs a schedule, and its utilisation by its cycles.
    runs : says whether the hardware runs it, in less time.
    ends : search the schedule of fewest bytes, too.
    most_timed : tiles of all programs together that are timed; beyond them the estimate decides, in less time.

    Raises `InputError` if none fits.
    """

    def search(one: Layer) -> ClusterResult:
        asked = ends and one is layer
        return _search(
            one, hardware, timed=timed, runs=runs, slack=slack, ends=asked, bits=bits, most_timed=most_timed
        )

    found = in_best_cluster_form(layer, hardware, search)
    if not ends or found.schedule.layer.form == layer.form:
        return found
    try:
        fewest = search_cluster(layer, hardware, bits=bits, judge=timed)
    except InputError:  # only this form fits
        return found
    return replace(found, least=(fewest.dram_bytes, fewest.judged))


def _search(
    layer: Layer,
    hardware: Hardware,
    *,
    timed: Judge,
    runs: Judge,
    slack: float = SLACK,
    ends: bool = False,
    bits: Bits | None = None,
    most_timed: int = MOST_TIMED,
) -> ClusterResult:
    """The schedule of fewest cycles of a layer in the form that it has; see `search_fewest_cycles`."""
    require_room([layer], hardware, bits)
    started = time.perf_counter()
    cluster, bits, target = hardware.cluster or Cluster(), bits or Bits(), Target.of(hardware)
    search = FewestCycles(layer, hardware, bits, slack, most_timed)
    near = search.best(timed, runs)
    if near is None or (ends and search.small):
        least = search_cluster(layer, hardware, bits=bits, judge=timed if search.small else runs)
        least = replace(least, judged=least.judged if search.small else None, complete=False, slack=slack)
        end = (least.dram_bytes, least.judged)
        if near is None or (least.judged or 0.0) >= (near.judged or 0.0):
            return replace(least, least=end)
    else:
        end = None
    plan = near.plan
    iterations = busiest_iterations(layer, plan.steps, plan.spread, target)
    return ClusterResult(
        schedule=near.schedule,
        objective="dram-bytes",
        value=plan.dram_bytes,
        unit="bytes",
        dram_bytes=plan.dram_bytes,
        tcdm_bytes=near.tcdm_bytes,
        need=place(near.schedule).size,
        utilisation=utilisation(layer, iterations, cluster.hwcs, target),
        judged=near.judged,
        complete=False,
        seconds=time.perf_counter() - started,
        slack=slack,
        least=end,
        lanes=cluster.hwcs * hardware.shape.product,
    )


def _tiles(layer: Layer, steps: Mapping[Dim, int]) -> int:
    return prod(-(-layer.extents[dim] // step) for dim, step in steps.items())
