"""How loops cut a dimension into ranges."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from hwgen.ir.layer import Dim
from hwgen.ir.schedule import Schedule

__all__ = ["Ints", "Nest", "Ranges"]

Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Ranges:
    """Half-open ranges of a dimension, ascending, which is program order.

    ``first`` marks those that start an execution of the last loop. Two are equal if they are the same object.
    """

    start: Ints
    stop: Ints
    first: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.start)

    @cached_property
    def sizes(self) -> Ints:
        """Length of each range."""
        return self.stop - self.start

    @cached_property
    def largest(self) -> int:
        """Length of the longest range."""
        return int(self.sizes.max())

    def split(self, step: int) -> "Ranges":
        """The ranges into which a loop of this step cuts them."""
        numbers = -(-self.sizes // step)
        offset = np.arange(numbers.sum()) - np.repeat(np.cumsum(numbers) - numbers, numbers)
        start = np.repeat(self.start, numbers) + offset * step
        return Ranges(start, np.minimum(start + step, np.repeat(self.stop, numbers)), offset == 0)

    def mapped(self, figure: Callable[[int], int]) -> Ints:
        """A figure of each range by its size."""
        sizes = self.sizes.tolist()
        figures = {size: figure(size) for size in set(sizes)}
        return np.array([figures[size] for size in sizes], np.int64)

    def most_pieces(self, pieces: "Ranges") -> int:
        """The largest number of the pieces into which one of these ranges is cut."""
        begins = np.searchsorted(pieces.start, self.start)
        return max(len(pieces) - int(begins[-1]), int((begins[1:] - begins[:-1]).max(initial=0)))

    def sums_of(self, pieces: "Ranges", values: Ints) -> Ints:
        """The sum, for each range, of the values of the pieces that it is cut into."""
        sums: Ints = np.add.reduceat(values, np.searchsorted(pieces.start, self.start))
        return sums

    def words_of_each(self, size: int, word: int) -> Ints:
        """Aligned words of ``word`` bytes of each range of elements of ``size`` bytes."""
        words: Ints = (self.stop * size - 1) // word - self.start * size // word + 1
        return words

    def words(self, size: int, word: int) -> int:
        """The same of all ranges, each by itself."""
        return int(self.words_of_each(size, word).sum())


class Nest:
    """The loops of a schedule, and the ranges into which they cut the dimensions."""

    def __init__(self, schedule: Schedule) -> None:
        self.schedule, self.layer, self.bits = schedule, schedule.layer, schedule.bits
        self.loops = schedule.loops
        self._extents = schedule.layer.loop_extents
        self._known: dict[tuple[Dim, int], Ranges] = {}

    @property
    def depth(self) -> int:
        """The number of loops."""
        return len(self.loops)

    def ranges(self, dim: Dim, depth: int) -> Ranges:
        """The ranges of one dimension that iterations of ``loops[depth - 1]`` cover; ``first`` refers to that loop.

        If that loop runs over another dimension, every range is a first one.
        """
        key = dim, depth
        if key not in self._known:
            loops = self.loops[:depth]
            steps = tuple([loop.step for loop in loops if loop.dim == dim])
            self._known[key] = _cut(self._extents[dim], steps, turning=bool(loops) and loops[-1].dim == dim)
        return self._known[key]


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
