"""How tiles are spread over the HWCs of a cluster, and the utilisation that results without stalls."""

from collections.abc import Iterator, Mapping, Sequence

from hwgen.ir.layer import OUTPUT_DIMS, Dim, Layer
from hwgen.search.cluster.tile_tables import Span, cut
from hwgen.search.core.orders import TILED
from hwgen.search.core.space import Target

__all__ = ["Spread", "busiest_iterations", "grid_of", "shares_of", "spreads_of", "utilisation"]

Spread = dict[Dim, int]
"""Steps of the spread loops over m and y."""


def shares_of(hwcs: int) -> list[tuple[int, int]]:
    """The numbers of shares along m and along y into which this many HWCs may divide a tile."""
    return [(parts, hwcs // parts) for parts in range(1, hwcs + 1) if hwcs % parts == 0]


def spreads_of(steps: Mapping[Dim, int], hwcs: int) -> Iterator[Spread]:
    """The spreads of a tile: over filters, over rows, over both; an empty one if nothing can be cut."""
    found = 0
    for filters, rows in shares_of(hwcs):
        wanted: tuple[tuple[Dim, int], ...] = (("m", filters), ("y", rows))
        spread: Spread = {dim: -(-steps[dim] // number) for dim, number in wanted if min(number, steps[dim]) > 1}
        if len(spread) == sum(number > 1 for _, number in wanted) and spread:
            found += 1
            yield spread
    if not found:
        yield {}


def grid_of(layer: Layer, steps: Mapping[Dim, int], spread: Spread) -> dict[Dim, Sequence[Span]]:
    """The ranges of m, c, y and x that one HWC computes at a time."""
    grid = {dim: cut([(0, layer.extents[dim])], steps[dim]) for dim in TILED}
    return {dim: cut(spans, spread[dim]) if dim in spread else spans for dim, spans in grid.items()}


def busiest_iterations(layer: Layer, steps: Mapping[Dim, int], spread: Spread, target: Target) -> int:
    """Innermost iterations of the busiest HWC of each tile, summed over the tiles, for one step of the reduction."""
    iterations = 1
    for dim in OUTPUT_DIMS:
        spans = cut([(0, layer.extents[dim])], steps[dim])
        sizes = (min(spread.get(dim, end - start), end - start) for start, end in spans)
        iterations *= sum(-(-size // target.lanes.along(dim)) for size in sizes)
    return iterations


def utilisation(layer: Layer, iterations: int, hwcs: int, target: Target) -> float:
    """Utilisation of all lanes with this many innermost iterations for each step of the reduction."""
    outputs, lanes = 1, hwcs
    for dim in OUTPUT_DIMS:
        outputs, lanes = outputs * layer.extents[dim], lanes * target.lanes.along(dim)
    return outputs / (iterations * lanes)
