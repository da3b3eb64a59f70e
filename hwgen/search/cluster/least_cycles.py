"""The schedule of fewest cycles on a cluster, whatever it moves; of those near the fewest, that of fewest bytes.

*Candidates.* Every combination of steps of the loops around a tile has a least time: the lanes of the busiest HWC
with the waste of edges, the DRAM with everything once, a price for each tile. In ascending order of these, the loops
with the least estimate are found for each (`hwgen.search.cluster.outer_kernel.fastest`); this ends where nothing that
is left can be among the best. The best of them, weighed with the words of the HWCs' ports, are spread over all HWCs,
or over some, in every way, with the nests of the HWCs that `hwgen.search.cluster.spreading` has for them.

*Judges.* A second estimate knows a schedule tile by tile: the HWCs by their exact model, transfers by bytes and runs.
The exact model of the program times the first by it, then those that may take fewer cycles, then those that take as
few for fewer bytes. Beside the cycles is a lower bound (`hwgen.model.cycle_bound`).

*Neighbours.* Descents go on from the fastest one, and from that of each other spread that is nearly as fast, or
whose program is short, since there estimates tell little (`hwgen.search.cluster.descent`).

*The search is bounded*: `MOST_TILES` tiles, `MOST_ESTIMATED` schedules, `MOST_JUDGED` that are timed.

`search_few` looks at a few candidates alone, by their estimates: what hardware is compared by.
"""

import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from math import prod

import numpy as np

from hwgen.arch.bus import beat_bytes
from hwgen.ir.document import InputError
from hwgen.ir.hardware import BLOCK_BYTES, Cluster, Dram, Hardware
from hwgen.ir.layer import Dim, Layer
from hwgen.ir.schedule import Bits, Schedule
from hwgen.model.cluster.cluster_counts import dram_bytes, tcdm_bytes
from hwgen.model.cluster.placement import place
from hwgen.model.cycle_bound import cycle_bound
from hwgen.search.cluster.cost_levels import MAX_TRIED, CostLevels
from hwgen.search.cluster.descent import SHORT, Arrived, Descent
from hwgen.search.cluster.fewest_cycles import search_fewest_cycles
from hwgen.search.cluster.lane_shapes import in_best_cluster_form
from hwgen.search.cluster.neighbours import Neighbours, Place
from hwgen.search.cluster.optimal import ClusterResult, Judge
from hwgen.search.cluster.outer_nest import OuterLoops, Rows
from hwgen.search.cluster.outer_parts import tell
from hwgen.search.cluster.promising_nests import Estimate, PromisingNests, without_waits
from hwgen.search.cluster.spreading import Spread, busiest_iterations, spreads_over_some, utilisation
from hwgen.search.core.space import Target
from hwgen.search.layer_forms import forms_of, in_best_form
from hwgen.search.least_need import require_room
from hwgen.search.objectives.of_cluster import CYCLES, cluster_objective

__all__ = ["NEAR", "Estimate", "search_few", "search_least_cycles"]

NEAR = 0.005
"""The part by which cycles may exceed the fewest, for fewer bytes; and the bound, to end a search."""
RANKED = 256
"""Combinations of steps of least estimates that are weighed with the words of the ports."""
MOST_TILES, MOST_ESTIMATED, MOST_JUDGED = 12, 48, 8
FEW = 3
"""Tiles, and schedules, that `search_few` looks at."""
TILE_CYCLES, MOVE_CYCLES = 100, 100
"""About what a tile costs the HWCs, and the DMA, beyond their work."""
SUM_CYCLES = 4
"""About what it costs an HWC to store a partial sum in the TCDM and to resume it."""
TILE_WORK, MOST_WORK = 500, 2_000_000
"""What a tile is to the exact model, in beats of the DRAM; no more is timed after so many beats."""
MOST_TILES_TIMED = 500
SURE, GAINED = 0.001, 0.01
"""The parts by which an estimate of cycles is believed, and by which fewer bytes are worth the time to tell."""
MOST_MISSED = 1.05
"""The factor by which estimates are believed to miss all alike, at most: those of small layers miss by more."""
SMALL, BESIDE = 2000, 40
"""Cycles below which an estimate may miss by these others besides."""
STARTED = 0.02
"""The part by which the fastest of a spread may exceed the fewest cycles for a descent from it, but where a program
is short."""
HOPED, HOPED_CYCLES = 0.02, 500
"""The part by which a first estimate may exceed the least second one, and the cycles, for small layers."""


@dataclass(frozen=True)
class _Plan:
    """A tile, loops around it that fit, its spread, and a first estimate."""

    steps: dict[Dim, int]
    loops: OuterLoops
    spread: Spread
    cycles: float
    tiles: int


@dataclass(frozen=True)
class _Candidate:
    """A schedule with its estimate, its bytes and the plan that it is of."""

    schedule: Schedule
    plan: _Plan
    estimate: float
    tcdm_bytes: int

    @cached_property
    def dram_bytes(self) -> int:
        """Bytes of I, W and O that the DMA moves."""
        return dram_bytes(self.schedule)


class _Search:
    """One layer on one cluster."""

    def __init__(self, layer: Layer, hardware: Hardware, bits: Bits) -> None:
        self._layer, self._hardware, self._bits = layer, hardware, bits
        self._cluster, self._target = hardware.cluster or Cluster(), Target.of(hardware)
        objective = cluster_objective("dram-bytes", hardware)
        self._levels = CostLevels(
            layer, bits, self._cluster, self._target, objective, demand=None, max_tried=MAX_TRIED, spreads=True
        )
        timing = self._cluster.dram or Dram()
        self.fits = self._levels.fits
        self.neighbours = Neighbours(hardware, self._levels.slices)
        self._a_byte = max(
            1 / beat_bytes(self._cluster.axi_bits), (timing.block_cycles + timing.access_cycles) / BLOCK_BYTES
        )

    def plans(self, most_tiles: int) -> list[_Plan]:
        """The spread tiles of least first estimates."""
        space = self._levels.space

        def work(rows: Rows) -> np.ndarray:
            busy = space.iterations(rows) * space.taps(rows) + TILE_CYCLES * space.tiles(rows)
            return np.asarray(busy + again * (space.parts(rows) - 1))

        again = SUM_CYCLES * self._layer.output_elements / self._cluster.hwcs
        price = np.array([self._a_byte, MOVE_CYCLES])
        estimates, tiles, rows = space.fastest(RANKED, work, price)
        if not len(estimates):
            return []
        hwcs, local = self._cluster.hwcs, self._hardware.budget
        port = hwcs * min(self._target.ports.input_bytes, self._target.ports.weight_bytes)
        fetched = space.estimated_fetches(rows, hwcs, local) / port
        ranked = np.lexsort((estimates, np.maximum(estimates, np.where(np.isfinite(fetched), fetched, 0.0))))
        plans: list[_Plan] = []
        taken = 0
        for number in ranked.tolist():
            steps, loops = tiles[number]
            if not self._levels.fits(self._levels.trial(steps, loops)):
                continue
            here = tuple(row[number : number + 1] for row in rows)
            best, taps = space.iterations(here)[0], space.taps(here)[0]
            for spread in spreads_over_some(steps, hwcs, self._levels.slices):
                more = busiest_iterations(self._layer, steps, spread, self._target) - best
                plans.append(
                    _Plan(steps, loops, spread, float(estimates[number] + more * taps), int(space.tiles(here)[0]))
                )
            taken += 1
            if taken == most_tiles:
                break
        return sorted(plans, key=lambda plan: plan.cycles)

    def candidates(
        self, estimate: Estimate, most_tiles: int = MOST_TILES, most: int = MOST_ESTIMATED
    ) -> list[_Candidate]:
        """Schedules, ``most`` or a few more, with their second estimates."""
        nests = PromisingNests(self._layer, self._hardware, self._bits, estimate, self._levels.fits)
        found: list[_Candidate] = []
        plans = self.plans(most_tiles)
        for number, plan in enumerate(plans):
            tell(number / len(plans))
            if plan.cycles > nests.least * (1 + HOPED) + HOPED_CYCLES or len(found) >= most:
                break
            for schedule, moved, cycles in nests.of(plan.loops, plan.steps, plan.spread):
                found.append(_Candidate(schedule, plan, cycles, moved))
        return found


@dataclass(frozen=True)
class _Timed:
    """A candidate, its utilisation by the judge, and its cycles."""

    candidate: _Candidate
    judged: float
    cycles: float


def _chosen(known: Sequence[_Timed]) -> _Timed:
    """The one of fewest bytes of the DRAM, then of the TCDM, among those near the fewest cycles."""
    most = (1 + NEAR) * min(one.cycles for one in known)
    near = [one for one in known if one.cycles <= most]
    return min(near, key=lambda one: (one.candidate.dram_bytes, one.candidate.tcdm_bytes, one.cycles))


def _first(left: Sequence[_Candidate]) -> _Candidate:
    """The one of the least estimate; of several that of fewest bytes."""
    least = min(one.estimate for one in left)
    return min((one for one in left if one.estimate == least), key=lambda one: (one.dram_bytes, one.tcdm_bytes))


def _next(left: Sequence[_Candidate], known: Sequence[_Timed]) -> _Candidate | None:
    """What is timed next: what may take fewer cycles than all, or as few for fewer bytes; None: nothing.

    All estimates are believed to miss the cycles by one factor, the least that was seen, and `MOST_MISSED` at most.
    """
    if not known:
        return _first(left)
    fewest, chosen = min(one.cycles for one in known), _chosen(known).candidate
    missed = min(MOST_MISSED, *(one.cycles / one.candidate.estimate for one in known))
    beside = BESIDE if fewest < SMALL else 0
    faster = [one for one in left if missed * one.estimate - beside < fewest * (1 - SURE)]
    if faster:
        return _first(faster)
    near = [one for one in left if missed * one.estimate <= fewest * (1 + NEAR - SURE)]
    least = (chosen.dram_bytes * (1 - GAINED), chosen.tcdm_bytes)
    cheaper = [one for one in near if (one.dram_bytes, one.tcdm_bytes) < least]
    return min(cheaper, key=lambda one: (one.dram_bytes, one.tcdm_bytes)) if cheaper else None


def _beside(
    known: Sequence[_Timed], search: _Search, timed: Judge, estimate: Estimate, bound: float, lanes: int
) -> list[_Timed]:
    """What descents come by from the fastest of these, then from that of each spread that is not much slower."""
    layer = known[0].candidate.schedule.layer

    def cycles(schedule: Schedule) -> float:
        return layer.macs / (lanes * timed(schedule))

    descent = Descent(search.neighbours, search.fits, estimate, cycles, bound)
    there, started = list(known), list[Spread]()
    while left := [one for one in there if one.candidate.plan.spread not in started]:
        start = min(left, key=lambda one: (one.cycles, one.candidate.dram_bytes))
        if start.cycles > max(SHORT, (1 + STARTED) * min(one.cycles for one in there)):
            break
        schedule, plan = start.candidate.schedule, start.candidate.plan
        started.append(plan.spread)
        place = Place(schedule, plan.loops, plan.steps, plan.spread)
        found = descent.go(Arrived(place, start.candidate.estimate, start.cycles))
        there += [_timed(layer, one, lanes) for one in found]
    return there[len(known) :]


def _timed(layer: Layer, one: Arrived, lanes: int) -> _Timed:
    """What a descent came by, as a candidate."""
    place = one.place
    tiles = prod(-(-layer.extents[dim] // step) for dim, step in place.steps.items())
    plan = _Plan(place.steps, place.loops, place.spread, one.estimate, tiles)
    candidate = _Candidate(place.schedule, plan, one.estimate, tcdm_bytes(place.schedule))
    return _Timed(candidate, layer.macs / (lanes * one.cycles), one.cycles)


def search_least_cycles(
    layer: Layer,
    hardware: Hardware,
    *,
    timed: Judge,
    estimate: Estimate,
    bits: Bits | None = None,
    laid_out: bool = False,
) -> ClusterResult:
    """The schedule of fewest cycles that is found.

    Parameters
    ----------
    timed : says whether the hardware runs a schedule, and its utilisation by its cycles.
    estimate : about its cycles, in less time.
    laid_out : the input may be laid out for the layer, see `hwgen.search.layer_forms.forms_of`.

    On given lanes the layer is in the form of the fewest cycles. Raises `InputError` if none fits.
    """

    def search(one: Layer) -> ClusterResult:
        return _search(one, hardware, timed=timed, estimate=estimate, bits=bits or Bits())

    return in_best_cluster_form(layer, hardware, search, laid_out=laid_out)


def search_few(
    layer: Layer, hardware: Hardware, *, runs: Judge, estimate: Estimate, laid_out: bool = False
) -> Schedule:
    """The schedule of the least estimate, without waits, of a few that run; of more, where none of these does.

    It takes far less time than `search_least_cycles`.

    Parameters
    ----------
    hardware : a cluster with given lanes.
    runs : raises `InputError` for a schedule that the hardware does not run.
    estimate : about the cycles of a schedule.
    laid_out : the input may be laid out for the layer, see `hwgen.search.layer_forms.forms_of`.

    Raises `InputError` if none of these runs.
    """
    lanes, cluster = hardware.shape, hardware.cluster or Cluster()

    def search(one: Layer) -> _Candidate:
        require_room([one], hardware, Bits())
        whole = _Search(one, hardware, Bits())
        for tiles, most in ((FEW, FEW), (MOST_TILES, MOST_ESTIMATED)):
            found = whole.candidates(without_waits(estimate), tiles, most)
            for candidate in sorted(found, key=lambda candidate: candidate.estimate):
                with suppress(InputError):
                    runs(candidate.schedule)
                    return candidate
        raise InputError(f"{layer.name}: expected a schedule that runs; none does of {MOST_ESTIMATED}")

    forms = forms_of(layer, lanes, laid_out=laid_out, window=hardware.column_window)
    return in_best_form(forms, lanes, search, lambda found: found.estimate, cluster.hwcs).schedule


def _search(layer: Layer, hardware: Hardware, *, timed: Judge, estimate: Estimate, bits: Bits) -> ClusterResult:
    """The schedule of a layer in the form that it has; see `search_least_cycles`."""
    require_room([layer], hardware, bits)
    started = time.perf_counter()
    cluster, target = hardware.cluster or Cluster(), Target.of(hardware)
    lanes = cluster.hwcs * hardware.shape.product
    bound = cycle_bound(layer, hardware, bits).cycles
    search = _Search(layer, hardware, bits)
    left, work, known = search.candidates(estimate), 0, list[_Timed]()
    while left and len(known) < MOST_JUDGED and work < MOST_WORK:
        one = _next(left, known)
        if one is None:
            break
        tell(len(known) / MOST_JUDGED)
        left.remove(one)
        try:
            judged = timed(one.schedule)
        except InputError:
            continue
        work += one.dram_bytes // beat_bytes(cluster.axi_bits) + TILE_WORK * one.plan.tiles
        known.append(_Timed(one, judged, layer.macs / (lanes * judged)))
    if not known:
        # What is fast needs more room than the rings have, or settings that the HWCs do not have.
        near = search_fewest_cycles(layer, hardware, timed=timed, runs=timed, bits=bits, most_timed=MOST_TILES_TIMED)
        share = near.judged or timed(near.schedule)
        cycles = layer.macs / (lanes * share)
        return replace(
            near,
            objective=CYCLES,
            value=cycles,
            unit=CYCLES,
            judged=share,
            slack=None,
            bound=float(min(bound, cycles)),
        )
    known += _beside(known, search, timed, estimate, bound, lanes)
    best = _chosen(known)
    plan, cycles = best.candidate.plan, best.cycles
    iterations = busiest_iterations(layer, plan.steps, plan.spread, target)
    return ClusterResult(
        schedule=best.candidate.schedule,
        objective=CYCLES,
        value=cycles,
        unit=CYCLES,
        dram_bytes=best.candidate.dram_bytes,
        tcdm_bytes=best.candidate.tcdm_bytes,
        need=place(best.candidate.schedule).size,
        utilisation=utilisation(layer, iterations, cluster.hwcs, target),
        judged=best.judged,
        complete=cycles <= bound * (1 + NEAR),
        seconds=time.perf_counter() - started,
        lanes=lanes,
        bound=float(bound),
    )
