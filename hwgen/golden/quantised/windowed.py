"""ONNX's operators over windows in float64, from their attributes, tap by tap; maps of any number of dimensions."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["average", "convolution", "greatest", "transposed_convolution"]

Float64 = NDArray[np.float64]
Settings = Mapping[str, Any]
"""Attributes of a node by name."""


def convolution(data: Float64, weights: Float64, settings: Settings, made: Sequence[int]) -> Float64:
    """Conv, without bias. ``made`` : shape of the output."""
    kernel, groups = weights.shape[2:], int(settings.get("group", 1))
    found = np.zeros((made[0], groups, made[1] // groups, *made[2:]))
    split = weights.reshape(groups, -1, *weights.shape[1:])
    for tap, part in _taps(data, kernel, settings, made[2:], 0.0):
        inputs = part.reshape(part.shape[0], groups, -1, *made[2:])
        found += np.einsum("gmc,ngc...->ngm...", split[_last(*tap)], inputs, optimize=True)
    return found.reshape(*made)


def transposed_convolution(data: Float64, weights: Float64, settings: Settings, made: Sequence[int]) -> Float64:
    """ConvTranspose, without bias: each pixel of the input adds the kernel to the output, which is then cut."""
    kernel, groups, given = weights.shape[2:], int(settings.get("group", 1)), data.shape[2:]
    strides, dilations = _each(settings, "strides", kernel), _each(settings, "dilations", kernel)
    full = [
        step * (size - 1) + (taps - 1) * apart + 1
        for step, size, taps, apart in zip(strides, given, kernel, dilations, strict=True)
    ]
    extra = settings.get("output_padding", [0] * len(kernel))
    cut = [whole + more - size for whole, more, size in zip(full, extra, made[2:], strict=True)]
    if settings.get("auto_pad", "NOTSET") == "NOTSET" and "output_shape" not in settings:
        first = list(settings.get("pads", [0] * len(kernel)))[: len(kernel)]
    else:
        upper = settings.get("auto_pad") == "SAME_UPPER"
        first = [(one + (not upper)) // 2 if one > 0 else 0 for one in cut]  # a larger output ends later
    room = [max(whole, begin + size) for whole, begin, size in zip(full, first, made[2:], strict=True)]
    found = np.zeros((made[0], groups, made[1] // groups, *room))
    inputs = data.reshape(data.shape[0], groups, -1, *given)
    split = weights.reshape(groups, -1, *weights.shape[1:])
    for tap in product(*map(range, kernel)):
        where = tuple(
            slice(at * apart, at * apart + step * (size - 1) + 1, step)
            for at, apart, step, size in zip(tap, dilations, strides, given, strict=True)
        )
        found[_last(*where)] += np.einsum("gcm,ngc...->ngm...", split[_last(*tap)], inputs, optimize=True)
    kept = tuple(slice(begin, begin + size) for begin, size in zip(first, made[2:], strict=True))
    outputs: Float64 = found[_last(*kept)].reshape(*made)
    return outputs


def average(data: Float64, settings: Settings, made: Sequence[int]) -> Float64:
    """AveragePool: by the elements that count, those of the map and, if that is said, of the padding."""
    kernel, sizes = settings["kernel_shape"], data.shape[2:]
    sums, counts = np.zeros(made), np.zeros(made[2:])
    inside = np.ones((1, 1, *sizes))
    if settings.get("count_include_pad", 0):
        pads = _pads(settings, kernel, sizes, made[2:])
        inside = np.pad(inside, [(0, 0), (0, 0), *pads], constant_values=1.0)
        settings = {**settings, "pads": [0] * (2 * len(kernel)), "auto_pad": "NOTSET"}
        data = np.pad(data, [(0, 0), (0, 0), *pads])
    for _, part in _taps(data, kernel, settings, made[2:], 0.0):
        sums += part
    for _, part in _taps(inside, kernel, settings, made[2:], 0.0):
        counts += part[0, 0]
    return sums / counts


def greatest(data: Float64, settings: Settings, made: Sequence[int]) -> Float64:
    """MaxPool: padding is never the greatest."""
    found = np.full(made, -np.inf)
    for _, part in _taps(data, settings["kernel_shape"], settings, made[2:], -np.inf):
        np.maximum(found, part, out=found)
    return found


def _last(*places: int | slice) -> Any:
    """These places of the last axes, of all others everything."""
    return (..., *places)


def _each(settings: Settings, name: str, kernel: Sequence[int]) -> list[int]:
    return list(settings.get(name) or [1] * len(kernel))


def _pads(
    settings: Settings, kernel: Sequence[int], sizes: Sequence[int], outputs: Sequence[int]
) -> list[tuple[int, int]]:
    """Padding before and after each axis, as the attributes say."""
    mode, half = settings.get("auto_pad", "NOTSET"), len(kernel)
    if mode in ("NOTSET", "VALID"):
        pads = list(settings.get("pads") or [0] * (2 * half)) if mode == "NOTSET" else [0] * (2 * half)
        return list(zip(pads[:half], pads[half:], strict=True))
    found = []
    strides, dilations = _each(settings, "strides", kernel), _each(settings, "dilations", kernel)
    for size, output, taps, step, apart in zip(sizes, outputs, kernel, strides, dilations, strict=True):
        whole = max((output - 1) * step + (taps - 1) * apart + 1 - size, 0)
        before = whole // 2 if mode == "SAME_UPPER" else whole - whole // 2
        found.append((before, whole - before))
    return found


def _taps(
    data: Float64, kernel: Sequence[int], settings: Settings, outputs: Sequence[int], fill: float
) -> Iterator[tuple[tuple[int, ...], Float64]]:
    """Each place in the kernel, and what all windows read there; ``fill`` outside of the map."""
    strides, dilations = _each(settings, "strides", kernel), _each(settings, "dilations", kernel)
    widths, cuts = [(0, 0), (0, 0)], [slice(None), slice(None)]
    pads = _pads(settings, kernel, data.shape[2:], outputs)
    for (before, _), size, output, taps, step, apart in zip(
        pads, data.shape[2:], outputs, kernel, strides, dilations, strict=True
    ):
        reads = (output - 1) * step + (taps - 1) * apart + 1
        widths.append((max(before, 0), max(reads - before - size, 0)))
        cuts.append(slice(max(-before, 0), None))
    padded = np.pad(data[tuple(cuts)], widths, constant_values=fill)
    for tap in product(*map(range, kernel)):
        where = tuple(
            slice(at * apart, at * apart + (output - 1) * step + 1, step)
            for at, apart, step, output in zip(tap, dilations, strides, outputs, strict=True)
        )
        yield tap, padded[_last(*where)]
