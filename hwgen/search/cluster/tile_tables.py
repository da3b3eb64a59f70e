"""Tables of one nest that runs on all slices of a layer, for the search in `hwgen.search.core.branch`.

A cluster cuts a layer into tiles, and tiles into slices. Each slice is a small layer that an HWC runs. All slices
have the same nest, its steps clipped to the slice. The slices form a grid: a product of ranges of m, c, y and x.
Traffic is a product of factors of single axes, so the sum over the grid is the product of the sums of the factors;
the need is the product of the largest factors. So the tables of all slices are the tables of the ranges of each
axis, summed, or the largest of them.
"""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from hwgen.arch.bus import WORD_BYTES
from hwgen.ir.layer import Dim, Layer
from hwgen.ir.schedule import ArrayName, Bits
from hwgen.search.core.axes import Channels, Ranges, Window, channels, ranges, window
from hwgen.search.core.space import IMPOSSIBLE, Lines, Tables, Target, gathered, runnable, sum_words

__all__ = ["Grid", "Span", "cut", "grid_tables"]

Floats = NDArray[np.float64]
Span = tuple[int, int]
Grid = Mapping[Dim, Sequence[Span]]
"""The ranges (first, end) of m, c, y and x."""


def cut(spans: Sequence[Span], step: int) -> list[Span]:
    """Every range cut into ranges of ``step``; the last one of each is shorter where the step does not divide."""
    return [(first, min(first + step, end)) for start, end in spans for first in range(start, end, step)]


def grid_tables(
    layer: Layer, bits: Bits, target: Target, grid: Grid, caps: Mapping[ArrayName, int] | None = None
) -> Tables | None:
    """The tables of a nest that runs on every slice of the grid; None if a slice crosses a border between groups.

    A slice may hold whole groups, or a part of one. Indexed by [state, step], like `hwgen.search.core.space.tables`.
    """
    groups = _groups(layer, grid["m"], target)
    if groups is None:
        return None
    needs_of = _Image(layer, bits, target)
    rows, columns = needs_of.rows(grid["y"]), needs_of.columns(grid["x"])
    return gathered(
        layer,
        bits,
        target,
        caps,
        groups=groups,
        rows=rows,
        columns=columns,
        m=_ranges(grid["m"], target.lanes.m, word=target.ports.weight_bytes),
        c=_ranges(grid["c"], target.lanes.c, word=target.ports.weight_bytes),
        y=_ranges(grid["y"], target.lanes.y),
        x=_ranges(grid["x"], target.lanes.x, bits.O // 8, target.ports.output_bytes, WORD_BYTES * sum_words(bits)),
    )


def _groups(layer: Layer, spans: Sequence[Span], target: Target) -> Channels | None:
    size = layer.outputs_per_group
    counted: dict[tuple[int, int], int] = {}
    for start, end in spans:
        groups = 1
        if start // size != (end - 1) // size:
            if start % size or end % size:
                return None
            groups = (end - start) // size
        counted[end - start, groups] = counted.get((end - start, groups), 0) + 1
    tables = [(channels(extent, groups, target.lanes.m), number) for (extent, groups), number in counted.items()]
    width = max(extent for extent, _ in counted)
    fetched = sum(number * _wide(table.fetched, width) for table, number in tables)
    need = np.maximum.reduce([_wide(table.need, width) for table, _ in tables])
    if target.hardware:
        need = np.where(need > 1, IMPOSSIBLE, need)
    return Channels(np.asarray(fetched), need)


class _Image:
    """Rows and columns of ranges; ranges of equal size that the image's edges clip equally share a table."""

    def __init__(self, layer: Layer, bits: Bits, target: Target) -> None:
        self._layer, self._width, self._target = layer, bits.I // 8, target

    def rows(self, spans: Sequence[Span]) -> Lines:
        """The tables of rows."""
        return self._summed(0, spans, lambda own: runnable(self._layer, own, own, channels(1, 1))[0])

    def columns(self, spans: Sequence[Span]) -> Lines:
        """The tables of columns, with words aligned as in the image."""
        return self._summed(1, spans, lambda own: runnable(self._layer, own, own, channels(1, 1))[1])

    def _summed(self, axis: int, spans: Sequence[Span], hardware_need: Callable[[Window], Floats]) -> Lines:
        layer, target = self._layer, self._target
        stride, padding, kernel = layer.stride[axis], layer.padding[axis], layer.kernel[axis]
        size = (layer.input_height, layer.input_width)[axis]
        lanes, word = target.lanes.along("y" if axis == 0 else "x"), target.ports.input_bytes
        counted: dict[tuple[int, ...], tuple[Span, int]] = {}
        for start, end in spans:
            before = padding - start * stride
            after = (end - 1) * stride + kernel - padding - size
            key = (end - start, max(before, 0), max(after, 0), before % word if axis else 0)
            counted[key] = (start, end), counted.get(key, ((0, 0), 0))[1] + 1
        parts = []
        for (start, end), number in counted.values():
            own = window(end - start, kernel, stride, padding - start * stride, size, self._width, lanes, word)
            parts.append((own, number, hardware_need(own) if target.hardware else own.need))
        width = max(own.fetched.shape[1] for own, _, _ in parts) - 1
        return Lines(
            np.asarray(sum(number * _wide(own.fetched, width) for own, number, _ in parts)),
            np.asarray(sum(number * _wide(own.words, width) for own, number, _ in parts)),
            np.maximum.reduce([_wide(need, width) for _, _, need in parts]),
        )


def _ranges(
    spans: Sequence[Span], lanes: int = 1, width: int = 1, word: int = WORD_BYTES, sum_width: int = WORD_BYTES
) -> Ranges:
    """Sums of numbers, residues and words; the largest size and the most vectors."""
    counted: dict[tuple[int, int], int] = {}
    for start, end in spans:
        key = (end - start, start % word)
        counted[key] = counted.get(key, 0) + 1
    tables = [
        (ranges(extent, lanes, width, first, word, sum_width), number) for (extent, first), number in counted.items()
    ]
    most = max(extent for extent, _ in counted)
    return Ranges(
        np.asarray(sum(number * _wide(table.number, most) for table, number in tables)),
        np.maximum.reduce([_wide(table.largest, most) for table, _ in tables]),
        np.maximum.reduce([_wide(table.vectors, most) for table, _ in tables]),
        np.asarray(sum(number * _wide(table.residues, most) for table, number in tables)),
        np.asarray(sum(number * _wide(table.words, most) for table, number in tables)),
        np.asarray(sum(number * _wide(table.sum_words, most) for table, number in tables)),
    )


def _wide(table: Floats, extent: int) -> Floats:
    """A table of [state, step, ...] with more steps: a step beyond the extent counts as the extent."""
    index = np.minimum(np.arange(extent + 1), table.shape[1] - 1)
    return table[:, index]
