"""The best nest of two levels for a cluster: least DRAM bytes, DRAM time or energy first, then fewest TCDM bytes.

*The space*: loops over m, c, y, x around a tile in any order and with any `tcdm` markers
(`hwgen.search.cluster.outer_nest`); the tile spread over the HWCs by filters, by rows, or by both; below, what
`hwgen.search.core.optimal` searches for one HWC.

*The order of the search.* First the objective (`hwgen.search.objectives.of_cluster`): the loops around a tile decide
what the DMA moves, and how long the DRAM takes for it. They are taken level by level in ascending order of their
cost (`hwgen.search.cluster.cost_levels`). Among tiles of one level, the one with the fewest bytes between HWCs and
TCDM wins (`hwgen.search.cluster.inner_nest`). Energy weighs both: levels are ranges of the bytes of the DRAM, and
end when these, with the fewest bytes that the HWCs may move (`hwgen.search.cluster.optimal`), cost more than the
best known schedule, or when that is near the bound.

*The search is bounded.* Of the tiles of one level, in the order of the least bytes that they make the HWCs fetch
(for the energy in turn with the order of an estimate of these bytes), at most ``max_searched`` are searched. At most
``max_tried`` loops are tried to fit the TCDM, or timed for the objective of DRAM time. The result says (``complete``)
whether one of these bounds, or the steps that `hwgen.search.cluster.outer_nest` leaves out of large layers, may have
hidden something better.

*Utilisation.* Spreads that leave HWCs idle are left out: of those that reach ``busy_share`` of the best utilisation
of any tile and spread, the one of fewest bytes wins. With ``min_utilisation``, those that cannot reach it without
any stall are left out, and the result must reach it by the judge, who knows the cycles. The judge also refuses what
the hardware cannot run; such a tile is searched again with steps that divide it. After a rejected candidate comes
the next best of the level, then the next level. After each level that is rejected as a whole, the required
utilisation without stalls rises by a quarter of what it lacks to 1; at most ``max_levels`` levels are rejected, and
the search ends after as many of whose tiles, where they fit the TCDM, none has a nest that fits the HWCs.

Every schedule is placed in the TCDM before it counts, and its bytes are confirmed by the model.

Bytes of the DRAM: those of the TCDM's level alone at its optimum, as if it needed room for one tile of each operand
in place of two. Bytes between TCDM and HWCs: those of one HWC's buffers alone at their optimum; a schedule on several
HWCs moves what the same nest moves on one. Both hold for any splits (`hwgen.search.hierarchy.bound`). For the nests
that the search covers, `CostLevels.floor` bounds the bytes of the DRAM more tightly.
"""

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import islice
from typing import NamedTuple

import numpy as np

from hwgen.ir.document import InputError
from hwgen.ir.hardware import Cluster, Hardware
from hwgen.ir.layer import Dim, Layer
from hwgen.ir.level import TCDM
from hwgen.ir.schedule import ARRAYS, Bits, Schedule
from hwgen.model.cluster.cluster_counts import dram_bytes, tcdm_bytes
from hwgen.model.cluster.placement import place
from hwgen.model.energy import DevicePrices
from hwgen.search.cluster.cost_levels import MAX_TIMED, MAX_TRIED, CostLevels, Tile
from hwgen.search.cluster.inner_nest import InnerNests
from hwgen.search.cluster.outer_nest import OuterLoops
from hwgen.search.cluster.spreading import Spread, busiest_iterations, spreads_of, utilisation
from hwgen.search.core.space import Target
from hwgen.search.hierarchy.bound import lower_bound
from hwgen.search.hierarchy.nest_cost import Costs
from hwgen.search.hierarchy.tables import layer_tables
from hwgen.search.objectives.of_cluster import CYCLES, ClusterObjective, cluster_objective

__all__ = ["ClusterResult", "Judge", "floor_of", "search_cluster"]


@dataclass(frozen=True)
class Floor:
    """What every schedule moves at least.

    Members
    -------
    dram_bytes, tcdm_bytes : bytes of I, W and O.
    inside : energy of what the TCDM and the local memories serve; 0 without prices.
    """

    dram_bytes: int
    tcdm_bytes: int
    inside: float = 0.0


def floor_of(layer: Layer, bits: Bits, hardware: Hardware, prices: DevicePrices | None = None) -> Floor:
    """The least that any schedule on this cluster moves."""
    cluster, target = hardware.cluster or Cluster(), Target.of(hardware)
    tables = layer_tables(layer, target.lanes, bits)
    size = hardware.budget if hardware.buffers is None else sum(hardware.buffers.values())
    shared, local = [float(cluster.tcdm)] * 3, [float(size)] * 3

    def least(sizes: list[list[float]], serves: list[list[float]]) -> float:
        caps = np.array([[np.inf] * 3, *sizes])
        shared = np.ones(len(caps), np.bool_)
        costs = Costs.of(tables, np.array(serves), np.zeros((len(caps), 3)), caps, shared)
        return lower_bound(tables, costs) * (1 - 1e-12)

    one, nothing = [1.0] * 3, [0.0] * 3
    inside = 0.0
    if prices is not None:
        inside = least([local], [[prices.outer[TCDM.name]] * 3, [prices.local[array] for array in ARRAYS]])
    moved, fetched = least([shared, local], [one, nothing, nothing]), least([local], [one, nothing])
    return Floor(int(np.ceil(moved)), int(np.ceil(fetched)), inside)


MAX_SEARCHED = 8
"""Tiles of one level, at most, for which the nest of the HWCs is searched."""
BUSY_SHARE = 0.9
MAX_LEVELS = 24
"""Levels, at most, that the judge rejects; and those whose tiles fit the TCDM, but no nest of one the HWCs."""
WEIGHED_TRIED, WEIGHED_LEVELS = 300, 2
"""Where energy is weighed: how many loops of one level are tried, at most, to fit the TCDM, and levels at most."""
NEAR = 0.01
"""Where energy is weighed: what is within this part of the lower bound is not improved."""

SAME = 1e-9
"""Parts by which two sums of the same terms may differ."""

Judge = Callable[[Schedule], float]
"""Utilisation of the lanes by a schedule's cycles; raises `InputError` where the hardware cannot run it."""


@dataclass(frozen=True)
class ClusterResult:
    """The best schedule of one layer on a cluster.

    Members
    -------
    schedule : the schedule.
    objective, value, unit : what was minimised, and its value.
    dram_bytes, tcdm_bytes : bytes of I, W and O that the DMA moves, and that all HWCs move.
    need : bytes of the TCDM, as `hwgen.model.cluster.placement` places it.
    utilisation : of the lanes, by the cycles of the busiest HWC of each tile without any stall.
    judged : utilisation by the judge; None without one.
    complete : whether nothing that may be better was left out.
    bound : what no schedule goes below, in the objective's unit; None where there is no bound (the DRAM's time).
    seconds : time spent.
    slack : by how much the bytes of the DRAM may exceed the fewest, for fewer cycles; None: cycles are not weighed.
    lanes : of all HWCs together.
    least : the other end: fewest bytes of the DRAM, and utilisation with them (None: not known); None without slack.
    """

    schedule: Schedule
    objective: str
    value: float
    unit: str
    dram_bytes: int
    tcdm_bytes: int
    need: int
    utilisation: float
    judged: float | None
    complete: bool
    seconds: float
    slack: float | None = None
    least: tuple[int, float | None] | None = None
    lanes: int = 1
    bound: float | None = None

    @property
    def times(self) -> bool:
        """Whether cycles were weighed."""
        return self.slack is not None or self.objective == CYCLES

    @property
    def gap(self) -> float | None:
        """The amount by which the value may exceed the least one, in parts of the bound; 0 where it is proven."""
        if self.bound is None:
            return None
        return max(0.0, self.value / self.bound - 1) if self.bound else 0.0


class _Candidate(NamedTuple):
    """A tile, loops around it that fit, its spread over the HWCs, their utilisation, bytes that the DMA moves."""

    steps: dict[Dim, int]
    loops: OuterLoops
    spread: Spread
    utilisation: float
    dram_bytes: int


class _Found(NamedTuple):
    """A schedule and its cost."""

    cost: int
    tcdm_bytes: int
    schedule: Schedule
    candidate: _Candidate
    judged: float | None = None

    @property
    def rank(self) -> tuple[int, int]:
        return self.cost, self.tcdm_bytes


def search_cluster(
    layer: Layer,
    hardware: Hardware,
    objective: str = "dram-bytes",
    *,
    bits: Bits | None = None,
    min_utilisation: float | None = None,
    judge: Judge | None = None,
    max_searched: int = MAX_SEARCHED,
    busy_share: float = BUSY_SHARE,
    max_tried: int | None = None,
    max_levels: int | None = None,
    near: float = NEAR,
) -> ClusterResult:
    """The best schedule for a cluster; raises `InputError` if none fits, or none that is found is busy enough.

    Parameters
    ----------
    layer, hardware
        What runs where; without a ``cluster`` in the hardware, the default one.
    objective
        ``dram-bytes``, ``dram-time`` (`hwgen.model.dram.counts`) or ``energy`` (`hwgen.model.energy`).
    bits
        Widths of the elements; 8-bit operands and 32-bit sums if left out.
    min_utilisation
        What the utilisation must reach, 0 to 1: that of the judge, or without a judge that without any stall.
    judge
        Says whether the hardware runs a schedule, and its utilisation.
    max_searched
        Tiles of one level, at most, for which the nest of the HWCs is searched; twice as many for the energy.
    busy_share
        Without ``min_utilisation``: what the utilisation must reach of the best one, 0 to 1.
    max_tried
        Loops of one level that are tried, at most, to fit the TCDM; only where the rings hardly fit does it take more
        than a few. For the time of the DRAM: loops that are timed at most, in all.
    max_levels
        Levels that the judge may reject, or that are searched where energy is weighed.
    near
        Where energy is weighed: what exceeds the lower bound by no more than this part of it is not improved.
    """
    started = time.perf_counter()
    cluster, bits = hardware.cluster or Cluster(), bits or Bits()
    cost = cluster_objective(objective, hardware)
    levels = CostLevels(
        layer,
        bits,
        cluster,
        Target.of(hardware),
        cost,
        demand=min_utilisation,
        local=hardware.budget if hardware.buffers is None else sum(hardware.buffers.values()),
        max_tried=max_tried or (MAX_TIMED if cost.timed else MAX_TRIED if cost.settled else WEIGHED_TRIED),
    )
    floor = None if cost.timed else floor_of(layer, bits, hardware, cost.prices)
    search = _Search(layer, hardware, bits, cost, levels, judge, min_utilisation)
    search.max_searched, search.busy_share = max_searched * (1 if cost.settled else 2), busy_share
    if floor is not None and not cost.settled:
        search.least_tcdm_bytes = floor.tcdm_bytes
        search.enough = (1 + near) * cost.of_level(max(floor.dram_bytes, levels.floor), floor.tcdm_bytes)
    found = search.run(max_levels or (MAX_LEVELS if cost.settled else WEIGHED_LEVELS))
    value, bound = cost.value(found.cost, found.schedule), None
    if floor is not None:
        bound = cost.least_value(layer, max(floor.dram_bytes, levels.floor), floor.inside)
    if bound is not None and bound > value * (1 + SAME):
        raise RuntimeError(f"{layer.name}: a schedule of {value:g} {cost.unit} is below the bound, {bound:g}")
    if bound is not None:
        bound = value if cost.settled and search.complete and levels.complete else min(bound, value)
    moved = found.candidate.dram_bytes
    return ClusterResult(
        found.schedule,
        objective,
        value,
        cost.unit,
        moved,
        found.tcdm_bytes,
        place(found.schedule).size,
        found.candidate.utilisation,
        found.judged,
        search.complete and levels.complete,
        time.perf_counter() - started,
        lanes=cluster.hwcs * hardware.shape.product,
        bound=bound,
    )


class _Search:
    """One layer on one cluster."""

    max_searched: int
    busy_share: float
    enough = 0.0
    least_tcdm_bytes = 0

    def __init__(
        self,
        layer: Layer,
        hardware: Hardware,
        bits: Bits,
        objective: ClusterObjective,
        levels: CostLevels,
        judge: Judge | None,
        demand: float | None,
    ) -> None:
        self._layer, self._objective, self._levels = layer, objective, levels
        self._judge, self._demand = judge, demand
        self._cluster = hardware.cluster or Cluster()
        self._target = Target.of(hardware)
        self._inner = InnerNests(layer, hardware, bits)
        self._highest, self._refusals, self._reason, self._without_nest = 0.0, 0, "", 0
        self.complete = True

    def run(self, max_levels: int) -> _Found:
        """The schedule of least cost, then of fewest bytes."""
        best: _Found | None = None
        wanted, rejected = self._demand or 0.0, 0
        self._levels.require(wanted)
        for number, (level, tiles) in enumerate(self._levels.levels()):
            bound = self._objective.of_level(level, self.least_tcdm_bytes)
            if best is not None and bound > best.cost:
                break
            if best is not None and best.cost <= self.enough:
                self.complete = False
                break
            if rejected == max_levels or (best is not None and number >= max_levels):
                self.complete = False
                break
            before = self._refusals
            found = self._best_of(tiles, best)
            best = found or best
            if best is not None and self._objective.settled:
                break
            if best is None and self._without_nest >= MAX_LEVELS:
                break
            if found is None and self._refusals > before:
                rejected += 1
                wanted += (1 - wanted) / 4
                self._levels.require(min(wanted, 0.999) if self._demand is not None else 0.0)
        if best is not None:
            return best
        where = f"{self._layer.name}: no schedule"
        if self._demand is not None and self._highest > 0:
            raise InputError(
                f"{where} was found whose utilisation reaches {self._demand:g}; the highest was {self._highest:.3f}"
            )
        if self._refusals:
            raise InputError(f"{where} was found that these HWCs run; of the last one: {self._reason}")
        busy = "" if self._demand is None else f" and may reach a utilisation of {self._demand:g}"
        raise InputError(f"{where} fits a TCDM of {self._cluster.tcdm} bytes with these HWCs{busy}")

    def _best_of(self, tiles: Iterable[Tile], known: _Found | None) -> _Found | None:
        """The best schedule of these tiles if it is better than the known one."""
        fitting = list(islice(self._levels.fitting(tiles), self.max_searched))
        if len(fitting) == self.max_searched:
            self.complete = False
        candidates = []
        for steps, loops in fitting:
            moved = dram_bytes(self._levels.trial(steps, loops))
            for spread in spreads_of(steps, self._cluster.hwcs, self._levels.slices):
                iterations = busiest_iterations(self._layer, steps, spread, self._target)
                busy = utilisation(self._layer, iterations, self._cluster.hwcs, self._target)
                candidates.append(_Candidate(steps, loops, spread, busy, moved))
        if self._demand is not None:
            return self._judged(
                [candidate for candidate in candidates if candidate.utilisation >= self._demand], known
            )
        while candidates:
            enough = self.busy_share * max(candidate.utilisation for candidate in candidates)
            found = self._judged([candidate for candidate in candidates if candidate.utilisation >= enough], known)
            if found is not None:
                return found
            candidates = [candidate for candidate in candidates if candidate.utilisation < enough]
        self._without_nest += bool(fitting)
        return None

    def _judged(self, candidates: list[_Candidate], known: _Found | None) -> _Found | None:
        """The best schedule of these candidates that the judge accepts."""
        waiting: list[tuple[tuple[int, int], int, bool, _Found]] = []
        for number, candidate in enumerate(candidates):
            one = self._schedule(candidate, known)
            if one is not None:
                heappush(waiting, (one.rank, number, False, one))
                if self._judge is None:
                    known = one
        while waiting:
            _, number, divided, one = heappop(waiting)
            if self._judge is None:
                return one
            try:
                judged = self._judge(one.schedule)
            except InputError as error:
                # Most often because its loads have too many parts.
                self._reason = str(error)
                other = None if divided else self._schedule(one.candidate, known, divided=True)
                if other is not None:
                    heappush(waiting, (other.rank, number, True, other))
            else:
                self._highest = max(self._highest, judged)
                if judged >= (self._demand or 0.0):
                    return one._replace(judged=judged)
            self.complete = False
            self._refusals += 1
        return None

    def _schedule(self, candidate: _Candidate, known: _Found | None, *, divided: bool = False) -> _Found | None:
        """The schedule of fewest bytes that is better than the known one and fits the TCDM."""
        most = None if known is None else self._objective.most_tcdm_bytes(known.cost, candidate.dram_bytes)
        if known is not None and self._objective.settled:
            most = known.tcdm_bytes - 1
        for spills in (True, False):
            # An output in the TCDM takes four times the bytes where partial sums spill from the HWCs.
            found = self._inner.best(
                candidate.loops, candidate.steps, candidate.spread, most, spills=spills, divided=divided
            )
            if found is None:
                return None
            schedule, tcdm_bytes = found
            if self._levels.fits(schedule):
                self._confirm(schedule, tcdm_bytes)
                counted = self._levels.cost_of(candidate.loops) or candidate.dram_bytes
                cost = self._objective.of_schedule(counted, candidate.dram_bytes, tcdm_bytes)
                one = _Found(cost, tcdm_bytes, schedule, candidate)
                return one if known is None or one.rank < known.rank else None
        return None

    def _confirm(self, schedule: Schedule, believed: int) -> None:
        """Check the bytes between HWCs and TCDM against the model."""
        found = tcdm_bytes(schedule)
        if found != believed:
            raise RuntimeError(
                f"{self._layer.name}: search and model differ: {believed} against {found} bytes of the TCDM for "
                f"{schedule.as_data()['nest']}"
            )
