"""The iterations of a nest, one by one: what each loop's iteration covers of every dimension."""

from collections.abc import Iterator

from hwgen.ir.layer import Dim, Layer
from hwgen.ir.schedule import Loop

__all__ = ["Tile", "split", "tiles", "whole"]

Tile = dict[Dim, range]
"""What one iteration covers: a range of each dimension."""


def whole(layer: Layer) -> Tile:
    """The whole layer as one tile."""
    return {dim: range(extent) for dim, extent in layer.loop_extents.items()}


def split(tile: Tile, loop: Loop) -> Iterator[Tile]:
    """One execution of a loop: each iteration covers ``step`` of its dimension, the last one what is left."""
    span = tile[loop.dim]
    for start in range(span.start, span.stop, loop.step):
        yield {**tile, loop.dim: range(start, min(start + loop.step, span.stop))}


def tiles(tile: Tile, loops: tuple[Loop, ...]) -> Iterator[Tile]:
    """The tiles of the innermost of ``loops``, in program order."""
    if not loops:
        yield tile
        return
    for iteration in split(tile, loops[0]):
        yield from tiles(iteration, loops[1:])
