"""The descent from a schedule to better ones beside it, until no neighbour takes fewer cycles.

First the steps of the HWCs' tiles, then the loops around a tile and its spread, then uneven steps of the HWCs' tiles
(`hwgen.search.cluster.neighbours`), then again. An estimate of a neighbour is believed to miss the cycles by the
factor by which it missed those of the schedule itself; each neighbour that is not clearly slower by that is timed.

From places of a short program that are nearly as fast as the best one it goes on, too.

*The descent is bounded by what can be won*: the farther the cycles are from the proven bound, the more neighbours are
looked at, `MOST_LOOKED_AT` at most. Nor are those looked at that move many more bytes at the HWCs' ports than the
schedule that it began with, unless that is of a short program: where ports are busy most of the time, HWCs wait at
the banks of the memory for longer than the model tells.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import inf

from hwgen.ir.document import InputError
from hwgen.ir.schedule import Schedule
from hwgen.model.cluster.cluster_counts import tcdm_bytes
from hwgen.search.cluster.neighbours import Neighbours, Place
from hwgen.search.cluster.promising_nests import Estimate

__all__ = ["SHORT", "Arrived", "Descent"]

Kind = Callable[[Place], Iterator[Place]]
"""Neighbours of one kind."""

MOST_LOOKED_AT = 48
WORTH = 0.008
"""The part of the bound that can be won, for which one neighbour is looked at."""
BESIDE, BESIDE_PART = 100, 0.002
"""Cycles that a neighbour may be estimated to take more, and is timed; or this part of them, if that is more."""
NEARLY = 0.03
"""The part by which the cycles of a place of a short program may exceed the fewest, and it is gone on from."""
MORE, SHORT = 0.3, 500
"""The part by which a neighbour may move more bytes at the ports than the schedule that a descent began with; cycles
below which a program is short."""


@dataclass(frozen=True)
class Arrived:
    """A place that was timed, its estimate and its cycles."""

    place: Place
    estimate: float
    cycles: float


class Descent:
    """The descents of one layer on one cluster.

    Parameters
    ----------
    fits : whether the TCDM holds a schedule.
    estimate, cycles : of a schedule; they raise `InputError` where the hardware cannot run it.
    bound : what no schedule goes below.
    """

    def __init__(
        self,
        neighbours: Neighbours,
        fits: Callable[[Schedule], bool],
        estimate: Estimate,
        cycles: Callable[[Schedule], float],
        bound: float,
    ) -> None:
        self._neighbours, self._fits, self._estimate, self._cycles = neighbours, fits, estimate, cycles
        self._bound, self._left, self._most_bytes = bound, 0, 0.0
        self._known: set[object] = set()

    def go(self, start: Arrived) -> list[Arrived]:
        """What is timed on the way, each after fewer cycles than the one before or beside it."""
        found = [start]
        self._known.add(start.place.schedule.nest)
        self._most_bytes = inf if start.cycles < SHORT else (1 + MORE) * tcdm_bytes(start.place.schedule)
        self._left = min(MOST_LOOKED_AT, int((start.cycles / self._bound - 1) / WORTH))
        kinds, vain, turn = (self._neighbours.inside, self._neighbours.around, self._neighbours.uneven), 0, 0
        while vain < len(kinds) and self._left > 0:
            at = min(found, key=lambda one: one.cycles)
            beside = self._timed(at, kinds[turn])
            turn = (turn + 1) % len(kinds)
            vain = 1 if any(one.cycles < at.cycles for one in beside) else vain + 1
            found += beside
        if start.cycles < SHORT:
            found += self._past(found, kinds)
        return found[1:]

    def _past(self, found: list[Arrived], kinds: Sequence[Kind]) -> list[Arrived]:
        """What is timed from other places of a short program that are nearly as fast as the fastest one: a few cycles
        of setting up may lie between that and a faster one."""
        least, past = min(one.cycles for one in found), list[Arrived]()
        for at in sorted(found, key=lambda one: one.cycles)[1:]:
            if at.cycles <= (1 + NEARLY) * least:
                past += [one for kind in kinds for one in self._timed(at, kind)]
        return past

    def _new(self, at: Arrived, kind: Kind) -> Iterator[tuple[Place, float]]:
        """Neighbours that were not looked at yet and are not clearly slower, with their estimates."""
        most = (at.cycles + max(BESIDE, BESIDE_PART * at.cycles)) * at.estimate / at.cycles
        for one in kind(at.place):
            if self._left <= 0:
                return
            if one.schedule.nest in self._known:
                continue
            self._known.add(one.schedule.nest)
            try:
                if tcdm_bytes(one.schedule) <= self._most_bytes and self._fits(one.schedule):
                    self._left -= 1
                    estimate = self._estimate(one.schedule, most=most)
                    if estimate <= most:
                        yield one, estimate
            except InputError:
                continue

    def _timed(self, at: Arrived, kind: Kind) -> list[Arrived]:
        """Places on the way, each of which is timed."""
        found: list[Arrived] = []
        goes_on = True
        while goes_on:
            beside = []
            for place, estimate in self._new(at, kind):
                one = self._arrive(place, estimate)
                beside += [] if one is None else [one]
            found += beside
            best = min([at, *beside], key=lambda one: one.cycles)
            at, goes_on = best, best is not at
        return found

    def _arrive(self, place: Place, estimate: float) -> Arrived | None:
        try:
            return Arrived(place, estimate, self._cycles(place.schedule))
        except InputError:
            return None
