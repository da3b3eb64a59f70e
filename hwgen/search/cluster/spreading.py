"""How tiles are spread over the HWCs of a cluster, and how busy these are then."""

from collections.abc import Iterator, Mapping, Sequence

from hwgen.ir.layer import OUTPUT_DIMS, Dim, Layer
from hwgen.search.cluster.tile_tables import Span, cut
from hwgen.search.core.orders import TILED
from hwgen.search.core.space import Target

__all__ = ["Slices", "busiest", "grid_of", "shares_of", "slicings", "utilisation"]

Slices = dict[Dim, int]
"""Steps of the spread loops over m and y."""


def shares_of(hwcs: int) -> list[tuple[int, int]]:
    """Into how many shares, along m and along y, so many HWCs may divide a tile."""
    return [(parts, hwcs // parts) for parts in range(1, hwcs + 1) if hwcs % parts == 0]


def slicings(steps: Mapping[Dim, int], hwcs: int) -> Iterator[Slices]:
    """How a tile is spread: over filters, over rows, over both; not at all if nothing can be cut."""
    found = 0
    for filters, rows in shares_of(hwcs):
        wanted: tuple[tuple[Dim, int], ...] = (("m", filters), ("y", rows))
        slices: Slices = {dim: -(-steps[dim] // number) for dim, number in wanted if min(number, steps[dim]) > 1}
        if len(slices) == sum(number > 1 for _, number in wanted) and slices:
            found += 1
            yield slices
    if not found:
        yield {}


def grid_of(layer: Layer, steps: Mapping[Dim, int], slices: Slices) -> dict[Dim, Sequence[Span]]:
    """What each HWC runs at once: the pieces of m, c, y and x."""
    grid = {dim: cut([(0, layer.extents[dim])], steps[dim]) for dim in TILED}
    return {dim: cut(spans, slices[dim]) if dim in slices else spans for dim, spans in grid.items()}


def busiest(layer: Layer, steps: Mapping[Dim, int], slices: Slices, target: Target) -> int:
    """Innermost iterations of the busiest HWC of each tile, added up, for one step of the reduction."""
    iterations = 1
    for dim in OUTPUT_DIMS:
        spans = cut([(0, layer.extents[dim])], steps[dim])
        sizes = (min(slices.get(dim, end - start), end - start) for start, end in spans)
        iterations *= sum(-(-size // target.lanes.along(dim)) for size in sizes)
    return iterations


def utilisation(layer: Layer, iterations: int, hwcs: int, target: Target) -> float:
    """MACs by what all lanes could do in so many iterations for each step of the reduction."""
    outputs, lanes = 1, hwcs
    for dim in OUTPUT_DIMS:
        outputs, lanes = outputs * layer.extents[dim], lanes * target.lanes.along(dim)
    return outputs / (iterations * lanes)
