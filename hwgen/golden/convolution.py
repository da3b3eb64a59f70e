"""Integer reference convolution: the sums of a layer and its outputs, bit for bit."""

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from hwgen.golden.requantisation import requantise
from hwgen.ir.layer import Layer
from hwgen.ir.requantisation import Requantisation

__all__ = ["COLUMN_BYTES", "convolve", "layer_output"]

Int32 = NDArray[np.int32]

COLUMN_BYTES = 1 << 26
"""Rows of outputs are done together up to this size of the unrolled input."""


def convolve(
    layer: Layer,
    inputs: NDArray[np.signedinteger],
    weights: NDArray[np.signedinteger],
    product_shift: int = 0,
    zero_in: int = 0,
) -> Int32:
    """Sums of one layer, wrapped to 32 bits: inputs[C,H,W] and weights[M,C/groups,R,S] give sums[M,E,F].

    Each product is first shifted right arithmetically by ``product_shift`` (it rounds down), so that sums of 16-bit
    operands stay within 32 bits, see `hwgen.ir.requantisation.safe_product_shift`. Wrapping once at the end equals
    wrapping at every step.

    Without a shift the products are summed in float64 by matrix multiplication, which is exact below 2**53: for 8-bit
    operands up to 2**39 of them for one output, for 16-bit operands 2**23. Padding reads as ``zero_in``.
    """
    _check("inputs", inputs, (layer.input_channels, layer.input_height, layer.input_width))
    _check("weights", weights, (layer.output_channels, layer.channels_per_group, *layer.kernel))
    if not 0 <= product_shift <= 31:
        raise ValueError(f"product_shift: expected 0 to 31, got {product_shift}")
    terms = layer.channels_per_group * layer.kernel[0] * layer.kernel[1]
    if terms << (_bits(inputs) + _bits(weights) - 2) > 1 << 53:
        raise ValueError(f"{layer.name}: {terms} products of these widths are beyond exact float64 sums")
    top, left, bottom, right = layer.padding
    padded = np.pad(inputs.astype(np.float64), ((0, 0), (top, bottom), (left, right)), constant_values=zero_in)
    matrices = weights.astype(np.float64).reshape(layer.groups, layer.outputs_per_group, terms)
    sums = np.empty((layer.output_channels, layer.output_height, layer.output_width), np.int32)
    height = max(1, COLUMN_BYTES // (8 * terms * layer.groups * layer.output_width))
    for first in range(0, layer.output_height, height):
        last = min(first + height, layer.output_height)
        columns = _unrolled(layer, padded, first, last)
        if product_shift:
            exact = _sum_of_shifted(matrices.astype(np.int64), columns.astype(np.int64), product_shift)
        else:
            exact = np.matmul(matrices, columns).astype(np.int64)
        sums[:, first:last] = exact.astype(np.int32).reshape(layer.output_channels, last - first, -1)
    return sums


def layer_output(
    layer: Layer,
    inputs: NDArray[np.signedinteger],
    weights: NDArray[np.signedinteger],
    bias: NDArray[np.int32],
    requantisation: Requantisation | None = None,
) -> NDArray[np.signedinteger]:
    """The output [M, E, F] of one layer; its elements are as wide as the inputs'. ``requantisation``: the layer's.

    Of a batch of several images, inputs [N, C, H, W] give [N, M, E, F].
    """
    if layer.batch > 1:
        _check("inputs", inputs, layer.input_shape)
        one = layer.of_images(1)
        return np.stack([layer_output(one, image, weights, bias, requantisation) for image in inputs])
    requantisation = requantisation or layer.requantisation_at(_bits(inputs))
    sums = convolve(layer, inputs, weights, requantisation.product_shift, requantisation.zero_in)
    return requantise(sums, bias, requantisation, bits=_bits(inputs))


def _sum_of_shifted(matrices: NDArray[np.int64], columns: NDArray[np.int64], shift: int) -> NDArray[np.int64]:
    """Matrix products [group, m, n] whose single products are shifted right before they are summed."""
    result = np.zeros((*matrices.shape[:2], columns.shape[2]), np.int64)
    for term in range(matrices.shape[2]):
        result += (matrices[:, :, term, None] * columns[:, None, term, :]) >> shift
    return result


def _unrolled(layer: Layer, padded: NDArray[np.float64], first: int, last: int) -> NDArray[np.float64]:
    """The inputs of output rows ``first`` to ``last``, as [group, (channel, k, l), (row, column)]."""
    (k, l), (down, across) = layer.kernel, layer.stride  # noqa: E741 - the dimension's name
    rows = padded[:, first * down : (last - 1) * down + k, : (layer.output_width - 1) * across + l]
    windows = sliding_window_view(rows, (k, l), axis=(1, 2))[:, ::down, ::across]
    unrolled = windows.transpose(0, 3, 4, 1, 2)
    return unrolled.reshape(layer.groups, layer.channels_per_group * k * l, (last - first) * layer.output_width)


def _bits(array: NDArray[np.signedinteger]) -> int:
    return 8 * array.dtype.itemsize


def _check(name: str, array: NDArray[np.signedinteger], shape: tuple[int, ...]) -> None:
    if array.dtype.kind != "i" or array.shape != shape:
        raise ValueError(f"{name}: expected signed integers of shape {shape}, got {array.dtype} of {array.shape}")
