"""Windows of ONNX operators in rows and columns; of one dimension they are one row."""

from collections.abc import Mapping, Sequence
from typing import Any

__all__ = ["lifted", "padding", "pair"]


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


def padding(
    settings: Mapping[str, Any], given: Sequence[int], made: Sequence[int], kernel: tuple[int, int]
) -> tuple[int, int, int, int]:
    """Top, left, bottom, right: as many rows and columns as the output reads.

    That may be more than are said, where sizes are rounded up, or fewer.
    """
    stride, dilation = lifted(settings.get("strides"), 1), lifted(settings.get("dilations"), 1)
    sizes, outputs = pair(given[2:]), pair(made[2:])
    needed = [
        (output - 1) * step + (taps - 1) * apart + 1 - size
        for output, step, taps, apart, size in zip(outputs, stride, kernel, dilation, sizes, strict=True)
    ]
    mode = settings.get("auto_pad", b"NOTSET")
    if mode in (b"SAME_UPPER", b"SAME_LOWER"):
        before = [(max(one, 0) + (mode == b"SAME_LOWER")) // 2 for one in needed]
    else:
        pads = list(settings.get("pads") or [0] * (2 * (len(given) - 2)))
        before = list(pads[:2]) if len(pads) == 4 else [0, pads[0]]
    top, left = (int(one) for one in before)
    return top, left, needed[0] - top, needed[1] - left
