"""The tiles of a cluster's schedule in program order, and those for which an operand is resident in the TCDM."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from hwgen.ir.layer import DIMS, Dim
from hwgen.ir.level import TCDM
from hwgen.ir.schedule import ARRAYS, ArrayName, Loop, Schedule

__all__ = ["Iteration", "Ranges", "TileWalk", "tile_depth"]

Ints = NDArray[np.int64]
Ranges = tuple[tuple[int, int], ...]
"""Half-open ranges, one for each dimension in the order of `DIMS`."""


def tile_depth(schedule: Schedule) -> int:
    """Number of loops down to the innermost one with a ``tcdm`` marker, whose iterations are the tiles."""
    marked = [schedule.marked_loop(array, TCDM) for array in ARRAYS]
    return 1 + max(-1 if place is None else place for place in marked)


@dataclass(frozen=True, slots=True)
class Iteration:
    """One iteration of a loop: number of its execution, its ranges, its first and last tile."""

    execution: int
    ranges: Ranges
    first: int
    last: int


class TileWalk:
    """Every iteration of every loop down to the tiles.

    Members
    -------
    depth : number of loops down to the tiles.
    """

    def __init__(self, schedule: Schedule) -> None:
        self._schedule = schedule
        self.depth = tile_depth(schedule)
        extents = schedule.layer.extents
        low: dict[Dim, Ints] = {dim: np.zeros(1, np.int64) for dim in DIMS}
        high: dict[Dim, Ints] = {dim: np.array([extents[dim]]) for dim in DIMS}
        self._ranges = [(low, high)]
        self._parents = [np.zeros(1, np.int64)]
        for loop in schedule.loops[: self.depth]:
            low, high, parents = _split(low, high, loop)
            self._ranges.append((low, high))
            self._parents.append(parents)

    @cached_property
    def tiles(self) -> list[Ranges]:
        """The ranges of each tile."""
        return self._ranges_at(self.depth)

    def bounds(self, array: ArrayName) -> tuple[Ints, Ints, Ints]:
        """As `iterations`, in arrays: number of the execution; first and end [iteration, dimension]."""
        depth = self._depth_of(array)
        low, high = self._ranges[depth]
        first, end = (np.stack([side[dim] for dim in DIMS], axis=1) for side in (low, high))
        return self._parents[depth], first, end

    def _depth_of(self, array: ArrayName) -> int:
        marked = self._schedule.marked_loop(array, TCDM)
        assert marked is not None
        return marked + 1

    def _ranges_at(self, depth: int) -> list[Ranges]:
        low, high = self._ranges[depth]
        lows = np.stack([low[dim] for dim in DIMS], axis=1).tolist()
        highs = np.stack([high[dim] for dim in DIMS], axis=1).tolist()
        return [tuple(zip(a, b, strict=True)) for a, b in zip(lows, highs, strict=True)]

    def iterations(self, array: ArrayName) -> list[Iteration]:
        """The iterations of the loop that an operand's ``tcdm`` marker stands above, in program order."""
        depth = self._depth_of(array)
        number = np.arange(len(self._parents[self.depth]))
        for parents in reversed(self._parents[depth + 1 :]):
            number = parents[number]
        first = np.searchsorted(number, np.arange(len(self._parents[depth])))
        last = np.append(first[1:], len(number)) - 1
        parents = self._parents[depth]
        ranges = self._ranges_at(depth)
        return [
            Iteration(*entry) for entry in zip(parents.tolist(), ranges, first.tolist(), last.tolist(), strict=True)
        ]


def _split(low: dict[Dim, Ints], high: dict[Dim, Ints], loop: Loop) -> tuple[dict[Dim, Ints], dict[Dim, Ints], Ints]:
    """Each iteration replaced by those of a loop inside it, and the index of the iteration that each came from."""
    numbers = -(-(high[loop.dim] - low[loop.dim]) // loop.step)
    parents = np.repeat(np.arange(len(numbers)), numbers)
    offset = np.arange(numbers.sum()) - np.repeat(np.cumsum(numbers) - numbers, numbers)
    low, high = ({dim: ends[parents] for dim, ends in side.items()} for side in (low, high))
    low[loop.dim] = low[loop.dim] + offset * loop.step
    high[loop.dim] = np.minimum(low[loop.dim] + loop.step, high[loop.dim])
    return low, high, parents
