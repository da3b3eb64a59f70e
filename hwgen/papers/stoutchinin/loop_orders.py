"""Fig. 7 of Stoutchinin, Conti, Benini 2019: how near each of the 180 loop orders comes to the least traffic.

Partial sums have 32 bits. Section IV-C samples tiles: powers of two and sizes that layers have; *sampled* is that
space, with the layer's own whole extent for the latter. There the optimum of a layer and buffer size is the best of
the 180 orders. *all* takes all integer tile sizes, and the optimum of our whole search. Every order has its own best
of tile sizes and marker places. The paper searches 1 to 512 KB and does not print the buffer sizes of its figure.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import mean, median
from typing import Literal

from hwgen.ir.layer import Layer
from hwgen.papers.stoutchinin.rows import Search, network_of
from hwgen.papers.stoutchinin.sampling import least_by_order, sampled
from hwgen.search.core.batch import Request, search_layers

__all__ = [
    "OrderQuality",
    "OrderSummary",
    "OrderTraffic",
    "Tiles",
    "order_quality",
    "order_summaries",
    "order_traffic",
]

Tiles = Literal["sampled", "all"]


@dataclass(frozen=True)
class OrderTraffic:
    """One layer at one buffer size.

    Members
    -------
    tiles : which tile sizes.
    optimum : bytes of the best schedule of that space.
    least : for each of the 180 orders the bytes of its best schedule; None where they exceed twice the optimum.
    """

    network: str
    layer: str
    buffer_bytes: int
    tiles: Tiles
    optimum: int
    least: tuple[int | None, ...]


@dataclass(frozen=True)
class OrderQuality:
    """One layer at one buffer size: percent of the 180 orders by how far their best is above the optimum.

    Members
    -------
    optimal : equal to the optimum of all orders.
    within_10, within_20, within_50, within_100 : above it by at most this many percent, and by more than the band
        before allows.
    beyond : more than twice the optimum.
    """

    network: str
    layer: str
    buffer_bytes: int
    tiles: Tiles
    optimal: float
    within_10: float
    within_20: float
    within_50: float
    within_100: float
    beyond: float


@dataclass(frozen=True)
class OrderSummary:
    """All layers at one buffer size.

    Members
    -------
    optimal, median_optimal : percent of the orders that reach the optimum, mean and median over the layers.
    within_10, within_20, within_50, within_100, beyond : means over the layers, as in `OrderQuality`.
    everywhere : orders that reach the optimum of every layer.
    """

    buffer_bytes: int
    tiles: Tiles
    layers: int
    optimal: float
    median_optimal: float
    within_10: float
    within_20: float
    within_50: float
    within_100: float
    beyond: float
    everywhere: int


def order_traffic(layers: Sequence[Layer], sizes: Sequence[int], tiles: Tiles, how: Search) -> list[OrderTraffic]:
    """The best of each of the 180 orders for each layer and each of the ascending buffer sizes.

    Layers that differ only in their names are searched once.
    """
    known: dict[str, tuple[list[int], list[list[int | None]]]] = {}
    rows = []
    for layer in layers:
        key = layer.model_dump_json(exclude={"name", "requantisation"})
        if key not in known:
            optima = _optima(layer, sizes, tiles, how)
            limits = [2 * optimum for optimum in optima]
            known[key] = optima, least_by_order(layer, sizes, limits, sampled_tiles=tiles == "sampled")
        optima, found = known[key]
        for place, (size, optimum) in enumerate(zip(sizes, optima, strict=True)):
            least = tuple(order[place] for order in found)
            rows.append(OrderTraffic(network_of(layer), layer.name, size, tiles, optimum, least))
        if how.progress is not None:
            how.progress(layer)
    return rows


def _optima(layer: Layer, sizes: Sequence[int], tiles: Tiles, how: Search) -> list[int]:
    if tiles == "sampled":
        return [least for least in sampled(layer, sizes) if least is not None]
    (results,) = search_layers([layer], Request(tuple(sizes)), jobs=1, store=how.store)
    return [found.total_bytes for found in results]


def order_quality(rows: Sequence[OrderTraffic]) -> list[OrderQuality]:
    """The distribution of the orders for each layer and buffer size."""
    return [OrderQuality(row.network, row.layer, row.buffer_bytes, row.tiles, *_shares(row)) for row in rows]


def _shares(row: OrderTraffic) -> tuple[float, ...]:
    ratios = [float("inf") if value is None else value / row.optimum for value in row.least]
    edges = (0.0, 1.0, 1.1, 1.2, 1.5, 2.0, float("inf"))
    return tuple(100 * sum(low < ratio <= high for ratio in ratios) / len(ratios) for low, high in pairwise(edges))


def order_summaries(rows: Sequence[OrderTraffic]) -> list[OrderSummary]:
    """One for each buffer size; the rows are of one kind of tiles."""
    summaries = []
    for size in sorted({row.buffer_bytes for row in rows}):
        group = [row for row in rows if row.buffer_bytes == size]
        quality = order_quality(group)
        reached = [{order for order, least in enumerate(row.least) if least == row.optimum} for row in group]
        summaries.append(
            OrderSummary(
                size,
                group[0].tiles,
                len(group),
                optimal=mean(row.optimal for row in quality),
                median_optimal=median(row.optimal for row in quality),
                within_10=mean(row.within_10 for row in quality),
                within_20=mean(row.within_20 for row in quality),
                within_50=mean(row.within_50 for row in quality),
                within_100=mean(row.within_100 for row in quality),
                beyond=mean(row.beyond for row in quality),
                everywhere=len(set.intersection(*reached)),
            )
        )
    return summaries
