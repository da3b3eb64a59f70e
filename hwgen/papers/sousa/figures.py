"""The plots of the Sousa 2022 figures: the same bytes for the same rows, with `hwgen.papers.figures.rendered`."""

from collections.abc import Sequence

from matplotlib.figure import Figure

from hwgen.papers.sousa.model import Npu
from hwgen.papers.sousa.rows import MODELS, PUBLISHED, LayerRow, ModelRow
from hwgen.papers.sousa.system_rows import SystemRow

__all__ = ["mapping_5", "mapping_6", "mapping_7", "system_7"]


def mapping_5(models: Sequence[ModelRow]) -> Figure:
    """Speedup of counting bursts: published, and found in both readings; lines reach to the kindest tie-break."""
    networks = list(dict.fromkeys(row.network for row in models))
    readings = list(dict.fromkeys(row.reading for row in models))
    figure = Figure(figsize=(9, 4), layout="constrained")
    axes = figure.subplots()
    width = 0.8 / (1 + len(readings))
    published = [100 * (PUBLISHED[net].volume / PUBLISHED[net].burst - 1) for net in networks]
    axes.bar([place - width for place in range(len(networks))], published, width=width, label="the paper's board")
    for number, reading in enumerate(readings):
        rows = [row for row in models if row.reading == reading]
        places = [place + number * width for place in range(len(rows))]
        gains = [100 * (row.speedup - 1) for row in rows]
        lower = [gain - 100 * (row.speedup_kindest - 1) for gain, row in zip(gains, rows, strict=True)]
        axes.bar(places, gains, width=width, yerr=[lower, [0.0] * len(rows)], capsize=3, label=f"{reading} reading")
    axes.set_xticks(range(len(networks)), [MODELS[net] for net in networks])
    axes.set(title="Counting bursts over counting bytes", ylabel="speedup, %")
    axes.grid(axis="y", alpha=0.3)
    axes.legend(loc="upper left", bbox_to_anchor=(1, 1))
    return figure


def mapping_6(layers: Sequence[LayerRow]) -> Figure:
    """Shares of loads, stores and MACs in the time without bursts: right bars without, left bars with them."""
    reading = layers[0].reading
    networks = list(dict.fromkeys(row.network for row in layers))
    figure = Figure(figsize=(9, 4), layout="constrained")
    axes = figure.subplots()
    for shift, prefix in ((-0.2, ""), (0.2, "volume_")):
        bottom = [0.0] * len(networks)
        for part, colour in (("loads", "tab:blue"), ("stores", "tab:orange"), ("macs_time", "tab:green")):
            heights = []
            for network in networks:
                rows = [row for row in layers if (row.reading, row.network) == (reading, network)]
                total = sum(row.volume for row in rows)
                heights.append(100 * sum(getattr(row, prefix + part) for row in rows) / total)
            axes.bar(
                [place + shift for place in range(len(networks))],
                heights,
                width=0.36,
                bottom=bottom,
                color=colour,
                label=None if prefix else {"macs_time": "MACs"}.get(part, part),
            )
            bottom = [low + height for low, height in zip(bottom, heights, strict=True)]
    axes.set_xticks(range(len(networks)), [MODELS[net] for net in networks])
    axes.set(title=f"With bursts (left) and without (right), {reading} reading", ylabel="time, % of that without")
    axes.legend(loc="upper left", bbox_to_anchor=(1, 1))
    return figure


def mapping_7(layers: Sequence[LayerRow], npu: Npu) -> Figure:
    """MACs a second against MACs a byte, a point for each layer; roofs with and without the latency of bursts."""
    reading = layers[0].reading
    figure = Figure(figsize=(7, 5), layout="constrained")
    axes = figure.subplots()
    for network in dict.fromkeys(row.network for row in layers):
        rows = [row for row in layers if (row.reading, row.network) == (reading, network)]
        axes.plot([row.macs_per_byte for row in rows], [row.gmacs for row in rows], ".", label=MODELS[network])
    peak = npu.clusters * npu.cores * npu.macs / npu.cycle
    for time, style, label in (
        (npu.burst_time, "-", "bytes alone"),
        (npu.burst_time + npu.latency, "--", "whole bursts with their latency"),
    ):
        ridge = peak * time / npu.burst
        ends = [0.05, ridge, 1000.0]
        axes.plot(ends, [min(peak, end * npu.burst / time) for end in ends], style, color="black", label=label)
    axes.set(xscale="log", yscale="log", xlabel="MACs a byte", ylabel="GMAC/s", title=f"{reading} reading")
    axes.grid(alpha=0.3, which="both")
    axes.legend(fontsize="small")
    return figure


def system_7(rows: Sequence[SystemRow], npu: Npu) -> Figure:
    """The same on our own clusters, in MACs a cycle; points are burst-aware mappings, measured or predicted."""
    figure = Figure(figsize=(7, 5), layout="constrained")
    axes = figure.subplots()
    for style, label, some in (
        ("o", "measured in the RTL", [row for row in rows if row.is_measured]),
        (".", "by the cycle model", [row for row in rows if not row.is_measured]),
    ):
        if some:
            costs = [(row.macs, row.burst_aware) for row in some]
            points = [(macs / cost.dram_bytes, macs / cost.cycles) for macs, cost in costs]
            axes.plot(*zip(*points, strict=True), style, label=label)
    peak = npu.clusters * npu.cores * npu.macs
    ends = [0.05, peak * npu.byte_time, 1000.0]
    axes.plot(
        ends, [min(peak, end / npu.byte_time) for end in ends], "-", color="black", label="MACs, and bytes alone"
    )
    axes.set(xscale="log", yscale="log", xlabel="MACs a byte", ylabel="MACs a cycle", title="On our own clusters")
    axes.grid(alpha=0.3, which="both")
    axes.legend(fontsize="small")
    return figure
