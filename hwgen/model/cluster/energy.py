"""Energy of a schedule on a cluster, as so much for every byte of each memory and for every multiply-accumulate."""

from hwgen.ir.hardware import EnergyCost
from hwgen.ir.layer import Layer
from hwgen.ir.schedule import Bits

__all__ = ["energy"]


def energy(layer: Layer, bits: Bits, cost: EnergyCost, *, dram_bytes: int, tcdm_bytes: int) -> float:
    """What a layer takes whose DMA moves so many bytes of I, W and O, and whose HWCs fetch and write so many.

    The TCDM sees both of these. The local buffers see the HWCs' bytes, and for every multiply-accumulate an element
    of I, one of W, and a sum that is read and written: what lanes share counts for each of them.
    """
    operands = layer.macs * (bits.I + bits.W + 2 * bits.acc) // 8
    return (
        cost.dram * dram_bytes
        + cost.tcdm * (dram_bytes + tcdm_bytes)
        + cost.local * (tcdm_bytes + operands)
        + cost.mac * layer.macs
    )
