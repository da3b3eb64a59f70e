"""What charts and the page say of a row besides its cells: sums, shares, and the names of what belongs together."""

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from hwgen.api.results import Figure
from hwgen.ir.counts import directions_at
from hwgen.ir.lanes import Lanes
from hwgen.studies.sweep.report.results import SweepResults

__all__ = ["PARTS", "Row", "derived", "names_of", "runs_of"]

Row = Mapping[str, Any]
PORT_BYTES = 12
"""Bytes of three 32-bit ports in one cycle."""
GATES_PER_BIT = 1.5
"""Six transistors for a bit of memory, by the four of a NAND of two inputs."""
FAMILY = ("set", "scale", "seed", "configuration", "lanes", "order", "objective", "traffic_slack", "dram", "banks",
          "axi_bits")  # fmt: skip
"""What the rows of a family have in common; they differ in buffers, HWCs and shared memory alone."""
CONFIGURATIONS = {"shared": "one HWC", "per-layer": "an HWC each", "hwce": "HWCE", "cluster": "clusters"}
NETWORK = ("set", "phases", "input_width", "input_height")
RUN = (*NETWORK, "multipliers", "dram", "axi_bits", "stalls", "seed", "memory_bytes")
WAITS = {
    "stall_input": "waiting for input",
    "stall_weight": "waiting for weight",
    "stall_output": "waiting for output",
}
CLUSTER_WAITS = {"wait_load": "waiting for loads", "wait_store": "waiting for stores"}
TRAFFIC_KINDS = {"input": "input", "output": "output", "skip_out": "skips written", "skip_in": "skips read",
                 "overlap_out": "overlap written", "overlap_in": "overlap read", "weights": "weights"}  # fmt: skip
PARTS = {
    "useful lanes": "useful", "idle lanes": "url(#hatch)",
    **dict(zip((*WAITS.values(), *CLUSTER_WAITS.values()), ("input", "weight", "output") * 2, strict=False)),
    **{name: f"f{number}" for number, name in enumerate(TRAFFIC_KINDS.values())},
    "HWCE by HWC": "useful", "LUT4-equivalents": "f0", "NAND gates": "f2",
}  # fmt: skip
"""Parts of bars, and their colours."""


def derived(results: SweepResults) -> SweepResults:
    """The results, their rows with what follows from their cells."""
    networks = _networks(results.pipelines)
    varying = {name for name in ("dram", "seed") if len({row[name] for row in results.pipelines}) > 1}
    stacks = tuple(
        {**row, "run": _key(row, RUN), "network": networks[_key(row, NETWORK)], "pipeline": _pipeline(row, varying),
         "parts": _kinds(row)}
        for row in results.pipelines
    )  # fmt: skip
    fronts = tuple({**row, "network": networks.get(_key(row, NETWORK))} for row in results.fronts)
    return replace(results, rows=tuple(_rows(results.rows)), pipelines=stacks, fronts=fronts)


def figure_of(results: SweepResults, *names: str) -> Figure | None:
    """The first chart of some names that there is of results, as a figure; None where there is none."""
    from hwgen.report.charts import images  # its libraries take a second
    from hwgen.studies.sweep.report.charts import drawn_charts

    charts = drawn_charts(derived(results))
    drawn = next((charts[name] for name in names if name in charts), None)
    return None if drawn is None else Figure.of(images(drawn.chart, drawn.tables, drawn.settings))


def runs_of(results: SweepResults) -> list[dict[str, Any]]:
    """The runs of derived results: a solution on one kind of pipelines. It may be the best for several memories."""
    by_run: dict[str, list[Row]] = {}
    for row in results.pipelines:
        if row["stack"] is not None:
            by_run.setdefault(row["run"], []).append(row)
    several = len({row["network"] for row in results.pipelines}) > 1
    return [
        {
            **{name: some[0][name] for name in ("run", "network", "memory_bytes", "on_chip_bytes")},
            "pipeline": f"{some[0]['network']}, {some[0]['pipeline']}" if several else some[0]["pipeline"],
            "solution": _solution(some),
            "traffic": sum(_counted(row, "total_bytes") for row in some),
            "counted": all(row["total_bytes_measured"] is not None for row in some),
            "cycles": sum(_counted(row, "cycles") for row in some),
            "cycles_counted": all(row["cycles_measured"] is not None for row in some),
            "stacks": f"{'one stack' if len(some) == 1 else f'{len(some)} stacks'}, "
            f"tiles: {', '.join(str(row['tiles']) for row in some)}",
        }
        for some in by_run.values()
        if all(_counted(row, "total_bytes") is not None for row in some)
    ]


def _key(row: Row, names: Iterable[str]) -> str:
    return json.dumps([row[name] for name in names])


def _counted(row: Row, name: str) -> Any:
    """What was measured, else what is predicted."""
    measured = row[f"{name}_measured"]
    return row[f"{name}_predicted"] if measured is None else measured


# --- HWCs and clusters ---


def _rows(rows: Sequence[Row]) -> Iterable[dict[str, Any]]:
    place = ("set", "scale", "buffer_bytes", "layer")
    engines = {_key(row, place): _counted(row, "total_bytes") for row in rows if row["configuration"] == "hwce"}
    for row, (family, label) in zip(rows, names_of(rows), strict=True):
        found = {**row, "label": label}
        if row["total_bytes_predicted"] is not None:
            found |= {"family": family, **_figures(row)}
            theirs = engines.get(_key(row, place))
            if found["kind"] == "hwc" and theirs is not None:
                text = f"{theirs:,} over {found['total_moved']:,} bytes"
                found["beside"] = [{"on": "HWCE by HWC", "value": theirs / found["total_moved"], "text": text}]
        yield found


def _figures(row: Row) -> dict[str, Any]:
    kind = row["configuration"] if row["configuration"] in ("hwce", "cluster") else "hwc"
    lanes, cycles = Lanes.parse(row["hardware_lanes"]).product, _counted(row, "cycles")
    counted = row["total_bytes_measured"] is not None
    found = {"kind": kind, "counted": counted, "cycles": cycles, "lane_count": lanes, "parts": _spent(row, cycles)}
    for level, prefix in (("tcdm", ""), ("dram", "dram_")) if kind == "cluster" else (("tcdm", ""),):
        for name, source in (("moved", "measured" if counted else "predicted"), ("predicted", "predicted")):
            found[f"{prefix}total_{name}"] = row[f"{prefix}total_bytes_{source}"]
            for operand in ("I", "W", "O"):
                found[f"{prefix}{operand}_{name}"] = sum(
                    row[f"{level}_{operand}_{one}_bytes_{source}"] or 0 for one in directions_at(level)[operand]
                )
    if kind == "cluster":
        found |= {"peak": row["hwcs"] * lanes, "port": row["axi_bits"] / 8}
    else:
        found |= {"peak": lanes, "port": PORT_BYTES}
        if row["gates"] is not None:
            found["area"] = row["gates"] + GATES_PER_BIT * (row["buffer_bits"] + row["queue_bits"])
    through = found.get("dram_total_moved", found["total_moved"])
    return found | {"intensity": row["macs"] / through, "speed": row["macs"] / cycles}


def _spent(row: Row, cycles: int) -> list[dict[str, Any]]:
    """Shares of the cycles: lanes that multiply what counts, lanes with nothing to do meanwhile, and waiting."""
    causes = WAITS if row["hwcs"] is None else CLUSTER_WAITS
    waits = {name: _counted(row, cause) for cause, name in causes.items()}
    useful = row["utilisation"]
    shares = {"useful lanes": useful, "idle lanes": max(0.0, 1 - useful - math.fsum(waits.values()) / cycles)}
    shares |= {name: waited / cycles for name, waited in waits.items()}
    more = {name: f"\n{waited:,} of {cycles:,} cycles" for name, waited in waits.items()}
    return [
        {"on": name, "value": share, "text": f"{100 * share:.1f} % {name}{more.get(name, '')}"}
        for name, share in shares.items()
    ]


def names_of(rows: Sequence[Row]) -> list[tuple[str, str]]:
    """The family of each row, by what varies among the rows, and its configuration: a family of certain sizes."""
    varied = [name for name in FAMILY if _varies(name, rows)]
    found = []
    for row in rows:
        size = _size(row["buffer_bytes"])
        if row["hwcs"] is not None:
            size = f"{row['hwcs']} x {size}, TCDM {_size(row['tcdm_bytes'])}"
        family = ", ".join(_text(name, row[name]) for name in varied if row[name] is not None)
        usual = _text(
            *(("configuration", row["configuration"]) if row["lanes"] == "auto" else ("lanes", row["lanes"]))
        )
        found.append((family or usual, f"{size}, {family}" if family else size))
    return found


def _varies(name: str, rows: Sequence[Row]) -> bool:
    """Whether rows differ in it, other than that some kinds of them have none."""
    kinds = {row["configuration"] for row in rows}
    return len({row[name] for row in rows} - {None}) > 1 or len(
        {(row["configuration"], row[name]) for row in rows}
    ) > len(kinds)


def _text(name: str, value: Any) -> str:
    match name:
        case "configuration":
            return CONFIGURATIONS.get(value, str(value))
        case "lanes" if value == "auto":
            return "lanes chosen"
        case "scale":
            return f"1/{value}" if value > 1 else "full size"
        case "seed":
            return f"seed {value}"
        case "traffic_slack":
            return f"within {100 * value:.3g} %"
        case "banks":
            return f"{value} banks"
        case "axi_bits":
            return f"{value} bits"
    return str(value)


def _size(size: int) -> str:
    return f"{size // 1024} KiB" if size % 1024 == 0 else f"{size} B"


# --- depth-first points ---


def _networks(rows: Sequence[Row]) -> dict[str, str]:
    """What networks are called, by what tells them apart."""
    networks = {_key(row, NETWORK): row for row in rows}
    if len(networks) == 1:
        return {key: row["set"] for key, row in networks.items()}
    return {
        key: f"{row['set']}, {row['input_width']} x {row['input_height']}{', in phases' if row['phases'] else ''}"
        for key, row in networks.items()
    }


def _kinds(row: Row) -> list[dict[str, Any]]:
    moved = {name: _counted(row, f"{kind}_bytes") for kind, name in TRAFFIC_KINDS.items()}
    return [{"on": name, "value": size, "text": f"{size:,} bytes: {name}"} for name, size in moved.items() if size]


def _solution(rows: Sequence[Row]) -> str:
    """What makes runs those of one solution."""
    return json.dumps(
        [_key(row, (*NETWORK, "on_chip_bytes", "total_bytes_predicted", "stack", "tiles")) for row in rows]
    )


def _pipeline(row: Row, varying: set[str]) -> str:
    memory = "streams"
    if row["axi_bits"] is not None:
        name = f" ({row['dram']})" if "dram" in varying and row["dram"] else ""
        memory = f"DRAM{name}, {row['axi_bits']} bits"
    stalls, seed = "with stalls" if row["stalls"] else "", f"seed {row['seed']}" if "seed" in varying else ""
    return ", ".join(filter(None, (f"{row['multipliers']} multipliers", memory, stalls, seed)))
