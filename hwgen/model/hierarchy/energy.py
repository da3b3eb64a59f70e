"""Energy of a schedule on a hierarchy: bytes times the serving level's pJ per byte, and the multiply-accumulates."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from hwgen.ir.counts import Counts, Operand
from hwgen.ir.memory.hierarchy import Hierarchy
from hwgen.ir.schedule import ARRAYS
from hwgen.model.hierarchy.prediction import HierarchyCounts

__all__ = ["Energy", "energy_of", "energy_of_accesses"]


@dataclass(frozen=True)
class Energy:
    """Energy in pJ.

    Members
    -------
    levels : by level and operand.
    mac : of the multiply-accumulates.
    """

    levels: Mapping[str, Mapping[Operand, float]]
    mac: float

    @property
    def memory(self) -> float:
        """Energy of all accesses."""
        return sum(sum(operands.values()) for operands in self.levels.values())

    @property
    def total(self) -> float:
        """Energy of the accesses and of the multiply-accumulates."""
        return self.memory + self.mac

    def as_json(self) -> dict[str, Any]:
        """The key ``energy`` of the command line's JSON form."""
        levels = {level: dict(operands) for level, operands in self.levels.items()}
        return {"levels": levels, "mac": self.mac, "total": self.total}


def energy_of(counts: HierarchyCounts, hierarchy: Hierarchy, macs: int, *, fills: bool = False) -> Energy:
    """Energy of what all levels serve; with ``fills`` also of what is written into a level on its way inward.

    Ways outward count once, as a write at the level that receives them, with and without ``fills``.
    """
    return energy_of_accesses(counts.served + counts.filled if fills else counts.served, hierarchy, macs)


def energy_of_accesses(counts: Counts, hierarchy: Hierarchy, macs: int) -> Energy:
    """Energy of accesses that are counted by the names of the hierarchy's levels, predicted or measured."""
    return Energy(
        {
            level.name: {
                operand: counts.operand_bytes(operand, level.name) * hierarchy.energy_per_byte(level, operand)
                for operand in ARRAYS
            }
            for level in hierarchy.levels
        },
        macs * hierarchy.mac_energy,
    )
