"""Nests of two memory levels spread over several HWCs: their rules, and the one-level nests that they contain.

A tile is one iteration of the innermost loop with a `tcdm` marker: the work of the HWCs between two transfers. HWCs
compute one image at a time: loops over the images of a batch are around what one HWC runs as one layer.
"""

from hwgen.ir.document import InputError
from hwgen.ir.layer import IMAGE, Dim
from hwgen.ir.level import LEVELS, TCDM
from hwgen.ir.schedule import ARRAYS, ArrayName, Loop, Marker, Schedule

__all__ = ["is_for_cluster", "normalised", "over_loops", "run_depth", "spread_side_by_side", "tile_depth"]


def is_for_cluster(schedule: Schedule) -> bool:
    """Whether the nest has a marker of a level that the HWCs share."""
    return any(isinstance(item, Marker) and item.level.shared for item in schedule.nest)


def tile_depth(schedule: Schedule) -> int:
    """Number of loops around one tile, including that of the innermost `tcdm` marker."""
    return 1 + max(_marked(schedule, array) for array in ARRAYS)


def run_depth(schedule: Schedule) -> int:
    """Number of loops of a normalised nest around what one HWC runs as one layer: its share of a tile."""
    images = (index for index, loop in enumerate(schedule.loops) if loop.dim == IMAGE)
    return max([tile_depth(schedule), *(index + 1 for index in (*over_loops(schedule), *images))])


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


def _marked(schedule: Schedule, array: ArrayName) -> int:
    marked = schedule.marked_loop(array, TCDM)
    if marked is None:
        raise InputError(
            f"schedule: buffer: tcdm: expected a marker for {array}: two levels have one for each operand"
        )
    return marked


def _require(schedule: Schedule) -> None:
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
    _require_images_outside(schedule)


def _require_images_outside(schedule: Schedule) -> None:
    """Refuse loops over images inside of what an HWC runs as one layer."""
    images = [index for index, loop in enumerate(schedule.loops) if loop.dim == IMAGE]
    if not images:
        return
    inside = f"schedule: {IMAGE}: expected the loops over images"
    over = over_loops(schedule)
    if over and over[-1] < images[-1]:
        raise InputError(f"{inside} outside of the spread ones: a wave of slices is of one image")
    for array in ARRAYS:
        local = schedule.marked_loop(array)
        if local is not None and local <= images[-1]:
            raise InputError(f"{inside} above all local markers, {array}'s is outside: HWCs run one image at a time")


def _go_inward(schedule: Schedule, array: ArrayName) -> bool:
    """Whether the markers of an array go inward as their levels do."""
    depths = [item.level.depth for item in schedule.nest if isinstance(item, Marker) and array in item.arrays]
    return depths == sorted(depths)
