"""The plots of a sweep as images for papers: the same figures as on the page, the same bytes for the same rows."""

from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from hwgen.ir.lanes import Lanes
from hwgen.studies.sweep.report.groups import groups_of, labels_of, pareto
from hwgen.studies.sweep.report.results import SweepResults

__all__ = ["PORT_BYTES", "figures_of"]

Row = Mapping[str, Any]
PORT_BYTES = 12
"""Bytes of three 32-bit ports in one cycle."""
COLOURS = {"I": "#0072b2", "W": "#d55e00", "O": "#009e73", "total": "#33322f"}
"""After Okabe and Ito (2008): told apart by the colour-blind too."""
SHAPES = {"I": "o", "W": "s", "O": "^", "total": "D"}
MARKS = (("#0072b2", "o"), ("#d55e00", "s"), ("#009e73", "^"), ("#b0578d", "D"), ("#b07d00", "v"), ("#3d8fc2", "P"),
         ("#33322f", "*"), ("#7a6a00", "h"))  # fmt: skip
SHARES = {"useful lanes": "#0072b2", "idle lanes": "#dbe7f0", "input": "#56b4e9", "weight": "#d55e00",
          "output": "#009e73"}  # fmt: skip
DIRECTIONS = {"I": ("read",), "W": ("read",), "O": ("read_partial", "write_partial", "write")}


def figures_of(results: SweepResults) -> dict[str, Figure]:
    """The figures by name; those without anything to show are left out."""
    labelled = zip(results.rows, labels_of(results.rows), strict=True)
    known = [{**row, "label": label} for row, label in labelled if row["total_bytes_predicted"] is not None]
    clusters = [row for row in known if row["configuration"] == "cluster"]
    lone = [row for row in known if row["configuration"] != "cluster"]
    blocks = [row for row in lone if row["configuration"] != "hwce"]
    found: dict[str, Figure] = {}
    if blocks:
        found["traffic"] = _traffic(blocks, results.curves)
        found["stalls"] = _stalls(blocks)
        found["roofline"] = _roofline(lone)
        found["pareto"] = _pareto(blocks)
    if clusters:
        found["dram"] = _dram(clusters)
    if any(row["stack"] is not None for row in results.pipelines):
        found["front"] = _front(results)
    return found


NETWORK = ("set", "phases", "input_width", "input_height")
POINT = ("memory_bytes", "multipliers", "axi_bits", "dram", "stalls", "seed")


def _front(results: SweepResults) -> Figure:
    """On-chip memory against traffic of depth-first execution: the fronts, and the solutions that were asked for."""
    figure = Figure(figsize=(6, 4), layout="constrained")
    axes = figure.subplots()
    networks = list(dict.fromkeys(tuple(row[name] for name in NETWORK) for row in results.pipelines))
    for index, network in enumerate(networks):
        colour, shape = MARKS[index % len(MARKS)]
        name = network[0] if len(networks) == 1 else f"{network[0]}, {network[2]} x {network[3]}"
        front, rows = (
            [row for row in table if tuple(row[one] for one in NETWORK) == network]
            for table in (results.fronts, results.pipelines)
        )
        front.sort(key=lambda row: row["memory_bytes"])
        memories, traffic = ([row[one] for row in front] for one in ("memory_bytes", "traffic_bytes"))
        axes.step(memories, traffic, where="post", color=colour, linewidth=1.2, label=f"{name}: front, predicted")
        by_layer = [row["layer_by_layer_bytes"] for row in front]
        axes.plot(memories, by_layer, "--", color=colour, linewidth=1, label="layer by layer, at least")
        for measured, face in ((True, colour), (False, "none")):
            points = _solutions(rows, measured=measured)
            label = "measured" if measured else "predicted"
            if points:
                xs, ys = zip(*points, strict=True)
                axes.plot(xs, ys, shape, color=colour, markerfacecolor=face, linestyle="none", label=label)
    axes.set(xscale="log", yscale="log", xlabel="on-chip memory, bytes", ylabel="bytes to and from the DRAM")
    axes.grid(alpha=0.3, which="both")
    axes.legend(fontsize="small")
    return figure


def _solutions(rows: Sequence[Row], *, measured: bool) -> list[tuple[int, int]]:
    """Memory and traffic of each solution whose stacks were all measured, or were not."""
    by_point: dict[tuple[object, ...], list[Row]] = {}
    for row in rows:
        if row["stack"] is not None:
            by_point.setdefault(tuple(row[name] for name in POINT), []).append(row)
    source = f"total_bytes_{'measured' if measured else 'predicted'}"
    return sorted(
        {
            (some[0]["on_chip_bytes"], sum(row[source] for row in some))
            for some in by_point.values()
            if all(row["total_bytes_predicted"] is not None for row in some)
            and all(row["total_bytes_measured"] is not None for row in some) is measured
        }
    )


def _total(row: Row) -> int:
    measured = row["total_bytes_measured"]
    return int(row["total_bytes_predicted"] if measured is None else measured)


def _moved(row: Row, operand: str) -> int:
    if operand == "total":
        return _total(row)
    source = "predicted" if row["total_bytes_measured"] is None else "measured"
    return sum(row[f"tcdm_{operand}_{direction}_bytes_{source}"] for direction in DIRECTIONS[operand])


def _cycles(row: Row) -> int:
    return int(row["cycles_predicted"] if row["cycles_measured"] is None else row["cycles_measured"])


def _panels(figure: Figure, number: int) -> list[Axes]:
    columns = min(3, number)
    grid = figure.subplots(-(-number // columns), columns, squeeze=False)
    panels: list[Axes] = list(grid.reshape(-1))
    for axes in panels[number:]:
        axes.set_visible(False)
    return panels[:number]


def _traffic(rows: Sequence[Row], curves: Sequence[Row]) -> Figure:
    names = list(dict.fromkeys(row["layer"] for row in rows))
    figure = Figure(figsize=(4.2 * min(3, len(names)), 3.2 * -(-len(names) // 3)), layout="constrained")
    for axes, name in zip(_panels(figure, len(names)), names, strict=True):
        line = [row for row in curves if row["layer"] == name]
        for operand, colour in COLOURS.items():
            label = "I + W + O" if operand == "total" else operand
            axes.plot(
                [row["buffer_bytes"] for row in line], [row[f"{operand}_bytes"] for row in line], color=colour,
                linewidth=1.2,
            )  # fmt: skip
            points = [row for row in rows if row["layer"] == name]
            axes.plot(
                [row["buffer_bytes"] for row in points], [_moved(row, operand) for row in points], SHAPES[operand],
                color=colour, label=label, markersize=5,
            )  # fmt: skip
        axes.plot(
            [row["buffer_bytes"] for row in line], [row["bound_bytes"] for row in line], "--", color="#9a9890",
            linewidth=1, label="lower bound, proven",
        )  # fmt: skip
        axes.set(yscale="log", title=name, xlabel="local buffers, bytes", ylabel="bytes moved")
        axes.set_xscale("log", base=2)
        axes.grid(alpha=0.3)
    figure.axes[0].legend(fontsize="small")
    return figure


def _dram(rows: Sequence[Row]) -> Figure:
    """Traffic at the DRAM, and all of it at the shared memory, by that memory's size, else by the HWCs."""
    names = list(dict.fromkeys(row["layer"] for row in rows))
    by_size = len({row["tcdm_bytes"] for row in rows}) > 1
    place, other = ("tcdm_bytes", "hwcs") if by_size else ("hwcs", "tcdm_bytes")
    figure = Figure(figsize=(4.2 * min(3, len(names)), 3.2 * -(-len(names) // 3)), layout="constrained")
    for axes, name in zip(_panels(figure, len(names)), names, strict=True):
        points = sorted((row for row in rows if row["layer"] == name), key=lambda row: row[place])
        kinds = list(dict.fromkeys((row["buffer_bytes"], row["lanes"], row["order"], row[other]) for row in points))
        for kind in kinds:
            line = [r for r in points if (r["buffer_bytes"], r["lanes"], r["order"], r[other]) == kind]
            xs = [row[place] for row in line]
            for quantity, colour, label in (
                ("dram_total_bytes", COLOURS["total"], "at the DRAM"),
                ("total_bytes", "#7a3fb8", "at the shared memory"),
            ):
                predicted, measured = (
                    [row[f"{quantity}_{how}"] for row in line] for how in ("predicted", "measured")
                )
                axes.plot(xs, predicted, color=colour, linewidth=1.2)
                axes.plot(
                    xs, [a if b is None else b for a, b in zip(predicted, measured, strict=True)], "o", color=colour,
                    label=label if kind == kinds[0] else None, markersize=5,
                )  # fmt: skip
            bound = [row["bound_bytes"] for row in line]
            axes.plot(
                xs,
                bound,
                "--",
                color="#9a9890",
                linewidth=1,
                label="lower bound, proven" if kind == kinds[0] else None,
            )
        axes.set(yscale="log", title=name, xlabel="shared memory, bytes" if by_size else "HWCs", ylabel="bytes moved")
        axes.set_xscale("log", base=2)
        axes.grid(alpha=0.3)
    figure.axes[0].legend(fontsize="small")
    return figure


def _stalls(rows: Sequence[Row]) -> Figure:
    labels = list(dict.fromkeys(row["label"] for row in rows))
    figure = Figure(figsize=(6, 0.9 * len(labels) + 0.28 * len(rows) + 0.6), layout="constrained")
    sizes = [sum(row["label"] == label for row in rows) + 1 for label in labels]
    for axes, label in zip(
        figure.subplots(len(labels), 1, squeeze=False, height_ratios=sizes)[:, 0], labels, strict=True
    ):
        some = [row for row in rows if row["label"] == label]
        names, left = [row["layer"] for row in some], [0.0] * len(some)
        for cause, colour in SHARES.items():
            shares = [_share(row, cause) for row in some]
            idle = {"hatch": "////", "edgecolor": "#7f9db4", "linewidth": 0} if cause == "idle lanes" else {}
            label = cause if cause.endswith("lanes") else f"wait: {cause}"
            axes.barh(names, shares, left=left, color=colour, label=label, **idle)
            left = [a + b for a, b in zip(left, shares, strict=True)]
        axes.invert_yaxis()
        axes.set(title=label, xlim=(0, 1))
    figure.axes[0].legend(fontsize="small", ncols=5, loc="lower center", bbox_to_anchor=(0.5, 1.15))
    figure.axes[-1].set_xlabel("share of the lanes' cycles; the useful one is the utilisation")
    return figure


def _share(row: Row, cause: str) -> float:
    def stalled(name: str) -> float:
        measured = row[f"stall_{name}_measured"]
        return float(row[f"stall_{name}_predicted"] if measured is None else measured) / _cycles(row)

    useful = float(row["utilisation"])
    match cause:
        case "useful lanes":
            return useful
        case "idle lanes":  # while the datapath computes, starts or ends
            return max(0.0, 1 - useful - sum(stalled(name) for name in SHARES if not name.endswith("lanes")))
    return stalled(cause)


def _roofline(rows: Sequence[Row]) -> Figure:
    figure = Figure(figsize=(6, 4), layout="constrained")
    axes = figure.subplots()
    for index, label in enumerate(dict.fromkeys(row["label"] for row in rows)):
        some = [row for row in rows if row["label"] == label]
        colour, _ = MARKS[index % len(MARKS)]
        _, shape = MARKS[(index + index // len(MARKS)) % len(MARKS)]
        axes.plot(
            [row["macs"] / _total(row) for row in some], [row["macs"] / _cycles(row) for row in some], shape,
            color=colour, label=label, markersize=5,
        )  # fmt: skip
    least, most = axes.get_xlim()
    for lanes in sorted({Lanes.parse(row["hardware_lanes"]).product for row in rows}):
        places = [min(least, 0.8) if least > 0 else 0.8, lanes / PORT_BYTES, max(most, 4.0)]
        roof = [min(lanes, PORT_BYTES * place) for place in places]
        axes.plot(places, roof, color="#9a9890", label=f"roof of {lanes} lanes")
    axes.set(xscale="log", yscale="log", xlabel="MACs for each byte moved", ylabel="MACs a cycle")
    axes.grid(alpha=0.3, which="both")
    axes.legend(fontsize="small")
    return figure


def _pareto(rows: Sequence[Row]) -> Figure:
    groups = groups_of(rows)
    front = pareto(groups)
    figure = Figure(figsize=(6, 4), layout="constrained")
    axes = figure.subplots()
    known = [(group.area, group) for group in groups if group.area is not None]
    if known:
        places = [(area, group) for area, group in known if group in front]
        places.sort(key=lambda place: place[0])
        axes.plot([area for area, _ in known], [group.traffic for _, group in known], "o", color="#9a9890")
        axes.plot([area for area, _ in places], [group.traffic for _, group in places], "o-", color="#7a3fb8")
        axes.set_xlabel("gates (NAND2), logic and memories")
    else:
        axes.plot([group.buffer_bytes for group in groups], [group.traffic for group in groups], "o", color="#7a3fb8")
        places = [(float(group.buffer_bytes), group) for group in groups]
        axes.set_xlabel("local buffers, bytes")
    for place, group in places:
        axes.annotate(
            group.label, (place, group.traffic), xytext=(5, 5), textcoords="offset points", fontsize="small"
        )
    axes.set_ylabel("bytes moved, all layers")
    axes.grid(alpha=0.3)
    return figure
