"""How loops cut a dimension into ranges."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from hwgen.ir.layer import Dim
from hwgen.ir.schedule import Schedule

__all__ = ["Ints", "Ranges", "ranges_of"]

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Ranges:
    """Half-open ranges of a dimension, ascending, which is program order.

    ``first`` marks those that start an execution of the last loop.
    """

    start: Ints
    stop: Ints
    first: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.start)

    @property
    def sizes(self) -> Ints:
        """Length of each range."""
        return self.stop - self.start

    def split(self, step: int) -> "Ranges":
        """The ranges into which a loop of this step cuts them."""
        numbers = -(-self.sizes // step)
        offset = np.arange(numbers.sum()) - np.repeat(np.cumsum(numbers) - numbers, numbers)
        start = np.repeat(self.start, numbers) + offset * step
        return Ranges(start, np.minimum(start + step, np.repeat(self.stop, numbers)), offset == 0)


def ranges_of(schedule: Schedule, dim: Dim, depth: int) -> Ranges:
    """The ranges of one dimension that iterations of ``loops[depth - 1]`` cover; ``first`` refers to that loop.

    If that loop runs over another dimension, every range is a first one.
    """
    loops = schedule.loops[:depth]
    steps = tuple([loop.step for loop in loops if loop.dim == dim])
    return _cut(schedule.layer.loop_extents[dim], steps, turning=bool(loops) and loops[-1].dim == dim)


@lru_cache(maxsize=512)
def _cut(extent: int, steps: tuple[int, ...], *, turning: bool) -> Ranges:
    """The ranges into which loops of these steps cut an extent; every one is a first one unless the last loop turns.

    A count asks for the same ones many times. The arrays are shared, so they cannot be written.
    """
    if not steps:
        ranges = Ranges(np.zeros(1, np.int64), np.array([extent]), np.ones(1, np.bool_))
    elif turning:
        ranges = _cut(extent, steps[:-1], turning=False).split(steps[-1])
    else:
        cut = _cut(extent, steps, turning=True)
        ranges = Ranges(cut.start, cut.stop, np.ones(len(cut), np.bool_))
    for array in (ranges.start, ranges.stop, ranges.first):
        array.flags.writeable = False
    return ranges
