"""Charts, described once in Vega-Lite: Vega draws them on a page, and as PNG and SVG files without a browser.

Colours are the variables of the pages' style: on a page a chart follows the light or the dark scheme, an image has
the light one. Points and bars are called ``point`` and ``bar``; their rows have a text, which a page shows at the
pointer.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeVar

import altair as alt
import vl_convert

from hwgen.report import STYLE
from hwgen.search.hierarchy.design import Design
from hwgen.tools.kept import kept_text
from hwgen.tools.toolchain import cache_room

__all__ = [
    "DASHED",
    "DOTTED",
    "SHAPES",
    "SIZES",
    "SOLID",
    "Chart",
    "Look",
    "Vega",
    "as_pdf",
    "axis",
    "chart_script",
    "compiled",
    "dashes",
    "front_picture",
    "images",
    "layer_bars",
    "log_axis",
    "names",
    "size_text",
]


Chart = Any
"""A chart of Altair, whose own types say no more of what a chain of its methods returns."""
Vega = dict[str, Any]
"""A chart as Vega reads it: plain JSON."""
XY = TypeVar("XY", alt.X, alt.Y)
SHAPES = ("circle", "square", "triangle-up", "diamond", "triangle-down", "cross", "triangle-right", "triangle-left")
SOLID, DASHED, DOTTED = [1.0, 0.0], [5.0, 4.0], [1.5, 3.0]
WIDTH, HEIGHT = 640, 320
SHORT = "format(datum.value, abs(datum.value) < 1 ? '.2~g' : '.3~s')"
HATCH = (
    '<pattern id="hatch" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">'
    '<rect width="6" height="6" fill="var(--idle)"/><rect width="2.2" height="6" fill="var(--stripe)"/></pattern>'
)
"""The fill ``url(#hatch)``, which a page has in its text."""
THEME = {
    "font": "system-ui, sans-serif",
    "axis": {"gridColor": "var(--line)", "domain": False, "ticks": False, "labelColor": "var(--soft)",
             "labelPadding": 6, "labelSeparation": 6, "labelFontSize": 12, "titleColor": "var(--text)",
             "titleFontSize": 12, "titleFontWeight": "normal"},
    "axisBand": {"grid": False, "labelColor": "var(--text)"},
    "legend": {"orient": "top", "title": None, "labelColor": "var(--soft)", "labelFontSize": 13, "symbolSize": 90,
               "labelLimit": {"expr": "room - 40"}, "symbolOpacity": 1, "padding": 0, "offset": 6,
               "layout": {"top": {"direction": "vertical", "anchor": "start", "margin": 2, "bounds": "flush"}}},
    "text": {"fill": "var(--text)", "fontSize": 12},
    "view": {"stroke": None},
}  # fmt: skip


def size_text(value: str) -> str:
    """An expression of Vega that writes a size in bytes."""
    return f"({value} % 1024 ? {value} + ' B' : {value} / 1024 + ' KiB')"


SIZES = size_text("datum.value")


def axis(title: str | None = None, text: str = SHORT, **more: Any) -> alt.Axis:
    """An axis whose numbers are written as an expression says, which is short."""
    return alt.Axis(title=title, labelExpr=text, tickCount=6, **more)


def log_axis(channel: type[XY], field: str, title: str, text: str = SHORT, base: float = 10) -> XY:
    """A logarithmic scale with some room at its ends; over a decade only 1, 2 and 5 have numbers."""
    scale = alt.Scale(type="log", base=base, padding=12, nice=False)
    if base == 10:
        ends, leading = (
            f"domain('{channel.__name__.lower()}')",
            "datum.value / pow(10, floor(log(datum.value) / LN10 + 1e-9))",
        )
        text = f"{ends}[1] > 10 * {ends}[0] && indexof([1, 2, 5], round({leading})) < 0 ? '' : {text}"
    return channel(f"{field}:Q", scale=scale, axis=axis(title, text, labelOverlap="greedy"))


def legend(width: int, **more: Any) -> alt.Legend:
    """A legend in as many columns of this width as there is room for."""
    return alt.Legend(columns=alt.ExprRef(f"max(1, floor(room / {width}))"), **more)


def dashes(kinds: Mapping[str, list[float]]) -> alt.StrokeDash:
    """What tells the kinds of lines apart that a chart's rows name in `line`."""
    scale = alt.Scale(domain=list(kinds), range=list(kinds.values()))
    return alt.StrokeDash("line:N", scale=scale, legend=legend(220, symbolType="stroke", symbolSize=400))


def names(rows: Chart, field: str) -> Chart:
    """Names beside points; a page leaves out those for which there is no room."""
    return rows.mark_text(align="left", dx=9).encode(text=f"{field}:N").properties(name="name")


@dataclass(frozen=True)
class Look:
    """Names that are told apart by colour and by shape, and the legend of those that are shown."""

    names: list[str]
    colour: alt.Scale
    shape: alt.Scale

    @classmethod
    def of(cls, own: Sequence[str], others: Mapping[str, tuple[str, str]] | None = None) -> "Look":
        """The look of the names; ``others`` have a colour and a shape of their own."""
        names = list(dict.fromkeys(own))
        marks = {name: (f"f{i % 8}", SHAPES[(i + i // 8) % 8]) for i, name in enumerate(names)} | dict(others or {})
        colours = [colour if "(" in colour else f"var(--{colour})" for colour, _ in marks.values()]
        shapes = [shape for _, shape in marks.values()]
        return cls(names, alt.Scale(domain=list(marks), range=colours), alt.Scale(domain=list(marks), range=shapes))

    def shown(self, names: Sequence[str] | None = None) -> alt.Parameter:
        """What the legend lists: a parameter that a page sets."""
        return alt.param(name="keys", value=list(self.names if names is None else names))

    def line(self, field: str, rows: Chart, **mark: Any) -> Chart:
        """A line of each name."""
        return rows.mark_line(**mark).encode(
            stroke=alt.Stroke(f"{field}:N", scale=self.colour, legend=self._legend())
        )

    def points(self, field: str, rows: Chart) -> Chart:
        """Points, hollow unless `counted`."""
        hollow, keys = {"test": "!datum.counted", "value": "var(--page)"}, self._legend()
        channels = {
            "fill": alt.Fill(f"{field}:N", scale=self.colour, legend=keys, condition=hollow),
            "stroke": alt.Stroke(f"{field}:N", scale=self.colour, legend=keys),
            "shape": alt.Shape(f"{field}:N", scale=self.shape, legend=keys),
            "description": "text:N",
        }
        return rows.mark_point(size=90, strokeWidth=1.5, opacity=1).encode(**channels).properties(name="point")

    def bars(self, field: str, rows: Chart) -> Chart:
        """Bars, each of parts with these names."""
        colour = alt.Color(f"{field}:N", scale=self.colour, legend=self._legend(260))  # names of bars take room
        return rows.mark_bar().encode(color=colour, description="text:N").properties(name="bar")

    @staticmethod
    def _legend(width: int = 160) -> alt.Legend:
        return legend(width, values=alt.ExprRef("keys"))


def compiled(chart: Chart) -> Vega:
    """The chart as Vega draws it, with the width of its place as parameter `room`."""
    described = {"height": HEIGHT, **chart.to_dict(validate=False)}  # tests validate
    described["params"] = [*described.get("params", []), {"name": "room", "value": WIDTH}]
    fit = {"type": "fit-x", "contains": "padding"}
    described |= {"config": THEME, "autosize": fit, "width": WIDTH, "background": None}
    found: Vega = vl_convert.vegalite_to_vega(described)
    return found


def images(
    chart: Vega, tables: Mapping[str, Sequence[Mapping[str, Any]]], settings: Mapping[str, Any] | None = None
) -> dict[str, bytes]:
    """The PNG and the SVG file of a chart with settings, by suffix; nothing in them depends on the time."""
    data = [{**one, "values": tables[one["name"]]} if one["name"] in tables else one for one in chart["data"]]
    wanted = settings or {}
    signals = [{**one, "value": wanted[one["name"]]} if one["name"] in wanted else one for one in chart["signals"]]
    drawn = vl_convert.vega_to_svg({**chart, "background": "white", "data": data, "signals": signals})
    drawn = drawn.replace(">", f"><defs>{HATCH}</defs>", 1)
    svg = re.sub(r"var\(--(\w+)\)", lambda found: _colours()[found[1]], drawn)
    return {"png": vl_convert.svg_to_png(svg, scale=2), "svg": svg.encode()}


def as_pdf(svg: str) -> bytes:
    """An SVG as a PDF file."""
    found: bytes = vl_convert.svg_to_pdf(svg)
    return found


def chart_script() -> str:
    """The script that draws charts on a page: ``vegaEmbed``, with all that it needs."""
    file = cache_room("scripts") / f"vega_embed_{vl_convert.get_vega_embed_version()}"
    text = kept_text(file, lambda: vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;"))
    return text.replace("</script", "<\\/script")


@cache
def _colours() -> Mapping[str, str]:
    """The variables of the light scheme."""
    light, *_ = STYLE.read_text(encoding="utf-8").partition("@media")
    return dict(re.findall(r"--(\w+): (#\w+)", light))


# --- bars of layers ---


def layer_bars(layers: Sequence[tuple[str, Mapping[str, int]]], what: str) -> dict[str, bytes]:
    """A bar for each layer, of the amounts of its parts by name, as PNG and SVG by suffix; ``what``: the axis."""
    rows = [
        {"layer": layer, "part": part, "amount": amount, "at": at, "text": f"{layer}: {part}: {amount:,} {what}"}
        for at, (layer, parts) in enumerate(layers)
        for part, amount in parts.items()
    ]
    look = Look.of([part for _, parts in layers for part in parts])
    bars = look.bars("part", alt.Chart(alt.NamedData("rows"))).encode(
        x=alt.X("layer:N", sort=[layer for layer, _ in layers], axis=alt.Axis(title=None, labelAngle=-40)),
        y=alt.Y("amount:Q", axis=axis(what)),
    )
    return images(compiled(bars.add_params(look.shown())), {"rows": rows})


# --- energy against area ---


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
