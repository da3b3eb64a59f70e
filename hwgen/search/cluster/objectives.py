"""What a nest of two levels is to have least of, before the bytes of the TCDM: bytes or time of the DRAM, or energy.

An aim prices what `hwgen.search.cluster.outer_nest` goes by, a lower bound of what the loops around a tile cost; says
what they cost exactly, as far as they alone decide it; and what a whole schedule costs. All of these are whole
numbers.
"""

from abc import ABC, abstractmethod
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from hwgen.arch.dram import TICKS, DramPort, ticks
from hwgen.ir.document import InputError
from hwgen.ir.hardware import Cluster, EnergyCost
from hwgen.ir.layer import Layer
from hwgen.ir.schedule import Bits, Schedule
from hwgen.model.cluster.energy import energy
from hwgen.model.dram.counts import dram_counts
from hwgen.model.dram.time import dram_ticks

__all__ = ["Aim", "ClusterObjective", "aim_of"]

ClusterObjective = Literal["dram-bytes", "dram-time", "energy"]
Ints = NDArray[np.int64]


class Aim(ABC):
    """One objective on one cluster.

    Members
    -------
    name : its name.
    unit : of its value.
    price : see `hwgen.search.cluster.outer_kernel`.
    timed : whether loops have to be counted to know what they cost.
    settled : whether the loops around a tile decide all of it.
    """

    name: ClusterObjective
    unit: str
    price: Ints
    timed = False
    settled = True

    def of_loops(self, bound: int, probe: Schedule) -> int:
        """What loops with this lower bound cost, whatever is below them; ``probe`` has them and anything below."""
        return bound

    def of_schedule(self, loops: int, dram_bytes: int, tcdm_bytes: int) -> int:
        """What a schedule costs with loops that cost so much."""
        return loops

    def most_tcdm_bytes(self, known: int, dram_bytes: int) -> float:
        """With how many bytes of TCDM, at most, a schedule does not cost more than what is known."""
        return np.inf

    @abstractmethod
    def value(self, cost: int, layer: Layer, bits: Bits, dram_bytes: int, tcdm_bytes: int) -> float:
        """A schedule's cost in the objective's unit."""


class _Bytes(Aim):
    name, unit = "dram-bytes", "bytes"
    price = np.array([1, 0, 0, 0, 0, 1, 1], np.int64)

    def value(self, cost: int, layer: Layer, bits: Bits, dram_bytes: int, tcdm_bytes: int) -> float:
        return cost


class _Time(Aim):
    name, unit = "dram-time", "cycles"
    timed = True

    def __init__(self, cluster: Cluster) -> None:
        self._port = DramPort.of(cluster)
        self._hwcs = cluster.hwcs
        dram = self._port.dram
        block, miss = ticks(dram.block_cycles), ticks(dram.miss_cycles)
        self.price = np.array([0, 0, block, miss, TICKS, self._port.beat_bytes, dram.row_bytes], np.int64)

    def of_loops(self, bound: int, probe: Schedule) -> int:
        return dram_ticks(dram_counts(probe, self._port, self._hwcs), self._port.dram)

    def value(self, cost: int, layer: Layer, bits: Bits, dram_bytes: int, tcdm_bytes: int) -> float:
        return cost / TICKS


class _Energy(Aim):
    name, unit = "energy", "units"
    settled = False

    def __init__(self, cost: EnergyCost) -> None:
        self._cost = cost
        self._moved, self._fetched = (
            round(1000 * price) for price in (cost.dram + cost.tcdm, cost.tcdm + cost.local)
        )  # fmt: skip
        self.price = np.array([self._moved, self._fetched, 0, 0, 0, 1, 1], np.int64)

    def of_schedule(self, loops: int, dram_bytes: int, tcdm_bytes: int) -> int:
        return self._moved * dram_bytes + self._fetched * tcdm_bytes

    def most_tcdm_bytes(self, known: int, dram_bytes: int) -> float:
        return (known - self._moved * dram_bytes) // self._fetched if self._fetched else np.inf

    def value(self, cost: int, layer: Layer, bits: Bits, dram_bytes: int, tcdm_bytes: int) -> float:
        return energy(layer, bits, self._cost, dram_bytes=dram_bytes, tcdm_bytes=tcdm_bytes)


def aim_of(objective: ClusterObjective, cluster: Cluster) -> Aim:
    """The aim of this name on a cluster; raises `InputError` where the cluster does not say what it takes."""
    match objective:
        case "dram-bytes":
            return _Bytes()
        case "dram-time":
            return _Time(cluster)
        case "energy":
            if cluster.energy is None:
                raise InputError("hardware: cluster: energy: expected dram, tcdm, local and mac to weigh energy")
            return _Energy(cluster.energy)
