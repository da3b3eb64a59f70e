"""What the tiles of a layer cost to move by DMA: Cecconi et al. 2017, Eq. 1-6, as published and exactly.

A transfer of ``n`` elements in ``s`` runs of consecutive addresses takes T = C + s p + n t (Eq. 1). The tiles are
moved in the order of Listing 1.1: image rows, image columns, input channels and, innermost, output channels. The
input tile comes once for all output channels; weights, biases and output tile come for each.

*Published* (Eq. 2-6): an input tile has as many rows as its output tile times the stride, without a halo; every row
of a tile is a run, and so are the weights of an output channel and the biases; the output tile is read and written
for every input tile; tiles divide the map.

*Exact*: any tile; the last one of a dimension is as large as what is left. A halo is counted and clipped to the image
(padding is not fetched), rows and channels that lie next to each other are one run, and an output tile is read only
where it holds partial sums. That is what `tests.oracles.nest_walk` counts for the nest of `tiled_nest`, in elements;
biases come with every transfer of weights here as there.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hwgen.ir.document import InputError
from hwgen.ir.layer import DIMS, Layer
from hwgen.ir.schedule import Bits, Loop, Marker, Schedule
from hwgen.papers.stoutchinin.model import Tile

__all__ = [
    "AxisTables",
    "LayerMoves",
    "Moves",
    "TransferCost",
    "axis_tables",
    "exact_moves",
    "exact_need",
    "input_area",
    "moves_of_counts",
    "published_moves",
    "published_need",
    "tiled_nest",
]

Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class TransferCost:
    """Eq. 1, in cycles: C for a transfer, p for each of its runs, t for each of its elements."""

    transfer: float
    run: float
    element: float

    def of(self, moves: Iterable["Moves"]) -> float:
        """The cost of some transfers."""
        return sum(self.transfer * one.transfers + self.run * one.runs + self.element * one.elements for one in moves)


class Moves(NamedTuple):
    """Transfers of one operand over the whole layer, their runs, their elements."""

    transfers: int
    runs: int
    elements: int


class LayerMoves(NamedTuple):
    """All transfers of a layer: input, weights with biases, output in both directions."""

    I: Moves  # noqa: E741 - the operand's name
    W: Moves
    O: Moves  # noqa: E741


# --- as published ---


def published_moves(layer: Layer, tile: Tile) -> LayerMoves:
    """Eq. 2-6 for an output tile; each group of a grouped layer is a layer of its own."""
    rows, columns = _published_input(layer, tile)
    area = layer.kernel[0] * layer.kernel[1]
    inputs = _whole(layer.input_height, rows) * _whole(layer.input_width, columns)
    inputs *= _whole(layer.channels_per_group, tile.c) * layer.groups
    calls = inputs * _whole(layer.outputs_per_group, tile.m)
    return LayerMoves(
        Moves(inputs, inputs * rows * tile.c, inputs * rows * columns * tile.c),
        Moves(calls, calls * (tile.m + 1), calls * (tile.c * tile.m * area + tile.m)),
        Moves(2 * calls, 2 * calls * tile.y * tile.m, 2 * calls * tile.y * tile.x * tile.m),
    )


def published_need(layer: Layer, tile: Tile) -> int:
    """Elements of a tile of each operand: the left side of the constraint of their section 4.2."""
    rows, columns = _published_input(layer, tile)
    return _need(layer, tile, rows * columns)


def _published_input(layer: Layer, tile: Tile) -> tuple[int, int]:
    return tile.y * layer.stride[0], tile.x * layer.stride[1]


def _whole(extent: int, tile: int) -> int:
    if extent % tile:
        raise ValueError(f"tile: expected a divisor of {extent}, got {tile}")
    return extent // tile


def _need(layer: Layer, tile: Tile, input_area: int) -> int:
    weights = tile.c * tile.m * layer.kernel[0] * layer.kernel[1] + tile.m
    return tile.c * input_area + weights + tile.m * tile.y * tile.x


# --- exactly ---


class AxisTables(NamedTuple):
    """One image axis, for every tile size (index 0 is unused).

    Members
    -------
    tiles : number of tiles.
    touched : inputs that the tiles touch, summed over the tiles.
    fetching : tiles that touch any input at all.
    whole : tiles that touch all of it.
    most : inputs of the tile that touches most.
    """

    tiles: Ints
    touched: Ints
    fetching: Ints
    whole: Ints
    most: Ints


def axis_tables(layer: Layer, axis: int) -> AxisTables:
    """Tables of rows (axis 0) or columns (axis 1)."""
    extent = (layer.output_height, layer.output_width)[axis]
    size = (layer.input_height, layer.input_width)[axis]
    stride, padding, kernel = layer.stride[axis], layer.padding[axis], layer.kernel[axis]
    if stride > kernel:
        raise InputError(f"{layer.name}: stride: expected at most the kernel's {kernel}, got {stride}")
    tables = np.zeros((5, extent + 1), np.int64)
    for step in range(1, extent + 1):
        first = np.arange(0, extent, step)
        last = np.minimum(first + step, extent) - 1
        begin = np.maximum(first * stride - padding, 0)
        end = np.minimum(last * stride - padding + kernel, size)
        touched = np.maximum(end - begin, 0)
        tables[:, step] = len(first), touched.sum(), (touched > 0).sum(), (touched == size).sum(), touched.max()
    return AxisTables(*tables)


class _Image(NamedTuple):
    """What the tiles of rows and columns come to, for one tile or for a grid of them.

    Members
    -------
    tiles : number of tiles.
    fetching : tiles that touch any input.
    part_rows : input rows of one channel, over all tiles narrower than the image.
    bands, wholes : tiles as wide as the image; those of them that are the image.
    touched : inputs of one channel, over all tiles.
    runs : runs of the outputs of one channel, over all tiles.
    one : whether a single tile holds all outputs.
    """

    tiles: Ints
    fetching: Ints
    part_rows: Ints
    bands: Ints
    wholes: Ints
    touched: Ints
    runs: Ints
    one: NDArray[np.bool_]


def _image(layer: Layer, y: Ints, x: Ints) -> _Image:
    rows, columns = axis_tables(layer, 0), axis_tables(layer, 1)
    wide = columns.whole[x]
    tiles = rows.tiles[y] * columns.tiles[x]
    return _Image(
        tiles,
        rows.fetching[y] * columns.fetching[x],
        rows.touched[y] * (columns.fetching[x] - wide),
        rows.fetching[y] * wide,
        rows.whole[y] * wide,
        rows.touched[y] * columns.touched[x],
        np.where(columns.tiles[x] > 1, layer.output_height * columns.tiles[x], rows.tiles[y] + 0 * x),
        tiles == 1,
    )


def moves_of_counts(layer: Layer, y: Ints, x: Ints, c_tiles: Ints, m_tiles: Ints) -> tuple[tuple[Ints, ...], ...]:
    """(transfers, runs, elements) of I, W and O for tiles of ``y`` by ``x`` outputs and numbers of channel tiles.

    Arrays that broadcast against each other. How large the tiles of channels are matters to nothing but the memory.
    Each group of a grouped layer is a layer of its own.
    """
    image = _image(layer, y, x)
    channels, outputs, groups = layer.channels_per_group, layer.outputs_per_group, layer.groups
    area = layer.kernel[0] * layer.kernel[1]
    input_runs = (image.part_rows + image.bands - image.wholes) * channels + image.wholes * c_tiles
    calls = image.tiles * c_tiles * m_tiles
    weight_runs = image.tiles * np.where(c_tiles == 1, m_tiles, c_tiles * outputs)
    passes = 2 * c_tiles - 1
    output_runs = passes * np.where(image.one, m_tiles, image.runs * outputs)
    pixels = layer.output_height * layer.output_width
    weights = image.tiles * (channels * area + c_tiles) * outputs
    return (
        (groups * image.fetching * c_tiles, groups * input_runs, groups * image.touched * channels),
        (groups * calls, groups * (calls + weight_runs), groups * weights),
        (groups * image.tiles * m_tiles * passes, groups * output_runs, groups * passes * pixels * outputs),
    )


def exact_moves(layer: Layer, tile: Tile) -> LayerMoves:
    """What the tiles of a layer move, to the run."""
    y, x = np.array([tile.y]), np.array([tile.x])
    counts = (-(-layer.channels_per_group // tile.c), -(-layer.outputs_per_group // tile.m))
    moved = moves_of_counts(layer, y, x, *(np.array([count]) for count in counts))
    return LayerMoves(*(Moves(*(int(np.broadcast_to(part, (1,))[0]) for part in one)) for one in moved))


def exact_need(layer: Layer, tile: Tile) -> int:
    """Elements of the largest tile of each operand, biases included."""
    return _need(layer, tile, input_area(layer, tile.y, tile.x))


def input_area(layer: Layer, y: int, x: int) -> int:
    """Inputs of one channel that the largest tile touches."""
    return int(axis_tables(layer, 0).most[y] * axis_tables(layer, 1).most[x])


def tiled_nest(layer: Layer, tile: Tile, *, bits: Bits) -> Schedule:
    """Listing 1.1 as a nest, for an ungrouped layer: I moves at the loop over c, W and O at the loop over m."""
    nest: tuple[Loop | Marker, ...] = (
        Loop("y", tile.y),
        Loop("x", tile.x),
        Marker(("I",)),
        Loop("c", tile.c),
        Marker(("W", "O")),
        Loop("m", tile.m),
        *(Loop(dim, 1) for dim in DIMS),
    )
    return Schedule(layer=layer, bits=bits, nest=nest)
