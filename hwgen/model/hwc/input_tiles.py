"""Tiles of the input: the ranges of a dimension, and whether consecutive tiles share rows or columns."""

from collections.abc import Sequence
from itertools import pairwise

from hwgen.ir.layer import Dim, Layer
from hwgen.ir.schedule import Loop

__all__ = ["Range", "lines_touched", "pieces_of", "tiles_overlap"]

Range = tuple[int, int]
ROWS, COLUMNS = 0, 1
AXES: dict[Dim, tuple[int, Dim]] = {"y": (ROWS, "k"), "k": (ROWS, "y"), "x": (COLUMNS, "l"), "l": (COLUMNS, "x")}
"""The axis of the image that a loop moves along, and the other dimension that does."""


def pieces_of(extent: int, loops: Sequence[Loop], dim: Dim) -> list[Range]:
    """What these loops cut so much of a dimension into, in program order."""
    pieces = [(0, extent)]
    for loop in loops:
        if loop.dim == dim:
            pieces = _cut(pieces, loop.step)
    return pieces


def lines_touched(layer: Layer, axis: int, outputs: Range, taps: Range) -> set[int]:
    """Rows (axis 0) or columns (1) of the image that some outputs need of some kernel rows or columns."""
    stride, before = layer.stride[axis], layer.padding[axis]
    size = (layer.input_height, layer.input_width)[axis]
    beside = layer.columns_beside if axis == COLUMNS else 0
    reached = range(taps[0], taps[1] + beside)
    lines = {output * stride + tap - before for output in range(*outputs) for tap in reached}
    return {line for line in lines if 0 <= line < size}


def tiles_overlap(layer: Layer, loops: Sequence[Loop], marker: int) -> bool:
    """Whether two consecutive iterations of ``loops[marker]``, over y, k, x or l, touch a line in common."""
    moving = loops[marker].dim
    axis, other = AXES[moving]
    for parent in pieces_of(layer.extents[moving], loops[:marker], moving):
        parts = _cut([parent], loops[marker].step)
        for fixed in pieces_of(layer.extents[other], loops[: marker + 1], other):
            both = [(part, fixed) if moving in ("y", "x") else (fixed, part) for part in parts]
            lines = [lines_touched(layer, axis, outputs, taps) for outputs, taps in both]
            if any(a & b for a, b in pairwise(lines)):
                return True
    return False


def _cut(pieces: list[Range], step: int) -> list[Range]:
    return [(at, min(at + step, stop)) for start, stop in pieces for at in range(start, stop, step)]
