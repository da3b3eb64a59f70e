"""Layers whose input or output is whole in the TCDM, where it stays from one layer to the next."""

from collections.abc import Collection

from hwgen.arch.layout import aligned
from hwgen.ir.document import InputError
from hwgen.ir.level import TCDM
from hwgen.ir.schedule import ArrayName, Loop, Marker, Schedule
from hwgen.model.cluster.placement import TcdmPlacement, channel_plane

__all__ = ["held_whole", "require_whole", "resident_pitch", "resident_plane"]


def held_whole(schedule: Schedule, arrays: Collection[ArrayName]) -> Schedule:
    """The same nest with these operands whole in the TCDM: their markers outermost, above a loop of one iteration.

    A tile ends with the loop of the innermost marker. Where that marker goes, its loop goes with it, if it has one
    iteration.
    """
    if not arrays:
        return schedule
    if schedule.layer.batch > 1:
        raise InputError(f"{schedule.layer.name}: batch: expected 1 of a layer whose maps stay in the TCDM")
    left: list[Loop | Marker] = []
    unmarked = False
    for item in schedule.nest:
        if isinstance(item, Loop):
            if not (unmarked and item.step >= schedule.layer.extents[item.dim]):
                left.append(item)
            unmarked = False
        elif item.level != TCDM:
            left.append(item)
        else:
            others = tuple(array for array in item.arrays if array not in arrays)
            unmarked = not others
            if others:
                left.append(Marker(others, item.level, item.double))
    whole = Loop("y", schedule.layer.output_height)
    return schedule.model_copy(update={"nest": (Marker(tuple(arrays), TCDM), whole, *left)})


def require_whole(schedule: Schedule, placement: TcdmPlacement) -> None:
    """Raise `InputError` unless each map that stays is whole at its place, with rows `resident_pitch` and channels
    `resident_plane` bytes apart."""
    layer = schedule.layer
    sizes = {
        "I": (layer.input_channels, layer.input_height, layer.input_width),
        "O": (layer.output_channels, layer.output_height, layer.output_width),
    }
    for array in placement.residence.arrays:
        ring, (_, rows, columns) = placement[array], sizes[array]
        word = schedule.ports.map_bytes
        spacing = resident_pitch(word, columns), resident_plane(word, rows, columns)
        whole = tuple(((0, extent),) for extent in sizes[array])
        if len(ring.stays) != 1 or ring.element != 1 or (ring.pitch, ring.plane) != spacing:
            raise InputError(f"{layer.name}: nest: {array} is not in one piece in the TCDM")
        if ring.stays[0].touch != whole or ring.stays[0].low or ring.stays[0].origin:
            raise InputError(f"{layer.name}: nest: {array} is not whole in the TCDM")


def resident_pitch(word: int, columns: int) -> int:
    """Bytes from row to row of a map that stays in the TCDM; ``word`` : bytes of a word of the wider map port."""
    return aligned(columns, word)


def resident_plane(word: int, rows: int, columns: int) -> int:
    """Bytes from channel to channel of such a map."""
    return channel_plane(rows, resident_pitch(word, columns), word, spread=True)
