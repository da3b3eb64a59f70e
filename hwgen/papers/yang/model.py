"""DianNao's own schedule as Yang et al. 2016 take it (Section 5.2): the baseline of their Fig. 5.

The loops of DianNao (Chen et al. 2014), outermost first: rows, columns, blocks of 16 output channels, kernel rows and
columns, blocks of 16 input channels. What one output needs of the input, the whole kernel in all channels, is above
the 2 KB of the input buffer, so every input comes from the DRAM. Yang et al. block columns once more. The paper does
not print the nest that it arrives at; here blocks of input channels stand outside the kernel, and a block of columns
inside: its sums stay in the output buffer, its inputs of 16 channels slide along the kernel's columns, and the
16 x 16 weights of one tap serve the whole block.
"""

from hwgen.ir.document import InputError
from hwgen.ir.layer import Layer
from hwgen.ir.level import level_named
from hwgen.ir.memory.hierarchy import Hierarchy
from hwgen.ir.schedule import Bits, Loop, Marker, Schedule
from hwgen.model.nest.hierarchy_counts import counts_of, require_fit

__all__ = ["diannao_blocked", "diannao_unblocked", "window_bytes"]


def diannao_blocked(layer: Layer, hierarchy: Hierarchy) -> Schedule:
    """The baseline: the widest blocks of columns whose inputs and sums fit. `InputError` if none does."""
    width = layer.output_width
    for parts in range(1, width + 1):
        schedule = _nest(layer, hierarchy, -(-width // parts), blocked=True)
        try:
            require_fit(counts_of(schedule, hierarchy), hierarchy, layer.name)
        except InputError:
            if parts == width:
                raise
        else:
            return schedule
    raise AssertionError("no column")


def diannao_unblocked(layer: Layer, hierarchy: Hierarchy) -> Schedule:
    """DianNao's own nest, one output pixel after the other: sums are held, inputs and weights come from the DRAM."""
    return _nest(layer, hierarchy, 1, blocked=False)


def window_bytes(layer: Layer, bits: Bits) -> int:
    """Bytes of the inputs of one output pixel: the smallest input buffer that serves DianNao's own nest."""
    return layer.kernel[0] * layer.kernel[1] * layer.channels_per_group * bits.I // 8


def _nest(layer: Layer, hierarchy: Hierarchy, columns: int, *, blocked: bool) -> Schedule:
    if hierarchy.lanes is None or len(hierarchy.inner) != 1:
        raise InputError(f"{hierarchy.name}: expected lanes, and one level below the outermost")
    (buffers,), extents = hierarchy.inner, layer.extents
    level, outputs, inputs = level_named(buffers.name), hierarchy.lanes.m, hierarchy.lanes.c
    head = (Loop("n", 1), Loop("y", 1), Loop("x", columns), Loop("m", min(outputs, extents["m"])))
    channels = Loop("c", min(inputs, extents["c"]))
    sums = Marker(("O",), level)
    tail: tuple[Loop | Marker, ...] = (sums, Loop("k", 1), Loop("l", 1), channels)
    if blocked:
        tail = (sums, channels, Loop("k", 1), Marker(("I", "W"), level), Loop("l", 1), Loop("x", 1))
    return Schedule(layer=layer, bits=hierarchy.bits or Bits(), nest=(*head, *tail), lanes=hierarchy.lanes)
