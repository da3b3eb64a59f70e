"""Memories and schedules chosen together: of all hierarchies within a budget the one of least energy for all layers.

Yang et al. 2016 take the ten best points of each layer and then one that is good for all (their Section 3.6). Here
every layer is scheduled on every hierarchy of the space, so the best one for all is found by summing; their way is
told beside it, from the same table.

*The space*: an outermost memory without a size, and inside it one to ``memories - 1`` levels, each for all operands
together, each at most half of the one around it. Sizes are those that are allowed, and for the outermost of them also
what the inner ones leave of the budget.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

from hwgen.ir.document import InputError
from hwgen.ir.lanes import Lanes
from hwgen.ir.memory.energy import TABLES
from hwgen.ir.memory.hierarchy import Hierarchy, MemoryLevel
from hwgen.ir.schedule import Bits
from hwgen.search.hierarchy.optimal import SAME

__all__ = ["Design", "DesignSpace", "Point", "design_of", "table_sizes"]

SMALLEST = 512
"""Bytes of the smallest level that is tried unless sizes are given."""
SHORTLIST = 10
"""Hierarchies of each layer that Yang et al. 2016 keep."""
TABLE = "yang_2016"


def table_sizes(budget: int) -> tuple[int, ...]:
    """Sizes that are tried unless others are given: 512 bytes times powers of four."""
    sizes = [SMALLEST]
    while 4 * sizes[-1] <= budget:
        sizes.append(4 * sizes[-1])
    return tuple(sizes)


@dataclass(frozen=True)
class DesignSpace:
    """The hierarchies among which is chosen.

    Members
    -------
    budget : bytes of all levels together, at most.
    memories : levels at most, the outermost one included.
    sizes : bytes that a level may have, ascending.
    lanes, bits : of the datapath.
    """

    budget: int
    memories: int
    sizes: tuple[int, ...]
    lanes: Lanes
    bits: Bits

    def hierarchies(self) -> list[Hierarchy]:
        """All of them, small ones first; raises `InputError` if there is none."""
        found = sorted(set(self._stacks()), key=lambda sizes: (sum(sizes), sizes))
        if not found:
            raise InputError(f"a budget of {self.budget} bytes: expected room for a level of {min(self.sizes)} bytes")
        return [self._hierarchy(sizes) for sizes in found]

    def _stacks(self) -> Iterator[tuple[int, ...]]:
        """Sizes of the levels, from the outside inward."""
        for number in range(1, self.memories):
            for inner in combinations(sorted(self.sizes, reverse=True), number - 1):
                left = self.budget - sum(inner)
                for size in {*self.sizes, left}:
                    stack = (size, *inner)
                    halves = all(2 * small <= large for large, small in zip(stack, inner, strict=False))
                    if min(self.sizes) <= size <= left and halves:
                        yield stack

    def _hierarchy(self, sizes: tuple[int, ...]) -> Hierarchy:
        inner = tuple(MemoryLevel(name=f"sram{i + 1}", bytes=size) for i, size in enumerate(sizes))
        name = "dram_" + "_".join(map(str, sizes))
        levels = (MemoryLevel(name="dram"), *inner)
        return Hierarchy(name=name, levels=levels, lanes=self.lanes, bits=self.bits, energy=TABLE)


@dataclass(frozen=True)
class Point:
    """One hierarchy.

    Members
    -------
    energies, bounds : pJ of each layer's schedule that was found, and what no schedule goes below.
    """

    hierarchy: Hierarchy
    energies: tuple[float, ...]
    bounds: tuple[float, ...]

    @property
    def bytes(self) -> int:
        """Bytes of all levels but the outermost."""
        return sum(level.total or 0 for level in self.hierarchy.inner)

    @property
    def area(self) -> float:
        """mm2, of the memories and of what is no memory."""
        table = TABLES[TABLE]
        return table.area(self.bytes) + table.area_without_memory

    @property
    def energy(self) -> float:
        """pJ of all layers."""
        return sum(self.energies)

    @property
    def bound(self) -> float:
        """What the energy of all layers on this hierarchy is not below."""
        return sum(self.bounds)


@dataclass(frozen=True)
class Design:
    """What was chosen.

    Members
    -------
    points : all hierarchies.
    best : the hierarchy of least energy for all layers together.
    bound : what no hierarchy of the space goes below.
    own : for each layer the best hierarchy for it alone.
    shortlisted : the best one of those that are among the ten best of every layer; None if there is none.
    front : of the hierarchies, those than which no smaller one takes less energy, by area.
    """

    points: tuple[Point, ...]
    best: Point
    bound: float
    own: tuple[Point, ...]
    shortlisted: Point | None
    front: tuple[Point, ...]

    @property
    def gap(self) -> float:
        """The amount by which the energy may exceed the least one of the space, in parts of the bound."""
        return 0.0 if self.best.energy <= self.bound * (1 + SAME) else self.best.energy / self.bound - 1

    @property
    def energy_of_own(self) -> float:
        """pJ of all layers if each had the hierarchy that is best for it."""
        return sum(point.energies[layer] for layer, point in enumerate(self.own))


def design_of(points: Sequence[Point]) -> Design:
    """Choose among hierarchies on which all layers have been scheduled; of equally good ones the smallest."""
    by_size = sorted(points, key=lambda point: (point.bytes, point.energy))
    best = min(by_size, key=lambda point: point.energy)
    layers = range(len(best.energies))
    ranked = [sorted(by_size, key=lambda point: point.energies[layer]) for layer in layers]
    common = [point for point in by_size if all(point in order[:SHORTLIST] for order in ranked)]
    front: list[Point] = []
    for point in by_size:
        if not front or point.energy < front[-1].energy:
            front.append(point)
    return Design(
        tuple(by_size),
        best,
        min(point.bound for point in by_size),
        tuple(order[0] for order in ranked),
        min(common, key=lambda point: point.energy, default=None),
        tuple(front),
    )
