"""Nests of two memory levels spread over several HWCs: their rules, and the one-level nests that they contain.

A tile is one iteration of the innermost loop with a `tcdm` marker: the work of the HWCs between two transfers.
"""

from dataclasses import replace

from hwgen.ir.document import InputError
from hwgen.ir.lanes import NARROW_PORTS
from hwgen.ir.layer import Dim
from hwgen.ir.level import LEVELS, TCDM
from hwgen.ir.schedule import ARRAYS, ArrayName, Loop, Marker, Schedule
from hwgen.model.core.prediction import require_one_image

__all__ = [
    "is_two_level",
    "local_level",
    "normalised",
    "on_hierarchy",
    "outer_level",
    "over_loops",
    "run_depth",
    "spread_side_by_side",
    "tile_depth",
]


def is_two_level(schedule: Schedule) -> bool:
    """Whether the nest has a marker of a level that the HWCs share."""
    return any(isinstance(item, Marker) and item.level.shared for item in schedule.nest)


def tile_depth(schedule: Schedule) -> int:
    """Number of loops around one tile, including that of the innermost `tcdm` marker."""
    return 1 + max(_marked(schedule, array) for array in ARRAYS)


def run_depth(schedule: Schedule) -> int:
    """Number of loops of a normalised nest around what one HWC runs as one layer: its share of a tile."""
    over = over_loops(schedule)
    return max([tile_depth(schedule), *(index + 1 for index in over)])


def over_loops(schedule: Schedule) -> tuple[int, ...]:
    """Indices of the loops that are spread over HWCs, outermost first."""
    return tuple(index for index, loop in enumerate(schedule.loops) if loop.over)


def spread_side_by_side(schedule: Schedule) -> bool:
    """Whether no loop stands between two spread ones: a wave of slices goes on where the last one ended."""
    over = over_loops(schedule)
    return len(over) < 2 or over[1] == over[0] + 1


def normalised(schedule: Schedule, hwcs: int) -> Schedule:
    """The same nest with every spread loop below the loops that have `tcdm` markers.

    If such a loop is itself spread, concurrent iterations count as one: a loop over groups of ``hwcs`` iterations is
    put around it. Raises `InputError` if the nest has not two levels.
    """
    _require(schedule)
    over, depth = over_loops(schedule), tile_depth(schedule)
    if not over or over[0] >= depth:
        return schedule
    if over[0] < depth - 1:
        raise InputError("schedule: over: expected a spread loop below all tcdm markers")
    if len(over) > 1:
        raise InputError("schedule: over: of two spread loops, expected both below the loops that have tcdm markers")
    spread = schedule.loops[over[0]]
    left = schedule.iteration_size(over[0])[spread.dim]
    group = Loop(spread.dim, min(spread.step * hwcs, left))
    nest: list[Loop | Marker] = []
    for item in schedule.nest:
        nest += [group, item] if item is spread else [item]
    return schedule.model_copy(update={"nest": tuple(nest)})


def local_level(schedule: Schedule) -> Schedule:
    """The nest as a single HWC would run it with the whole layer in the TCDM.

    It fetches what all HWCs fetch together: the local markers are below the tiles and the slices, so no local
    execution extends over more than one of them. Words are the same, too: in the TCDM a byte of I or O is at its
    place in the feature map's row modulo a word.
    """
    nest = tuple(
        replace(item, over=None) if isinstance(item, Loop) else item
        for item in schedule.nest
        if isinstance(item, Loop) or not item.level.shared
    )
    return schedule.model_copy(update={"nest": nest})


def on_hierarchy(schedule: Schedule) -> Schedule:
    """The nest on a hierarchy whose inner levels are the TCDM and the local buffers: all HWCs as one.

    What is counted of a cluster in bytes is counted of this nest by `hwgen.model.hierarchy.access`. Double buffering
    in halves reuses nothing between iterations: its marker goes inside the loop, above a loop of one iteration.
    """
    nest: list[Loop | Marker] = []
    halves: tuple[ArrayName, ...] = ()
    for item in schedule.nest:
        if isinstance(item, Loop):
            nest.append(replace(item, over=None))
            if halves:
                nest += [Marker(halves, TCDM), Loop(item.dim, item.step)]
            halves = ()
        elif item.double:
            halves += item.arrays
        else:
            nest.append(item)
    return schedule.model_copy(update={"nest": tuple(nest)})


def outer_level(schedule: Schedule) -> Schedule:
    """The nest with the TCDM as its local buffers: it fetches what the DMA moves, in words of 32 bits."""
    nest = tuple(
        Marker(item.arrays) if isinstance(item, Marker) else item
        for item in on_hierarchy(schedule).nest
        if isinstance(item, Loop) or item.level.shared
    )
    return schedule.model_copy(update={"nest": nest, "ports": NARROW_PORTS})


def _marked(schedule: Schedule, array: ArrayName) -> int:
    marked = schedule.marked_loop(array, TCDM)
    if marked is None:
        raise InputError(
            f"schedule: buffer: tcdm: expected a marker for {array}: two levels have one for each operand"
        )
    return marked


def _require(schedule: Schedule) -> None:
    require_one_image(schedule)
    unknown = next(
        (item for item in schedule.nest if isinstance(item, Marker) and item.level.name not in LEVELS), None
    )
    if unknown is not None:
        raise InputError(f"schedule: buffer: expected the level {' or '.join(LEVELS)}, got {unknown.level}")
    for array in ARRAYS:
        outer, local = _marked(schedule, array), schedule.marked_loop(array)
        if local is not None and not _go_inward(schedule, array):
            raise InputError(f"schedule: buffer: {array}: expected the tcdm marker at or outside the local one")
    over = over_loops(schedule)
    dims: list[Dim] = [schedule.loops[index].dim for index in over]
    if len(set(dims)) != len(dims) or not set(dims) <= {"m", "y"}:
        raise InputError(f"schedule: over: expected at most one loop over m and one over y, got {' '.join(dims)}")
    for array in ARRAYS:
        outer, local = _marked(schedule, array), schedule.marked_loop(array)
        if over and over[0] < outer:
            raise InputError(f"schedule: over: expected spread loops below all tcdm markers, {array}'s is inside")
        if over and local is not None and local <= over[-1]:
            raise InputError(f"schedule: over: expected spread loops above all local markers, {array}'s is outside")


def _go_inward(schedule: Schedule, array: ArrayName) -> bool:
    """Whether the markers of an array go inward as their levels do."""
    depths = [item.level.depth for item in schedule.nest if isinstance(item, Marker) and array in item.arrays]
    return depths == sorted(depths)
