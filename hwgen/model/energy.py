"""Energy of schedules: bytes times the serving level's pJ per byte, and the multiply-accumulates.

The levels of an HWC and of a cluster are a hierarchy, too, whose outer accesses a bus counts. Bytes at the DRAM and
at the TCDM are those that the DMA and the HWCs' ports move, predicted or measured, biases and program included. What
the local buffers serve to the datapath is predicted: no bus shows it. As on any hierarchy, energy is bytes times the
serving level's price; what the DMA writes into the TCDM and reads from it on the way is not counted twice. A read of
a cluster's shared memory that several HWCs may share is a broadcast, priced as the access of a memory of the size of
all embedded ones (Yang et al. 2016, on several cores).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from hwgen.arch.hwc import HwcParameters
from hwgen.ir.counts import Access, Counts, Key, Operand, directions_at
from hwgen.ir.hardware import Cluster
from hwgen.ir.level import DRAM, LOCAL, TCDM
from hwgen.ir.memory.energy import TABLES
from hwgen.ir.memory.hierarchy import Hierarchy
from hwgen.ir.schedule import ARRAYS, ArrayName, Schedule
from hwgen.model.cluster.levels import is_for_cluster, run_depth
from hwgen.model.nest.hierarchy_counts import HierarchyCounts, traffic_at
from hwgen.model.nest.lane_accesses import LaneLevel
from hwgen.model.nest.ranges import Nest

__all__ = [
    "TABLE",
    "WIDTH",
    "DevicePrices",
    "Energy",
    "bus_energy",
    "datapath_counts",
    "device_energy",
    "energy_of",
    "prices_of",
    "prices_of_memories",
]

TABLE = "yang_2016"
"""The table for hardware whose file says nothing of energy."""
WIDTH = 64
"""Bits of an access: the narrowest column of the table."""
TOGETHER: tuple[Operand, ...] = ("I", "W")
"""What several HWCs may read together."""


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


# --- devices ---


@dataclass(frozen=True)
class DevicePrices:
    """What a byte costs that a level serves, and a multiply-accumulate: in pJ, or in the unit of the hardware's file.

    Members
    -------
    outer : of the levels that a bus shows, by name.
    local : of the three memories of an HWC.
    broadcast : of what several HWCs may read together at the TCDM, I and W; None: as anything else there.
    """

    outer: Mapping[str, float]
    local: Mapping[Operand, float]
    mac: float
    broadcast: float | None = None

    def at(self, level: str, operand: Operand) -> float:
        """The energy of a byte of an operand at a level that a bus shows."""
        if self.broadcast is not None and level == TCDM.name and operand in TOGETHER:
            return self.broadcast
        return self.outer[level]


def prices_of(parameters: HwcParameters, cluster: Cluster | None) -> DevicePrices:
    """Prices for an HWC, alone or in a cluster: those of the cluster's file, else by the sizes of the memories.

    A single HWC is taken to stand at a shared memory of a cluster's default size.
    """
    sizes = parameters.input_bytes, parameters.weight_bytes, parameters.output_bytes
    return prices_of_memories(dict(zip(ARRAYS, sizes, strict=True)), cluster)


def prices_of_memories(memories: Mapping[ArrayName, int], cluster: Cluster | None) -> DevicePrices:
    """`prices_of` by the bytes of the three memories of an HWC."""
    if cluster is not None and cluster.energy is not None:
        given = cluster.energy
        outer = {DRAM.name: given.dram, TCDM.name: given.tcdm}
        return DevicePrices(outer, dict.fromkeys(memories, given.local), given.mac)
    table, whole = TABLES[TABLE], cluster or Cluster()
    outer = {DRAM.name: table.per_byte(None, WIDTH), TCDM.name: table.per_byte(whole.tcdm, WIDTH)}
    local: dict[Operand, float] = {array: table.per_byte(size, WIDTH) for array, size in memories.items()}
    embedded = whole.tcdm + whole.hwcs * sum(memories.values())
    broadcast = table.per_byte(embedded, WIDTH) if whole.multicast and whole.hwcs > 1 else None
    return DevicePrices(outer, local, table.mac, broadcast)


def datapath_counts(schedule: Schedule) -> Counts:
    """What the local buffers serve to the datapath, or to registers at its lanes; an operand without a local marker
    passes them by."""
    accesses, nest = dict[Key, Access](), Nest(schedule)
    lanes = None
    if schedule.lane_registers:
        lanes = LaneLevel(schedule, run_depth(schedule) if is_for_cluster(schedule) else 0)
    for operand in ARRAYS:
        if schedule.marked_loop(operand) is not None:
            served = lanes.served(operand) if lanes else traffic_at(nest, operand, None)[0]
            accesses.update({(LOCAL.name, operand, way): access for way, access in served.items()})
    return Counts(accesses)


def device_energy(schedule: Schedule, counts: Counts, prices: DevicePrices) -> Energy:
    """Energy of a layer from the accesses at the buses, predicted or measured."""
    levels: dict[str, dict[Operand, float]] = {}
    for name in prices.outer:
        if name in counts.levels():
            operands = directions_at(name)
            levels[name] = {one: prices.at(name, one) * _bytes(counts, name, one) for one in operands}
    local = datapath_counts(schedule)
    levels[LOCAL.name] = {
        operand: prices.local[operand] * local.operand_bytes(operand, LOCAL.name) for operand in ARRAYS
    }
    return Energy(levels, prices.mac * schedule.layer.macs)


def bus_energy(counts: Counts, prices: DevicePrices) -> Energy:
    """Energy of what the buses show, for a node of the vector unit: nothing is said of the unit's own arithmetic."""
    levels: dict[str, dict[Operand, float]] = {}
    for (level, operand, _), access in counts.accesses.items():
        if level in prices.outer:
            parts = levels.setdefault(level, {})
            parts[operand] = parts.get(operand, 0.0) + prices.at(level, operand) * access.bytes
    return Energy(levels, 0.0)


def _bytes(counts: Counts, level: str, operand: Operand) -> int:
    return sum(counts[level, operand, way].bytes for way in directions_at(level)[operand])
