"""Schedules from a state of the search: loops from the steps between two markers, markers from the sequence."""

import numpy as np
from numpy.typing import NDArray

from hwgen.ir.layer import Dim
from hwgen.ir.level import level_named
from hwgen.ir.memory.hierarchy import Hierarchy
from hwgen.ir.schedule import ARRAYS, Bits, Loop, Marker, Schedule
from hwgen.search.hierarchy.nest_cost import Costs, slide_of, slides_along
from hwgen.search.hierarchy.tables import AXES, LayerTables

__all__ = ["schedule_of"]

Ints = NDArray[np.int64]


def schedule_of(
    tables: LayerTables,
    costs: Costs,
    hierarchy: Hierarchy,
    bits: Bits,
    markers: Ints,
    held: NDArray[np.bool_],
    steps: Ints,
) -> Schedule:
    """The schedule of a nest as `hwgen.search.hierarchy.nest_cost` has it."""
    nest: list[Loop | Marker] = [*_loops(tables.extents, steps[0], -1)]
    waiting: list[tuple[int, int]] = []
    slide, at_rest = -1, False
    for at, (operand, level) in enumerate(markers.tolist()):
        if held[at]:
            waiting.append((operand, level))
            if operand == 0:
                slide = max(slide, int(slide_of(costs, steps, at)[1]))
                at_rest = slide < 0
        loops = _loops(steps[at], steps[at + 1], slide)
        if loops:
            nest += _markers(waiting, hierarchy)
            axis = AXES.index(loops[0].dim)
            if at_rest and axis >= 5 and not slides_along(costs, steps, at, axis):
                # Marked above the kernel's loop, I would be fetched anew: a loop of one iteration holds all of it.
                nest.append(Loop(AXES[axis - 2], int(steps[at, axis - 2])))
            nest += loops
            waiting, slide, at_rest = [], -1, False
    if waiting or not nest:
        # Below the last marker there has to be a loop: one of one iteration.
        axis = int(np.argmax(steps[-1]))
        nest += [*_markers(waiting, hierarchy), Loop(AXES[axis], int(steps[-1, axis]))]
    return Schedule(layer=tables.layer, bits=bits, lanes=tables.lanes, nest=tuple(nest))


def _loops(outer: Ints, inner: Ints, first: int) -> list[Loop]:
    """The loops of one row; the one at which I slides comes first."""
    dims: list[Dim] = [AXES[first]] if first >= 0 and inner[first] < outer[first] else []
    dims += [dim for axis, dim in enumerate(AXES) if inner[axis] < outer[axis] and dim not in dims]
    return [Loop(dim, int(inner[AXES.index(dim)])) for dim in dims]


def _markers(waiting: list[tuple[int, int]], hierarchy: Hierarchy) -> list[Marker]:
    """Markers above one loop, a level each, from the outside inward."""
    found = []
    for level in sorted({level for _, level in waiting}):
        arrays = tuple(ARRAYS[operand] for operand, own in sorted(waiting) if own == level)
        found.append(Marker(arrays, level_named(hierarchy.levels[level].name)))
    return found
