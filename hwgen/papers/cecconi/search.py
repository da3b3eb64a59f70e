"""The tiles that cost least to move by DMA, and what tiles cost that do nothing but fill the memory.

Cecconi et al. 2017, section 4: of all tiles whose input, weights, biases and output fit half of the memory.
*Published* tiles divide the map, are whole in the output and at least as large as the kernel; *exact* ones are any.
`hwgen.papers.cecconi.model` says what a tile costs.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hwgen.ir.document import InputError
from hwgen.ir.layer import Layer
from hwgen.papers.cecconi.model import (
    TransferCost,
    axis_tables,
    exact_moves,
    exact_need,
    moves_of_counts,
    published_moves,
    published_need,
)
from hwgen.papers.stoutchinin.model import Tile

__all__ = ["FILL", "Naive", "Searched", "Tiling", "best_tiling", "fullest_tiling", "published_tiles"]

Kind = Literal["published", "exact"]
Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

FILL = 0.8
"""The part of half the memory that a naive tile fills at least (their section 6.1)."""


class Tiling(NamedTuple):
    """A tile: outputs in rows and columns, input and output channels; elements it needs; cost of the whole layer."""

    tile: Tile
    need: int
    cost: float


@dataclass(frozen=True, slots=True)
class Naive:
    """Costs of all tiles that fill at least `FILL` of half the memory: how many there are, least, median, most."""

    number: int
    least: float
    median: float
    most: float


class Searched(NamedTuple):
    """The best tile, the naive ones (None: no tile fills so much)."""

    best: Tiling
    naive: Naive | None


def best_tiling(layer: Layer, cost: TransferCost, elements: int, kind: Kind) -> Searched:
    """Search all tiles that need at most ``elements``, half of the memory.

    Ties go to the smaller need, then to fewer rows, columns, input channels, output channels.
    """
    return (_published if kind == "published" else _exact)(layer, cost, elements)


def fullest_tiling(layer: Layer, cost: TransferCost, elements: int, kind: Kind) -> Tiling:
    """The cheapest of the tiles that need most, and at most ``elements``."""
    if kind == "published":
        return min(_fitting(layer, cost, elements), key=lambda one: (-one.need, one.cost))
    y = np.arange(1, layer.output_height + 1)[:, None]
    x = np.arange(1, layer.output_width + 1)[None, :]
    area, best = axis_tables(layer, 0).most[y] * axis_tables(layer, 1).most[x], (0, 0.0, Tile(y=1, x=1, c=1, m=1))
    for c in range(1, layer.channels_per_group + 1):
        each = c * layer.kernel[0] * layer.kernel[1] + 1 + y * x
        filters = np.clip((elements - c * area) // each, 0, layer.outputs_per_group)
        need = np.where(filters > 0, c * area + filters * each, 0)
        if need.max() < -best[0] or not need.max():
            continue
        rows, columns = (at + 1 for at in np.nonzero(need == need.max()))
        for row, column in zip(rows.tolist(), columns.tolist(), strict=True):
            tile = Tile(y=row, x=column, c=c, m=int(filters[row - 1, column - 1]))
            best = min(best, (-int(need.max()), cost.of(exact_moves(layer, tile)), tile), key=lambda one: one[:2])
    if not best[0]:
        raise _too_small(layer, elements)
    return Tiling(best[2], -best[0], best[1])


# --- as published ---


def published_tiles(layer: Layer) -> Iterator[Tile]:
    """All tiles of section 4.2, whether they fit or not."""
    rows, columns = _lines(layer, 0), _lines(layer, 1)
    for y in rows:
        for x in columns:
            for c in _divisors(layer.channels_per_group):
                for m in _divisors(layer.outputs_per_group):
                    yield Tile(m=m, c=c, y=y, x=x)


def _lines(layer: Layer, axis: int) -> list[int]:
    """Outputs of a tile along an axis; its inputs divide the map and are no fewer than the kernel's."""
    size = (layer.input_height, layer.input_width)[axis]
    stride, kernel = layer.stride[axis], min(layer.kernel[axis], size)
    found = [inputs // stride for inputs in _divisors(size) if inputs % stride == 0 and inputs >= kernel]
    if not found:
        raise InputError(
            f"{layer.name}: no tile divides the map: {size} has no divisor of at least {kernel} that is a multiple "
            f"of the stride {stride}"
        )
    return found


def _divisors(extent: int) -> list[int]:
    return [size for size in range(1, extent + 1) if extent % size == 0]


def _fitting(layer: Layer, cost: TransferCost, elements: int) -> list[Tiling]:
    fitting = [
        Tiling(tile, need, cost.of(published_moves(layer, tile)))
        for tile in published_tiles(layer)
        if (need := published_need(layer, tile)) <= elements
    ]
    if not fitting:
        raise _too_small(layer, elements)
    return fitting


def _published(layer: Layer, cost: TransferCost, elements: int) -> Searched:
    fitting = _fitting(layer, cost, elements)
    filling = np.array([one.cost for one in fitting if one.need >= FILL * elements])
    best = min(fitting, key=lambda one: (one.cost, one.need, one.tile.y, one.tile.x, one.tile.c, one.tile.m))
    return Searched(best, _naive(filling, np.ones(len(filling), np.int64)))


# --- exactly ---


class _Sizes(NamedTuple):
    """The sizes of a dimension's tiles by how many tiles they make: all from ``low`` to ``high`` make ``tiles``."""

    tiles: Ints
    low: Ints
    high: Ints


def _sizes(extent: int) -> _Sizes:
    every = np.arange(1, extent + 1)
    tiles, low = np.unique(-(-extent // every), return_index=True)
    return _Sizes(tiles, every[low], np.where(tiles == 1, extent, -(-extent // np.maximum(tiles - 1, 1)) - 1))


def _exact(layer: Layer, cost: TransferCost, elements: int) -> Searched:
    """All integer tiles. What one moves depends on its channels by the number of tiles alone (`moves_of_counts`)."""
    y = np.arange(1, layer.output_height + 1)[:, None, None]
    x = np.arange(1, layer.output_width + 1)[None, :, None]
    area = axis_tables(layer, 0).most[y] * axis_tables(layer, 1).most[x]
    outputs = _sizes(layer.outputs_per_group)
    best: tuple[float, int, int, int, int, int] | None = None
    costs, numbers = [], []
    for c_tiles, low, high in zip(*_sizes(layer.channels_per_group), strict=True):
        moved = moves_of_counts(layer, y, x, np.array([c_tiles]), outputs.tiles)
        grid = sum(
            cost.transfer * transfers + cost.run * runs + cost.element * number for transfers, runs, number in moved
        )
        grid = np.broadcast_to(np.asarray(grid, np.float64), (y.size, x.size, outputs.tiles.size))
        least = _need(layer, area, y * x, low, outputs.low)
        place = _least(grid, least, elements)
        if place is not None:
            row, column, which = place
            key = (grid[place], least[place], row + 1, column + 1, int(low), int(outputs.low[which]))
            best = key if best is None else min(best, key)
        filling = _filling(layer, area, y * x, (int(low), int(high)), outputs, elements)
        costs.append(grid[filling > 0])
        numbers.append(filling[filling > 0])
    if best is None:
        raise _too_small(layer, elements)
    tile = Tile(y=best[2], x=best[3], c=best[4], m=best[5])
    found = Tiling(tile, exact_need(layer, tile), cost.of(exact_moves(layer, tile)))
    return Searched(found, _naive(np.concatenate(costs), np.concatenate(numbers)))


def _need(layer: Layer, area: Ints, pixels: Ints, c: Ints, m: Ints) -> Ints:
    need: Ints = c * area + m * (c * layer.kernel[0] * layer.kernel[1] + 1 + pixels)
    return need


def _least(grid: Floats, need: Ints, elements: int) -> tuple[int, int, int] | None:
    """The cheapest of those that fit, then that of the least need, then the first."""
    fits = need <= elements
    if not fits.any():
        return None
    cheapest = fits & (grid == grid[fits].min())
    index = np.flatnonzero(cheapest & (need == need[cheapest].min()))[0]
    row, column, which = np.unravel_index(index, grid.shape)
    return int(row), int(column), int(which)


def _filling(
    layer: Layer, area: Ints, pixels: Ints, channels: tuple[int, int], outputs: _Sizes, elements: int
) -> Ints:
    """How many tiles of each row, column and number of output tiles fill the memory, over some input channels."""
    least = int(np.ceil(FILL * elements))
    number = np.zeros(np.broadcast_shapes(area.shape, outputs.low.shape), np.int64)
    for c in range(channels[0], channels[1] + 1):
        rest = elements - c * area
        each = c * layer.kernel[0] * layer.kernel[1] + 1 + pixels
        first = np.maximum(outputs.low, -((rest - elements + least) // -each))
        number += np.maximum(np.minimum(outputs.high, rest // each) - first + 1, 0)
    return number


# --- both ---


def _naive(costs: Floats, numbers: Ints) -> Naive | None:
    """Statistics of costs that occur so many times each."""
    if not len(costs):
        return None
    order = np.argsort(costs, kind="stable")
    upto = np.cumsum(numbers[order])
    number = int(upto[-1])
    middle = [costs[order[np.searchsorted(upto, place, side="right")]] for place in ((number - 1) // 2, number // 2)]
    return Naive(number, float(costs.min()), float(np.mean(middle)), float(costs.max()))


def _too_small(layer: Layer, elements: int) -> InputError:
    return InputError(f"{layer.name}: no tile fits half of the memory, {elements} elements")
