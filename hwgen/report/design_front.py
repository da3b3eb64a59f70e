"""Energy against area of memory hierarchies, as a picture."""

import altair as alt

from hwgen.report.charts import SOLID, Look, axis, compiled, dashes, images, log_axis
from hwgen.search.hierarchy.design import Design

__all__ = ["front_picture"]


def front_picture(design: Design) -> dict[str, bytes]:
    """All hierarchies, the front and the chosen one, as PNG and SVG by suffix."""
    points = [
        {"area": point.area, "energy": point.energy / 1e6, "depth": f"{len(point.hierarchy.levels)} levels",
         "front": point in design.front, "best": point == design.best, "counted": True, "text": point.hierarchy.name}
        for point in design.points
    ]  # fmt: skip
    look = Look.of([f"{depth} levels" for depth in sorted({len(point.hierarchy.levels) for point in design.points})])
    x = alt.X("area:Q", scale=alt.Scale(zero=False, padding=12), axis=axis("area (mm2)"))
    y = log_axis(alt.Y, "energy", "energy of all layers (uJ)")
    rows = alt.Chart(alt.NamedData("points"))
    chart = alt.layer(
        rows.transform_filter("datum.front").transform_calculate(line="'front'").mark_line(interpolate="step-after")
        .encode(x=x, y=y, stroke=alt.value("var(--bound)"), strokeDash=dashes({"front": SOLID})),
        look.points("depth", rows).encode(x=x, y=y),
        rows.transform_filter("datum.best").mark_point(size=350, stroke="var(--text)").encode(x=x, y=y),
        rows.transform_filter("datum.best").mark_text(align="right", dx=-14, dy=10, text="chosen").encode(x=x, y=y),
    ).add_params(look.shown())  # fmt: skip
    return images(compiled(chart), {"points": points})
