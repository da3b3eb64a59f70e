"""How wide numbers are that blocks compute from the settings: hardware that is fitted has no bit that its layers
leave zero."""

from collections.abc import Iterable, Sequence

from hwgen.arch.hwc import HwcParameters
from hwgen.arch.registers.hwc import input_spans, same_outside, setting_widths

__all__ = ["covered_bits", "extent_bits", "padding_bits", "span_bits", "tile_bits"]

LINES = {"y": ("row", "k"), "x": ("column", "l")}
"""The lines of an output dimension: the name of its lines in the input, and the dimension of the kernel along it."""


def extent_bits(parameters: HwcParameters, dim: str) -> int:
    """Bits of a coordinate along a dimension."""
    return _bits(parameters, [f"extent_{dim}"])


def padding_bits(parameters: HwcParameters) -> int:
    """Bits of a number of padded columns left of the input."""
    return _bits(parameters, ["padding_left"])


def covered_bits(parameters: HwcParameters, order: Sequence[int], dim: str) -> int:
    """Bits of what an iteration of some loops, by their indices, covers of a dimension."""
    over = [j for j in order if parameters.loops[j] == dim]
    if not over:
        return extent_bits(parameters, dim)
    entries = range(len(same_outside(parameters.loops, over[-1])) + 1)
    return _bits(parameters, [f"step_{over[-1]}_{dim}", *(f"rest_{over[-1]}_{i}" for i in entries)])


def span_bits(parameters: HwcParameters, dim: str) -> int:
    """Bits of the rows, or columns, of a tile of the input from its first output to its last one."""
    line, _ = LINES[dim]
    return _bits(parameters, [f"input_{line}_span_{i}" for i, _ in enumerate(input_spans(parameters, dim))])


def tile_bits(parameters: HwcParameters, dim: str) -> int:
    """Bits of a number of rows, or columns, of a tile of the input: an image has no more than it has coordinates."""
    _, tap = LINES[dim]
    kernel = covered_bits(parameters, range(min(parameters.input_marker + 1, len(parameters.loops))), tap)
    most = (1 << span_bits(parameters, dim)) + (1 << kernel) - 2
    return min(parameters.position_bits + 1, most.bit_length())


def _bits(parameters: HwcParameters, names: Iterable[str]) -> int:
    """Bits of the widest of some settings; of a constant, those of its value."""
    constants, widths = dict(parameters.constants), setting_widths(parameters)
    return max(constants[name].bit_length() if name in constants else widths[name] for name in names) or 1
