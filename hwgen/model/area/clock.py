"""What the critical path of an HWC is made of."""

from math import log2

from hwgen.arch.hwc import HwcParameters
from hwgen.model.area.structure import Terms

__all__ = ["clock_terms"]


def clock_terms(p: HwcParameters) -> Terms:
    """Terms of the period: nanoseconds in cells and wires.

    Where weights are packed densely, without lanes along c, the size of a tile of them is a product that the end of
    its nest selects: the longest path of such HWCs.
    """
    return {
        "1": 1,
        "dense weights": p.weight_lines is None,
        "log of lanes": log2(p.lanes.product),
        "positions": p.position_bits,
        "wide": p.wide,
        "in a cluster": p.cluster,
        "scaled": p.scaled,
        "block RAM": p.block_ram,
    }
