"""Accesses of L2 and L3 that the model of a hierarchy has for a schedule, in lines of a cache."""

from hwgen.ir.memory.hierarchy import Hierarchy
from hwgen.ir.schedule import ARRAYS, Schedule
from hwgen.model.nest.hierarchy_counts import counts_of

__all__ = ["LINE", "predicted_lines"]

LINE = 64
"""Bytes."""


def predicted_lines(schedule: Schedule, hierarchy: Hierarchy, within: str) -> float:
    """Lines that cross into a level or past it, all of them full ones.

    Of O only what is written counts: a cache fetches a line before it is written, and what is written back is no
    access in cachegrind's counts. ``within`` is the level, such as ``l1`` for the accesses of L2.
    """
    names = [level.name for level in hierarchy.levels]
    outside = names[: names.index(within)]
    served = counts_of(schedule, hierarchy).served
    total = 0
    for operand in ARRAYS:
        held = {names[0], *(level.name for level, _ in hierarchy.held(schedule, operand))}
        level = next(name for name in reversed(outside) if name in held)
        if operand == "O":
            total += sum(served[level, "O", way].bytes for way in ("write", "write_partial"))
        else:
            total += served[level, operand, "read"].bytes
    return total / LINE
