"""The plot of the Cecconi 2017 figure: the same bytes for the same rows, with `hwgen.papers.figures.rendered`."""

from collections.abc import Sequence

from matplotlib.figure import Figure

from hwgen.papers.cecconi.own_hardware import WayRow
from hwgen.papers.cecconi.rows import TilingRow

__all__ = ["tiling_4", "ways_3"]


def ways_3(rows: Sequence[WayRow]) -> Figure:
    """Cycles of our own cluster by layer: without buffering, and of naive and best tiles in each way."""
    bars = list(dict.fromkeys((row.tiles, row.way) for row in rows))
    layers = list(dict.fromkeys(row.layer for row in rows))
    figure = Figure(figsize=(max(7, 1.2 * len(layers)), 4), layout="constrained")
    axes = figure.subplots()
    width = 0.8 / len(bars)
    for number, bar in enumerate(bars):
        shown = [row.cycles for row in rows if (row.tiles, row.way) == bar]
        label = "no buffering" if bar[0] == "none" else f"{bar[0]} tiles, {bar[1]}"
        axes.bar([at - 0.4 + (number + 0.5) * width for at in range(len(layers))], shown, width=width, label=label)
    axes.set(ylabel="cycles of the cluster", yscale="log")
    axes.set_xticks(range(len(layers)), layers, rotation=45)
    axes.grid(axis="y", alpha=0.3)
    figure.legend(fontsize="small", loc="outside upper left", ncols=4)
    return figure


def tiling_4(rows: Sequence[TilingRow]) -> Figure:
    """Transfer cost of tiles by layer: of the best tile, and the median, least and greatest of the naive ones."""
    panels = list(dict.fromkeys((row.cost, row.kind) for row in rows))
    figure = Figure(figsize=(7 * min(2, len(panels)), 4 * -(-len(panels) // 2)), layout="constrained")
    every = figure.subplots(-(-len(panels) // 2), min(2, len(panels)), squeeze=False).ravel()
    for axes, (cost, kind) in zip(every, panels, strict=False):
        shown = [row for row in rows if (row.cost, row.kind) == (cost, kind)]
        places = range(len(shown))
        axes.bar([place - 0.2 for place in places], [row.best for row in shown], width=0.4, label="best tile")
        medians = [row.median for row in shown]
        reach = [[row.median - row.least for row in shown], [row.most - row.median for row in shown]]
        axes.bar(
            [place + 0.2 for place in places],
            medians,
            width=0.4,
            yerr=reach,
            capsize=3,
            label="tiles that fill 80 %: median, least, most",
        )
        axes.set(title=f"C, p, t = {cost}, {kind}", ylabel="transfer, cycles", yscale="log")
        axes.set_xticks(list(places), [row.layer for row in shown], rotation=45)
        axes.grid(axis="y", alpha=0.3)
    for axes in every[len(panels) :]:
        axes.set_visible(False)
    figure.legend(*every[0].get_legend_handles_labels(), fontsize="small", loc="outside upper left", ncols=2)
    return figure
