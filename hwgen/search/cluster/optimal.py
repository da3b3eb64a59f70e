"""The best nest of two levels for a cluster: least DRAM bytes, DRAM time or energy first, then fewest TCDM bytes.

*The space*: loops over m, c, y, x around a tile in any order and with any `tcdm` markers
(`hwgen.search.cluster.outer_nest`); the tile spread over the HWCs by filters, by rows, or by both; below, what
`hwgen.search.core.optimal` searches for one HWC.

*First*, the objective (`hwgen.search.cluster.objectives`). The loops around a tile decide what the DMA moves, and
what time the DRAM takes for it: they are taken in ascending order, all of them. *Then*, among those that cost equally
little, what the HWCs fetch from the TCDM and write to it (`hwgen.search.cluster.inner_nest`). Energy weighs both:
loops are taken in the order of what they cost with the fewest bytes that the HWCs may fetch, until this alone is more
than what is known.

*What bounds it.* Of the tiles that cost equally little, in the order of what they make the HWCs fetch at the least,
so many are searched (``looks``). The time of the DRAM has to be counted, loops by loops, in the order of a lower
bound of it; so many are counted at the most (``attempts``). Where any of this, or the steps that
`hwgen.search.cluster.outer_nest` leaves out of large layers, may have hidden something better, the result says so
(``complete``).

*Busy HWCs.* Slices that leave HWCs idle are out: of those within ``busy`` times the best utilisation that any of the
tiles and slices reaches, the one of fewest bytes wins. With ``min_utilisation`` those are out that could not reach it
if nothing ever stalled, and what is found has to reach it before the judge, who knows the cycles. The judge also
refuses what the hardware does not run; such a tile gets another nest, of steps that divide it. What the judge rejects
gives way to the next best of these tiles, and then to other loops; with each set of loops that is rejected whole,
tiles have to look better by a quarter of what they lack (``patience``: so many sets).

Every schedule is placed in the TCDM before it counts, and its bytes are confirmed by the model.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import groupby, islice
from typing import NamedTuple

from hwgen.ir.document import InputError
from hwgen.ir.hardware import Cluster, Hardware
from hwgen.ir.layer import OUTPUT_DIMS, Dim, Layer
from hwgen.ir.schedule import Bits, Loop, Marker, Schedule
from hwgen.model.cluster.levels import local_level, outer_level
from hwgen.model.cluster.placement import bytes_needed, place
from hwgen.model.core.access import predict
from hwgen.search.cluster.inner_nest import Insides
from hwgen.search.cluster.objectives import Aim, ClusterObjective, aim_of
from hwgen.search.cluster.outer_nest import MOST_STEPS, Outer, OuterSpace
from hwgen.search.cluster.spreading import Slices, busiest, shares_of, slicings, utilisation
from hwgen.search.core.space import Target

__all__ = ["Judge", "TwoLevelResult", "search_two_levels"]

LOOKS = 8
"""Tiles, at most, for which a nest of the HWCs is searched."""
BUSY = 0.9
ATTEMPTS = 5_000
"""How often, at most, it is asked whether something fits the TCDM, for one value of the objective."""
TIMED = 200
"""How many loops, at most, are timed where the objective is time."""
FEWER_STEPS = 1 << 17
"""As `hwgen.search.cluster.outer_nest.MOST_STEPS`, where it takes longer to tell what loops cost."""
MISSES = 8
"""Values of the objective, one after the other, of which nothing fits, until less of the TCDM is counted on."""
PATIENCE = 24
"""Sets of loops that cost equally much, at most, that the judge rejects, or that energy is weighed for."""

Judge = Callable[[Schedule], float]
"""MACs by lanes and cycles of a schedule; raises `InputError` where the hardware does not run it."""
Tile = tuple[dict[Dim, int], list[Outer]]


@dataclass(frozen=True)
class TwoLevelResult:
    """The best schedule of one layer on a cluster.

    Members
    -------
    schedule : the schedule.
    objective, value, unit : what it has least of, and how much that is.
    dram_bytes, tcdm_bytes : what the DMA moves of I, W and O, and what all HWCs do.
    need : bytes of the TCDM, as `hwgen.model.cluster.placement` places it.
    utilisation : MACs by lanes and cycles of the busiest HWC of each tile, if nothing ever stalls.
    judged : the same as the judge has it; None without one.
    complete : whether nothing that may be better was left out.
    seconds : time spent.
    """

    schedule: Schedule
    objective: ClusterObjective
    value: float
    unit: str
    dram_bytes: int
    tcdm_bytes: int
    need: int
    utilisation: float
    judged: float | None
    complete: bool
    seconds: float


class _Way(NamedTuple):
    """A tile, the loops around it that fit, how it is sliced, how busy the HWCs are, what the DMA moves."""

    steps: dict[Dim, int]
    outer: Outer
    slices: Slices
    utilisation: float
    dram_bytes: int


class _Found(NamedTuple):
    """A schedule with what it costs."""

    cost: int
    tcdm_bytes: int
    schedule: Schedule
    way: _Way
    judged: float | None = None

    @property
    def rank(self) -> tuple[int, int]:
        return self.cost, self.tcdm_bytes


def search_two_levels(
    layer: Layer,
    hardware: Hardware,
    objective: ClusterObjective = "dram-bytes",
    *,
    bits: Bits | None = None,
    min_utilisation: float | None = None,
    judge: Judge | None = None,
    looks: int = LOOKS,
    busy: float = BUSY,
    attempts: int | None = None,
    patience: int = PATIENCE,
) -> TwoLevelResult:
    """The best schedule for a cluster; raises `InputError` if none fits, or none that is found is busy enough.

    Parameters
    ----------
    layer, hardware
        What runs where; without a ``cluster`` in the hardware, the default one.
    objective
        ``dram-bytes``, ``dram-time`` (see `hwgen.model.dram.time`) or ``energy`` (see `hwgen.model.cluster.energy`).
    bits
        Widths of the elements; 8-bit operands and 32-bit sums if left out.
    min_utilisation
        What the judge's utilisation must reach, 0 to 1; without a judge, the one in which nothing stalls.
    judge
        Who says whether the hardware runs a schedule, and how busy its lanes are.
    looks
        Tiles, at most, that are searched for the HWCs' bytes.
    busy
        Without ``min_utilisation``: how much less busy than the best the HWCs may be, 0 to 1.
    attempts
        How often it is tried, at most, to fit loops into the TCDM that cost equally little; then the next ones are
        tried. Only where the rings hardly fit does it take more than a few. For the time of the DRAM: how many loops
        are timed at most, in all.
    patience
        How many sets of loops that cost equally much the judge may reject, or energy may be weighed for.
    """
    started = time.perf_counter()
    aim = aim_of(objective, hardware.cluster or Cluster())
    search = _Search(layer, hardware, bits or Bits(), aim, judge, min_utilisation)
    search.looks, search.busy = looks, busy
    search.attempts = attempts or (TIMED if aim.timed else ATTEMPTS)
    found = search.run(patience)
    moved = found.way.dram_bytes
    return TwoLevelResult(
        found.schedule,
        objective,
        aim.value(found.cost, layer, search.bits, moved, found.tcdm_bytes),
        aim.unit,
        moved,
        found.tcdm_bytes,
        place(found.schedule).size,
        found.way.utilisation,
        found.judged,
        search.complete,
        time.perf_counter() - started,
    )


class _Search:
    """One layer on one cluster."""

    looks: int
    busy: float
    attempts: int

    def __init__(
        self, layer: Layer, hardware: Hardware, bits: Bits, aim: Aim, judge: Judge | None, demand: float | None
    ) -> None:
        self.demand = demand
        self._layer, self.bits, self.aim, self._judge = layer, bits, aim, judge
        self._cluster = hardware.cluster or Cluster()
        self._target = Target.of(hardware)
        shares, lanes = shares_of(self._cluster.hwcs) if demand else (), self._target.lanes
        steps = MOST_STEPS if aim.name == "dram-bytes" else FEWER_STEPS
        self._space = OuterSpace(
            layer, bits, self._cluster.tcdm, aim.price, most_steps=steps, shares=shares, lanes=lanes
        )  # fmt: skip
        self._insides = Insides(layer, hardware, bits)
        self._timed: dict[object, int] = {}
        self._highest, self._refusals, self._reason = 0.0, 0, ""
        self._missed, self._nearest = 0, 0
        self.complete = not self._space.reduced

    def run(self, patience: int) -> _Found:
        """The schedule that costs least, then of fewest bytes."""
        best: _Found | None = None
        wanted, rejected = self.demand or 0.0, 0
        self._ask_for(wanted)
        for number, (bound, tiles) in enumerate(self._levels()):
            if best is not None and bound > best.cost:
                break
            if rejected == patience or (best is not None and number >= patience):
                self.complete = False
                break
            before = self._refusals
            found = self._best_of(tiles, best)
            best = found or best
            if best is not None and self.aim.settled:
                break
            if found is None and self._refusals > before:
                rejected += 1
                wanted += (1 - wanted) / 4
                self._ask_for(min(wanted, 0.999) if self.demand is not None else 0.0)
        if best is not None:
            return best
        where = f"{self._layer.name}: no schedule"
        if self.demand is not None and self._highest > 0:
            raise InputError(
                f"{where} was found whose utilisation reaches {self.demand:g}; the highest was {self._highest:.3f}"
            )
        if self._refusals:
            raise InputError(f"{where} was found that these HWCs run; of the last one: {self._reason}")
        busy = "" if self.demand is None else f" and may reach a utilisation of {self.demand:g}"
        raise InputError(f"{where} fits a TCDM of {self._cluster.tcdm} bytes with these HWCs{busy}")

    # --- loops around a tile ---

    def _ask_for(self, share: float) -> None:
        """Look only at tiles that may keep so many of the lanes busy."""
        if share * self._cluster.hwcs > 1:
            once = utilisation(self._layer, 1, self._cluster.hwcs, self._target)
            self._space.demand(int(once / share))

    def _levels(self) -> Iterator[tuple[int, Iterable[Tile]]]:
        """What loops cost, ascending, and the tiles whose loops cost so much."""
        if self.aim.timed:
            yield from self._timed_levels()
            return
        level = self._space.least()
        while level is not None:
            yield level, ((steps, outers) for _, steps, outers in self._space.between(level, level))
            if self._missed == MISSES:
                self._count_on_less()
            level = self._space.least(level)

    def _count_on_less(self) -> None:
        """Go on with tiles that fit a TCDM as much smaller as the nearest of those tried was too large.

        What loops need of it is bounded from below; where rings need more than that, what fits is far away.
        """
        self._space.size = self._space.size * self._cluster.tcdm // self._nearest
        self._missed, self._nearest, self.complete = 0, 0, False

    def _timed_levels(self) -> Iterator[tuple[int, Iterable[Tile]]]:
        """The same where what they cost has to be counted: as far as bounds tell, nothing less is left uncounted."""
        waiting: list[tuple[int, int, int, dict[Dim, int], Outer]] = []
        number, parts = 0, 1024
        low = self._space.least()
        while low is not None or waiting:
            if low is not None and (not waiting or low <= waiting[0][0]):
                high, parts = low + low // parts, max(32, parts // 2)
                for cost, fetched, steps, outer in self._counted(low, high):
                    number += 1
                    heappush(waiting, (cost, fetched, number, steps, outer))
                low = self._space.least(high)
                if low is not None and len(self._timed) >= self.attempts:
                    low, self.complete = None, False
                continue
            cost = waiting[0][0]
            tiles = []
            while waiting and waiting[0][0] == cost:
                tiles.append(heappop(waiting)[3:])
            yield cost, [(one[0][0], [outer for _, outer in one]) for one in _together(tiles)]

    def _counted(self, low: int, high: int) -> Iterator[tuple[int, int, dict[Dim, int], Outer]]:
        """Loops of lower bounds from ``low`` to ``high``, with what they cost and the least that the HWCs fetch."""
        for fetched, steps, outers in self._space.between(low, high):
            for outer in outers:
                key = outer.essence(self._layer.extents)
                if key not in self._timed:
                    if len(self._timed) >= self.attempts:
                        self.complete = False
                        return
                    self._timed[key] = self.aim.of_loops(low, self._trial(steps, outer))
                yield self._timed[key], fetched, steps, outer

    def _fitting(self, tiles: Iterable[Tile]) -> Iterator[tuple[dict[Dim, int], Outer]]:
        """The tiles that fit, each with the first loops around it that do."""
        left = ATTEMPTS if self.aim.timed else self.attempts
        self._missed += 1
        for steps, outers in tiles:
            tried: set[object] = set()
            for outer in outers:
                key = outer.essence(self._layer.extents)
                if key in tried:
                    continue
                tried.add(key)
                left -= 1
                if left < 0:
                    self.complete = False
                    return
                if self._fits(self._trial(steps, outer)):
                    self._missed = 0
                    yield steps, outer
                    break

    def _fits(self, schedule: Schedule) -> bool:
        """Whether the TCDM holds it; groups whose inputs tiles share in part have no place in a ring."""
        try:
            need = bytes_needed(schedule, self._cluster.tcdm)
        except InputError:
            return False
        self._nearest = min(need, self._nearest or need)
        return need <= self._cluster.tcdm

    def _trial(self, steps: Mapping[Dim, int], outer: Outer) -> Schedule:
        """The loops with a simple nest below them, that never writes a partial sum it need not."""
        inside: tuple[Loop | Marker, ...] = (
            Marker(("I", "W", "O")),
            Loop("c", steps["c"]),
            *(Loop(dim, min(self._target.lanes.along(dim), steps[dim])) for dim in OUTPUT_DIMS),
            Loop("c", 1),
            Loop("k", 1),
            Loop("l", 1),
        )
        return self._insides.schedule((*outer.items(), *inside))

    # --- what the HWCs do ---

    def _best_of(self, tiles: Iterable[Tile], known: _Found | None) -> _Found | None:
        """The best schedule of these tiles if it is better than what is known."""
        fitting = list(islice(self._fitting(tiles), self.looks))
        if len(fitting) == self.looks:
            self.complete = False
        ways = []
        for steps, outer in fitting:
            moved = predict(outer_level(self._trial(steps, outer))).total_bytes
            for slices in slicings(steps, self._cluster.hwcs):
                share = busiest(self._layer, steps, slices, self._target)
                share_of_lanes = utilisation(self._layer, share, self._cluster.hwcs, self._target)
                ways.append(_Way(steps, outer, slices, share_of_lanes, moved))
        if self.demand is not None:
            return self._judged([way for way in ways if way.utilisation >= self.demand], known)
        while ways:
            enough = self.busy * max(way.utilisation for way in ways)
            found = self._judged([way for way in ways if way.utilisation >= enough], known)
            if found is not None:
                return found
            ways = [way for way in ways if way.utilisation < enough]
        return None

    def _judged(self, ways: list[_Way], known: _Found | None) -> _Found | None:
        """The best schedule of these ways that the judge accepts."""
        waiting: list[tuple[tuple[int, int], int, bool, _Found]] = []
        for number, way in enumerate(ways):
            one = self._schedule(way, known)
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
                # Loads in too many pieces, as a rule.
                self._reason = str(error)
                other = None if divided else self._schedule(one.way, known, divided=True)
                if other is not None:
                    heappush(waiting, (other.rank, number, True, other))
            else:
                self._highest = max(self._highest, judged)
                if judged >= (self.demand or 0.0):
                    return one._replace(judged=judged)
            self.complete = False
            self._refusals += 1
        return None

    def _schedule(self, way: _Way, known: _Found | None, *, divided: bool = False) -> _Found | None:
        """The schedule of fewest bytes that is better than what is known and fits the TCDM."""
        most = None if known is None else self.aim.most_tcdm_bytes(known.cost, way.dram_bytes)
        if known is not None and self.aim.settled:
            most = known.tcdm_bytes - 1
        for spills in (True, False):
            # Partial sums that leave the HWCs make the outputs in the TCDM four times as large.
            found = self._insides.best(way.outer, way.steps, way.slices, most, spills=spills, divided=divided)
            if found is None:
                return None
            schedule, tcdm_bytes = found
            if self._fits(schedule):
                self._confirm(schedule, tcdm_bytes)
                loops = self._timed.get(way.outer.essence(self._layer.extents), 0)
                cost = self.aim.of_schedule(loops or way.dram_bytes, way.dram_bytes, tcdm_bytes)
                one = _Found(cost, tcdm_bytes, schedule, way)
                return one if known is None or one.rank < known.rank else None
        return None

    def _confirm(self, schedule: Schedule, believed: int) -> None:
        """The model says the same of both levels."""
        found = predict(local_level(schedule)).total_bytes
        if found != believed:
            raise RuntimeError(
                f"{self._layer.name}: search and model differ: {believed} against {found} bytes of the TCDM for "
                f"{schedule.as_data()['nest']}"
            )


def _together(tiles: list[tuple[dict[Dim, int], Outer]]) -> Iterator[list[tuple[dict[Dim, int], Outer]]]:
    """Those of the same steps, next to each other, together."""
    for _, group in groupby(tiles, key=lambda one: tuple(one[0].values())):
        yield list(group)
