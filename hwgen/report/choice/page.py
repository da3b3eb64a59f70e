"""A choice of hardware as one self-contained HTML page, and its picture: time against area of what was planned."""

import json
from collections.abc import Mapping, Sequence
from html import escape
from math import log
from pathlib import Path
from typing import Any

import altair as alt

from hwgen.report import SCRIPTS, STYLE
from hwgen.report.charts import DASHED, SHORT, SOLID, Chart, Look, chart_script, compiled, dashes, images, log_axis

__all__ = ["choice_page", "choice_picture", "thinned"]

PARTS = Path(__file__).resolve().parent / "page_parts"
LINES = Path(__file__).resolve().parents[1] / "run" / "page_parts" / "run.css"
"""The style of lines with bars."""
CELLS = 40
"""Points of the cloud for each factor e of time, and twice as many of area: more would lie on each other."""
Row = Mapping[str, Any]


def thinned(cloud: Sequence[tuple[float, float]]) -> list[dict[str, float]]:
    """Points (area, milliseconds), one of each cell of the picture."""
    found = {(round(2 * CELLS * log(area)), round(CELLS * log(ms))): (area, ms) for area, ms in reversed(cloud)}
    return [{"area": float(f"{area:.6g}"), "ms": float(f"{ms:.4g}")} for area, ms in sorted(found.values())]


def choice_picture(rows: Sequence[Row], cloud: Sequence[Row], asked: Sequence[Row], unit: str) -> dict[str, bytes]:
    """Time against area, as PNG and SVG by suffix; ``unit`` : of areas."""
    return images(compiled(_chart(rows, unit)), {"rows": rows, "cloud": cloud, "asked": asked})


def choice_page(
    title: str,
    summary: str,
    rows: Sequence[Row],
    cloud: Sequence[Row],
    asked: Sequence[Row],
    columns: Sequence[Row],
    unit: str,
) -> str:
    """The page's text.

    Parameters
    ----------
    rows : what was planned: ``hardware``, ``area``, ``ms``, ``family`` for its look, ``text`` at the pointer; whether
        it was run (``counted``), is on the front, is ``chosen``; what it is made of, and its ``nodes``.
    cloud : bounds of all there is: ``area``, ``ms``.
    asked : lines at an ``ms`` or an ``area`` that are asked for.
    columns : of the table: ``name``, ``kind``, ``unit``, ``meaning``.
    unit : of areas.
    """
    document = {
        "charts": {"front": {"chart": compiled(_chart(rows, unit))}},
        "rows": rows, "cloud": cloud, "asked": asked,
        "columns": [{**one, "label": f"area, {unit}"} if one["name"] == "area" else one for one in columns],
    }  # fmt: skip
    filled = {
        "TITLE": escape(title),
        "SUMMARY": escape(summary),
        "STYLE": STYLE.read_text(encoding="utf-8") + LINES.read_text(encoding="utf-8"),
        "VEGA": chart_script(),
        "SCRIPT": "".join(one.read_text(encoding="utf-8") for one in (*SCRIPTS, PARTS / "choice.js")),
        # No string may end the HTML element that contains it.
        "DATA": json.dumps(document, separators=(",", ":")).replace("<", "\\u003c"),
    }
    text = (PARTS / "choice.html").read_text(encoding="utf-8")
    for name, content in filled.items():
        text = text.replace(f"@{name}@", content)
    return text


def _chart(rows: Sequence[Row], unit: str) -> Chart:
    """The cloud, the front, what is planned, what is asked for, and the choice."""
    look = Look.of(sorted({row["family"] for row in rows}))
    x, y = log_axis(alt.X, "area", f"{unit}, estimated"), log_axis(alt.Y, "ms", "milliseconds an image", SHORT)
    dash = dashes({"the front": SOLID, "asked for": DASHED})
    planned = alt.Chart(alt.NamedData("rows"))
    asked = alt.Chart(alt.NamedData("asked")).transform_calculate(line="'asked for'")
    chosen = planned.transform_filter("datum.chosen")
    line = {"stroke": alt.value("var(--bound)"), "strokeDash": dash}
    return alt.layer(
        alt.Chart(alt.NamedData("cloud")).mark_point(size=9, filled=True, opacity=0.6, fill="var(--bound)")
        .encode(x=x, y=y),
        asked.transform_filter("datum.ms").mark_rule(strokeWidth=1.5).encode(y=y, **line),
        asked.transform_filter("datum.area").mark_rule(strokeWidth=1.5).encode(x=x, **line),
        planned.transform_filter("datum.front").transform_calculate(line="'the front'")
        .mark_line(interpolate="step-after").encode(x=x, y=y, **line),
        look.points("family", planned).encode(x=x, y=y),
        chosen.mark_point(size=350, stroke="var(--text)", strokeWidth=1.5).encode(x=x, y=y),
        chosen.mark_text(align="left", dx=12, dy=-10, text="chosen").encode(x=x, y=y),
    ).add_params(look.shown())  # fmt: skip
