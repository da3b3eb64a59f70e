"""What lanes with registers access in the local memories (`hwgen.arch.lanes`), a vector at a time.

The lanes are a level of their own, of one vector of each operand: the marker of the one that stays is above the
innermost loops that do not move it. So what they access are iterations of the loops around that, whatever of a vector
is used: at edges, too, it is read as a whole. Sums that begin are not read.
"""

from collections.abc import Mapping
from math import prod

import numpy as np

from hwgen.arch.lanes import register_depths, vector_bytes
from hwgen.ir.counts import Access, Direction
from hwgen.ir.layer import IMAGE, REDUCTION_DIMS, Dim
from hwgen.ir.level import LOCAL
from hwgen.ir.schedule import ARRAYS, ArrayName, Loop, Marker, Schedule
from hwgen.model.nest.ranges import Nest
from hwgen.model.nest.traffic import Flow, Held, crossing

__all__ = ["LaneLevel", "vector_columns", "with_output_at_reduction"]


class LaneLevel:
    """The registers at the lanes as a memory level of a nest.

    Members
    -------
    nest : the nest as the HWC has it.
    depths : numbers of its loops around the operations for which the lanes have one vector of an operand.
    """

    def __init__(self, schedule: Schedule, around: int = 0) -> None:
        """``around`` : loops of the schedule around what an HWC runs as one layer."""
        if (schedule.marked_loop("O") or 0) >= around:
            schedule = with_output_at_reduction(schedule)
        inner = schedule.loops[around:]
        self.nest = Nest(schedule)
        markers = {
            array: len(inner) if place is None else max(place - around, 0)
            for array, place in ((array, schedule.marked_loop(array)) for array in ARRAYS)
        }
        found = register_depths([loop.dim for loop in inner], markers["I"], markers["O"])
        self.depths: dict[ArrayName, int] = {array: around + depth for array, depth in found.items()}

    def served(self, array: ArrayName) -> Mapping[Direction, Access]:
        """Elements and bytes that the local memories serve, without what a vector has besides."""
        depth = self.depths[array]
        place = None if depth == self.nest.depth else depth
        return crossing(self.nest, array, Held.above(self.nest.schedule, place)).accesses

    def flows(self) -> dict[tuple[ArrayName, Direction], Flow]:
        """The vectors that the local memories serve, which are elements and words of the flows."""
        rounds = prod(len(self.nest.ranges(dim, self.depths["O"])) for dim in REDUCTION_DIMS)
        back = self._flow("O", (), rounds - 1)
        return {
            ("I", "read"): self._flow("I", REDUCTION_DIMS),
            ("W", "read"): self._flow("W", REDUCTION_DIMS),
            ("O", "read_partial"): back,
            ("O", "write_partial"): back,
            ("O", "write"): self._flow("O", ()),
        }

    def _flow(self, array: ArrayName, others: tuple[Dim, ...], times: int = 1) -> Flow:
        """A vector for each iteration over m, y, x, images, and other dimensions."""
        nest, lanes, depth = self.nest, self.nest.schedule.lanes, self.depths[array]
        outputs, rows = nest.ranges("m", depth), nest.ranges("y", depth)
        each = times * prod(len(nest.ranges(dim, depth)) for dim in (IMAGE, *others))
        each *= vector_columns(nest) if array == "I" else len(nest.ranges("x", depth))
        size = vector_bytes(lanes)[array]
        of_m, of_y = np.ones(len(outputs), np.int64), np.ones(len(rows), np.int64)
        return Flow(outputs, rows, of_m, of_y, each, of_m, each, size)


def vector_columns(nest: Nest) -> int:
    """Innermost iterations along x: where columns pass through a window, one for each column of a run of outputs."""
    layer, loops = nest.layer, nest.schedule.loops
    if not layer.form.column_window:
        return len(nest.ranges("x", nest.depth))
    innermost = max((j for j, loop in enumerate(loops) if loop.dim == "x"), default=0)
    return sum(map(layer.columns_passed, nest.ranges("x", innermost).sizes.tolist()))


def with_output_at_reduction(schedule: Schedule) -> Schedule:
    """The same schedule with O's local marker above a reduction loop, as the HWC has it.

    From one iteration of a loop over m, y or x to the next no output stays, so a marker above such a loop means as
    much as one right inside it. Where no reduction loop stands there, one of a single iteration does.
    """
    marked = schedule.marked_loop("O")
    if marked is None or schedule.loops[marked].dim in REDUCTION_DIMS:
        return schedule
    below = schedule.loops[marked + 1 : marked + 2]
    idle = [] if below and below[0].dim in REDUCTION_DIMS else [Loop("c", schedule.iteration_size(marked + 1)["c"])]
    nest: list[Loop | Marker] = []
    loops = 0
    for item in schedule.nest:
        if isinstance(item, Loop):
            nest += [item, Marker(("O",)), *idle] if loops == marked else [item]
            loops += 1
        elif item.level != LOCAL:
            nest.append(item)
        elif rest := tuple(array for array in item.arrays if array != "O"):
            nest.append(Marker(rest))
    return schedule.model_copy(update={"nest": tuple(nest)})
