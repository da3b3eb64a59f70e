"""What no schedule on a cluster goes below: bytes of the DRAM and of the TCDM, by the relaxed search of a hierarchy.

Bytes of the DRAM: those of the TCDM's level alone at its optimum, as if it needed room for one tile of each operand
in place of two. Bytes between TCDM and HWCs: those of one HWC's buffers alone at their optimum; a schedule on several
HWCs moves what the same nest moves on one. Both hold for any splits (`hwgen.search.hierarchy.bound`). For the nests
that the search covers, `CostLevels.floor` bounds the bytes of the DRAM more tightly.
"""

from dataclasses import dataclass

import numpy as np

from hwgen.ir.hardware import Cluster, Hardware
from hwgen.ir.layer import Layer
from hwgen.ir.level import TCDM
from hwgen.ir.schedule import ARRAYS, Bits
from hwgen.model.energy import DevicePrices
from hwgen.search.core.space import Target
from hwgen.search.hierarchy.bound import lower_bound
from hwgen.search.hierarchy.nest_cost import Costs
from hwgen.search.hierarchy.tables import layer_tables

__all__ = ["Floor", "floor_of"]


@dataclass(frozen=True)
class Floor:
    """What every schedule moves at least.

    Members
    -------
    dram_bytes, tcdm_bytes : bytes of I, W and O.
    inside : energy of what the TCDM and the local memories serve; 0 without prices.
    """

    dram_bytes: int
    tcdm_bytes: int
    inside: float = 0.0


def floor_of(layer: Layer, bits: Bits, hardware: Hardware, prices: DevicePrices | None = None) -> Floor:
    """The least that any schedule on this cluster moves."""
    cluster, target = hardware.cluster or Cluster(), Target.of(hardware)
    tables = layer_tables(layer, target.lanes, bits)
    size = hardware.budget if hardware.buffers is None else sum(hardware.buffers.values())
    shared, local = [float(cluster.tcdm)] * 3, [float(size)] * 3

    def least(sizes: list[list[float]], serves: list[list[float]]) -> float:
        caps = np.array([[np.inf] * 3, *sizes])
        shared = np.ones(len(caps), np.bool_)
        costs = Costs.of(tables, np.array(serves), np.zeros((len(caps), 3)), caps, shared)
        return lower_bound(tables, costs) * (1 - 1e-12)

    one, nothing = [1.0] * 3, [0.0] * 3
    inside = 0.0
    if prices is not None:
        inside = least([local], [[prices.outer[TCDM.name]] * 3, [prices.local[array] for array in ARRAYS]])
    moved, fetched = least([shared, local], [one, nothing, nothing]), least([local], [one, nothing])
    return Floor(int(np.ceil(moved)), int(np.ceil(fetched)), inside)
