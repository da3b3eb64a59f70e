"""Exact counts and needs of a nest on a hierarchy of any depth, in closed form.

The numbers are those of `hwgen.model.hierarchy.walk`. What crosses into a level for an operand is the traffic of the
nest with that marker alone (`hwgen.model.core.access`), and counts at the next outer level that holds the operand.
The innermost level that holds an operand also serves the datapath: the traffic of the nest without a marker.

Yang et al. 2016 multiply refetch rates from the outermost level inward (their Eq. 1), which takes every tile for a
full one, and every halo for a part of it; here edges, halos and padding are exact.
"""

from hwgen.ir.counts import Access, Counts, Direction, Operand
from hwgen.ir.memory.hierarchy import Hierarchy
from hwgen.ir.schedule import ARRAYS, ArrayName, Loop, Marker, Schedule
from hwgen.model.core.access import operand_traffic
from hwgen.model.core.prediction import PerOperand
from hwgen.model.hierarchy.prediction import HierarchyCounts, alone, held_bytes

__all__ = ["Traffic", "counts_of", "marker_alone", "traffic_at"]

Traffic = tuple[dict[Direction, Access], int]
"""Accesses of one operand by direction, and the elements that one iteration touches at most."""


def counts_of(schedule: Schedule, hierarchy: Hierarchy) -> HierarchyCounts:
    """Counts and needs of a schedule whose markers are of this hierarchy (`Hierarchy.check_markers`).

    Widths are the schedule's. Whether the needs fit is asked with `hwgen.model.hierarchy.prediction.require_fit`.
    """
    outermost = hierarchy.outermost.name
    # In the order of the JSON form, with all levels: an entry of zero for what nothing touches.
    every: dict[tuple[str, Operand, Direction], Access] = {
        (level.name, "I", "read"): Access() for level in hierarchy.levels
    }
    served, filled, datapath = dict(every), dict(every), dict(every)
    need = {level.name: dict.fromkeys(ARRAYS, 0) for level in hierarchy.inner}
    need_bytes = {level.name: dict.fromkeys(ARRAYS, 0) for level in hierarchy.inner}
    for operand in ARRAYS:
        held = [(outermost, None), *((level.name, place) for level, place in hierarchy.held(schedule, operand))]
        inward = [traffic_at(schedule, operand, place) for _, place in (*held[1:], (outermost, None))]
        for index, (level, _) in enumerate(held):
            accesses, _ = inward[index]
            for way, access in accesses.items():
                served[level, operand, way] = access
                if index + 1 == len(held):
                    datapath[level, operand, way] = access
                elif way in ("read", "read_partial"):
                    filled[held[index + 1][0], operand, way] = access
            if index:
                elements = inward[index - 1][1]
                partial = accesses.get("write_partial", Access()).elements > 0
                need[level][operand] = elements
                need_bytes[level][operand] = held_bytes(schedule.bits, operand, elements, partial=partial)
    return HierarchyCounts(
        Counts(served),
        Counts(datapath),
        Counts(filled),
        {level: PerOperand(**sizes) for level, sizes in need.items()},
        {level: PerOperand(**sizes) for level, sizes in need_bytes.items()},
    )


def traffic_at(schedule: Schedule, operand: ArrayName, place: int | None) -> Traffic:
    """What crosses for an operand whose only marker is above ``loops[place]``; None: what the datapath accesses."""
    accesses, need = operand_traffic(marker_alone(schedule, operand, place), operand)
    return {way: alone(access) for way, access in accesses.items()}, need


def marker_alone(schedule: Schedule, operand: ArrayName, place: int | None) -> Schedule:
    """The loops of a nest with one marker, above the loop of that index, or with none."""
    nest: list[Loop | Marker] = []
    for index, loop in enumerate(schedule.loops):
        nest += [Marker((operand,)), loop] if index == place else [loop]
    return schedule.model_copy(update={"nest": tuple(nest)})
