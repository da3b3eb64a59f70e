"""What a nest costs on a hierarchy of memories, as frozen values: counts, fills, needs."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from hwgen.ir.counts import DIRECTIONS, Access, Counts
from hwgen.ir.document import InputError
from hwgen.ir.memory.hierarchy import Hierarchy
from hwgen.ir.schedule import ARRAYS, ArrayName, Bits
from hwgen.model.core.prediction import PerOperand

__all__ = ["HierarchyCounts", "alone", "held_bytes", "require_fit"]


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


def held_bytes(bits: Bits, operand: ArrayName, elements: int, *, partial: bool) -> int:
    """Bytes of the elements that a level holds; ``partial``: partial sums reach it."""
    width = bits.acc if operand == "O" and partial else getattr(bits, operand)
    return elements * int(width) // 8


def alone(access: Access) -> Access:
    """Elements and bytes, without what depends on a bus."""
    return Access(access.elements, access.bytes)


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
