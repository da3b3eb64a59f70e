"""Energy against area of memory hierarchies, as a picture."""

from collections.abc import Sequence

from matplotlib.figure import Figure

from hwgen.report.figures import rendered
from hwgen.search.hierarchy.design import Design, Point

__all__ = ["front_picture"]


def front_picture(design: Design) -> dict[str, bytes]:
    """All hierarchies, the front and the chosen one, as PNG and SVG by suffix."""
    figure = Figure(figsize=(7, 4.5), layout="constrained")
    axes = figure.subplots()
    depths = sorted({len(point.hierarchy.levels) for point in design.points})
    for depth, marker in zip(depths, "os^Dv<>", strict=False):
        chosen = [point for point in design.points if len(point.hierarchy.levels) == depth]
        axes.scatter(*_places(chosen), marker=marker, label=f"{depth} levels", zorder=2)
    axes.step(*_places(design.front), where="post", color="0.4", linewidth=1, label="front", zorder=1)
    axes.scatter(*_places([design.best]), s=160, facecolors="none", edgecolors="black", label="chosen", zorder=3)
    axes.set_xlabel("area (mm2)")
    axes.set_ylabel("energy of all layers (uJ)")
    axes.set_yscale("log")
    axes.legend()
    return rendered(figure)


def _places(points: Sequence[Point]) -> tuple[list[float], list[float]]:
    return [point.area for point in points], [point.energy / 1e6 for point in points]
