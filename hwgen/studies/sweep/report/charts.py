"""The charts of a sweep: each is described once, for the page, where filters act on its rows, and for PNG and SVG.

A row is a layer on a configuration, or a run of a solution. A chart derives from them what it shows: sums over
layers, fronts, roofs.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import altair as alt

from hwgen.report.charts import (
    DASHED,
    DOTTED,
    SHAPES,
    SIZES,
    SOLID,
    Chart,
    Look,
    Vega,
    axis,
    compiled,
    dashes,
    log_axis,
    names,
    size_text,
)  # fmt: skip
from hwgen.studies.sweep.report.derived import PARTS, Row, runs_of
from hwgen.studies.sweep.report.results import SweepResults

__all__ = ["Drawn", "drawn_charts"]

OPERANDS = {"total": "I + W + O", "I": "I", "W": "W", "O": "O"}
ENDS = {"cycles_predicted": "predicted", "least_traffic_cycles": "with the least traffic",
        "fewest_cycles": "fewest cycles found"}  # fmt: skip
COUNTED = "(datum.counted ? ' measured' : ' predicted')"
LAYERS = "datum.label + ', ' + (datum.layers == 1 ? datum.layer : datum.layers + ' layers') + '\\n' + "
ON_CHIP = "on-chip memory, bytes"


@dataclass(frozen=True)
class Drawn:
    """A chart and what it draws.

    Members
    -------
    chart : as Vega draws it.
    kinds : those of its rows, where they are a sweep's.
    tables : with everything in them; empty for what only a page draws.
    settings : its parameters, for an image.
    """

    chart: Vega
    kinds: Sequence[str]
    tables: Mapping[str, Sequence[Row]]
    settings: Mapping[str, object]


def drawn_charts(results: SweepResults) -> dict[str, Drawn]:
    """The charts of derived results by name; those without anything to show are left out."""
    by_kind = {kind: [row for row in results.rows if row.get("kind") == kind] for kind in ("hwc", "hwce", "cluster")}
    alone, engines, clusters = by_kind.values()
    look = Look.of([row["family"] for row in (*alone, *engines, *clusters)])
    bars, found = compiled(_bars()), dict[str, Drawn]()

    def add(name: str, chart: Chart, *kinds: str, **tables: Sequence[Row]) -> None:
        rows = [row for kind in kinds for row in by_kind[kind]]
        families = [one for one in look.names if one in {row["family"] for row in rows}]
        named = {} if not kinds or name in ("traffic", "dram") else {"keys": families}
        found[name] = Drawn(compiled(chart), kinds, {"rows": rows, **tables} if kinds else tables, named)

    def add_bars(name: str, rows: Sequence[Row], **settings: object) -> None:
        keys = list(dict.fromkeys(part["on"] for row in rows for part in row["parts"]))
        found[name] = Drawn(bars, (), {"bars": rows}, {"keys": keys, **settings})

    if alone:
        add("traffic", _traffic(look, [row["buffer_bytes"] for row in alone]), "hwc", curves=results.curves)
        add("cycles", _cycles(look, weighed=any(row["fewest_cycles"] is not None for row in alone)), "hwc")
        add("pareto", _pareto(look, "area" if any("area" in row for row in alone) else "buffer_bytes"), "hwc")
    if alone or engines:
        add("roofline", _roofline(look, "MACs for each byte moved", (0.6, 4)), "hwc", "hwce")
    if clusters:
        add("dram", _dram("tcdm_bytes" if len({row["tcdm_bytes"] for row in clusters}) > 1 else "hwcs"), "cluster")
        add("cluster-roofline", _roofline(look, "MACs for each byte of DRAM", (1, 16)), "cluster")
    runs = runs_of(results)
    if runs:
        add("front", _front(Look.of([run["network"] for run in runs])), runs=runs, fronts=results.fronts)
        add("pipeline-cycles", _pipeline_cycles(Look.of([run["pipeline"] for run in runs])), runs=runs)
    named = [{**row, "bar": f"{row['label']}, {row['layer']}", "note": f"{row['utilisation']:.3f}"}
             for rows in by_kind.values() for row in rows]  # fmt: skip
    if named:
        add_bars("stalls", named, share=True)
    beside = [
        {**row, "note": f"{row['beside'][0]['value']:.2f}", "parts": row["beside"]}
        for row in named
        if "beside" in row
    ]
    if beside:
        add_bars("engines", beside)
    return found | {"bars": Drawn(bars, (), {}, {})}


def _complete() -> Chart:
    """Rows of the configurations that have all layers there are of their set and scale."""
    return (
        alt.Chart(alt.NamedData("rows"))
        .transform_joinaggregate(every="distinct(layer)", groupby=["set", "scale"])
        .transform_joinaggregate(layers="distinct(layer)", groupby=["label"])
        .transform_filter("datum.layers == datum.every")
    )


def _at_buffers(field: str = "buffer_bytes") -> alt.X:
    return log_axis(alt.X, field, "local buffers", SIZES, base=2)


def _summed(rows: Chart, text: str, *by: str, **sums: str) -> Chart:
    """A row for each configuration, with the text of its point."""
    sums |= {"counted": "min(counted)", "layers": "min(layers)", "layer": "min(layer)"}
    return rows.transform_aggregate(**sums, groupby=["label", "family", *by]).transform_calculate(text=LAYERS + text)


def _of_operands(rows: Chart, operands: Mapping[str, str]) -> Chart:
    """A row for each operand, which is `named`."""
    listed = "[" + ", ".join(f"'{one}'" for one in operands) + "]"
    flat = rows.transform_calculate(operand=listed).transform_flatten(["operand"])
    return flat.transform_calculate(named=f"({dict(operands)})[datum.operand]")


def _moved(rows: Chart, operands: Mapping[str, str], *by: str) -> Chart:
    """Bytes of each operand, as `y` and `predicted`."""
    each = _of_operands(rows, operands).transform_calculate(
        moved="datum[datum.operand + '_moved']", expected="datum[datum.operand + '_predicted']"
    )
    text = f"datum.named + ': ' + format(datum.y, ',') + ' bytes' + {COUNTED}"
    sums = {"y": "sum(moved)", "predicted": "sum(expected)"}
    return _summed(each, text, "operand", "named", *by, **sums).transform_filter("datum.y > 0")


def _traffic(families: Look, sizes: Sequence[int]) -> Chart:
    """Bytes against buffers: of one operand, or `each` of them, in the colours of operands."""
    shapes = dict(zip(OPERANDS, ("diamond", *SHAPES), strict=False))
    look = Look.of(
        families.names, {name: (key, shapes[key]) for key, name in OPERANDS.items()} | {"bound": ("bound", "")}
    )
    asked, several = "what == 'each' || what == datum.operand", len(families.names) > 1
    curves = _of_operands(
        alt.Chart(alt.NamedData("curves"))
        .transform_filter(f"datum.buffer_bytes >= {min(sizes) / 2} && datum.buffer_bytes <= {2 * max(sizes)}")
        .transform_joinaggregate(every="distinct(layer)", groupby=["set", "scale"])
        .transform_joinaggregate(layers="distinct(layer)", groupby=["set", "scale", "buffer_bytes"])
        .transform_filter("datum.layers == datum.every")
        .transform_calculate(group="datum.set + datum.scale"),
        OPERANDS,
    ).transform_filter(asked)
    optimum = (
        curves.transform_calculate(value="datum[datum.operand + '_bytes']")
        .transform_aggregate(y="sum(value)", groupby=["group", "buffer_bytes", "named"])
        .transform_calculate(line="'optimum of the pure model'", mark="what == 'each' ? datum.named : 'bound'")
    )
    bound = (
        curves.transform_filter("datum.operand == 'total'")
        .transform_aggregate(y="sum(bound_bytes)", groupby=["group", "buffer_bytes"])
        .transform_calculate(line="'lower bound, proven'", mark="'bound'")
    )
    points = (
        _moved(_complete(), OPERANDS, "buffer_bytes")
        .transform_filter(asked)
        .transform_calculate(mark="what == 'each' ? datum.named : datum.family")
    )
    largest = [alt.SortField("buffer_bytes", order="descending")]
    last = points.transform_window(rank="row_number()", groupby=["family", "named"], sort=largest)
    dash = dashes({"optimum of the pure model": DOTTED, "lower bound, proven": DASHED})
    x, y = _at_buffers(), log_axis(alt.Y, "y", "bytes")
    return alt.layer(
        *(look.line("mark", rows).encode(x=x, y=y, detail="group:N", strokeDash=dash) for rows in (optimum, bound)),
        look.line("mark", points.transform_filter("datum.predicted > 0")).encode(
            x=x, y="predicted:Q", detail="family:N"
        ),
        look.points("mark", points).encode(x=x, y=y),
        names(last.transform_filter("what == 'each' && datum.rank == 1"), "named").encode(x=x, y=y),
    ).add_params(
        alt.param(name="what", value="total" if several else "each"),
        look.shown(None if several else tuple(OPERANDS.values())),
    )


def _cycles(look: Look, *, weighed: bool) -> Chart:
    """Cycles of the choice against buffers, and of both ends where they were weighed."""
    ends = ENDS if weighed else {"cycles_predicted": "predicted"}
    lines = (
        _complete()
        .transform_fold(list(ends), as_=["end", "value"])
        .transform_aggregate(y="sum(value)", missing="missing(value)", groupby=["family", "buffer_bytes", "end"])
        .transform_filter("!datum.missing")
        .transform_calculate(line=f"({ends})[datum.end]")
    )
    points = _summed(_complete(), f"format(datum.y, ',') + ' cycles' + {COUNTED}", "buffer_bytes", y="sum(cycles)")
    dash = dashes(dict(zip(ends.values(), (SOLID, DASHED, DOTTED), strict=False)))
    x, y = _at_buffers(), log_axis(alt.Y, "y", "cycles")
    line = look.line("family", lines).encode(x=x, y=y, strokeDash=dash)
    return alt.layer(line, look.points("family", points).encode(x=x, y=y)).add_params(look.shown())


def _roofline(look: Look, title: str, shown: tuple[float, float]) -> Chart:
    """MACs a cycle against MACs a byte; a layer's points are joined from the smallest memories to the largest."""
    steps = ("buffer_bytes", "hwcs", "tcdm_bytes")
    up, down = [alt.SortField(one) for one in steps], [alt.SortField(one, order="descending") for one in steps]
    text = (
        "datum.layer + ', ' + datum.label + '\\n' + format(datum.speed, '.2f') + ' MACs a cycle, ' + "
        "format(datum.intensity, '.2f') + ' a byte, utilisation ' + format(datum.utilisation, '.3f') + ',' + "
        + COUNTED
    )
    rows: Chart = alt.Chart(alt.NamedData("rows")).transform_calculate(text=text)
    by_layer = rows.transform_joinaggregate(number="distinct(layer)").transform_window(
        step="row_number()", groupby=["family", "layer"], sort=up
    )
    last = by_layer.transform_window(rank="row_number()", groupby=["family", "layer"], sort=down).transform_filter(
        "datum.rank == 1"
    )
    roof = (
        rows.transform_joinaggregate(low="min(intensity)", high="max(intensity)")
        .transform_aggregate(low="min(low)", high="max(high)", groupby=["peak", "port"])
        .transform_calculate(knee="datum.peak / datum.port", line="'roof'")
        .transform_calculate(
            x=f"[min(datum.low, {shown[0]}, datum.knee), datum.knee, max(datum.high, {shown[1]}, datum.knee)]"
        )
        .transform_flatten(["x"])
        .transform_calculate(y="min(datum.peak, datum.x * datum.port)")
        .mark_line(stroke="var(--bound)")
        .encode(x="x:Q", y="y:Q", detail=["peak:N", "port:N"], strokeDash=dashes({"roof": SOLID}))
    )
    number = "format(datum.value, '.3~g')"
    x, y = log_axis(alt.X, "intensity", title, number), log_axis(alt.Y, "speed", "MACs a cycle", number)
    quiet = look.line("family", by_layer, strokeWidth=1.2, strokeOpacity=0.45)
    named = last.transform_calculate(named="datum.number == 1 ? datum.label : datum.layer")
    return alt.layer(
        roof, quiet.encode(x=x, y=y, detail="layer:N", order="step:Q"), look.points("family", rows).encode(x=x, y=y),
        names(named, "named").encode(x=x, y=y),
    ).add_params(look.shown())  # fmt: skip


def _pareto(look: Look, at: str) -> Chart:
    """Traffic against area, or against buffers where nothing was synthesised, and the front of both."""
    order: list[alt.SortField | dict[str, str]] = [alt.SortField("at"), alt.SortField("y")]
    text = "format(datum.y, ',') + ' bytes' + (datum.counted ? '' : ', beaten')"
    sums = {
        "y": "sum(total_moved)",
        "at": f"min({at})",
        "most": f"max({at})",
        "known": f"valid({at})",
        "all": "count()",
    }
    points = (
        _summed(_complete(), "''", **sums)
        .transform_filter("datum.known == datum.all && datum.at == datum.most")
        .transform_window(least="min(y)", frame=[None, 0], sort=order)
        .transform_window(before="lag(least)", sort=order)
        .transform_calculate(counted="!isValid(datum.before) || datum.before > datum.y")
        .transform_calculate(text=LAYERS + text)
    )
    front = points.transform_filter("datum.counted").transform_calculate(line="'no other one beats it'")
    room = alt.Scale(zero=False, padding=12)
    x = alt.X("at:Q", scale=room, axis=axis("gates")) if at == "area" else _at_buffers("at")
    y = alt.Y("y:Q", scale=room, axis=axis("bytes"))
    line = front.mark_line(stroke="var(--bound)").encode(
        x=x, y=y, strokeDash=dashes({"no other one beats it": SOLID})
    )
    layers = (line, look.points("family", points).encode(x=x, y=y), names(front, "label").encode(x=x, y=y))
    return alt.layer(*layers).add_params(look.shown())


def _dram(at: str) -> Chart:
    """Traffic at the DRAM, and all of it at the shared memory, against that memory's size or the number of HWCs."""
    operands = {**{f"dram_{key}": name for key, name in OPERANDS.items()}, "total": "I + W + O at the TCDM"}
    marks = zip((*OPERANDS, "mark"), ("diamond", *SHAPES[:3], "cross"), strict=True)
    look = Look.of([], dict(zip(operands.values(), marks, strict=True)))
    rows = _complete().transform_calculate(
        at="datum[at]", line="datum.buffer_bytes + ' ' + (at == 'hwcs' ? datum.tcdm_bytes : datum.hwcs)"
    )
    points = _moved(rows, operands, "at", "line")
    bound = rows.transform_aggregate(y="sum(bound_bytes)", groupby=["at", "family", "line"])
    where = (
        f"at == 'tcdm_bytes' ? {SIZES} : datum.value % 1 ? '' : datum.value + (datum.value > 1 ? ' HWCs' : ' HWC')"
    )
    x, y = log_axis(alt.X, "at", "", where, base=2), log_axis(alt.Y, "y", "bytes")
    detail = ["family:N", "line:N"]
    dash = dashes({"lower bound, proven": DASHED})
    return alt.layer(
        bound.transform_calculate(line="'lower bound, proven'").mark_line(stroke="var(--bound)")
        .encode(x=x, y=y, detail=detail, strokeDash=dash),
        look.line("named", points).encode(x=x, y="predicted:Q", detail=detail),
        look.points("named", points).encode(x=x, y=y),
    ).add_params(alt.param(name="at", value=at), look.shown(list(operands.values())))  # fmt: skip


def _bars() -> Chart:
    """Bars with a name, parts and a note; of shares, of the lanes' cycles, and of bytes, gates and ratios."""
    look = Look.of([], {name: (colour, "") for name, colour in PARTS.items()})
    numbers = axis(text=f"share ? (datum.value > 1 ? '' : format(datum.value, '.0%')) : {axis().labelExpr}")
    gap, labels = alt.Scale(paddingInner=0.3), alt.Axis(title=None, labelLimit=alt.ExprRef("0.4 * room"))
    rows: Chart = (
        alt.Chart(alt.NamedData("bars"), height=alt.Step(24))
        .transform_flatten(["parts"])
        .transform_calculate(
            on="datum.parts.on", value="datum.parts.value", text="datum.bar + '\\n' + datum.parts.text"
        )
        .transform_window(number="row_number()")
        .encode(y=alt.Y("bar:N", sort=None, scale=gap, axis=labels))
    )
    ends = rows.transform_aggregate(end="sum(value)", note="max(note)", groupby=["bar"])
    room = ends.transform_calculate(end="datum.end * (1 + 80 / room)").mark_point(opacity=0)
    part = alt.X("value:Q", stack="zero", scale=alt.Scale(nice=False), axis=numbers)
    end = alt.X("end:Q", axis=numbers)
    return alt.layer(
        look.bars("on", rows).encode(x=part, order="number:Q"),
        ends.mark_text(align="left", dx=6).encode(x=end, text="note:N"),
        room.encode(x=end),
    ).add_params(alt.param(name="share", value=False), look.shown(list(PARTS)))


def _front(look: Look) -> Chart:
    """On-chip memory against traffic: the fronts, and the solutions that were asked for."""
    last = f"(datum.sizes == 1 ? '' : (datum.sizes == 2 ? ', ' : ' to ') + {size_text('datum.most')})"
    text = (
        "datum.network + ', ' + datum.named + ': ' + datum.stacks + '\\n' + format(datum.traffic, ',') + ' bytes' + "
        f"{COUNTED} + ', ' + format(datum.on_chip_bytes, ',') + ' on chip'"
    )
    solutions = (
        alt.Chart(alt.NamedData("runs"))
        .transform_joinaggregate(
            least="min(memory_bytes)", most="max(memory_bytes)", sizes="distinct(memory_bytes)", groupby=["solution"]
        )
        .transform_window(
            rank="row_number()", groupby=["solution"], sort=[alt.SortField("counted", order="descending")]
        )
        .transform_filter("datum.rank == 1")
        .transform_calculate(named=f"{size_text('datum.least')} + {last}")
        .transform_calculate(text=text)
    )
    named = {"the front, predicted": SOLID, "layer by layer, at least": DASHED}
    columns = zip(named, ("traffic_bytes", "layer_by_layer_bytes"), ("step-after", "linear"), strict=True)
    x, y = log_axis(alt.X, "memory_bytes", ON_CHIP), log_axis(alt.Y, "y", "bytes to and from the DRAM")
    fronts: Chart = alt.Chart(alt.NamedData("fronts"))
    lines = [
        look.line("network", fronts.transform_calculate(line=f"'{name}'", y=f"datum.{column}"), interpolate=shape)
        .encode(x=x, y=y, strokeDash=dashes(named))
        for name, column, shape in columns
    ]  # fmt: skip
    at = {"x": alt.X("on_chip_bytes:Q"), "y": alt.Y("traffic:Q")}
    return alt.layer(
        *lines, look.points("network", solutions).encode(**at), names(solutions, "named").encode(**at)
    ).add_params(look.shown())


def _pipeline_cycles(look: Look) -> Chart:
    """Cycles of all stacks of a run, one after the other."""
    text = (
        f"{size_text('datum.memory_bytes')} + ', ' + datum.pipeline + '\\n' + format(datum.cycles, ',') + ' cycles'"
    )
    runs: Chart = (
        alt.Chart(alt.NamedData("runs"))
        .transform_filter("datum.cycles > 0")
        .transform_calculate(counted="datum.cycles_counted")
        .transform_calculate(text=f"{text} + {COUNTED}")
    )
    at = {"x": log_axis(alt.X, "on_chip_bytes", ON_CHIP), "y": alt.Y("cycles:Q", axis=axis("cycles"))}
    layers = (look.line("pipeline", runs).encode(**at), look.points("pipeline", runs).encode(**at))
    return alt.layer(*layers).add_params(look.shown())
