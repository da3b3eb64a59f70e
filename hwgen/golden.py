"""Integer reference convolution and requantisation: what the hardware must leave in memory, bit for bit."""

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from hwgen.ir.layer import Layer

__all__ = ["convolve", "requantise"]

Int8 = NDArray[np.int8]
Int32 = NDArray[np.int32]

_COLUMN_BYTES = 1 << 26
"""Rows of outputs are done together up to this size of the unrolled input."""


def convolve(layer: Layer, inputs: NDArray[np.signedinteger], weights: NDArray[np.signedinteger]) -> Int32:
    """Sums of one layer, wrapped to 32 bits: inputs[C,H,W] and weights[M,C/groups,R,S] give sums[M,E,F].

    The products are summed in float64 by matrix multiplication, which is exact below 2**53: for 8-bit operands up to
    2**39 of them for one output, for 16-bit operands 2**23. Wrapping once at the end equals wrapping at every step.
    """
    _check("inputs", inputs, (layer.input_channels, layer.input_height, layer.input_width))
    _check("weights", weights, (layer.output_channels, layer.channels_per_group, *layer.kernel))
    terms = layer.channels_per_group * layer.kernel[0] * layer.kernel[1]
    if terms << (_bits(inputs) + _bits(weights) - 2) > 1 << 53:
        raise ValueError(f"{layer.name}: {terms} products of these widths are beyond exact float64 sums")
    top, left, bottom, right = layer.padding
    padded = np.pad(inputs.astype(np.float64), ((0, 0), (top, bottom), (left, right)))
    matrices = weights.astype(np.float64).reshape(layer.groups, layer.outputs_per_group, terms)
    sums = np.empty((layer.output_channels, layer.output_height, layer.output_width), np.int32)
    height = max(1, _COLUMN_BYTES // (8 * terms * layer.groups * layer.output_width))
    for first in range(0, layer.output_height, height):
        last = min(first + height, layer.output_height)
        columns = _unrolled(layer, padded, first, last)
        exact = np.matmul(matrices, columns).astype(np.int64)
        sums[:, first:last] = exact.astype(np.int32).reshape(layer.output_channels, last - first, -1)
    return sums


def _unrolled(layer: Layer, padded: NDArray[np.float64], first: int, last: int) -> NDArray[np.float64]:
    """The inputs of output rows ``first`` to ``last``, as [group, (channel, k, l), (row, column)]."""
    (k, l), (down, across) = layer.kernel, layer.stride  # noqa: E741 - the dimension's name
    rows = padded[:, first * down : (last - 1) * down + k, : (layer.output_width - 1) * across + l]
    windows = sliding_window_view(rows, (k, l), axis=(1, 2))[:, ::down, ::across]
    unrolled = windows.transpose(0, 3, 4, 1, 2)
    return unrolled.reshape(layer.groups, layer.channels_per_group * k * l, (last - first) * layer.output_width)


def requantise(sums: Int32, bias: Int32, shift: int, *, relu: bool) -> Int8:
    """Outputs of one layer: sums[M,E,F] plus bias[M], rounded right shift, ReLU when set, clipped to 8 bits.

    The sum with the bias is exact (it does not wrap), half of the shifted-out range is added first for shifts
    above 0, and the shift is arithmetic: it rounds half up.
    """
    if not 0 <= shift <= 31:
        raise ValueError(f"shift: expected 0 to 31, got {shift}")
    value = sums.astype(np.int64) + bias.astype(np.int64).reshape(-1, *[1] * (sums.ndim - 1))
    if shift:
        value = (value + (1 << (shift - 1))) >> shift
    clipped: Int8 = np.clip(value, 0 if relu else -128, 127).astype(np.int8)
    return clipped


def _bits(array: NDArray[np.signedinteger]) -> int:
    return 8 * array.dtype.itemsize


def _check(name: str, array: NDArray[np.signedinteger], shape: tuple[int, ...]) -> None:
    if array.dtype.kind != "i" or array.shape != shape:
        raise ValueError(f"{name}: expected signed integers of shape {shape}, got {array.dtype} of {array.shape}")
