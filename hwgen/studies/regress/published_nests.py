"""Published engines as nests: the loops of the HWC and of the HWCE (Stoutchinin et al. 2019).

`predict` counts them, and an HWC of their loop order runs them, as any other nest.
"""

from hwgen.ir.hardware import Order
from hwgen.ir.lanes import ONE_LANE, Lanes
from hwgen.ir.layer import Layer
from hwgen.ir.schedule import Bits, Loop, Marker, Schedule
from hwgen.model.nest.one_level import predict

__all__ = ["FIG8", "PRINTED", "hwce", "hwce_stripe"]

EIGHT_BITS = Bits()
FIG8: Order = ("m", "y", "x", Marker(("O",)), "c", Marker(("I", "W")), "y", "k", "m", "l")
"""Loops near the published HWC's, sixteen columns at a time in the lanes (their Fig. 8; c is never tiled there).

The figure prints the marker of W above the loop over output channels, inside that over kernel rows; that of I cannot
be read. Here both stand above the rows, where they save more."""
PRINTED = {"I above LSY, W above LOF": "MYX[O]C[I]YK[W]ML", "I and W above LOF": "MYX[O]CYK[IW]ML"}
"""The loops with W where the figure prints it, in both readings of I, as texts of `hwgen.search.hwc.canonical`."""


def hwce(layer: Layer, stripe: int | None = None, *, bits: Bits = EIGHT_BITS, lanes: Lanes = ONE_LANE) -> Schedule:
    """The HWCE's nest (Stoutchinin et al. 2019, Fig. 11), the image cut into stripes of ``stripe`` output columns.

    One input channel convolved into one output channel at a time, with a line buffer of kernel-height rows, one
    kernel of weights, and every partial sum in memory between input channels. The figure marks I and W above its
    loops of one iteration over m and c; those carry nothing, so by Eq. 2 the buffer is that of the row loop below,
    where the markers stand here: the traffic is the same, the need is the line buffer. Tiles over y (iss) are the
    whole height. With ``lanes`` along x a row is done several columns at a time: the bytes moved are the same.
    """
    columns = min(stripe or layer.output_width, layer.output_width)
    nest: tuple[Loop | Marker, ...] = (
        Loop("x", columns),
        Loop("m", 1),
        Loop("c", 1),
        Marker(("I", "W")),
        Loop("y", 1),
        Loop("x", min(lanes.x, columns)),
        Marker(("O",)),
        Loop("k", 1),
        Loop("l", 1),
    )
    return Schedule(layer=layer, bits=bits, nest=nest, lanes=lanes)


def hwce_stripe(layer: Layer, budget: int, *, bits: Bits = EIGHT_BITS) -> int | None:
    """The widest stripe whose line buffer, weights and sum fit ``budget`` bytes; None if not even one column does."""
    for stripe in range(layer.output_width, 0, -1):
        if predict(hwce(layer, stripe, bits=bits)).need_bytes.total <= budget:
            return stripe
    return None
