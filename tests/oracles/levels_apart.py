"""A nest of a cluster as nests of one level, and on a hierarchy: other ways to the same counts."""

from dataclasses import replace

from hwgen.ir.lanes import NARROW_PORTS
from hwgen.ir.level import TCDM
from hwgen.ir.schedule import ArrayName, Loop, Marker, Schedule

__all__ = ["local_level", "on_hierarchy", "outer_level"]


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

    What is counted of a cluster in bytes is counted of this nest by `hwgen.model.nest.hierarchy_counts`. Double
    buffering in halves reuses nothing between iterations: its marker goes inside the loop, above a loop of one
    iteration.
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
