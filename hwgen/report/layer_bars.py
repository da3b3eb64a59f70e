"""Bars of layers, each of parts, as a picture."""

from collections.abc import Mapping, Sequence

import altair as alt

from hwgen.report.charts import Look, axis, compiled, images

__all__ = ["layer_bars"]


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
