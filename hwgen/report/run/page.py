"""The run of a network as one self-contained HTML page, without a script."""

from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

from hwgen.report import STYLE
from hwgen.report.run.rows import MACS, UNITS, VECTOR, Amounts, LayerRow, layer_rows, summed

__all__ = ["run_page"]

PARTS = Path(__file__).resolve().parent / "page_parts"
OPERANDS = {"I": ("I", "inputs"), "W": ("W", "weights"), "O": ("O", "outputs"), "B": ("bias", "biases and scales")}
"""Tensor classes: colour and name."""
WAITS = {
    "input": ("input", "wait: input"),
    "weight": ("weight", "wait: weight"),
    "output": ("output", "wait: output"),
}
LEVELS = {
    "dram": ("f1", "DRAM"),
    "tcdm": ("f0", "shared memory"),
    "local": ("f2", "buffers in the HWC"),
    MACS: ("f4", MACS),
}
"""Levels of memory, outermost first: colour and name."""
COLOURS = {UNITS["load"]: "input", UNITS["compute"]: "useful", VECTOR: "f1", UNITS["store"]: "output"}
"""Units of a cluster, in the order of a tile's way through it."""
SUFFIX = "_QuantizeLinear_Output"
"""The suffix of names of nodes as quantisers make them; it says nothing."""
Part = tuple[str, str, float]
"""Colour, name and amount."""


def run_page(document: Mapping[str, Any], hardware: str) -> str:
    """The page's text. ``document``: as ``hwgen run --json`` prints it; ``hardware``: the name of the hardware."""
    rows = layer_rows(document)
    levels = [level for level in LEVELS if any(level in row.traffic for row in rows)]
    title = f"{document['network']} on {hardware}"
    units = [_units(document, rows)] if any(row.busy for row in rows) else []
    sections = [_timeline(rows), *units, *(_traffic(rows, level) for level in levels)]
    if any(sum(row.energy.values()) for row in rows):  # hardware may say that nothing takes any
        sections.append(_energy(rows))
    filled = {
        "TITLE": escape(title),
        "STYLE": STYLE.read_text(encoding="utf-8") + _part("run.css"),
        "SUMMARY": _summary(document, rows),
        "SECTIONS": "\n".join(sections),
        "TABLE": _table(rows, levels),
        "HOST": _host(document),
    }
    text = _part("run.html")
    for name, content in filled.items():
        text = text.replace(f"@{name}@", content)
    return text


def _part(name: str) -> str:
    return (PARTS / name).read_text(encoding="utf-8")


def _summary(document: Mapping[str, Any], rows: Sequence[LayerRow]) -> str:
    cycles, runtime, wrong = (
        document["cycles"],
        document["onnxruntime"] or document.get("litert"),
        [row for row in rows if not row.right],
    )
    count = max(row.images for row in rows)
    found = [
        f"{len(rows)} layers in the generated hardware, {count} image{'' if count == 1 else 's'}.",
        "Every element is the integer reference's, every access is predicted."
        if not wrong
        else f'<span class="wrong">{len(wrong)} of {len(rows)} layers not as it should be.</span>',
        f"{cycles['measured']:,} cycles, {cycles['predicted']:,} predicted.",
        f"Utilisation of the multipliers {document['utilisation']:.3f}.",
    ]
    if document["energy"] is not None:
        found.append(f"{_energy_text(document['energy']['measured'])}.")
    if runtime is not None:
        name = "ONNX Runtime" if document["onnxruntime"] else "LiteRT"
        aside = f", {runtime['ties']:,} ties aside" if runtime["ties"] else ""
        found.append(f"Node by node {runtime['equal']:.4%} of all elements are {name}'s{aside}.")
    return " ".join(found)


def _timeline(rows: Sequence[LayerRow]) -> str:
    whole = sum(row.measured for row in rows)
    legend = list(dict.fromkeys((colour, name, 0.0) for row in rows for colour, name, _ in _busy(row)))
    lines = []
    for row in rows:
        bar = _bar(_busy(row), whole, row.start, "cycles")
        expected = (
            f'<span class="expected" style="left:{row.start / whole:.4%};width:{row.predicted / whole:.4%}"></span>'
        )
        off = row.measured - row.predicted
        note = f"{row.measured:,}" + (f" ({off:+,})" if off else "")
        lines.append(_line(row, f"{bar}{expected}", note))
    text = (
        f"From left to right: {whole:,} cycles, one layer after the other. Bars are measured, the line below each is "
        "the prediction; a number in brackets is how far they are apart. What the host does in between is not in it."
    )
    return _section("When each layer runs", text, legend, lines)


def _busy(row: LayerRow) -> list[Part]:
    """A layer's cycles by what the lanes did; where waits overlap they are at most all that is left.

    Of a cluster's HWCs it is not counted what they wait for.
    """
    left = max(row.measured - row.useful, 0.0)
    waits: list[Part] = []
    for name, (colour, text) in WAITS.items():
        if name in row.waits:
            part = min(row.waits[name], left)
            left -= part
            waits.append((colour, text, part))
    return [
        ("useful", "useful lanes", row.useful),
        ("idle", "idle lanes" if waits else "idle lanes, waits", left),
        *waits,
    ]


def _units(document: Mapping[str, Any], rows: Sequence[LayerRow]) -> str:
    """The units of a cluster: a line for each, along the time of the layers."""
    whole = sum(row.measured for row in rows)
    lines = []
    for unit, colour in COLOURS.items():
        bars = []
        for row in rows:
            part = min(row.busy.get(unit, 0) / max(row.predicted, 1), 1)
            if part:
                bars.append(
                    f'<i style="--c:var(--{colour});--h:{part:.4f};left:{row.start / whole:.4%};'
                    f'width:{row.measured / whole:.4%}" title="{escape(row.node)}: {part:.1%}"></i>'
                )
        if bars:
            cycles = sum(row.busy.get(unit, 0) for row in rows)
            lines.append(
                f'<div class="line unit"><span class="layer"><b>{unit}</b></span>'
                f'<span class="track">{"".join(bars)}</span><span class="note">{cycles / whole:.1%}</span></div>\n'
            )
    text = (
        "Along the same time, as predicted: the height of a bar is the part of the layer's cycles in which the unit "
        f"works. Of whole programs the cluster's registers have counted: {_registers(document)}."
    )
    return _section("Which unit works when", text, [], lines)


def _registers(document: Mapping[str, Any]) -> str:
    names = {**UNITS, "compute": f"{UNITS['compute']} or {VECTOR}"}
    counted, expected = (
        summed(program["busy"][source] for program in document["programs"]) for source in ("measured", "predicted")
    )
    return "; ".join(
        f"{names[queue]} {counted[queue]:,.0f} cycles ({expected[queue]:,.0f} predicted)" for queue in names
    )


def _traffic(rows: Sequence[LayerRow], level: str) -> str:
    most = max(sum(row.traffic.get(level, {}).values()) for row in rows)
    lines = []
    for row in rows:
        moved, expected = (one.get(level, {}) for one in (row.traffic, row.expected))
        total = sum(moved.values())
        off = total - sum(expected.values())
        parts = [(*OPERANDS.get(name, ("mark", name)), amount) for name, amount in moved.items()]
        lines.append(_line(row, _bar(parts, most, 0, "bytes"), f"{total:,.0f}" + (f" ({off:+,.0f})" if off else "")))
    moved_at_all = summed(row.traffic.get(level, {}) for row in rows)
    whole = {name: amount for name, amount in moved_at_all.items() if amount}
    text = f"Bytes, measured: {_amounts(whole, OPERANDS)}; a number in brackets is how far the prediction is off."
    legend = [(*OPERANDS.get(name, ("mark", name)), 0.0) for name in whole]
    return _section(f"What each layer moves: {LEVELS[level][1]}", text, legend, lines)


def _energy(rows: Sequence[LayerRow]) -> str:
    most = max(sum(row.energy.values()) for row in rows)
    lines = [
        _line(row, _bar(_by_level(row.energy), most, 0, "pJ"), _energy_text(sum(row.energy.values()))) for row in rows
    ]
    whole = summed(row.energy for row in rows)
    total = sum(whole.values())
    shares = ", ".join(f"{name} {amount / total:.1%}" for _, name, amount in _by_level(whole))
    return _section(
        "Where the energy goes",
        f"By level of memory: {shares}.",
        [(*one[:2], 0.0) for one in _by_level(whole)],
        lines,
    )


def _by_level(energy: Amounts) -> list[Part]:
    return [(*LEVELS[level], energy[level]) for level in LEVELS if level in energy]


def _section(title: str, text: str, legend: Sequence[Part], lines: Sequence[str]) -> str:
    keys = "".join(f'<span><i style="--c:var(--{colour})"></i>{escape(name)}</span>' for colour, name, _ in legend)
    return (
        f'<section class="whole"><h2>{title}</h2>\n<p>{text}</p>\n<div class="legend">{keys}</div>\n'
        f'<div class="lines">{"".join(lines)}</div></section>'
    )


def _line(row: LayerRow, bar: str, note: str) -> str:
    wrong = "" if row.right else ' class="wrong"'
    name = f"<b{wrong}>{escape(row.node.removesuffix(SUFFIX))}</b> <small>{row.operator}</small>"
    return (
        f'<div class="line"><span class="layer" title="{escape(row.node)}">{name}</span>'
        f'<span class="track">{bar}</span><span class="note">{note}</span></div>\n'
    )


def _bar(parts: Sequence[Part], whole: float, start: float, unit: str) -> str:
    """Parts of a bar one after the other, from ``start`` of ``whole`` on."""
    found, at = [], start
    for colour, name, amount in parts:
        if amount > 0:
            found.append(
                f'<i style="--c:var(--{colour});left:{at / whole:.4%};width:{amount / whole:.4%}" '
                f'title="{escape(name)}: {amount:,.0f} {unit}"></i>'
            )
        at += amount
    return "".join(found)


def _amounts(amounts: Amounts, names: Mapping[str, tuple[str, str]]) -> str:
    return ", ".join(f"{names.get(name, ('', name))[1]} {amount:,.0f}" for name, amount in amounts.items())


def _energy_text(picojoules: float) -> str:
    return f"{picojoules / 1e6:,.2f} uJ"


def _table(rows: Sequence[LayerRow], levels: Sequence[str]) -> str:
    columns = ["layer", "operator", "output", "images", "cycles predicted", "cycles", "utilisation",
               *(f"{LEVELS[level][1]}, bytes" for level in levels), "energy, uJ", "right"]  # fmt: skip
    head = "".join(f'<th scope="col">{column}</th>' for column in columns)
    body = []
    for row in rows:
        moved = [sum(row.traffic.get(level, {}).values()) for level in levels]
        numbers = [
            *(f"{one:,}" for one in (row.images, row.predicted, row.measured)),
            f"{row.useful / max(row.measured, 1):.3f}",
            *(f"{one:,.0f}" for one in moved),
            f"{sum(row.energy.values()) / 1e6:,.3f}",
        ]
        cells = "".join(f'<td class="number">{one}</td>' for one in numbers)
        body.append(
            f'<tr><th scope="row">{escape(row.node)}</th><td>{row.operator}</td><td>{row.shape}</td>{cells}'
            f"<td>{'yes' if row.right else 'NO'}</td></tr>"
        )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(body)}</tbody></table>"


def _host(document: Mapping[str, Any]) -> str:
    refused = document["refused"]
    return "".join(
        f"<li>{escape(name)}{escape(f': {refused[name]}') if name in refused else ''}</li>"
        for name in document["host"]
    )
