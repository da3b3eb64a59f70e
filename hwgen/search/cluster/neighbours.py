"""Schedules that differ from a given one in a single step of its tiles, marker, order of two loops, or spread.

A step of a tile goes to the next size that cuts its axis into one tile more or into fewer, rounded up to whole
vectors of lanes. Where the tile or its spread changes, the HWCs' tiles cut a slice into as many parts as before.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import takewhile

from hwgen.ir.hardware import Cluster, Hardware
from hwgen.ir.layer import Dim
from hwgen.ir.level import TCDM
from hwgen.ir.schedule import ARRAYS, ArrayName, Loop, Marker, Schedule
from hwgen.search.cluster.outer_nest import OuterLoops
from hwgen.search.cluster.spreading import Spread, spreads_over_some
from hwgen.search.core.orders import TILED
from hwgen.search.core.settings import Slices
from hwgen.search.core.space import Target

__all__ = ["Neighbours", "Place"]


@dataclass(frozen=True)
class Place:
    """A schedule with the loops around its tile, the tile's steps, and the steps of the spread loops."""

    schedule: Schedule
    loops: OuterLoops
    steps: dict[Dim, int]
    spread: Spread

    @classmethod
    def of(cls, schedule: Schedule) -> "Place | None":
        """The place of a schedule whose loops over HWCs follow those around its tile; None where they do not."""
        nest, extents = schedule.nest, schedule.layer.extents
        marked = [at for at, item in enumerate(nest) if isinstance(item, Marker) and item.level == TCDM]
        if not marked:
            return None
        around = [item for item in nest[: marked[-1] + 2] if isinstance(item, Loop)]
        places = {
            array: sum(isinstance(one, Loop) for one in nest[:at]) for at in marked for array in _arrays(nest[at])
        }
        loops = OuterLoops(
            tuple(loop.dim for loop in around),
            tuple(loop.step for loop in around),
            tuple(places.get(array, -1) for array in ARRAYS),
        )
        shared = takewhile(_spreads, nest[marked[-1] + 2 :])
        spread = {item.dim: item.step for item in shared if isinstance(item, Loop)}
        cut = dict(zip(loops.dims, loops.steps, strict=True))
        steps = {dim: cut.get(dim, extents[dim]) for dim in TILED}
        place = cls(schedule, loops, steps, spread)
        again = (*loops.items(), *(Loop(dim, step, "hwc") for dim, step in spread.items()), *place.inner)
        return place if again == nest and not any(_spreads(item) for item in place.inner) else None

    @property
    def inner(self) -> tuple[Loop | Marker, ...]:
        """The nest of the HWCs."""
        return self.schedule.nest[len(self.loops.items()) + len(self.spread) :]


class Neighbours:
    """The neighbours of schedules of one layer on one cluster.

    Parameters
    ----------
    slices : what the hardware has of the settings of slices.
    """

    def __init__(self, hardware: Hardware, slices: Slices) -> None:
        self._hwcs, self._slices = (hardware.cluster or Cluster()).hwcs, slices
        self._lanes, self._extents = Target.of(hardware).lanes, slices.layer.extents

    def inside(self, place: Place) -> Iterator[Place]:
        """Those with another even step of the HWCs' tiles, smaller ones first; whether they run is not asked."""
        left = dict(place.steps) | place.spread
        steps = _tile_steps(place.inner)
        others = [(dim, other) for dim, step in steps.items() for other in self._beside(dim, left[dim], step)]
        for dim, other in sorted(others, key=lambda one: one[1] > steps[one[0]]):
            found = self._with(place, place.loops, place.spread, {dim: other})
            if found is not None:
                yield found

    def uneven(self, place: Place) -> Iterator[Place]:
        """Those with a step of the HWCs' tiles that is a vector smaller or larger, so that the last is short."""
        left = dict(place.steps) | place.spread
        for dim, step in _tile_steps(place.inner).items():
            lanes = self._lanes.along(dim)
            for other in (step - lanes, step + lanes):
                usable = 0 < other < left[dim]
                found = self._with(place, place.loops, place.spread, {dim: other}) if usable else None
                if found is not None:
                    yield found

    def around(self, place: Place) -> Iterator[Place]:
        """Those with another tile, marker, order of loops or spread; it is not asked whether they run."""
        for loops in self._around(place.loops):
            found = self._with(place, loops, self._respread(place, loops))
            if found is not None:
                yield found
        for spread in spreads_over_some(place.steps, self._hwcs, self._slices):
            found = self._with(place, place.loops, spread)
            if found is not None and spread != place.spread:
                yield found

    def _beside(self, dim: Dim, extent: int, step: int) -> Iterator[int]:
        """The next smaller and the next larger size that cut an extent evenly."""
        lanes, tiles = self._lanes.along(dim), -(-extent // step)
        for parts in range(tiles + 1, extent + 1):
            size = min(extent, -(-extent // parts // lanes) * lanes)
            if size < step:
                yield size
                break
        for parts in range(tiles - 1, 0, -1):
            size = min(extent, -(-extent // parts // lanes) * lanes)
            if size > step:
                yield size
                break

    def _around(self, loops: OuterLoops) -> Iterator[OuterLoops]:
        """Other loops around a tile: a step, a marker, two loops."""
        dims, steps, marked = loops.dims, loops.steps, loops.marked
        for dim in TILED:
            extent = self._extents[dim]
            if dim in dims:
                at = dims.index(dim)
                for other in self._beside(dim, extent, steps[at]):
                    changed = OuterLoops(dims, (*steps[:at], other, *steps[at + 1 :]), marked)
                    yield self._short(changed) if other == extent else changed
            else:
                for other in self._beside(dim, extent, extent):
                    last = len(dims) - 1
                    inside = OuterLoops((*dims, dim), (*steps, other), marked)
                    yield self._short(
                        OuterLoops(inside.dims, inside.steps, tuple(at + (at == last) for at in marked))
                    )
                    yield self._short(OuterLoops((dim, *dims), (other, *steps), tuple(at + 1 for at in marked)))
        for operand, at in enumerate(marked):
            for other in (at - 1, at + 1):
                moved = (*marked[:operand], other, *marked[operand + 1 :])
                if 0 <= other < len(dims) and max(moved) == len(dims) - 1:
                    yield OuterLoops(dims, steps, moved)
        for at in range(len(dims) - 1):
            order = [*range(at), at + 1, at, *range(at + 2, len(dims))]
            yield OuterLoops(tuple(dims[n] for n in order), tuple(steps[n] for n in order), marked)

    def _short(self, loops: OuterLoops) -> OuterLoops:
        """The loops without those of one iteration, unless it is the only one; their markers are at the next ones."""
        kept = [at for at, dim in enumerate(loops.dims) if loops.steps[at] < self._extents[dim]] or [0]
        marked = tuple(min(sum(one < at for one in kept), len(kept) - 1) for at in loops.marked)
        dims = tuple(loops.dims[at] for at in kept)
        return OuterLoops(dims, tuple(loops.steps[at] for at in kept), marked)

    def _respread(self, place: Place, loops: OuterLoops) -> Spread:
        """The spread of other tiles: as many shares along each axis as there were."""
        steps = self._steps(loops)
        shares = {dim: -(-place.steps[dim] // step) for dim, step in place.spread.items()}
        return {dim: -(-steps[dim] // number) for dim, number in shares.items() if min(number, steps[dim]) > 1}

    def _steps(self, loops: OuterLoops) -> dict[Dim, int]:
        cut = dict(zip(loops.dims, loops.steps, strict=True))
        return {dim: cut.get(dim, self._extents[dim]) for dim in TILED}

    def _with(
        self, place: Place, loops: OuterLoops, spread: Spread, changed: Mapping[Dim, int] | None = None
    ) -> Place | None:
        """The schedule with other loops around; None if the lanes cannot do what is left."""
        steps = self._steps(loops)
        before, left = dict(place.steps) | place.spread, dict(self._extents) | steps | spread
        wanted = changed or {}
        parts = {dim: -(-before[dim] // step) for dim, step in _tile_steps(place.inner).items()}
        items: list[Loop | Marker] = []
        first = set(parts)
        for item in place.inner:
            if isinstance(item, Loop):
                step = item.step
                if item.dim in first:
                    first.remove(item.dim)
                    lanes, size = self._lanes.along(item.dim), -(-left[item.dim] // parts[item.dim])
                    same = left[item.dim] == before[item.dim]
                    step = wanted.get(item.dim, step if same else -(-size // lanes) * lanes)
                elif item.dim in TILED:
                    step = max(step, self._lanes.along(item.dim))
                step = min(step, left[item.dim])
                left[item.dim] = step
                item = Loop(item.dim, step)
            items.append(item)
        if any(left[dim] > self._lanes.along(dim) for dim in TILED):
            return None
        over = (Loop(dim, step, "hwc") for dim, step in spread.items())
        nest = (*loops.items(), *over, *items)
        return Place(place.schedule.model_copy(update={"nest": nest}), loops, steps, spread)


def _arrays(item: Loop | Marker) -> tuple[ArrayName, ...]:
    return item.arrays if isinstance(item, Marker) else ()


def _spreads(item: Loop | Marker) -> bool:
    return isinstance(item, Loop) and item.over is not None


def _tile_steps(inner: tuple[Loop | Marker, ...]) -> dict[Dim, int]:
    """The steps of the HWCs' tiles: those of the first of two loops over an axis."""
    loops = [item for item in inner if isinstance(item, Loop)]
    number = {dim: sum(loop.dim == dim for loop in loops) for dim in TILED}
    return {loop.dim: loop.step for loop in reversed(loops) if number.get(loop.dim, 0) > 1}
