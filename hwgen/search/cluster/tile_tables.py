"""One nest over many tiles of a layer, as tables: what `hwgen.search.core.branch` needs to find the best one for all.

A cluster cuts a layer into tiles, and tiles into slices: a grid of boxes, each of which an HWC runs as a small layer
of its own, all with the same nest, its steps as far as a box goes. Traffic is a product of factors of single axes,
and a sum of such products over a grid is the product of the factors' sums; a need is the product of the largest. So
the tables of the whole are those of the pieces of each axis, added up, or the largest of them.
"""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from hwgen.ir.layer import Dim, Layer
from hwgen.ir.schedule import ArrayName, Bits
from hwgen.search.core.axes import Channels, Pieces, Window, channels, pieces, window
from hwgen.search.core.space import IMPOSSIBLE, Lines, Tables, Target, gathered, runnable

__all__ = ["Grid", "Span", "cut", "grid_tables"]

Floats = NDArray[np.float64]
Span = tuple[int, int]
Grid = Mapping[Dim, Sequence[Span]]
"""The pieces (first, end) of m, c, y and x."""


def cut(spans: Sequence[Span], step: int) -> list[Span]:
    """Every span in pieces of so many; the last one of each is what is left."""
    return [(first, min(first + step, end)) for start, end in spans for first in range(start, end, step)]


def grid_tables(
    layer: Layer, bits: Bits, target: Target, grid: Grid, caps: Mapping[ArrayName, int] | None = None
) -> Tables | None:
    """The tables of a nest that runs in every box of the grid; None if a box crosses a border between groups.

    Whole groups and parts of one are fine. Like `hwgen.search.core.space.tables`, indexed by [state, step].
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
        m=_pieces(grid["m"], target.lanes.m),
        c=_pieces(grid["c"], target.lanes.c),
        y=_pieces(grid["y"], target.lanes.y),
        x=_pieces(grid["x"], target.lanes.x, bits.O // 8),
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
    """Rows and columns of pieces; those of equal size that the image's edges clip alike are made once."""

    def __init__(self, layer: Layer, bits: Bits, target: Target) -> None:
        self._layer, self._width, self._target = layer, bits.I // 8, target

    def rows(self, spans: Sequence[Span]) -> Lines:
        """The tables of rows."""
        return self._summed(0, spans, lambda own: runnable(self._layer, own, own, channels(1, 1))[0])

    def columns(self, spans: Sequence[Span]) -> Lines:
        """The tables of columns, their words as they lie in the image."""
        return self._summed(1, spans, lambda own: runnable(self._layer, own, own, channels(1, 1))[1])

    def _summed(self, axis: int, spans: Sequence[Span], hardware_need: Callable[[Window], Floats]) -> Lines:
        layer, target = self._layer, self._target
        stride, padding, kernel = layer.stride[axis], layer.padding[axis], layer.kernel[axis]
        size = (layer.input_height, layer.input_width)[axis]
        lanes = target.lanes.along("y" if axis == 0 else "x")
        counted: dict[tuple[int, ...], tuple[Span, int]] = {}
        for start, end in spans:
            before = padding - start * stride
            behind = (end - 1) * stride + kernel - padding - size
            key = (end - start, max(before, 0), max(behind, 0), before % 4 if axis else 0)
            counted[key] = (start, end), counted.get(key, ((0, 0), 0))[1] + 1
        parts = []
        for (start, end), number in counted.values():
            own = window(end - start, kernel, stride, padding - start * stride, size, self._width, lanes)
            parts.append((own, number, hardware_need(own) if target.hardware else own.need))
        width = max(own.fetched.shape[1] for own, _, _ in parts) - 1
        return Lines(
            np.asarray(sum(number * _wide(own.fetched, width) for own, number, _ in parts)),
            np.asarray(sum(number * _wide(own.words, width) for own, number, _ in parts)),
            np.maximum.reduce([_wide(need, width) for _, _, need in parts]),
        )


def _pieces(spans: Sequence[Span], lanes: int = 1, width: int = 1) -> Pieces:
    """Numbers, residues and words added up, the largest size and the most vectors."""
    counted: dict[tuple[int, int], int] = {}
    for start, end in spans:
        key = (end - start, start % 4)
        counted[key] = counted.get(key, 0) + 1
    tables = [(pieces(extent, lanes, width, first), number) for (extent, first), number in counted.items()]
    most = max(extent for extent, _ in counted)
    return Pieces(
        np.asarray(sum(number * _wide(table.number, most) for table, number in tables)),
        np.maximum.reduce([_wide(table.largest, most) for table, _ in tables]),
        np.maximum.reduce([_wide(table.vectors, most) for table, _ in tables]),
        np.asarray(sum(number * _wide(table.residues, most) for table, number in tables)),
        np.asarray(sum(number * _wide(table.words, most) for table, number in tables)),
    )


def _wide(table: Floats, extent: int) -> Floats:
    """A table of [state, step, ...] with more steps: a step beyond the extent is the extent."""
    index = np.minimum(np.arange(extent + 1), table.shape[1] - 1)
    return table[:, index]
