"""One schedule on several cores, as Yang et al. 2016 count it (Sections 3.3 and 3.4).

The outermost memory on chip of each operand is its last level, all further in is private to a core. One loop around
the cores' work is unrolled over them. Over rows and columns every core needs the same weights: the last level of
weights is shared, and those of inputs and outputs are split evenly. Over output channels the last level of inputs is
shared, and those of weights and outputs are split.

- A read of the shared memory is sent to all cores at once, so there are fewer by the number of cores. Each costs as
  much as one of a memory as large as all memories together: the way across the chip.
- A part of a split memory costs what a memory of its size costs; it is not below the memory inside it.
- Accesses of private memories and of the DRAM stay as they are. Halos between the cores' parts are not counted.
- Over output channels each core ends with channels that all cores need for the next layer: the *shuffle* reads every
  output once and sends it across the chip. Over rows and columns outputs stay where they are.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from hwgen.ir.memory.energy import TABLES
from hwgen.ir.memory.hierarchy import Hierarchy
from hwgen.ir.schedule import ARRAYS, ArrayName, Schedule
from hwgen.model.nest.hierarchy_counts import counts_of

__all__ = ["CoreEnergy", "Shared", "energy_of_cores", "last_levels"]

Shared = Literal["I", "W"]
TABLE = "yang_2016"


@dataclass(frozen=True)
class CoreEnergy:
    """Energy in pJ, of the memories alone.

    Members
    -------
    private : memories inside the cores.
    last : by operand, its last level on chip.
    dram : the DRAM.
    shuffle : what brings the outputs to where the next layer needs them.
    """

    private: float
    last: Mapping[ArrayName, float]
    dram: float
    shuffle: float

    @property
    def on_chip(self) -> float:
        """All but the DRAM."""
        return self.private + sum(self.last.values()) + self.shuffle


def last_levels(schedule: Schedule, hierarchy: Hierarchy) -> dict[ArrayName, int]:
    """Bytes of each operand's outermost memory on chip; 0 where it has none."""
    sizes = _sizes(schedule, hierarchy)
    return {operand: next(iter(sizes[operand].values()), 0) for operand in ARRAYS}


def energy_of_cores(schedule: Schedule, hierarchy: Hierarchy, cores: int, shared: Shared) -> CoreEnergy:
    """What the memories take if ``cores`` cores share one last level; with one core nothing is shared or split."""
    served = counts_of(schedule, hierarchy).served
    sizes = _sizes(schedule, hierarchy)
    private, last = 0.0, dict.fromkeys(ARRAYS, 0.0)
    across = sum(size * (cores if place else 1) for own in sizes.values() for place, size in enumerate(own.values()))

    def price(size: int | None) -> float:
        return TABLES[TABLE].per_byte(size, hierarchy.width)

    for operand, own in sizes.items():
        inner = list(own.values())[1:]
        for place, (level, size) in enumerate(own.items()):
            moved = served.operand_bytes(operand, level)
            if place:
                private += moved * price(size)
            elif cores > 1 and operand == shared:
                last[operand] = moved / cores * price(across)
            else:
                last[operand] = moved * price(max(-(-size // cores), *inner, 0))
    outermost = hierarchy.outermost.name
    dram = sum(served.operand_bytes(operand, outermost) for operand in ARRAYS) * price(None)
    outputs = schedule.layer.output_elements * schedule.bits.O / 8
    shuffle = outputs * price(across) if cores > 1 and shared == "I" else 0.0
    return CoreEnergy(private, last, dram, shuffle)


def _sizes(schedule: Schedule, hierarchy: Hierarchy) -> dict[ArrayName, dict[str, int]]:
    """Sizes by operand: the bytes of its memories by the name of the level, from the outside inward."""
    return {
        operand: {level.name: level.size_for(operand) or 0 for level, _ in hierarchy.held(schedule, operand)}
        for operand in ARRAYS
    }
