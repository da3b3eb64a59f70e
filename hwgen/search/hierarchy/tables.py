"""What a layer's operands fetch and hold along each dimension, by the step to which a dimension is cut.

Every nest of this search cuts a dimension to multiples of its next step inward, or to the whole extent. Then the
ranges of a dimension depend on its smallest step alone, however often it is split, and the traffic of an operand is a
product of factors of single axes:

- W is fetched once for each range of images, rows and columns outside its marked loop;
- O comes back once for each range of channels and of the kernel outside its marked loop, but for the first one;
- I is fetched once for each range of output channels (of its group) outside its marked loop, in as many channels as
  there are, and in the rows and columns that the ranges outside the marked loop touch. That the marked loop slides
  changes only what has to be held: of consecutive touches the new parts together are the touch of the whole range.
  It is not so of the kernel's loops where the stride exceeds their step: between the touches of a pixel by one output
  and by the next one are others, and so I is not held along such a loop (``slides``).

The kernel's dimensions are either whole or cut to the lanes.

Where a level is a cache, it holds whole lines: rows of I and O that begin on a line are held from the line of their
first element to that of their last one (``line``). What crosses is counted in elements as elsewhere.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hwgen.ir.lanes import Lanes
from hwgen.ir.layer import Dim, Layer
from hwgen.ir.schedule import Bits

__all__ = ["AXES", "LayerTables", "layer_tables", "touches"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
AXES: tuple[Dim, ...] = ("n", "m", "c", "y", "x", "k", "l")
"""The dimensions by their numbers in the compiled parts."""


@dataclass(frozen=True)
class LayerTables:
    """Tables of one layer; those of steps are indexed by the step, 0 is unused.

    Members
    -------
    extents : of `AXES`.
    least : the smallest useful step of each: the lanes, or the extent if that is less.
    counts : [axis, step], ranges.
    groups : [fetched or held, step of m]: groups of channels met by all ranges together, and by one at most.
    rows, columns : [kernel cut, fetched or held, step]: what all ranges touch together, and one at most.
    wide : [step]: columns of O that one range holds at most, its step but for whole lines.
    slides : whether I may slide along the kernel's rows, and columns.
    elements : of I's channels (without groups, rows and columns), of W, of O.
    sizes : bytes of an element of I, W, O, and of a partial sum.
    """

    layer: Layer
    lanes: Lanes
    extents: NDArray[np.int64]
    least: NDArray[np.int64]
    counts: Floats
    groups: Floats
    rows: Floats
    columns: Floats
    wide: Floats
    slides: NDArray[np.bool_]
    elements: Floats
    sizes: Floats


def layer_tables(layer: Layer, lanes: Lanes, bits: Bits, line: int = 0) -> LayerTables:
    """The tables of one layer; ``line``: bytes in whose multiples rows of I and O are held, 0 for any number."""
    extents = np.array([layer.loop_extents[dim] for dim in AXES], np.int64)
    least = np.array([min(lanes.along(dim), layer.loop_extents[dim]) for dim in AXES], np.int64)
    longest = int(extents.max())
    counts = np.ones((len(AXES), longest + 1))
    steps = np.arange(1, longest + 1)
    for axis, extent in enumerate(extents):
        counts[axis, 1:] = np.maximum(-(-extent // steps), 1)
    columns, wide = _lines(layer, 1, int(least[6])), np.arange(layer.output_width + 1, dtype=np.float64)
    if line:
        columns, wide = _in_whole_lines(layer, columns, wide, 8 * line // bits.I, 8 * line // bits.O)
    return LayerTables(
        layer,
        lanes,
        extents,
        least,
        counts,
        _groups(layer),
        _lines(layer, 0, int(least[5])),
        columns,
        wide,
        np.array([layer.stride[axis] <= least[5 + axis] for axis in (0, 1)]),
        np.array([layer.batch * layer.channels_per_group, layer.weight_elements, layer.output_elements], np.float64),
        np.array([bits.I / 8, bits.W / 8, bits.O / 8, bits.acc / 8]),
    )


def _groups(layer: Layer) -> Floats:
    extent, size = layer.output_channels, layer.outputs_per_group
    table = np.zeros((2, extent + 1))
    for step in range(1, extent + 1):
        starts = np.arange(0, extent, step)
        met = (np.minimum(starts + step, extent) - 1) // size - starts // size + 1
        table[:, step] = met.sum(), met.max()
    return table


def touches(
    layer: Layer, axis: int, starts: NDArray[np.int64], ends: NDArray[np.int64], tap: int, taps: int
) -> Floats:
    """Rows (axis 0) or columns (1) of I that ranges of outputs touch with the kernel's taps from ``tap`` on."""
    stride, padding = layer.stride[axis], layer.padding[axis]
    size = (layer.input_height, layer.input_width)[axis]
    if stride <= taps:
        first = np.maximum(starts * stride - padding + tap, 0)
        beyond = np.minimum((ends - 1) * stride - padding + tap + taps, size)
        return np.maximum(beyond - first, 0).astype(np.float64)
    outputs = np.arange(int(ends.max(initial=0)))
    first = np.clip(outputs * stride - padding + tap, 0, size)
    each = np.clip(outputs * stride - padding + tap + taps, 0, size) - first
    summed = np.append(0, np.cumsum(each))
    return (summed[ends] - summed[starts]).astype(np.float64)


def _lines(layer: Layer, axis: int, tap_step: int) -> Floats:
    extent, kernel = (layer.output_height, layer.output_width)[axis], layer.kernel[axis]
    table = np.zeros((2, 2, extent + 1))
    for cut, step_of_taps in enumerate((kernel, tap_step)):
        for step in range(1, extent + 1):
            starts = np.arange(0, extent, step)
            ends = np.minimum(starts + step, extent)
            for tap in range(0, kernel, step_of_taps):
                met = touches(layer, axis, starts, ends, tap, min(step_of_taps, kernel - tap))
                table[cut, 0, step] += met.sum()
                table[cut, 1, step] = max(table[cut, 1, step], met.max())
    return table


def _in_whole_lines(layer: Layer, columns: Floats, wide: Floats, inputs: int, outputs: int) -> tuple[Floats, Floats]:
    """The tables of columns with what is held in whole lines, of ``inputs`` elements of I and ``outputs`` of O."""
    columns, wide = columns.copy(), wide.copy()
    for step in range(1, layer.output_width + 1):
        starts = np.arange(0, layer.output_width, step)
        ends = np.minimum(starts + step, layer.output_width)
        wide[step] = _covered(starts, ends, outputs)
        first = np.maximum(starts * layer.stride[1] - layer.padding[1], 0)
        for cut in (0, 1):
            columns[cut, 1, step] = _covered(first, first + columns[cut, 1, step].astype(np.int64), inputs)
    return columns, wide


def _covered(starts: Ints, ends: Ints, line: int) -> float:
    """Elements of the lines that one of the ranges meets at most."""
    return float((((ends - 1) // line - starts // line + 1) * line).max())
