"""Energy of what a memory serves and of a multiply-accumulate: tables by name, or a table of one's own."""

from collections.abc import Callable
from dataclasses import dataclass

from hwgen.ir.memory import yang_2016

__all__ = ["TABLES", "EnergyTable"]


@dataclass(frozen=True, slots=True)
class EnergyTable:
    """What accesses cost by the size of the memory.

    Members
    -------
    per_byte : pJ of a byte that a memory serves, by its size in bytes (None: the outermost) and the bits of an
        access.
    mac : pJ of a multiply-accumulate.
    area : mm2 of memories, by their bytes.
    area_without_memory : mm2 of all that is no memory.
    """

    per_byte: Callable[[int | None, int], float]
    mac: float
    area: Callable[[int], float]
    area_without_memory: float


TABLES: dict[str, EnergyTable] = {
    "yang_2016": EnergyTable(
        yang_2016.energy_per_byte, yang_2016.MAC_PICOJOULE, yang_2016.area, yang_2016.AREA_WITHOUT_MEMORY
    )
}
"""The built-in tables by name."""
