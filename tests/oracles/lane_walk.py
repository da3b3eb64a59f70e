"""The literal oracle of lanes with registers: each operation of a nest, with the elements that the lanes have.

A vector stays at the lanes as long as only loops turn that are inside all that move the operand: m for I, y and x for
W, the reduction for O; but no longer than an iteration of I's loop, an execution of O's, and what an HWC runs as one
layer. That the elements are then the same is checked. Sums that begin are not read; those whose reduction has come to
its end are final when they leave the lanes.
"""

from collections import Counter
from math import prod

from hwgen.ir.counts import Direction
from hwgen.ir.layer import REDUCTION_DIMS
from hwgen.ir.schedule import ARRAYS, ArrayName, Schedule
from tests.oracles.nest_walk import Element, steps, touched_of

__all__ = ["walk_lanes"]

MOVES: dict[ArrayName, str] = {"I": "nckylx", "W": "nmckl", "O": "nmyx"}
"""Loops that move an operand. (Within a tile of I, m only between groups.)"""


def walk_lanes(schedule: Schedule, hwcs: int = 1, around: int = 0) -> list[Counter[tuple[ArrayName, Direction]]]:
    """Vectors that the lanes of each HWC access, by operand and direction.

    ``around`` : loops of the nest around what an HWC runs as one layer.
    """
    counts: list[Counter[tuple[ArrayName, Direction]]] = [Counter() for _ in range(hwcs)]
    moving = {array: _innermost_moving(schedule, array, around) for array in ARRAYS}
    reduction = prod(schedule.layer.extents[dim] for dim in REDUCTION_DIMS)
    done, held = Counter[Element](), dict[ArrayName, set[Element]]()
    for step in steps(schedule, len(schedule.loops)):
        count = counts[step.slice % hwcs]
        for array in ARRAYS:
            touched = touched_of(schedule.layer, array, step.tile)
            if step.turned >= moving[array]:
                assert touched == held[array], (array, schedule.as_data())
                continue
            held[array] = touched
            if array != "O":
                count[array, "read"] += 1
                continue
            count["O", "read_partial"] += any(done[element] for element in touched)
            stays = step.path[moving["O"]]
            for element in touched:
                done[element] += prod(len(stays[dim]) for dim in REDUCTION_DIMS)
            ended = {done[element] == reduction for element in touched}
            assert len(ended) == 1
            count["O", "write" if ended == {True} else "write_partial"] += 1
    return counts


def _innermost_moving(schedule: Schedule, array: ArrayName, around: int) -> int:
    """Number of loops down to the innermost one at which a vector is another one."""
    marked, depth = schedule.marked_loop(array), len(schedule.loops)
    bounds = [around, *(j + 1 for j, loop in enumerate(schedule.loops) if loop.dim in MOVES[array])]
    if array == "I":
        bounds.append(depth if marked is None else marked + 1)
    if array == "O":
        bounds.append(depth if marked is None else marked)
    return max(bounds)
