"""The plots of the Stoutchinin 2019 figures."""

from collections.abc import Callable, Iterable, Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from hwgen.papers.stoutchinin.loop_orders import OrderQuality, OrderSummary
from hwgen.papers.stoutchinin.measured import PUBLISHED_MOST, MeasuredEngines
from hwgen.papers.stoutchinin.published_nest import NESTS, LayerInNest
from hwgen.papers.stoutchinin.rows import HWC_BYTES, NETWORKS, Engines, Traffic

__all__ = ["figure_4", "figure_5", "figure_7", "figure_10", "figure_10_measured"]

LINES: tuple[tuple[str, str, str], ...] = (
    ("cache", "CACHE", "s-"),
    ("peemen", "PEEMEN", "^-"),
    ("ours", "ours", "o-"),
    ("essential", "essential", "r--"),
)


def _networks(rows: Iterable[Traffic]) -> list[str]:
    present = dict.fromkeys(row.network for row in rows)
    return [name for name in NETWORKS if name in present] + [name for name in present if name not in NETWORKS]


def _sizes_along(axes: Axes) -> None:
    """Sizes of buffers along x, each next one twice as far, with their numbers."""
    axes.set_xscale("log", base=2)
    axes.xaxis.set_major_formatter("{x:g}")


def _legend_below(figure: Figure, axes: Axes, columns: int = 1) -> None:
    """One legend for all panels, outside of them: it covers nothing, and leaves them the whole width."""
    figure.legend(*axes.get_legend_handles_labels(), loc="outside lower center", ncols=columns)


def figure_4(sums: Sequence[Traffic]) -> Figure:
    """Traffic against buffer size, both logarithmic: a column for each network, a row for each reading."""
    names, readings = _networks(sums), list(dict.fromkeys(row.reading for row in sums))
    figure = Figure(figsize=(3.2 * len(names), 3.0 * len(readings)), layout="constrained")
    panels = figure.subplots(len(readings), len(names), squeeze=False)
    for line, reading in zip(panels, readings, strict=True):
        for axes, name in zip(line, names, strict=True):
            rows = [row for row in sums if (row.network, row.reading) == (name, reading)]
            for key, label, style in LINES:
                known = [
                    (row.buffer_bytes / 1024, getattr(row, key)) for row in rows if getattr(row, key) is not None
                ]
                axes.plot([x for x, _ in known], [y / 1e6 for _, y in known], style, label=label, markersize=4)
            axes.set(yscale="log", title=f"{name}, {reading}", xlabel="buffer, KiB")
            _sizes_along(axes)
            axes.grid(alpha=0.3, which="both")
        line[0].set_ylabel("traffic, million " + reading)
    _legend_below(figure, panels[0][0], columns=2 if len(names) == 1 else len(LINES))
    return figure


def figure_5(sums: Sequence[Traffic]) -> Figure:
    """PEEMEN's overhead over ours in percent, a panel for each reading."""
    readings = list(dict.fromkeys(row.reading for row in sums))
    figure = Figure(figsize=(6 * len(readings), 4), layout="constrained")
    for axes, reading in zip(figure.subplots(1, len(readings), squeeze=False)[0], readings, strict=True):
        for name in _networks(sums):
            known = [
                (row.buffer_bytes / 1024, row.peemen_overhead)
                for row in sums
                if (row.network, row.reading) == (name, reading) and row.peemen_overhead is not None
            ]
            axes.plot([x for x, _ in known], [y for _, y in known], "o-", label=name)
        axes.set(title=f"PEEMEN over ours, {reading}", xlabel="buffer, KiB", ylabel="overhead, %")
        _sizes_along(axes)
        axes.grid(alpha=0.3)
        axes.legend(loc="upper left", bbox_to_anchor=(1, 1))
    return figure


def figure_10(pairs: Sequence[Engines], nests: Sequence[LayerInNest]) -> Figure:
    """HWCE over HWC at 1 KiB, a bar for each layer; larger kernels above, 1x1 below; no bar: it does not fit."""
    groups = [
        (title, [pair for pair in pairs if pair.pointwise is pointwise])
        for title, pointwise in (("larger kernels", False), ("1x1 kernels", True))
    ]
    groups = [(title, group) for title, group in groups if group]
    width = max(6.0, 0.28 * max(len(group) for _, group in groups))
    figure = Figure(figsize=(width, 4.2 * len(groups) + 1.2), layout="constrained")
    moved = {(row.nest, row.layer): row.bytes for row in nests if row.division == "one HWC"}

    def over(nest: str) -> Callable[[Engines], float | None]:
        def ratio(pair: Engines) -> float | None:
            found = moved.get((nest, pair.layer))
            return None if found is None or not pair.fits else pair.hwce / found

        return ratio

    bars: list[tuple[str, Callable[[Engines], float | None]]] = [
        *((f"one HWC, {nest}", over(nest)) for nest in NESTS),
        ("HWC with the layer's best loops", lambda pair: pair.over_best),
    ]
    panels = figure.subplots(len(groups), 1, squeeze=False)[:, 0]
    for axes, (title, group) in zip(panels, groups, strict=True):
        for number, (label, ratio) in enumerate(bars):
            places = [index + 0.2 * number - 0.3 for index in range(len(group))]
            axes.bar(places, [ratio(pair) or 0.0 for pair in group], width=0.2, label=label)
        axes.axhline(PUBLISHED_MOST, color="r", linestyle="--", label=f"the paper's largest, {PUBLISHED_MOST}")
        axes.set_xticks(range(len(group)), [pair.layer for pair in group], rotation=90)
        axes.set(title=f"HWCE over HWC at {HWC_BYTES} bytes, {title}", ylabel="traffic ratio")
        axes.grid(axis="y", alpha=0.3)
    _legend_below(figure, panels[0])
    return figure


def figure_10_measured(rows: Sequence[MeasuredEngines]) -> Figure:
    """HWCE over HWC as counted in the RTL, a pair of bars for each layer; 1x1 kernels below; the paper's largest."""
    groups = [
        ("larger kernels", [row for row in rows if not row.pointwise and not row.striped]),
        ("1x1 kernels", [row for row in rows if row.pointwise]),
    ]
    groups = [(title, group) for title, group in groups if group]
    figure = Figure(
        figsize=(max(6.0, 0.28 * max(len(g) for _, g in groups)), 4.2 * len(groups)), layout="constrained"
    )
    panels = figure.subplots(len(groups), 1, squeeze=False)[:, 0]
    for axes, (title, group) in zip(panels, groups, strict=True):
        for number, (label, ratios) in enumerate(
            (
                ("sums of 32 bits, measured", [row.ratio_32 for row in group]),
                ("sums of 16 bits, counted elements", [row.ratio_16 for row in group]),
            )
        ):
            places = [index + 0.4 * number - 0.2 for index in range(len(group))]
            axes.bar(places, [ratio or 0.0 for ratio in ratios], width=0.4, label=label)
        axes.axhline(PUBLISHED_MOST, color="r", linestyle="--", label=f"the paper's largest, {PUBLISHED_MOST}")
        axes.set_xticks(range(len(group)), [row.layer for row in group], rotation=90)
        axes.set(title=f"HWCE over HWC at {HWC_BYTES} bytes in the RTL, {title}", ylabel="traffic ratio")
        axes.grid(axis="y", alpha=0.3)
    if groups:
        _legend_below(figure, panels[0])
    return figure


BANDS = {
    "optimal": "optimal",
    "within_10": "to 10 % above",
    "within_20": "to 20 %",
    "within_50": "to 50 %",
    "within_100": "to 100 %",
    "beyond": "more",
}
"""Members of `OrderQuality` and `OrderSummary`, and their labels."""


def figure_7(quality: Sequence[OrderQuality], orders: Sequence[OrderSummary]) -> Figure:
    """Percent of the 180 loop orders by their distance from the optimum, as stacked bars.

    Above a bar for each buffer size, the mean over the layers; below one for each layer, at the smallest size.
    """
    smallest = [row for row in quality if row.buffer_bytes == orders[0].buffer_bytes]
    figure = Figure(figsize=(max(6.0, 0.26 * len(smallest)), 9), layout="constrained")
    above, below = figure.subplots(2, 1)
    _stacked(above, orders, [f"{row.buffer_bytes / 1024:g} KiB" for row in orders])
    above.set(title=f"180 loop orders, mean of {len(smallest)} layers", ylabel="loop orders, %")
    _stacked(below, smallest, [row.layer for row in smallest])
    below.set(title=f"180 loop orders at {orders[0].buffer_bytes} bytes", ylabel="loop orders, %")
    below.tick_params(axis="x", rotation=90)
    above.legend(loc="upper left", bbox_to_anchor=(1, 1))
    return figure


def _stacked(axes: Axes, rows: Sequence[OrderQuality] | Sequence[OrderSummary], names: Sequence[str]) -> None:
    bottom = [0.0] * len(rows)
    for key, label in BANDS.items():
        heights = [getattr(row, key) for row in rows]
        axes.bar(range(len(rows)), heights, bottom=bottom, label=label)
        bottom = [low + height for low, height in zip(bottom, heights, strict=True)]
    axes.set_xticks(range(len(rows)), names)
