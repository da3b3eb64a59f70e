"""Tiles in ascending order of what the loops around them cost, and which of these loops fit the TCDM.

Loops that cost equally much are a *level*. Where the cost of loops has to be counted (the time of the DRAM), they are
counted in the order of a lower bound, so that no level is given out before everything that may cost less is counted.
"""

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from heapq import heappop, heappush
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from hwgen.ir.document import InputError
from hwgen.ir.hardware import Cluster
from hwgen.ir.layer import OUTPUT_DIMS, Dim, Layer
from hwgen.ir.schedule import Bits, Loop, Marker, Schedule
from hwgen.model.cluster.ring_sizes import bytes_needed
from hwgen.search.cluster.outer_nest import MOST_STEPS, OuterLoops, OuterSpace, Rows
from hwgen.search.cluster.spreading import shares_of, usable_step, utilisation
from hwgen.search.core.settings import Slices
from hwgen.search.core.space import Target
from hwgen.search.objectives.of_cluster import ClusterObjective

__all__ = ["MAX_TIMED", "MAX_TRIED", "CostLevels", "Tile"]

MAX_TRIED = 5_000
"""How many loops of one level are tried, at most, to fit the TCDM."""
MAX_TIMED = 200
"""How many loops are timed, at most, where the objective is time."""
FEWER_STEPS = 1 << 17
"""The limit `hwgen.search.cluster.outer_nest.MOST_STEPS`, where it takes longer to tell what loops cost."""
NARROWEST = 1 / 64
"""Where energy is weighed: the parts by which the costs of the first tiles differ at most."""
MAX_MISSES = 8
"""Consecutive levels of which nothing fits, until tiles for a smaller TCDM are taken."""

Tile = tuple[dict[Dim, int], list[OuterLoops]]
"""The steps of a tile, and the loops around it."""


class CostLevels:
    """The loops around a tile of one layer on one cluster.

    Parameters
    ----------
    layer, bits, cluster, target : what runs where.
    objective : what loops cost.
    demand : the utilisation that is asked for; None: any.
    spreads : keep steps by which tiles are spread evenly over HWCs and lanes, as with a demand.
    local : bytes of the buffers of an HWC, where energy is weighed.
    max_tried : see `MAX_TRIED`, or `MAX_TIMED` where the objective is time.

    Members
    -------
    complete : whether nothing that may be better was left out so far.
    space : all loops around a tile.
    slices : the slices of the tiles, and what the hardware has of their settings.
    """

    def __init__(
        self,
        layer: Layer,
        bits: Bits,
        cluster: Cluster,
        target: Target,
        objective: ClusterObjective,
        *,
        demand: float | None,
        max_tried: int,
        spreads: bool = False,
        local: int = 0,
    ) -> None:
        self._layer, self._bits, self._cluster, self._target = layer, bits, cluster, target
        self._objective, self._max_tried, self._local = objective, max_tried, local
        self.slices = Slices(layer, target.settings)
        shares = shares_of(cluster.hwcs) if demand or spreads else ()
        steps = MOST_STEPS if objective.name == "dram-bytes" else FEWER_STEPS
        self.space = OuterSpace(
            layer,
            bits,
            cluster.tcdm,
            objective.price,
            most_steps=steps,
            shares=shares,
            lanes=target.lanes,
            usable=usable_step(self.slices, cluster.hwcs),
        )
        self._timed: dict[object, int] = {}
        self._missed, self._nearest = 0, 0
        self.complete = not self.space.reduced

    @cached_property
    def floor(self) -> int:
        """What no loops around a tile go below, whatever their steps; 0 where costs are counted."""
        if self._objective.timed:
            return 0
        size, price = self._cluster.tcdm, self._objective.price
        return OuterSpace(self._layer, self._bits, size, price, classed=True).least() or 0

    def cost_of(self, loops: OuterLoops) -> int:
        """What was counted for these loops; 0 where costs are not counted."""
        return self._timed.get(loops.key(self._layer.extents), 0)

    def require(self, share: float) -> None:
        """Take only tiles that may keep this share of the lanes busy."""
        if share * self._cluster.hwcs > 1:
            once = utilisation(self._layer, 1, self._cluster.hwcs, self._target)
            self.space.demand(int(once / share))

    def levels(self) -> Iterator[tuple[int, Iterable[Tile]]]:
        """Costs of loops, ascending, each with the tiles whose loops cost that."""
        if self._objective.timed:
            yield from self._timed_levels()
            return
        if not self._objective.settled:
            yield from self._wide_levels()
            return
        level = self.space.least(self.floor - 1)
        while level is not None:
            yield level, ((steps, choices) for _, steps, choices in self.space.between(level, level))
            if self._missed == MAX_MISSES:
                self._assume_smaller_tcdm()
            level = self.space.least(level)

    def _wide_levels(self) -> Iterator[tuple[int, Iterable[Tile]]]:
        """Ranges of costs, each wider than the last one, with their tiles, the most promising first."""
        low: int | None = self.floor or self.space.least()
        width = NARROWEST
        while low is not None:
            high = int(low * (1 + width))
            found = self.space.between(low, high, self._promising, cheapest_first=True)
            yield low, ((steps, choices) for _, steps, choices in found)
            low, width = self.space.least(high), 4 * width

    def _promising(self, rows: Rows) -> NDArray[np.float64]:
        """The tiles, in turn, of the least estimate and those of the least bound."""
        estimates = self.space.estimated_fetches(rows, self._cluster.hwcs, self._local)
        bounds = self.space.least_fetches(rows)
        places = [np.argsort(np.lexsort((-np.arange(len(by)), by))) for by in (estimates, bounds)]
        return np.minimum(2.0 * places[0], 2.0 * places[1] + 1)

    def _assume_smaller_tcdm(self) -> None:
        """Continue with tiles for a TCDM that is smaller in the proportion by which the best tile tried exceeded it.

        The space bounds the need of loops from below. Where rings need more, the next tile that fits is far away.
        """
        self.space.size = self.space.size * self._cluster.tcdm // self._nearest
        self._missed, self._nearest, self.complete = 0, 0, False

    def _timed_levels(self) -> Iterator[tuple[int, Iterable[Tile]]]:
        """The same where costs are counted: everything whose lower bound is less has been counted before."""
        waiting: list[tuple[int, int, int, dict[Dim, int], OuterLoops]] = []
        number, parts = 0, 1024
        low = self.space.least()
        while low is not None or waiting:
            if low is not None and (not waiting or low <= waiting[0][0]):
                high, parts = low + low // parts, max(32, parts // 2)
                for cost, fetched, steps, loops in self._counted(low, high):
                    number += 1
                    heappush(waiting, (cost, fetched, number, steps, loops))
                low = self.space.least(high)
                if low is not None and len(self._timed) >= self._max_tried:
                    low, self.complete = None, False
                continue
            cost = waiting[0][0]
            tiles = []
            while waiting and waiting[0][0] == cost:
                tiles.append(heappop(waiting)[3:])
            yield cost, [(one[0][0], [loops for _, loops in one]) for one in _together(tiles)]

    def _counted(self, low: int, high: int) -> Iterator[tuple[int, int, dict[Dim, int], OuterLoops]]:
        """Loops of lower bounds from ``low`` to ``high``: cost, least bytes that the HWCs fetch, steps, loops."""
        for fetched, steps, choices in self.space.between(low, high):
            for loops in choices:
                key = loops.key(self._layer.extents)
                if key not in self._timed:
                    if len(self._timed) >= self._max_tried:
                        self.complete = False
                        return
                    self._timed[key] = self._objective.of_loops(low, self.trial(steps, loops))
                yield self._timed[key], fetched, steps, loops

    def fitting(self, tiles: Iterable[Tile]) -> Iterator[tuple[dict[Dim, int], OuterLoops]]:
        """The tiles that fit, each with the first loops around it that do."""
        left = MAX_TRIED if self._objective.timed else self._max_tried
        self._missed += 1
        for steps, choices in tiles:
            tried: set[object] = set()
            for loops in choices:
                key = loops.key(self._layer.extents)
                if key in tried:
                    continue
                tried.add(key)
                left -= 1
                if left < 0:
                    self.complete = False
                    return
                if self.fits(self.trial(steps, loops)):
                    self._missed = 0
                    yield steps, loops
                    break

    def fits(self, schedule: Schedule) -> bool:
        """Whether the TCDM holds it. Groups whose inputs are shared by tiles in part cannot be placed in a ring."""
        try:
            need = bytes_needed(schedule, self._cluster.tcdm)
        except InputError:
            return False
        self._nearest = min(need, self._nearest or need)
        return need <= self._cluster.tcdm

    def trial(self, steps: Mapping[Dim, int], loops: OuterLoops) -> Schedule:
        """The loops with a simple inner nest, which writes no partial sum that it can avoid."""
        inner: tuple[Loop | Marker, ...] = (
            Marker(("I", "W", "O")),
            Loop("c", steps["c"]),
            *(Loop(dim, min(self._target.lanes.along(dim), steps[dim])) for dim in OUTPUT_DIMS),
            # Lines of weights are filled only where the lanes along c have as many channels.
            Loop("c", min(self._target.lanes.along("c"), steps["c"])),
            Loop("k", 1),
            Loop("l", 1),
        )
        nest = (*loops.items(), *inner)
        target = self._target
        return Schedule(
            layer=self._layer,
            bits=self._bits,
            nest=nest,
            lanes=target.lanes,
            ports=target.ports,
            requantisation=target.requantisation,
            lane_registers=target.lane_registers,
        )


def _together(tiles: list[tuple[dict[Dim, int], OuterLoops]]) -> Iterator[list[tuple[dict[Dim, int], OuterLoops]]]:
    """Neighbours with the same steps, as one list."""
    for _, group in groupby(tiles, key=lambda one: tuple(one[0].values())):
        yield list(group)
