"""Operators with weights as integer nodes: convolutions, transposed ones, products, and a factor for each channel."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hwgen.ir.requantisation import Requantisation
from hwgen.quantised.kinds import Convolution, Product, TransposedConvolution, Window
from hwgen.quantised.onnx.constants import Integers
from hwgen.quantised.onnx.movement import attributes
from hwgen.quantised.onnx.regions import Anchor, Region, Source
from hwgen.quantised.onnx.tails import NotHardware, Tail
from hwgen.quantised.onnx.windows import lifted, padding, pair
from hwgen.quantised.scales import nearest_scale
from hwgen.quantised.tensors import HIGHEST, LOWEST, Int8

__all__ = ["ConvolutionAnchor", "ProductAnchor", "TransposedAnchor", "channel_convolution"]

Float64 = NDArray[np.float64]
MOST_BIAS = (1 << 31) - 1


@dataclass(frozen=True, eq=False)
class _Sums:
    """What requantises sums: weights[M, ...] as integers, one number for each of them, and biases in numbers."""

    weights: NDArray[np.int64]
    scales: Float64
    bias: Float64


def _weights(found: Integers, order: Sequence[int], channel_axis: int) -> tuple[NDArray[np.int64], Float64]:
    """Integers with their output channels first, and their scales."""
    if found.values.dtype.itemsize > 1:
        raise NotHardware(f"weights of {found.values.dtype}")
    if found.scales.size > 1 and found.axis != channel_axis:
        raise NotHardware("weights with a scale for each input channel")
    return found.shifted.transpose(order), found.scales.astype(np.float64)


def _bias(region: Region, names: Sequence[str], at: int, channels: int) -> Float64:
    """Biases in numbers, exact where they are integers with a scale."""
    if len(names) <= at or not names[at]:
        return np.zeros(channels)
    if names[at] not in region.model.constants:
        raise NotHardware("biases are computed")
    integers = region.model.constants.integers.get(names[at])
    if integers is not None:
        scales = integers.scales.astype(np.float64)
        values = integers.shifted.reshape(-1) * (scales if scales.size > 1 else scales[0])
    else:
        values = region.model.constants.value(names[at]).astype(np.float64).reshape(-1)
    if values.size not in (1, channels):
        raise NotHardware("biases that are not one for each channel")
    return np.broadcast_to(values, (channels,)).copy()


def _requantised(
    region: Region, sums: _Sums, source: Source, tail: Tail, axis: int, rank: int
) -> tuple[Int8, NDArray[np.int32], Requantisation]:
    """Weights, biases and requantisation of a node with sums."""
    channels = sums.weights.shape[0]
    affine, (low, high) = tail.split(channels, axis, rank)
    gain = np.where(affine.gain, affine.gain, 1)  # of a factor of 0 the offset is left
    of_sum = np.broadcast_to(sums.scales, (channels,)) * source.quantisation.scale
    signs, kept = np.sign(gain).astype(np.int64), affine.gain != 0
    weights = sums.weights * (signs * kept).reshape(-1, *[1] * (sums.weights.ndim - 1))
    if weights.min() < LOWEST or weights.max() > HIGHEST:
        raise NotHardware("weights with a zero point, beyond int8 without it")
    bias = np.rint((sums.bias * kept + affine.offset / gain) / of_sum) * signs
    folded = bias - source.quantisation.zero * weights.reshape(channels, -1).sum(axis=1)
    if np.abs(folded).max() > MOST_BIAS:
        raise NotHardware("biases beyond 32 bits")
    factors = of_sum * np.abs(gain) / region.target.scale
    try:
        scales = tuple(nearest_scale(float(factor)) for factor in factors)
    except ValueError as error:
        raise NotHardware(str(error)) from None
    requantisation = Requantisation(
        scales if len(set(scales)) > 1 else scales[:1],
        zero_in=source.quantisation.zero,
        zero_out=region.target.zero,
        low=low,
        high=high,
    )
    return weights.astype(np.int8), folded.astype(np.int32), requantisation


class ConvolutionAnchor(Anchor):
    """Conv of one or two dimensions."""

    def build(self, region: Region, node: Any, tail: Tail, output: str) -> None:
        settings, shape = attributes(node), region.model.shapes[node.output[0]]
        source = region.source(node.input[0])
        values, scales = _weights(region.integers(node.input[1], "weights"), range(len(shape)), 0)
        if not 3 <= len(shape) <= 4:
            raise NotHardware(f"a convolution of {len(shape) - 2} dimensions")
        sums = _Sums(_planes(values), scales, _bias(region, node.input, 2, shape[1]))
        weights, bias, requantisation = _requantised(region, sums, source, tail, 1, len(shape))
        kernel = pair(weights.shape[2:])
        given = region.model.shapes[node.input[0]]
        window = Window(
            kernel,
            lifted(settings.get("strides"), 1),
            padding(settings, given, shape, kernel),
            lifted(settings.get("dilations"), 1),
        )
        region.emit(
            Convolution(
                name=output,
                inputs=(source.tensor,),
                outputs=(output,),
                covers=region.covers(tail, node),
                shape=shape,
                weights=weights,
                bias=bias,
                requantisation=requantisation,
                window=window,
                groups=int(settings.get("group", 1)),
            )
        )


class TransposedAnchor(Anchor):
    """ConvTranspose of one or two dimensions."""

    def build(self, region: Region, node: Any, tail: Tail, output: str) -> None:
        settings, shape = attributes(node), region.model.shapes[node.output[0]]
        source, given = region.source(node.input[0]), region.model.shapes[node.input[0]]
        if not 3 <= len(shape) <= 4:
            raise NotHardware(f"a convolution of {len(shape) - 2} dimensions")
        groups = int(settings.get("group", 1))
        found = region.integers(node.input[1], "weights")
        values, scales = _weights(found, range(found.values.ndim), 1)
        rows, columns, *kernel = _planes(values).shape
        turned = _planes(values).reshape(groups, rows // groups, columns, *kernel).swapaxes(1, 2)
        scales = np.tile(scales, groups) if scales.size > 1 else scales
        sums = _Sums(
            turned.reshape(groups * columns, rows // groups, *kernel), scales, _bias(region, node.input, 2, shape[1])
        )
        weights, bias, requantisation = _requantised(region, sums, source, tail, 1, len(shape))
        stride, dilation = lifted(settings.get("strides"), 1), lifted(settings.get("dilations"), 1)
        extra = lifted(settings.get("output_padding"), 0)
        full = [
            step * (size - 1) + more + (taps - 1) * apart + 1
            for step, size, more, taps, apart in zip(
                stride, pair(given[2:]), extra, pair(kernel), dilation, strict=True
            )
        ]
        cut = [whole - size for whole, size in zip(full, pair(shape[2:]), strict=True)]
        window = Window(pair(kernel), stride, _cut(settings, cut), dilation)
        region.emit(
            TransposedConvolution(
                name=output,
                inputs=(source.tensor,),
                outputs=(output,),
                covers=region.covers(tail, node),
                shape=shape,
                weights=weights,
                bias=bias,
                requantisation=requantisation,
                window=window,
                groups=groups,
                extra=extra,
                pixels=prod(given[2:]),
            )
        )


def _cut(settings: dict[str, Any], cut: Sequence[int]) -> tuple[int, int, int, int]:
    """What is cut off the full output of a transposed convolution: top, left, bottom, right."""
    if "pads" in settings and settings.get("auto_pad", b"NOTSET") == b"NOTSET" and "output_shape" not in settings:
        pads = list(settings["pads"])
        half = len(pads) // 2
        top, left = pads[:half] if half == 2 else (0, pads[0])
    else:
        upper = settings.get("auto_pad", b"NOTSET") == b"SAME_UPPER"
        top, left = ((whole // 2 if upper else whole - whole // 2) for whole in cut)
    return top, left, cut[0] - top, cut[1] - left


class ProductAnchor(Anchor):
    """MatMul with constant weights on the right, and Gemm."""

    def build(self, region: Region, node: Any, tail: Tail, output: str) -> None:
        settings, shape = attributes(node), region.model.shapes[node.output[0]]
        if node.input[0] in region.model.constants or node.input[1] not in region.model.constants:
            raise NotHardware(
                "both factors are computed" if len(region.variable(node)) > 1 else "weights on the left"
            )
        if settings.get("transA", 0):
            raise NotHardware("its first factor is transposed")
        found = region.integers(node.input[1], "weights")
        if found.values.ndim != 2:
            raise NotHardware(f"weights of {found.values.ndim} dimensions")
        turned = bool(settings.get("transB", 0))
        values, scales = _weights(found, (0, 1) if turned else (1, 0), 0 if turned else 1)
        alpha, beta = settings.get("alpha", 1.0), settings.get("beta", 1.0)
        bias = _bias(region, node.input, 2, values.shape[0]) * beta
        source = region.source(node.input[0])
        weights, folded, requantisation = _requantised(
            region, _Sums(values, scales * alpha, bias), source, tail, -1, len(shape)
        )
        region.emit(
            Product(
                name=output,
                inputs=(source.tensor,),
                outputs=(output,),
                covers=region.covers(tail, node),
                shape=shape,
                weights=weights,
                bias=folded,
                requantisation=requantisation,
            )
        )


def channel_convolution(region: Region, source: Source, shape: tuple[int, ...], tail: Tail, output: str) -> None:
    """A factor and an offset for each channel, alone: a depthwise convolution of 1 x 1.

    The bias is a whole number of sums, so its weight decides how near that comes to the offset: any from 64 to 127,
    the first, from the nearest on, with which all 256 inputs give what the numbers give.
    """
    if not 3 <= len(shape) <= 4:
        raise NotHardware("a factor for each channel of what is no map")
    channels = shape[1]
    affine, _ = tail.split(channels, 1, len(shape))
    wanted = tail.tables(source.quantisation, channels)
    order = _by_nearness(affine.offset / np.where(affine.gain, affine.gain, 1) / source.quantisation.scale)
    chosen = order[0].copy()
    best = np.full(channels, wanted.shape[1] + 1)
    for weights in order:
        sums = _Sums(weights.reshape(-1, 1, 1, 1), 1 / weights, np.zeros(channels))
        wrong = _wrong(_requantised(region, sums, source, tail, 1, len(shape)), wanted)
        better = wrong < best
        chosen[better], best[better] = weights[better], wrong[better]
        if not best.any():
            break
    sums = _Sums(chosen.reshape(-1, 1, 1, 1), 1 / chosen, np.zeros(channels))
    made, bias, requantisation = _requantised(region, sums, source, tail, 1, len(shape))
    region.emit(
        Convolution(
            name=output,
            inputs=(source.tensor,),
            outputs=(output,),
            covers=region.covers(tail),
            shape=shape,
            weights=made,
            bias=bias,
            requantisation=requantisation,
            window=Window((1, 1)),
            groups=channels,
        )
    )


def _by_nearness(offsets: Float64) -> NDArray[np.int64]:
    """[choice, channel] weights, first those whose multiple of the offset is nearest to a whole number."""
    choices = np.arange(64, HIGHEST + 1)[:, None]
    off = np.abs(np.rint(offsets * choices) - offsets * choices) / choices
    order: NDArray[np.int64] = choices[np.argsort(off, axis=0, kind="stable"), 0]
    return order


def _wrong(made: tuple[Int8, NDArray[np.int32], Requantisation], wanted: Int8) -> NDArray[np.int64]:
    """How many of the 256 inputs give another output than wanted, by channel."""
    weights, bias, requantisation = made
    codes = np.arange(LOWEST, HIGHEST + 1)
    found = weights.reshape(-1, 1).astype(np.int64) * codes + bias[:, None]
    scales = requantisation.scales
    shifts = np.array([scale.shift for scale in scales])[:, None]
    found = found * np.array([scale.multiplier for scale in scales])[:, None] + (1 << shifts >> 1) >> shifts
    low, high = requantisation.bounds(8)
    clipped = np.clip(found + requantisation.zero_out, low, high)
    wrong: NDArray[np.int64] = np.count_nonzero(clipped != wanted, axis=1)
    return wrong


def _planes(values: NDArray[np.int64]) -> NDArray[np.int64]:
    """Weights of one dimension as those of one row."""
    return values[:, :, None, :] if values.ndim == 3 else values
