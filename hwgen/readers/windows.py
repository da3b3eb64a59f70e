"""Windows of ONNX operators in rows and columns; of one dimension they are one row."""

from collections.abc import Mapping, Sequence
from typing import Any

from hwgen.ir.network.kinds import Window

__all__ = ["lifted", "pair", "said_padding", "transposed_window", "window_of"]

Settings = Mapping[str, Any]
"""Attributes by name."""


def pair(sizes: Sequence[int]) -> tuple[int, int]:
    """Rows and columns."""
    rows, columns = sizes if len(sizes) == 2 else (1, *sizes)
    return int(rows), int(columns)


def lifted(sizes: Sequence[int] | None, first: int) -> tuple[int, int]:
    """An attribute of one or two dimensions; ``first`` where it says nothing."""
    if not sizes:
        return first, first
    rows, columns = sizes if len(sizes) == 2 else (first, *sizes)
    return int(rows), int(columns)


def said_padding(settings: Settings) -> tuple[int, int, int, int]:
    """Top, left, bottom, right, as they are said."""
    pads = [int(one) for one in settings.get("pads") or [0] * 4]
    top, left, bottom, right = pads if len(pads) == 4 else (0, pads[0], 0, pads[1])
    return top, left, bottom, right


def window_of(settings: Settings, given: Sequence[int], made: Sequence[int], kernel: tuple[int, int]) -> Window:
    """The window of a convolution or pool. It has as much padding as the output reads.

    That may be more than is said, where sizes are rounded up, or less.

    ``given``, ``made`` : shapes of its input and output.
    """
    stride, dilation = lifted(settings.get("strides"), 1), lifted(settings.get("dilations"), 1)
    needed = [
        (output - 1) * step + (taps - 1) * apart + 1 - size
        for output, step, taps, apart, size in zip(
            pair(made[2:]), stride, kernel, dilation, pair(given[2:]), strict=True
        )
    ]
    top, left, *_ = said_padding(settings)
    mode = settings.get("auto_pad")
    if mode in ("SAME_UPPER", "SAME_LOWER"):
        top, left = ((max(one, 0) + (mode == "SAME_LOWER")) // 2 for one in needed)
    return Window(kernel, stride, (top, left, needed[0] - top, needed[1] - left), dilation)


def transposed_window(
    settings: Settings, given: Sequence[int], made: Sequence[int], kernel: tuple[int, int]
) -> Window:
    """The window of a transposed convolution; its padding is what is cut off the full output."""
    stride, dilation = lifted(settings.get("strides"), 1), lifted(settings.get("dilations"), 1)
    cut = [
        step * (size - 1) + more + (taps - 1) * apart + 1 - output
        for step, size, more, taps, apart, output in zip(
            stride, pair(given[2:]), lifted(settings.get("output_padding"), 0), kernel, dilation, pair(made[2:]),
            strict=True,
        )
    ]  # fmt: skip
    top, left, *_ = said_padding(settings)
    mode = settings.get("auto_pad", "NOTSET")
    if mode != "NOTSET" or "output_shape" in settings:
        top, left = ((whole + (mode != "SAME_UPPER")) // 2 if whole > 0 else 0 for whole in cut)  # else it ends later
    return Window(kernel, stride, (top, left, cut[0] - top, cut[1] - left), dilation)
