"""Kinds without weights, bit for bit: sums of maps, pools, tables, moves."""

from collections.abc import Sequence

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from hwgen.golden.quantised.sums import planes, planes_of
from hwgen.ir.network.kinds import Addition, AveragePool, Concatenation, FixedMean, Lookup, MaxPool, Movement, Window
from hwgen.ir.network.tensors import HIGHEST, LOWEST, Int8
from hwgen.ir.requantisation import ROUNDINGS

__all__ = [
    "addition",
    "average_counts",
    "average_pool",
    "concatenation",
    "fixed_mean",
    "lookup",
    "max_pool",
    "movement",
]

Int64 = NDArray[np.int64]


def addition(node: Addition, operands: Sequence[Int8]) -> Int8:
    """The output of an addition."""
    shift = node.scales[0].shift
    sums = np.zeros(node.shape, np.int64)
    for operand, scale, zero in zip(operands, node.scales, node.zeros, strict=True):
        sums += (operand.astype(np.int64) - zero) * scale.multiplier
    return _clipped(ROUNDINGS[node.rounding].shifted(sums, shift) + node.zero_out, node.low, node.high)


def average_pool(node: AveragePool, operand: Int8) -> Int8:
    """The output of an average pool."""
    sums, counts = average_counts(node, operand)
    multiplier, shift = np.zeros(counts.max() + 1, np.int64), np.ones(counts.max() + 1, np.int64)
    for count, scale in node.scales.items():
        if count < multiplier.size:
            multiplier[count], shift[count] = scale.multiplier, scale.shift
    values = ROUNDINGS[node.rounding].shifted(sums * multiplier[counts], shift[counts])
    return _clipped(values + node.zero_out, node.low, node.high).reshape(node.shape)


def fixed_mean(node: FixedMean, operand: Int8) -> Int8:
    """The output of a mean in fixed point."""
    sums = (planes(operand).astype(np.int64) - node.zero_in).sum(axis=(1, 2))
    values = node.factor.times(sums) + node.zero_out
    return _clipped(values, LOWEST, HIGHEST).reshape(node.shape)


def average_counts(node: AveragePool, operand: Int8) -> tuple[Int64, Int64]:
    """Sums of x - zero over each window, [channels, rows, columns], and how many elements count, [rows, columns]."""
    given, sizes = planes(operand), _sizes(node.shape)
    shifted = given.astype(np.int32) - node.zero_in
    sums = _windows(shifted, node.window, sizes, 0).sum(axis=(3, 4), dtype=np.int64)
    top, left, bottom, right = node.counted
    ones = np.ones((1, given.shape[1] + top + bottom, given.shape[2] + left + right), np.int32)
    before = (node.window.padding[0] - top, node.window.padding[1] - left, 0, 0)
    counting = Window(node.window.kernel, node.window.stride, before, node.window.dilation)
    return sums, _windows(ones, counting, sizes, 0).sum(axis=(3, 4), dtype=np.int64)[0]


def max_pool(node: MaxPool, operand: Int8) -> Int8:
    """The output of a max pool."""
    made = _windows(planes(operand), node.window, _sizes(node.shape), LOWEST).max(axis=(3, 4)).reshape(node.shape)
    return made if node.table is None else _through(node.table, made)


def concatenation(node: Concatenation, operands: Sequence[Int8]) -> Int8:
    """Operands one after the other."""
    parts = [
        operand if table is None else _through(table, operand)
        for operand, table in zip(operands, node.tables, strict=True)
    ]
    return np.concatenate(parts, axis=node.axis)


def lookup(node: Lookup, operand: Int8) -> Int8:
    """Every element through its table."""
    if len(node.tables) == 1:
        return _through(node.tables[0], operand)
    made = np.empty_like(operand)
    for channel, table in enumerate(node.tables):
        made[:, channel] = _through(table, operand[:, channel])
    return made


def movement(node: Movement, operand: Int8) -> Int8:
    """Elements in another order."""
    moved = operand.reshape(-1)[node.index]
    return np.where(node.index < 0, np.int8(node.fill), moved).astype(np.int8)


def _sizes(shape: tuple[int, ...]) -> tuple[int, int]:
    """Rows and columns of a pool's output; one pixel where the axes were dropped."""
    return planes_of(shape) if len(shape) > 2 else (1, 1)


def _through(table: Int8, operand: Int8) -> Int8:
    made: Int8 = table[operand.astype(np.int16) - LOWEST]
    return made


def _clipped(values: NDArray[np.signedinteger], low: int, high: int) -> Int8:
    clipped: Int8 = np.clip(values, low, high).astype(np.int8)
    return clipped


def _windows(given: NDArray, window: Window, outputs: tuple[int, int], fill: int) -> NDArray:
    """What each window reads: [channels, rows, columns, k, l]."""
    widths = [(0, 0)]
    for axis in (0, 1):
        reads = (outputs[axis] - 1) * window.stride[axis] + (window.kernel[axis] - 1) * window.dilation[axis] + 1
        before = window.padding[axis]
        widths.append((before, max(reads - before - given.shape[axis + 1], 0)))
    padded = np.pad(given, widths, constant_values=fill)
    spans = tuple((taps - 1) * apart + 1 for taps, apart in zip(window.kernel, window.dilation, strict=True))
    found = sliding_window_view(padded, spans, axis=(1, 2))
    (down, across), (apart, beside) = window.stride, window.dilation
    rows, columns = outputs
    return found[:, : (rows - 1) * down + 1 : down, : (columns - 1) * across + 1 : across, ::apart, ::beside]
