"""How little traffic is possible: everything once, and what a buffer of a given size can save at best.

Two figures, both for 8-bit data by default and in bytes at the level that feeds the buffers.

*Compulsory*: every input element that any output needs, every weight, and every output, once. This is a true lower
bound for every schedule and every buffer.

*Communication bound*: ``2 * MACs / sqrt(R_k * S)`` input and weight elements, plus the outputs, with
``R_k = kernel area / stride area`` (how often an input is used by one output channel) and ``S`` the on-chip elements,
counted in partial sums. The order of growth is proved for all schedules (Chen, Han, Wang, HPCA 2020, by the red-blue
pebble game; Demmel and Dinh 2018, by Hoelder-Brascamp-Lieb inequalities). **The constant 2 is not**: it is what the
best schedule of one family attains. That family keeps a block of S sums on chip, u outputs by z channels, until they
are complete, so that each input channel costs ``u * stride area + z * kernel area``, least for
``u / z = R_k``. Halos, clipping, smaller last tiles and the space for inputs and weights are left out, which makes
the figure too small for that family; input that padding replaces is counted as fetched, and other families (weights
or inputs held, which are narrower than sums) are not covered, so that on small maps or with buffers near the size of
the layer a schedule may come below it. Read it as the mark that a good schedule should come near, and the larger of
the two figures as the yardstick; only the compulsory part is beyond doubt.
"""

from dataclasses import dataclass
from math import prod, sqrt

from hwgen.ir.counts import Counts
from hwgen.ir.layer import Layer
from hwgen.ir.schedule import Bits, Loop, Marker, Schedule
from hwgen.model.core.access import predict

__all__ = ["Bounds", "bounds", "communication_bound", "compulsory"]


@dataclass(frozen=True, slots=True)
class Bounds:
    """Both figures for one layer and one buffer size, in bytes."""

    compulsory: int
    communication: float

    @property
    def largest(self) -> float:
        """The yardstick: the larger of the two."""
        return max(float(self.compulsory), self.communication)

    def ratio(self, total_bytes: float) -> float:
        """How far traffic of ``total_bytes`` is from the yardstick; 1 is the best that can be expected."""
        return total_bytes / self.largest


def bounds(layer: Layer, buffer_bytes: int, bits: Bits = Bits()) -> Bounds:  # noqa: B008 - a frozen value
    """Compulsory traffic and communication bound of a layer with ``buffer_bytes`` of local buffers."""
    return Bounds(compulsory(layer, bits).total_bytes(), communication_bound(layer, buffer_bytes, bits))


def compulsory(layer: Layer, bits: Bits = Bits()) -> Counts:  # noqa: B008 - a frozen value
    """Counts of a schedule that moves everything once: the whole layer held across a loop of one iteration.

    Input that no output needs (rows left over by the stride, gaps where the stride exceeds the kernel) is not part of
    it, nor are partial sums.
    """
    steps = (Loop("m", layer.extents["m"]), *(Loop(dim, 1) for dim in layer.extents))
    return predict(Schedule(layer=layer, bits=bits, nest=(Marker(("I", "W", "O")), *steps))).counts


def communication_bound(layer: Layer, buffer_bytes: int, bits: Bits = Bits()) -> float:  # noqa: B008 - a frozen value
    """``2 * MACs / sqrt(R_k * S)`` plus the outputs, in bytes; see the module's text for what the constant is worth.

    ``S = buffer_bytes / accumulator bytes``. Where the stride exceeds the kernel, that axis counts as 1 in R_k: what
    lies in the gaps is not fetched. For inputs and weights of different width the geometric mean of the two counts,
    which is what the least of ``u * I bytes * stride area + z * W bytes * kernel area`` comes to.
    """
    if buffer_bytes < 1:
        raise ValueError(f"buffer_bytes: expected at least 1, got {buffer_bytes}")
    uses = prod(max(1.0, kernel / stride) for kernel, stride in zip(layer.kernel, layer.stride, strict=True))
    sums = buffer_bytes / (bits.acc // 8)
    width = sqrt(bits.I // 8 * (bits.W // 8))
    return 2 * width * layer.macs / sqrt(uses * sums) + layer.output_elements * bits.O // 8
