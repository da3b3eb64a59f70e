"""The short forms of a row of a layer table: what follows from its other keys may be left out.

Rows are completed when they are read. What is written is always the full form.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple, TypeGuard

from hwgen.ir.operators import OPERATORS, Operator

__all__ = ["completed", "reading"]

_AXES = ("height", "width")
_UNKNOWN = 1
"""The stand-in for a size that follows from keys which are missing or wrong themselves: these are what is told."""


class _Window(NamedTuple):
    """What an operation asks of a row to tell the size of its output."""

    stride: tuple[int, int]
    output_padding: tuple[int, int]
    factor: int | None


def completed(data: Mapping[str, object], required: Collection[str]) -> dict[str, object]:
    """The full form of a row; raises ValueError if its kernel does not fit its input.

    ``required`` : keys without a default.
    """
    row = dict(data)
    for key in ("kernel", "stride", "output_padding"):
        if _is_whole(value := row.get(key)):
            row[key] = [value, value]
    padding = row.get("padding")
    if padding == "valid":
        row["padding"] = [0] * 4
    elif _is_whole(padding):
        row["padding"] = [padding] * 4
    elif _are_whole(padding, 2):
        row["padding"] = [*padding, *padding]
    name = row.get("op", "conv")
    operator = OPERATORS.get(name) if isinstance(name, str) else None
    if operator is not None:
        _complete_channels(row, operator)
        if operator.flattens:
            for key in ("input_height", "input_width", "kernel"):
                if key in required:
                    row.setdefault(key, [1, 1] if key == "kernel" else 1)
        _complete_sizes(row, operator)
    return row


def reading(data: Mapping[str, object], shapes: Sequence[tuple[int, int, int]]) -> dict[str, object]:
    """A row of a connected network with what it reads: channels, height and width of each of its producers."""
    row = dict(data)
    name = row.get("op")
    operator = OPERATORS.get(name) if isinstance(name, str) else None
    if operator is None or not shapes:
        return row
    _, height, width = shapes[0]
    channels = operator.channels_read([shape[0] for shape in shapes])
    if operator.flattens:
        channels, height, width = channels * height * width, 1, 1
    for key, size in (("channels", channels), ("height", height), ("width", width)):
        row.setdefault(f"input_{key}", size)
    return row


def _complete_channels(row: dict[str, object], operator: Operator) -> None:
    channels, factor = row.get("input_channels"), row.get("factor")
    if not _is_whole(channels):
        return
    if operator.group_each:
        row.setdefault("groups", channels)
    made = operator.channels_made(channels, factor if _is_whole(factor) else None)
    if made is not None:
        row.setdefault("output_channels", made)


def _complete_sizes(row: dict[str, object], operator: Operator) -> None:
    window, kernel = _window(row), row.get("kernel", None if operator.windowed else [1, 1])
    sizes = [row.get("input_height"), row.get("input_width")]
    if window is None or not _are_whole(kernel, 2) or not _are_whole(sizes, 2):
        for axis in _AXES:
            row.setdefault(f"output_{axis}", _UNKNOWN)
        return
    if row.get("padding") == "same":
        height, width = (operator.same_padding(window, axis, sizes[axis], kernel[axis]) for axis in (0, 1))
        row["padding"] = [height // 2, width // 2, height - height // 2, width - width // 2]
    pads = row.get("padding", [0] * 4)
    for at, axis in enumerate(_AXES):
        if not _are_whole(pads, 4):
            row.setdefault(f"output_{axis}", _UNKNOWN)
        elif f"output_{axis}" not in row:
            size = operator.output_size(window, at, sizes[at], kernel[at], pads[at] + pads[at + 2])  # type: ignore[arg-type]
            row[f"output_{axis}"] = size


def _window(row: Mapping[str, object]) -> _Window | None:
    """What the row says of strides and of its operation's own; None if it is wrong."""
    stride, more, factor = row.get("stride", [1, 1]), row.get("output_padding", [0, 0]), row.get("factor")
    if not _are_whole(stride, 2, 1) or not _are_whole(more, 2):
        return None
    return _Window((stride[0], stride[1]), (more[0], more[1]), factor if _is_whole(factor) else None)


def _is_whole(value: object, least: int = 0) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and value >= least


def _are_whole(value: object, number: int, least: int = 0) -> TypeGuard[Sequence[int]]:
    return isinstance(value, list | tuple) and len(value) == number and all(_is_whole(one, least) for one in value)
