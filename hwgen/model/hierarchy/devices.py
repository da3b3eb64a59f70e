"""Energy of an HWC and of a cluster: their levels are a hierarchy, too, whose outer accesses a bus counts.

Bytes at the DRAM and at the TCDM are those that the DMA and the HWCs' ports move, predicted or measured, biases and
program included. What the local buffers serve to the datapath is predicted: no bus shows it. As on any hierarchy,
energy is bytes times the serving level's price; what the DMA writes into the TCDM and reads from it on the way is not
counted twice.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from hwgen.arch.hwc import HwcParameters
from hwgen.ir.counts import Access, Counts, Key, Operand, directions_at
from hwgen.ir.hardware import Cluster
from hwgen.ir.level import DRAM, LOCAL, TCDM
from hwgen.ir.memory.energy import TABLES
from hwgen.ir.schedule import ARRAYS, Schedule
from hwgen.model.hierarchy.access import traffic_at
from hwgen.model.hierarchy.energy import Energy

__all__ = ["DevicePrices", "datapath_counts", "device_energy", "prices_of"]

TABLE = "yang_2016"
"""For hardware whose file says nothing of energy."""
WIDTH = 64
"""Bits of an access: the narrowest column of the table."""


@dataclass(frozen=True)
class DevicePrices:
    """What a byte costs that a level serves, and a multiply-accumulate: in pJ, or in the unit of the hardware's file.

    Members
    -------
    outer : of the levels that a bus shows, by name.
    local : of the three memories of an HWC.
    """

    outer: Mapping[str, float]
    local: Mapping[Operand, float]
    mac: float


def prices_of(parameters: HwcParameters, cluster: Cluster | None) -> DevicePrices:
    """Prices for an HWC, alone or in a cluster: those of the cluster's file, else by the sizes of the memories.

    A single HWC is taken to stand at a shared memory of a cluster's default size.
    """
    memories = dict(
        zip(ARRAYS, (parameters.input_bytes, parameters.weight_bytes, parameters.output_bytes), strict=True)
    )
    if cluster is not None and cluster.energy is not None:
        given = cluster.energy
        outer = {DRAM.name: given.dram, TCDM.name: given.tcdm}
        return DevicePrices(outer, dict.fromkeys(memories, given.local), given.mac)
    table, tcdm = TABLES[TABLE], (cluster or Cluster()).tcdm
    outer = {DRAM.name: table.per_byte(None, WIDTH), TCDM.name: table.per_byte(tcdm, WIDTH)}
    return DevicePrices(outer, {array: table.per_byte(size, WIDTH) for array, size in memories.items()}, table.mac)


def datapath_counts(schedule: Schedule) -> Counts:
    """What the local buffers serve to the datapath; an operand without a local marker passes them by."""
    accesses: dict[Key, Access] = {}
    for operand in ARRAYS:
        if schedule.marked_loop(operand) is not None:
            served, _ = traffic_at(schedule, operand, None)
            accesses.update({(LOCAL.name, operand, way): access for way, access in served.items()})
    return Counts(accesses)


def device_energy(schedule: Schedule, counts: Counts, prices: DevicePrices) -> Energy:
    """Energy of a layer from the accesses at the buses, predicted or measured."""
    levels: dict[str, dict[Operand, float]] = {}
    for name, price in prices.outer.items():
        if name in counts.levels():
            operands = directions_at(name)
            levels[name] = {operand: price * _bytes(counts, name, operand) for operand in operands}
    local = datapath_counts(schedule)
    levels[LOCAL.name] = {
        operand: prices.local[operand] * local.operand_bytes(operand, LOCAL.name) for operand in ARRAYS
    }
    return Energy(levels, prices.mac * schedule.layer.macs)


def _bytes(counts: Counts, level: str, operand: Operand) -> int:
    return sum(counts[level, operand, way].bytes for way in directions_at(level)[operand])
