"""Kinds with weights, bit for bit: exact sums, wrapped at 32 bits, then `hwgen.golden.requantisation`."""

from collections.abc import Sequence

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from hwgen.golden.convolution import COLUMN_BYTES
from hwgen.golden.requantisation import requantise
from hwgen.ir.network.kinds import Convolution, Product, Window
from hwgen.ir.network.tensors import Int8

__all__ = ["convolution", "planes", "product"]

_EXACT_FLOAT32 = 1 << 24
"""Integers up to this are exact in float32, and so are sums that never exceed it."""


def convolution(node: Convolution, operand: Int8) -> Int8:
    """The output of a convolution."""
    window, (rows, columns) = node.window, planes_of(node.shape)
    padded = _padded(planes(operand), window, (rows, columns), node.requantisation.zero_in)
    sums = _convolve(padded, node.weights, window, node.groups, (rows, columns))
    return _made(sums, node).reshape(node.shape)


def product(node: Product, operand: Int8) -> Int8:
    """The output of a product with weights."""
    rows = operand.reshape(-1, operand.shape[-1]).T
    sums = _matmul(node.weights[None], rows[None])[0]
    return _made(sums, node).T.reshape(node.shape)


def _made(sums: NDArray[np.int32], node: Convolution | Product) -> Int8:
    outputs: Int8 = requantise(sums, node.bias, node.requantisation).astype(np.int8)
    return outputs


def planes(operand: Int8) -> Int8:
    """A map as [channels, rows, columns]."""
    one: Int8 = operand[0]
    return one[:, None, :] if one.ndim == 2 else one


def planes_of(shape: Sequence[int]) -> tuple[int, int]:
    """Rows and columns of a map of this shape."""
    rows, columns = shape[2:] if len(shape) == 4 else (1, shape[2])
    return rows, columns


def _padded(given: Int8, window: Window, outputs: tuple[int, int], fill: int) -> Int8:
    """The map with what the windows read around it, no more; padding below 0 cuts."""
    padded = given
    for axis in (0, 1):
        reads = (outputs[axis] - 1) * window.stride[axis] + (window.kernel[axis] - 1) * window.dilation[axis] + 1
        before = window.padding[axis]
        padded = np.take(padded, range(max(-before, 0), padded.shape[axis + 1]), axis=axis + 1)
        size = padded.shape[axis + 1] + max(before, 0)
        widths = [(0, 0)] * 3
        widths[axis + 1] = (max(before, 0), max(reads - size, 0))
        padded = np.pad(padded, widths, constant_values=fill)
        padded = np.take(padded, range(reads), axis=axis + 1)
    return padded


def _convolve(
    padded: Int8, weights: Int8, window: Window, groups: int, outputs: tuple[int, int]
) -> NDArray[np.int32]:
    """Sums [M, rows, columns] of a padded map."""
    (k, l), (down, across), (apart, beside) = window.kernel, window.stride, window.dilation  # noqa: E741
    rows, columns = outputs
    channels = weights.shape[1]
    matrices = weights.reshape(groups, -1, channels * k * l)
    sums = np.empty((weights.shape[0], rows, columns), np.int32)
    spans = ((k - 1) * apart + 1, (l - 1) * beside + 1)
    height = max(1, COLUMN_BYTES // (4 * padded.shape[0] * k * l * columns))
    for first in range(0, rows, height):
        last = min(first + height, rows)
        part = padded[:, first * down : (last - 1) * down + spans[0]]
        windows = sliding_window_view(part, spans, axis=(1, 2))[:, ::down, ::across, ::apart, ::beside]
        unrolled = windows.transpose(0, 3, 4, 1, 2).reshape(groups, channels * k * l, -1)
        sums[:, first:last] = _matmul(matrices, unrolled).reshape(-1, last - first, columns)
    return sums


def _matmul(matrices: Int8, columns: Int8) -> NDArray[np.int32]:
    """Exact products [group, M, N] of int8 matrices, wrapped at 32 bits, in floating point wide enough."""
    narrow = matrices.shape[2] << 14 <= _EXACT_FLOAT32
    kind = np.float32 if narrow else np.float64  # 2**14 * 2**24 terms would still be exact in float64
    sums = np.matmul(matrices.astype(kind), columns.astype(kind))
    wrapped: NDArray[np.int32] = sums.astype(np.int64).astype(np.int32)
    return wrapped
