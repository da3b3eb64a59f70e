"""Schedules of a batch on a cluster: loops over images among the loops around the tiles of one image's schedule.

*Candidates.* The schedules of one image, found for the cluster and for smaller shared memories, since tiles of
several images need more of it. Around the tiles of each, one or two loops over images stand at every place, and the
`tcdm` marker of each operand above every loop: what the DMA moves of an operand depends on the place of its own
marker alone, and so does its room. Places of which another one moves no more and holds no more are left out.

*Choice.* The candidates in ascending order of what the DMA moves, as far as they fit: the first `MOST_OF_ONE` of each
schedule of one image are weighed by the objective, or timed by the judge.

*The search is bounded*: steps of the loops over one image's tiles are those that one image has.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from itertools import combinations_with_replacement, product

from hwgen.arch.layout import aligned
from hwgen.arch.requantisation import record_bytes
from hwgen.ir.document import InputError
from hwgen.ir.hardware import Cluster, Hardware
from hwgen.ir.lanes import NARROW_PORTS
from hwgen.ir.layer import IMAGE, Layer
from hwgen.ir.level import TCDM
from hwgen.ir.schedule import ARRAYS, ArrayName, Loop, Marker, Schedule
from hwgen.model.cluster.cluster_counts import tcdm_bytes
from hwgen.model.cluster.levels import tile_depth
from hwgen.model.cluster.placement import place
from hwgen.model.cluster.ring_sizes import ring_bytes
from hwgen.model.cycle_bound import cycle_bound
from hwgen.model.nest.ranges import Nest
from hwgen.model.nest.traffic import Held, crossing
from hwgen.search.cluster.optimal import ClusterResult, Judge, floor_of
from hwgen.search.objectives.of_cluster import CYCLES, cluster_objective

__all__ = ["Solve", "of_images", "search_batch"]

MOST_OF_ONE = 6
"""Candidates that are weighed, or timed, of each schedule of one image."""
PARTS, FEWER_PARTS = (1, 2, 4), (1, 4)
"""One image's schedules are searched in the whole TCDM, and in such parts of it; the second where that takes long."""

Solve = Callable[[Layer, Hardware], ClusterResult]
"""The search for one image."""


@dataclass(frozen=True)
class _Place:
    """A place of an operand's marker: the loop that it stands above, bytes that the DMA moves, bytes of a tile."""

    marked: int
    moved: int
    held: int


@dataclass(frozen=True)
class _Candidate:
    """A schedule of a batch, bytes that the DMA moves, its utilisation, and the result of one image within it."""

    schedule: Schedule
    moved: int
    judged: float
    of_one: ClusterResult


def search_batch(
    layer: Layer,
    hardware: Hardware,
    solve: Solve,
    *,
    judge: Judge,
    objective: str | None,
    slack: float,
    min_utilisation: float | None,
) -> ClusterResult:
    """The best schedule of a batch of several images; raises `InputError` if none fits, or none is busy enough.

    Parameters
    ----------
    judge : says whether the hardware runs a schedule, and its utilisation where cycles are weighed.
    objective : None: the fewest cycles with ``slack`` more bytes of the DRAM than the fewest.
    """
    started = time.perf_counter()
    parts = FEWER_PARTS if objective == CYCLES else PARTS
    known = _judged(layer, hardware, _of_one_image(layer, hardware, solve, parts), judge)
    busy = [one for one in known if one.judged >= (min_utilisation or 0.0)]
    if not busy:
        highest = max(one.judged for one in known)
        raise InputError(
            f"{layer.name}: no schedule was found whose utilisation reaches {min_utilisation:g}; "
            f"the highest was {highest:.3f}"
        )
    fewest = min(busy, key=lambda one: (one.moved, -one.judged))
    if objective == CYCLES:
        best = max(busy, key=lambda one: (one.judged, -one.moved))
        value = layer.macs / (best.of_one.lanes * best.judged)
        bound: float | None = min(value, float(cycle_bound(layer, hardware, best.schedule.bits).cycles))
    else:
        cost = cluster_objective(objective or "dram-bytes", hardware)

        @lru_cache
        def weighed(number: int) -> float:
            return cost.value(cost.of_loops(busy[number].moved, busy[number].schedule), busy[number].schedule)

        numbers = range(len(busy))
        if objective is None and min_utilisation is None:
            near = [at for at in numbers if busy[at].moved <= fewest.moved * (1 + slack)]
            chosen = max(near, key=lambda at: busy[at].judged)
        else:
            chosen = min(numbers, key=lambda at: (weighed(at), -busy[at].judged))
        best, value, bound = busy[chosen], weighed(chosen), None
        if not cost.timed and best.of_one.bound is not None:
            floor = floor_of(layer, best.schedule.bits, hardware, cost.prices)
            least = cost.least_value(layer, floor.dram_bytes, floor.inside)
            bound = None if least is None else min(least, value)
    return replace(
        best.of_one,
        schedule=best.schedule,
        value=value,
        dram_bytes=best.moved,
        tcdm_bytes=tcdm_bytes(best.schedule),
        need=place(best.schedule).size,
        judged=best.judged,
        complete=False,
        seconds=time.perf_counter() - started,
        least=None if best.of_one.least is None else (fewest.moved, fewest.judged),
        bound=bound,
    )


def _judged(layer: Layer, hardware: Hardware, found: Iterable[ClusterResult], judge: Judge) -> list[_Candidate]:
    """The candidates around schedules of one image that the hardware runs."""
    known, reason = list[_Candidate](), None
    for of_one in found:
        number = 0
        for moved, schedule in of_images(of_one.schedule, layer.batch, (hardware.cluster or Cluster()).tcdm):
            try:
                known.append(_Candidate(schedule, moved, judge(schedule), of_one))
            except InputError as error:
                reason = str(error)
                continue
            number += 1
            if number == MOST_OF_ONE:
                break
    if not known:
        more = f"; of the last one: {reason}" if reason else ""
        raise InputError(f"{layer.name}: no schedule of {layer.batch} images was found that this cluster runs{more}")
    return known


def _of_one_image(layer: Layer, hardware: Hardware, solve: Solve, parts: Sequence[int]) -> Iterator[ClusterResult]:
    """What is found for one image, each nest once; raises `InputError` where nothing is."""
    cluster, nests, one = hardware.cluster or Cluster(), set[tuple[object, ...]](), layer.of_images(1)
    for part in parts:
        smaller = cluster.model_copy(update={"tcdm": cluster.tcdm // part})
        try:
            found = solve(one, hardware if part == 1 else hardware.model_copy(update={"cluster": smaller}))
        except InputError:
            if part == 1:
                raise
            break
        if found.schedule.nest not in nests:
            nests.add(found.schedule.nest)
            yield found


# --- loops over images ---


def of_images(of_one: Schedule, batch: int, tcdm: int) -> Iterator[tuple[int, Schedule]]:
    """Schedules of a batch around the tiles of one image's that fit a shared memory, of the fewest DRAM bytes first.

    Each with these bytes. The TCDM's markers of the one image's schedule do not matter.
    """
    around, inside = _apart(of_one)
    layer = of_one.layer.of_images(batch)
    ranked: list[tuple[int, int, tuple[Loop, ...], tuple[_Place, ...]]] = []
    for loops in _with_images(around, batch):
        whole = of_one.model_copy(update={"layer": layer, "nest": (*loops, *inside)})
        nest = Nest(whole)
        for places in product(*(_places(nest, array, len(loops)) for array in ARRAYS)):
            held = sum(one.held for one in places)
            if held <= tcdm:
                ranked.append((sum(one.moved for one in places), held, loops, places))
    ranked.sort(key=lambda one: one[:2])

    def nest_of(loops: tuple[Loop, ...], marked: Sequence[int]) -> Schedule:
        items: list[Loop | Marker] = []
        for index, loop in enumerate(loops):
            arrays = tuple(array for array, one in zip(ARRAYS, marked, strict=True) if one == index)
            items += [*([Marker(arrays, TCDM)] if arrays else []), loop]
        return of_one.model_copy(update={"layer": layer, "nest": (*items, *inside)})

    @cache
    def ring(loops: tuple[Loop, ...], array: ArrayName, marked: int) -> int:
        try:
            return ring_bytes(nest_of(loops, [marked] * len(ARRAYS)), array)
        except InputError:  # groups whose inputs cannot be placed in a ring
            return tcdm + 1

    bias = aligned(record_bytes(of_one.requantisation) * layer.output_channels)
    for moved, _, loops, places in ranked:
        end = bias
        for array, one in zip(ARRAYS, places, strict=True):
            end = aligned(end) + ring(loops, array, one.marked)
            if end > tcdm:
                break
        else:
            yield moved, nest_of(loops, [one.marked for one in places])


def _apart(schedule: Schedule) -> tuple[tuple[Loop, ...], tuple[Loop | Marker, ...]]:
    """The loops around the tiles, without markers; and what is inside."""
    depth, loops = tile_depth(schedule), 0
    for index, item in enumerate(schedule.nest):
        if loops == depth:
            return schedule.loops[:depth], schedule.nest[index:]
        loops += isinstance(item, Loop)
    return schedule.loops[:depth], ()


def _with_images(around: Sequence[Loop], batch: int) -> Iterator[tuple[Loop, ...]]:
    """One loop over images at every place among the loops, or two at every two places."""
    for at in range(len(around) + 1):
        yield (*around[:at], Loop(IMAGE, 1), *around[at:])
    steps = [step for step in (1 << shift for shift in range(1, batch.bit_length())) if step < batch]
    for (outer, inner), step in product(combinations_with_replacement(range(len(around) + 1), 2), steps):
        if outer != inner:
            yield (*around[:outer], Loop(IMAGE, step), *around[outer:inner], Loop(IMAGE, 1), *around[inner:])


def _places(nest: Nest, array: ArrayName, depth: int) -> list[_Place]:
    """The places of an operand's marker of which no other one moves no more and holds no more."""
    bits = nest.bits
    found = []
    for marked in range(depth):
        one = crossing(nest, array, Held.above(nest.schedule, marked), NARROW_PORTS)
        moved = sum(access.bytes for access in one.accesses.values())
        found.append(_Place(marked, moved, bits.bytes_of(array, one.need)))
    return [
        one
        for one in found
        if not any(
            (other.moved, other.held) != (one.moved, one.held) and other.moved <= one.moved and other.held <= one.held
            for other in found
        )
    ]
