"""The figures of Cecconi, Smets, Benini, Verhelst 2017 computed anew: rows of plain values for tables and plots.

Fig. 4 and Table 1: what moving the tiles of FlowNet S's contracting section costs, of the best tiles and of naive
ones that fill at least 80 % of half the memory, and how full the memory is. The paper does not say which naive tiles
were taken, so all of them are: least, median, most.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from hwgen.ir.layer import Layer
from hwgen.papers.cecconi.model import TransferCost, exact_moves, exact_need
from hwgen.papers.cecconi.search import best_tiling, fullest_tiling
from hwgen.papers.stoutchinin.model import Tile
from hwgen.readers.layer_sets import load_layer_set

__all__ = [
    "COSTS",
    "ELEMENT_BYTES",
    "KINDS",
    "MEMORY_BYTES",
    "PAPER_COST",
    "PUBLISHED_FILL",
    "TABLE",
    "TilingRow",
    "TilingTotal",
    "contracting_layers",
    "tiling_rows",
    "tiling_totals",
]

TABLE = "flownet_s"
ELEMENT_BYTES = 4
MEMORY_BYTES = 256 * 1024
PAPER_COST = "(100, 10, 1)"
"""Cycles for a transfer, a run, an element. The paper prints no figures for its DMA controller; these are ours."""

PUBLISHED_FILL = {
    "conv1": (86, 88),
    "conv2": (92, 98),
    "conv3": (96, 98),
    "conv3_1": (83, 86),
    "conv4": (91, 85),
    "conv4_1": (89, 88),
    "conv5": (88, 76),
    "conv5_1": (88, 86),
    "conv6": (80, 90),
    "conv6_1": (91, 91),
}
"""Their Table 1: percent of the memory that the naive and the optimal tiles take."""

Kind = Literal["published", "exact"]
KINDS: tuple[Kind, ...] = ("published", "exact")
COSTS: dict[str, TransferCost] = {PAPER_COST: TransferCost(100, 10, 1)}


@dataclass(frozen=True)
class TilingRow:
    """One layer by one model with one set of transfer costs, in cycles.

    Members
    -------
    rows, columns : outputs of the best tile; ``input_channels``, ``filters`` its channels.
    fill : percent of half the memory that it takes.
    best : cost of the layer in such tiles.
    number : of naive tiles.
    least, median, most : what naive tiles cost.
    published_exactly : the best tile of the published model, counted by this one; None if it does not fit.
    fullest_fill, fullest : of the tile that takes most of half the memory: percent of it, and cost.
    """

    cost: str
    kind: Kind
    layer: str
    rows: int
    columns: int
    input_channels: int
    filters: int
    fill: float
    best: float
    number: int
    least: float
    median: float
    most: float
    published_exactly: float | None
    fullest_fill: float
    fullest: float

    @property
    def ratio(self) -> float:
        """The median of the naive tiles over the best one."""
        return self.median / self.best

    @property
    def ratio_most(self) -> float:
        """The worst naive tile over the best one."""
        return self.most / self.best


@dataclass(frozen=True)
class TilingTotal:
    """All layers by one model with one set of transfer costs: sums of the rows."""

    cost: str
    kind: Kind
    best: float
    least: float
    median: float
    most: float

    @property
    def ratio(self) -> float:
        """The medians of the naive tiles over the best ones."""
        return self.median / self.best

    @property
    def ratio_most(self) -> float:
        """The worst naive tiles over the best ones."""
        return self.most / self.best


def contracting_layers() -> tuple[Layer, ...]:
    """Conv 1 to Conv 6.1 of FlowNet S."""
    return load_layer_set(TABLE).convolutions()


def tiling_rows(
    layers: Sequence[Layer],
    costs: Mapping[str, TransferCost] = COSTS,
    elements: int = MEMORY_BYTES // ELEMENT_BYTES // 2,
    progress: Callable[[], None] = lambda: None,
) -> list[TilingRow]:
    """Each layer with each set of costs by both models; a layer without naive tiles is left out."""
    rows = []
    for name, cost in costs.items():
        for layer in layers:
            published: Tile | None = None
            for kind in KINDS:
                best, naive = best_tiling(layer, cost, elements, kind)
                tile = best.tile
                published = published or tile
                again = exact_need(layer, published) <= elements
                if naive is not None:
                    full = fullest_tiling(layer, cost, elements, kind)
                    rows.append(
                        TilingRow(
                            name,
                            kind,
                            layer.name,
                            tile.y,
                            tile.x,
                            tile.c,
                            tile.m,
                            100 * best.need / elements,
                            best.cost,
                            naive.number,
                            naive.least,
                            naive.median,
                            naive.most,
                            best.cost
                            if kind == "published"
                            else cost.of(exact_moves(layer, published))
                            if again
                            else None,
                            100 * full.need / elements,
                            full.cost,
                        )
                    )
                progress()
    return rows


def tiling_totals(rows: Iterable[TilingRow]) -> list[TilingTotal]:
    """Sums over the layers, by costs and model."""
    groups: dict[tuple[str, Kind], list[TilingRow]] = {}
    for row in rows:
        groups.setdefault((row.cost, row.kind), []).append(row)
    return [
        TilingTotal(
            cost,
            kind,
            sum(row.best for row in group),
            sum(row.least for row in group),
            sum(row.median for row in group),
            sum(row.most for row in group),
        )
        for (cost, kind), group in groups.items()
    ]
