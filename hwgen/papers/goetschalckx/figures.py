"""The plots of the Goetschalckx 2019 figures: the same bytes for the same fronts, with `figures.rendered`."""

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from hwgen.papers.goetschalckx.rows import (
    FIG5,
    FUSED_LAYER_BYTES,
    NETWORKS,
    RESOLUTIONS,
    SMALL,
    VARIANTS,
    BoundRow,
    Computed,
)
from hwgen.search.pipeline.front import Front, Point

__all__ = ["depth_first_5", "depth_first_6", "depth_first_7"]

COLOURS = dict(zip(VARIANTS, ("tab:red", "tab:orange", "tab:blue", "tab:green"), strict=True))
MARKERS = {1: "o", 2: "v", 4: "^", 8: "s", 16: "D", 32: "P", 64: "*"}
LABELLED = 16
"""Points of Fig. 6, at most. They are spread over the front, ends included."""


def depth_first_5(computed: Computed, bounds: Sequence[BoundRow]) -> Figure:
    """Memory against traffic, one panel for each network; 720p is dashed."""
    names = list(dict.fromkeys(network for network, _ in computed.graphs if network in NETWORKS))
    figure = Figure(figsize=(5.2 * len(names), 4.6), layout="constrained")
    for axes, name in zip(figure.subplots(1, len(names), squeeze=False)[0], names, strict=True):
        for resolution, style in zip(RESOLUTIONS, ("--", "-"), strict=True):
            _bound(axes, bounds, name, resolution, style)
            for variant, colour in COLOURS.items():
                _steps(
                    axes, computed.front(name, resolution, variant), f"{variant}, {resolution}", style, color=colour
                )
        axes.set(title=NETWORKS[name])
        _labels(axes)
    figure.axes[-1].legend(loc="upper left", bbox_to_anchor=(1, 1), fontsize="small")
    return figure


def _bound(axes: Axes, bounds: Sequence[BoundRow], name: str, resolution: str, style: str) -> None:
    rows = [row for row in bounds if (row.network, row.resolution) == (name, resolution)]
    memory = [row.memory for row in rows]
    axes.plot(memory, [row.traffic for row in rows], style, color="black", label=f"layer by layer, {resolution}")
    axes.plot(memory, [row.traffic_convolutions for row in rows], style, color="silver", label="  convolutions only")


def _steps(axes: Axes, front: Front, label: str, style: str, **keys: str) -> None:
    """Draw a front as steps: between two points the traffic of the one with less memory holds."""
    axes.step(
        [point.memory for point in front.points],
        [point.traffic for point in front.points],
        style,
        where="post",
        label=label,
        linewidth=1.2,
        **keys,  # type: ignore[arg-type]
    )


def _labels(axes: Axes) -> None:
    axes.set(xscale="log", yscale="log", xlabel="on chip, elements", ylabel="traffic, elements")
    axes.grid(alpha=0.3, which="both")


def depth_first_6(computed: Computed) -> Figure:
    """SRGAN: points of the fronts (a), and for each point the rows at which its stacks begin (b, c).

    The shape of a marker is the tiling factor. Its size grows with the memory of the stack. Dashed: resident weights.
    """
    figure = Figure(figsize=(16, 6.5), layout="constrained")
    first, *others = figure.subplots(1, 3, width_ratios=(1, 1.2, 1.2))
    for resolution, axes, letters in zip(RESOLUTIONS, others, ("ABCDEFGHIJKLMNOP", "abcdefghijklmnop"), strict=True):
        front = computed.front("srgan", resolution)
        shown = _spread(front)
        _steps(first, front, f"SRGAN {resolution}", "-")
        for letter, point in zip(letters, shown, strict=False):
            first.annotate(letter, (point.memory, point.traffic))
        _stacks(axes, shown, letters)
        axes.set(title=f"SRGAN {resolution}", xlabel="point", ylabel="row at which a stack begins")
        axes.set_ylim(front.graph.rows + 1, 0)
    first.set(title=FIG5)
    first.legend()
    _labels(first)
    shapes = [
        Line2D([], [], marker=marker, linestyle="", color="tab:blue", label=f"{factor}x")
        for factor, marker in MARKERS.items()
    ]
    lines = [
        Line2D([], [], color="grey", linestyle="-", label="weights fetched"),
        Line2D([], [], color="grey", linestyle="--", label="weights resident"),
    ]
    others[-1].legend(handles=[*shapes, *lines], loc="upper left", bbox_to_anchor=(1, 1), fontsize="small")
    return figure


def _spread(front: Front) -> list[Point]:
    points = front.points
    few = min(LABELLED, len(points))
    return [points[round(index * (len(points) - 1) / max(few - 1, 1))] for index in range(few)]


def _stacks(axes: Axes, points: Sequence[Point], letters: str) -> None:
    for place, point in enumerate(points):
        axes.axvline(place, color="grey", linewidth=0.8, linestyle="--" if point.weights == "resident" else "-")
        for span, factor, memory in zip(point.spans, point.factors, point.stack_memories, strict=True):
            axes.plot(place, span.first, MARKERS[factor], color="tab:blue", markersize=(memory / 10_000) ** 0.4 + 2)
    axes.set_xticks(range(len(points)), letters[: len(points)])


def depth_first_7(computed: Computed) -> Figure:
    """VGG-E's first five convolutions with the point of Alwani 2016 in both readings (a), and FSRCNN (b)."""
    figure = Figure(figsize=(12, 4.6), layout="constrained")
    left, right = figure.subplots(1, 2)
    for variant, colour in COLOURS.items():
        _steps(left, computed.front("vgg_e_first5", SMALL["vgg_e_first5"], variant), variant, "-", color=colour)
        _steps(right, computed.front("fsrcnn", SMALL["fsrcnn"], variant), variant, "-", color=colour)
    _steps(left, computed.features, f"{FIG5}, weights not counted", "--", color="black")
    chip, traffic = FUSED_LAYER_BYTES
    for size, label in ((1, "elements"), (4, "4-byte features")):
        left.plot(chip / size, traffic / size, "x", markersize=9, label=f"fused layers, read as {label}")
    left.plot(chip, traffic / 4, "+", markersize=11, label="fused layers, memory as elements, traffic as features")
    left.set(title="VGG-E, first five convolutions, 224x224")
    right.set(title="FSRCNN (56, 12, 4) at 1280x720, for QFSRCNN")
    for axes in (left, right):
        _labels(axes)
        axes.legend(fontsize="small")
    return figure
