"""Energy of a schedule on a cluster: a constant for each byte of each memory and for each multiply-accumulate."""

from hwgen.ir.hardware import EnergyCost
from hwgen.ir.layer import Layer
from hwgen.ir.schedule import Bits

__all__ = ["energy"]


def energy(layer: Layer, bits: Bits, cost: EnergyCost, *, dram_bytes: int, tcdm_bytes: int) -> float:
    """Energy of a layer, from the bytes of I, W and O that the DMA moves, and those that the HWCs read and write.

    The TCDM serves both. The local buffers serve the bytes of the HWCs and, for each multiply-accumulate, an element
    of I, an element of W, and a sum that is read and written; a value shared by lanes counts once for each lane.
    """
    operands = layer.macs * (bits.I + bits.W + 2 * bits.acc) // 8
    return (
        cost.dram * dram_bytes
        + cost.tcdm * (dram_bytes + tcdm_bytes)
        + cost.local * (tcdm_bytes + operands)
        + cost.mac * layer.macs
    )
