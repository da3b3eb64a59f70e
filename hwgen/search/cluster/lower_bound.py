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
from hwgen.ir.schedule import ARRAYS, Bits
from hwgen.search.core.space import Target
from hwgen.search.hierarchy.bound import lower_bound
from hwgen.search.hierarchy.nest_cost import Costs
from hwgen.search.hierarchy.tables import layer_tables

__all__ = ["Floor", "floor_of"]


@dataclass(frozen=True)
class Floor:
    """Bytes of I, W and O that every schedule moves at least."""

    dram_bytes: int
    tcdm_bytes: int


def floor_of(layer: Layer, bits: Bits, hardware: Hardware) -> Floor:
    """The least that any schedule on this cluster moves."""
    cluster, target = hardware.cluster or Cluster(), Target.of(hardware)
    tables = layer_tables(layer, target.lanes, bits)
    local = [float(hardware.budget)] * 3
    if hardware.buffers is not None:
        local = [float(sum(hardware.buffers[array] for array in ARRAYS))] * 3

    def least(sizes: list[list[float]]) -> int:
        caps = np.array([[np.inf] * 3, *sizes])
        serves = np.zeros((len(caps), 3))
        serves[0] = 1.0
        costs = Costs(
            tables.extents,
            tables.least,
            tables.counts,
            tables.groups,
            tables.rows,
            tables.columns,
            tables.wide,
            tables.slides,
            tables.elements,
            tables.sizes,
            serves,
            np.zeros_like(serves),
            caps,
            np.ones(len(caps), np.bool_),
        )
        return int(np.ceil(lower_bound(tables, costs) * (1 - 1e-12)))

    return Floor(least([[float(cluster.tcdm)] * 3, local]), least([local]))
