"""How tiles are spread over the HWCs of a cluster, and the utilisation that results without stalls."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache

from hwgen.ir.document import InputError
from hwgen.ir.layer import OUTPUT_DIMS, Dim, Layer
from hwgen.search.cluster.tile_tables import Span, cut
from hwgen.search.core.orders import TILED
from hwgen.search.core.settings import Slices
from hwgen.search.core.space import Target

__all__ = [
    "Spread",
    "busiest_iterations",
    "grid_of",
    "shares_of",
    "spreads_of",
    "spreads_over_some",
    "usable_step",
    "utilisation",
]

Spread = dict[Dim, int]
"""Steps of the spread loops over m and y."""


def shares_of(hwcs: int) -> list[tuple[int, int]]:
    """The numbers of shares along m and along y into which this many HWCs may divide a tile."""
    return [(parts, hwcs // parts) for parts in range(1, hwcs + 1) if hwcs % parts == 0]


def spreads_of(steps: Mapping[Dim, int], hwcs: int, slices: Slices | None = None) -> Iterator[Spread]:
    """The spreads of a tile: over filters, over rows, over both; an empty one if nothing can be cut.

    Of these only those whose ``slices`` have settings that the hardware has.
    """
    found = 0

    def usable(spread: Spread) -> bool:
        return slices is None or all(
            slices.wrong(dim, steps[dim], spread.get(dim, steps[dim])) is None for dim in TILED
        )

    for filters, rows in shares_of(hwcs):
        wanted: tuple[tuple[Dim, int], ...] = (("m", filters), ("y", rows))
        spread: Spread = {dim: -(-steps[dim] // number) for dim, number in wanted if min(number, steps[dim]) > 1}
        if len(spread) == sum(number > 1 for _, number in wanted) and spread and usable(spread):
            found += 1
            yield spread
    if not found and usable({}):
        yield {}


def spreads_over_some(steps: Mapping[Dim, int], hwcs: int, slices: Slices | None = None) -> Iterator[Spread]:
    """The spreads of a tile over all HWCs, over half of them, and so on, down to one: each has to be set up."""
    known: list[Spread] = []
    while hwcs:
        for spread in spreads_of(steps, hwcs, slices):
            if spread not in known:
                known.append(spread)
                yield spread
        hwcs //= 2


def usable_step(slices: Slices, hwcs: int) -> Callable[[Dim, int], bool] | None:
    """Whether some spread of tiles of a step along an axis has settings that the hardware has; None: all have."""
    if all(map(slices.any_size, TILED)):
        return None
    parts: dict[Dim, set[int]] = {"m": {1}, "c": {1}, "y": {1}, "x": {1}}
    for filters, rows in shares_of(hwcs):
        parts["m"].add(filters)
        parts["y"].add(rows)

    @cache
    def usable(dim: Dim, step: int) -> bool:
        return any(slices.wrong(dim, step, -(-step // number)) is None for number in parts[dim])

    for dim, extent in slices.layer.extents.items():
        if dim in TILED and not any(usable(dim, step) for step in range(1, extent + 1)):
            raise InputError(f"{slices.layer.name}: {slices.wrong(dim, extent, extent)}")
    return usable


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
        if dim == "x" and layer.form.column_window:
            iterations *= sum(map(layer.columns_passed, sizes))
        else:
            iterations *= sum(-(-size // target.lanes.along(dim)) for size in sizes)
    return iterations


def utilisation(layer: Layer, iterations: int, hwcs: int, target: Target) -> float:
    """Utilisation of all lanes with this many innermost iterations for each step of the reduction."""
    outputs, lanes = 1, hwcs
    for dim in OUTPUT_DIMS:
        outputs, lanes = outputs * layer.extents[dim], lanes * target.lanes.along(dim)
    return outputs / (iterations * lanes)
