"""The nests of the HWCs for a spread tile that are worth an estimate of their cycles.

First that of fewest cycles of the multipliers and ports with half of O's memory, so that a tile is drained beside the
work on the next. With the whole memory one is looked at where that finds none, and for as long as it is the faster
one now and then; that of fewest bytes between HWCs and TCDM only where its like is near the fastest of all tiles.
"""

from collections.abc import Callable, Iterator, Mapping
from math import inf
from typing import Protocol

from hwgen.ir.document import InputError
from hwgen.ir.hardware import Hardware
from hwgen.ir.layer import Dim, Layer
from hwgen.ir.schedule import Bits, Schedule
from hwgen.search.cluster.inner_nest import InnerGoal, InnerNests, memories_for
from hwgen.search.cluster.outer_nest import OuterLoops
from hwgen.search.cluster.spreading import Spread

__all__ = ["Estimate", "PromisingNests", "without_waits"]


class Estimate(Protocol):
    """About the cycles of a schedule; raises `InputError` where the hardware cannot run it.

    ``most`` : cycles above which it may be any number between them and what is asked for, in less time.
    """

    def __call__(self, schedule: Schedule, /, *, most: float = inf) -> float: ...


HOPELESS = 1.3
"""The factor by which a nest's cycles exceed the fewest where it is never timed, however much estimates miss."""
NEAR = 0.01
"""The part by which the cycles of a nest may exceed the fewest for one of fewer bytes to be looked at, too."""
FASTER = 0.001
"""The part by which a nest for the whole memory has to be faster."""
TRIES = 4
"""Tiles in a row for which it is not, after which it is looked at no more."""


def without_waits(estimate: Estimate) -> Estimate:
    """The same estimate without waits at the banks, in far less time."""

    def least(schedule: Schedule, /, *, most: float = inf) -> float:
        return estimate(schedule, most=0.0)

    return least


class PromisingNests:
    """The nests of one layer on one cluster.

    Parameters
    ----------
    fits : whether a schedule fits the TCDM.
    """

    def __init__(
        self, layer: Layer, hardware: Hardware, bits: Bits, estimate: Estimate, fits: Callable[[Schedule], bool]
    ) -> None:
        self._memories: list[InnerNests] = []
        for one in memories_for(hardware):
            self._memories.append(InnerNests(layer, one, bits, *self._memories[:1]))
        self._estimate, self._fits = estimate, fits
        self._known: set[object] = set()
        self._slower = 0
        self.least = inf

    def of(self, loops: OuterLoops, tile: Mapping[Dim, int], spread: Spread) -> Iterator[tuple[Schedule, int, float]]:
        """Schedules that were not there before, their bytes at the TCDM, and about their cycles; see `InnerNests`."""
        here = inf
        for number, nests in enumerate(self._memories):
            if number and here < inf and self._slower == TRIES:
                break
            found = self._nest(nests, loops, tile, spread, "cycles")
            if found is None:
                continue
            yield found
            cycles = found[2]
            if number and here < inf:
                self._slower = 0 if cycles < here * (1 - FASTER) else self._slower + 1
            here = min(here, cycles)
            if cycles <= self.least * (1 + NEAR):
                frugal = self._nest(nests, loops, tile, spread, "traffic")
                if frugal is not None:
                    yield frugal

    def _nest(
        self, nests: InnerNests, loops: OuterLoops, tile: Mapping[Dim, int], spread: Spread, goal: InnerGoal
    ) -> tuple[Schedule, int, float] | None:
        for spills in (True, False):
            best = nests.best(loops, tile, spread, spills=spills, goal=goal, vectors=True)
            if best is None:
                return None
            if not self._fits(best[0]):
                continue
            if best[0].nest in self._known:
                return None
            self._known.add(best[0].nest)
            try:
                cycles = self._estimate(best[0], most=HOPELESS * self.least)
            except InputError:
                return None
            self.least = min(self.least, cycles)
            return *best, cycles
        return None
