"""Exact counts and needs of a nest on memories of any number of levels.

What crosses into a level for an operand is the traffic of the nest with that marker alone
(`hwgen.model.nest.traffic`), and counts at the next outer level that holds the operand. The innermost level that
holds an operand also serves the datapath: the traffic of the nest without a marker.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from hwgen.ir.counts import DIRECTIONS, Access, Counts, Direction, Key
from hwgen.ir.document import InputError
from hwgen.ir.memory.hierarchy import Hierarchy
from hwgen.ir.schedule import ARRAYS, ArrayName, Bits, Schedule
from hwgen.model.nest.one_level import PerOperand
from hwgen.model.nest.ranges import Nest
from hwgen.model.nest.traffic import Held, crossing

__all__ = ["HierarchyCounts", "counts_of", "held_bytes", "require_fit", "traffic_at"]


@dataclass(frozen=True)
class HierarchyCounts:
    """The exact accesses of one schedule on a hierarchy, in elements and bytes.

    Members
    -------
    served : accesses by the level that serves them, those of the datapath included.
    datapath : those of the datapath alone. No bus shows them: where RTL runs they are predicted, not measured.
    filled : what each level receives from outside, by the level that receives: reads of I and W, and partial sums
        that come back. It is all that is written into a level on its way inward.
    need : elements that each level must hold of each operand; 0 of one that it does not hold.
    need_bytes : the same in bytes. An element of O has ``acc`` bits where partial sums reach it, else ``O`` bits.
    """

    served: Counts
    datapath: Counts
    filled: Counts
    need: Mapping[str, PerOperand]
    need_bytes: Mapping[str, PerOperand]

    def as_json(self, *, elements: bool = False) -> dict[str, Any]:
        """The keys ``counts`` and ``buffer`` of the command line's JSON form; zeros are written."""
        return {
            "counts": self.counts_json(self.served, elements=elements),
            "datapath": self.counts_json(self.datapath, elements=elements),
            "buffer": {
                level: {
                    operand: {"elements": self.need[level][operand], "bytes": self.need_bytes[level][operand]}
                    for operand in ARRAYS
                }
                for level in self.need
            },
        }

    def counts_json(self, counts: Counts, *, elements: bool = False) -> dict[str, Any]:
        """One of the three counts by level, operand and direction."""
        return {
            level: {
                operand: {way: _entry(counts[level, operand, way], elements) for way in DIRECTIONS[operand]}
                for operand in ARRAYS
            }
            for level in counts.levels()
        }


def _entry(access: Access, elements: bool) -> dict[str, int]:
    return {"elements": access.elements, "bytes": access.bytes} if elements else {"bytes": access.bytes}


def counts_of(schedule: Schedule, hierarchy: Hierarchy) -> HierarchyCounts:
    """Counts and needs of a schedule whose markers are of this hierarchy (`Hierarchy.check_markers`).

    Widths are the schedule's. Whether the needs fit is asked with `require_fit`.
    """
    outermost, nest = hierarchy.outermost.name, Nest(schedule)
    # In the order of the JSON form, with all levels: an entry of zero for what nothing touches.
    every: dict[Key, Access] = {(level.name, "I", "read"): Access() for level in hierarchy.levels}
    served, filled, datapath = dict(every), dict(every), dict(every)
    need = {level.name: dict.fromkeys(ARRAYS, 0) for level in hierarchy.inner}
    need_bytes = {level.name: dict.fromkeys(ARRAYS, 0) for level in hierarchy.inner}
    for operand in ARRAYS:
        outside, elements = outermost, 0
        held = [(level.name, place) for level, place in hierarchy.held(schedule, operand)]
        for level, place in (*held, (None, None)):
            accesses, inward = traffic_at(nest, operand, place)
            for way, access in accesses.items():
                served[outside, operand, way] = access
                if level is None:
                    datapath[outside, operand, way] = access
                elif way in ("read", "read_partial"):
                    filled[level, operand, way] = access
            if elements:
                partial = accesses.get("write_partial", Access()).elements > 0
                need[outside][operand] = elements
                need_bytes[outside][operand] = held_bytes(schedule.bits, operand, elements, partial=partial)
            outside, elements = level or outside, inward
    return HierarchyCounts(
        Counts(served),
        Counts(datapath),
        Counts(filled),
        {level: PerOperand(**sizes) for level, sizes in need.items()},
        {level: PerOperand(**sizes) for level, sizes in need_bytes.items()},
    )


def traffic_at(nest: Nest, operand: ArrayName, place: int | None) -> tuple[dict[Direction, Access], int]:
    """Elements and bytes that cross for an operand whose marker is above ``loops[place]``, and what that holds.

    None: what the datapath accesses.
    """
    found = crossing(nest, operand, Held.above(nest.schedule, place))
    return {way: Access(access.elements, access.bytes) for way, access in found.accesses.items()}, found.need


def held_bytes(bits: Bits, operand: ArrayName, elements: int, *, partial: bool) -> int:
    """Bytes of the elements that a level holds; ``partial``: partial sums reach it."""
    return int(bits.bytes_of("acc" if operand == "O" and partial else operand, elements))


def require_fit(counts: HierarchyCounts, hierarchy: Hierarchy, where: str = "schedule") -> None:
    """Raise `InputError` with one line if a level has to hold more than its bytes."""
    for level in hierarchy.inner:
        need = counts.need_bytes[level.name]
        if isinstance(level.bytes, dict):
            for operand in ARRAYS:
                size = level.bytes.get(operand, 0)
                if need[operand] > size:
                    raise InputError(
                        f"{where}: {level.name}: expected at most {size} bytes of {operand}, the schedule needs "
                        f"{need[operand]}"
                    )
        elif level.bytes is not None and need.total > level.bytes:
            each = ", ".join(f"{operand} {need[operand]}" for operand in ARRAYS)
            raise InputError(
                f"{where}: {level.name}: expected at most {level.bytes} bytes, the schedule needs {need.total} "
                f"({each})"
            )
