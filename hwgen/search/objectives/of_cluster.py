"""Objectives of the search for a cluster: bytes or time of the DRAM, or energy, before the bytes of the TCDM.

An objective prices the lower bound of the cost of the loops around a tile, by which
`hwgen.search.cluster.outer_nest` orders them. It tells the exact cost of these loops, as far as they alone decide it,
and the cost of a whole schedule. All costs are integers.
"""

from abc import ABC, abstractmethod

import numpy as np
from numpy.typing import NDArray

from hwgen.arch.dram import TICKS, DramPort, ticks
from hwgen.ir.document import InputError
from hwgen.ir.hardware import Cluster, Hardware
from hwgen.ir.layer import Layer
from hwgen.ir.level import DRAM, TCDM
from hwgen.ir.schedule import ARRAYS, Schedule
from hwgen.model.cluster.cluster_counts import predict_cluster
from hwgen.model.dram.counts import dram_counts, dram_ticks
from hwgen.model.energy import DevicePrices, device_energy, prices_of_memories

__all__ = ["CLUSTER_OBJECTIVES", "CYCLES", "ClusterObjective", "cluster_objective"]

CYCLES = "cycles"
"""Name of the objective that loops around a tile do not tell: see `hwgen.search.cluster.least_cycles`."""

Ints = NDArray[np.int64]
_THOUSANDTHS = 1000
"""Costs of energy are whole thousandths of its unit."""


class ClusterObjective(ABC):
    """One objective on one cluster: that of the hardware, the default one if it has none.

    Members
    -------
    name : its name.
    unit : unit of its value.
    price : see `hwgen.search.cluster.outer_kernel`.
    timed : whether the cost of loops has to be counted; else the lower bound is the cost.
    settled : whether the loops around a tile decide the cost of a schedule.
    prices : of energy; None where it is not weighed.
    """

    name: str
    unit: str
    price: Ints
    timed = False
    settled = True
    prices: DevicePrices | None = None

    def __init__(self, hardware: Hardware) -> None:
        self._cluster = hardware.cluster or Cluster()

    def of_loops(self, bound: int, probe: Schedule) -> int:
        """Cost of loops with this lower bound, for any inner nest; ``probe`` has these loops and some inner nest."""
        return bound

    def of_schedule(self, loops: int, dram_bytes: int, tcdm_bytes: int) -> int:
        """Cost of a schedule whose loops cost ``loops``."""
        return loops

    def of_level(self, loops: int, tcdm_bytes: int) -> int:
        """The least cost of a schedule whose loops cost ``loops``, if the HWCs move at least ``tcdm_bytes``."""
        return self.of_schedule(loops, loops, tcdm_bytes)

    def most_tcdm_bytes(self, known: int, dram_bytes: int) -> float:
        """The most TCDM bytes with which a schedule costs no more than ``known``."""
        return np.inf

    def least_value(self, layer: Layer, dram_bytes: int, inside: float) -> float | None:
        """What no schedule goes below; None if that is not known.

        ``dram_bytes``: those that the DMA moves at least. ``inside``: energy at the TCDM and in the HWCs, at least.
        """
        return None

    @abstractmethod
    def value(self, cost: int, schedule: Schedule) -> float:
        """A schedule's cost in the objective's unit."""


class Bytes(ClusterObjective):
    """Bytes of I, W and O that the DMA moves; bounded by those of the TCDM's level alone."""

    name, unit = "dram-bytes", "bytes"
    price = np.array([1, 0, 0, 0, 0, 1, 1], np.int64)

    def least_value(self, layer: Layer, dram_bytes: int, inside: float) -> float | None:
        return dram_bytes

    def value(self, cost: int, schedule: Schedule) -> float:
        return cost


class Time(ClusterObjective):
    """Time for which the DRAM is occupied (`hwgen.model.dram.counts`). There is no bound for any nest."""

    name, unit = "dram-time", "cycles"
    timed = True

    def __init__(self, hardware: Hardware) -> None:
        super().__init__(hardware)
        self._port = DramPort.of(self._cluster)
        dram = self._port.dram
        block, miss = ticks(dram.block_cycles + dram.access_cycles), ticks(dram.miss_cycles)
        self.price = np.array([0, 0, block, miss, TICKS, self._port.beat_bytes, dram.row_bytes], np.int64)

    def of_loops(self, bound: int, probe: Schedule) -> int:
        return dram_ticks(dram_counts(probe, self._port, self._cluster.hwcs), self._port)

    def value(self, cost: int, schedule: Schedule) -> float:
        return cost / TICKS


class Energy(ClusterObjective):
    """Energy of accesses and multiply-accumulates (`hwgen.model.energy`), bounded by each level's alone."""

    name, unit = "energy", "units"
    settled = False

    def __init__(self, hardware: Hardware) -> None:
        super().__init__(hardware)
        if self._cluster.energy is None and hardware.buffers is None:
            raise InputError(
                "hardware: cluster: energy: expected dram, tcdm, local and mac to weigh energy, or buffers, whose "
                "sizes tell it"
            )
        self.prices: DevicePrices = prices_of_memories(hardware.buffers or dict.fromkeys(ARRAYS, 0), hardware.cluster)
        self._moved, self._fetched = (
            round(_THOUSANDTHS * self.prices.outer[level.name]) for level in (DRAM, TCDM)
        )  # fmt: skip
        self.price = Bytes.price

    def of_schedule(self, loops: int, dram_bytes: int, tcdm_bytes: int) -> int:
        return self._moved * dram_bytes + self._fetched * tcdm_bytes

    def most_tcdm_bytes(self, known: int, dram_bytes: int) -> float:
        return (known - self._moved * dram_bytes) // self._fetched if self._fetched else np.inf

    def least_value(self, layer: Layer, dram_bytes: int, inside: float) -> float | None:
        """The least value, without biases. What several HWCs read together is not bounded."""
        if self._cluster.multicast:
            return None
        return self.prices.outer[DRAM.name] * dram_bytes + inside + self.prices.mac * layer.macs

    def value(self, cost: int, schedule: Schedule) -> float:
        """All that is known before there is a program, whose words are the rest: as `predict` prints it without P."""
        port = DramPort.of(self._cluster)
        found = predict_cluster(schedule, self._cluster.hwcs, port, multicast=self._cluster.multicast)
        return device_energy(schedule, found.counts, self.prices).total


CLUSTER_OBJECTIVES: dict[str, type[ClusterObjective]] = {one.name: one for one in (Bytes, Time, Energy)}


def cluster_objective(name: str, hardware: Hardware) -> ClusterObjective:
    """The objective of this name on a cluster; raises `InputError` where the hardware lacks the prices for it."""
    return CLUSTER_OBJECTIVES[name](hardware)
