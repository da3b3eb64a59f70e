"""``hwgen schedule`` for a cluster: the best schedule of two memory levels for every layer."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import typer

from hwgen.api.cluster_search import lanes_chosen, search_clusters, shapes_known
from hwgen.api.schedule_files import clear_earlier, require_hardware, save_beside, schedule_files
from hwgen.cli.console import print_json, print_table
from hwgen.cli.coverage import tell_activations
from hwgen.ir.counts import Counts
from hwgen.ir.coverage import Coverage
from hwgen.ir.document import InputError
from hwgen.ir.hardware import Cluster, EnergyCost, Hardware
from hwgen.ir.layer import Layer
from hwgen.ir.schedule import ARRAYS, save_schedule
from hwgen.lower.cluster.cost import predicted_on_cluster
from hwgen.search.cluster.optimal import ClusterResult
from hwgen.search.cluster.shared import SharedCluster

__all__ = ["energy_cost", "schedule_on_cluster"]

COLUMNS = (
    "layer",
    "DRAM bytes",
    "/ compulsory",
    "TCDM bytes",
    "TCDM taken",
    "utilisation",
    "in cycles",
    "proven",
    "gap",
    "seconds",
)


def energy_cost(text: str) -> EnergyCost:
    """Weights such as 200,6,1,1: of a byte of DRAM, TCDM and local buffer, of a multiply-accumulate."""
    try:
        dram, tcdm, local, mac = (float(part) for part in text.split(","))
        return EnergyCost(dram=dram, tcdm=tcdm, local=local, mac=mac)
    except ValueError:
        raise InputError(
            f"--energy: expected DRAM,TCDM,LOCAL,MAC, four numbers from 0 to 1000000, got {text!r}"
        ) from None


def schedule_on_cluster(
    coverage: Coverage,
    hardware: Hardware,
    objective: str | None,
    min_utilisation: float | None,
    output: Path | None,
    *,
    slack: float,
    per_layer: bool,
    as_json: bool,
) -> None:
    """Search, write and print a schedule for each layer, all for one cluster unless ``per_layer``."""
    require_hardware(hardware.name, output)
    cluster = hardware.cluster or Cluster()
    shared = search_clusters(
        coverage.layers,
        hardware,
        per_layer=per_layer,
        objective=objective,
        min_utilisation=min_utilisation,
        slack=slack,
        ends=True,
    )
    timed = objective is None or min_utilisation is not None
    names = schedule_files(coverage.layers)
    entries, rows = [], []
    for found in shared.results:
        layer = found.schedule.layer
        path = None if output is None else output / names[layer.name]
        if path is not None:
            save_schedule(found.schedule, path, _remarks(found, cluster, min_utilisation))
        counts = predicted_on_cluster(found.schedule, shared.hardware).prediction.counts
        entries.append(_entry(layer, found, path, cluster, counts, timed=timed))
        rows.append(_row(layer, found, timed=timed))
    if output is not None:
        beside = save_beside(shared.hardware, output)
        clear_earlier(output, [output / names[one.schedule.layer.name] for one in shared.results] + [beside])
    if as_json:
        document = {
            "hardware": shared.hardware.as_data(),
            "all_layers": _together(shared),
            "lanes": {"searched": [str(lanes) for lanes, _ in shared.shapes], "of": shapes_known(hardware)},
        }
        print_json({"schedules": entries, **document, "left_out": coverage.as_json()})
        return
    columns = list(COLUMNS)
    if objective not in (None, "dram-bytes"):
        columns.insert(1, f"{objective} ({shared.results[0].unit})")
    title = f"least {'DRAM bytes' if objective in (None, 'dram-bytes') else objective}, then TCDM bytes"
    if shared.results[0].slack is not None:
        title = f"fewest cycles within {100 * shared.results[0].slack:g} % of the least DRAM bytes"
    print_table(f"Schedules of {title}", columns, rows, wide=["TCDM taken", "utilisation", "seconds"])
    _print_together(shared)
    if hardware.lanes is None:
        typer.echo(lanes_chosen(shared))
    tell_activations(coverage)


def _ends(results: Sequence[ClusterResult]) -> tuple[int, float | None] | None:
    """Fewest bytes of the DRAM and cycles with them, of all layers together; None where they were not searched."""
    ends = [one.least for one in results]
    bytes_of = [end[0] for end in ends if end is not None]
    cycles = [_cycles(one, end[1]) for one, end in zip(results, ends, strict=True) if end is not None]
    if len(bytes_of) < len(results):
        return None
    known = [one for one in cycles if one is not None]
    return sum(bytes_of), sum(known) if len(known) == len(results) else None


def _cycles(found: ClusterResult, utilisation: float | None) -> float | None:
    """The cycles that a utilisation stands for."""
    if not utilisation or not found.judged:
        return None
    return found.schedule.layer.macs / (found.lanes * utilisation)


def _together(shared: SharedCluster) -> dict[str, Any]:
    """All layers: as they are, with the fewest bytes, and each on HWCs of its own."""

    def sums(results: Sequence[ClusterResult]) -> dict[str, Any]:
        cycles = [_cycles(one, one.judged) for one in results]
        known = [one for one in cycles if one is not None]
        return {
            "total_bytes": sum(one.dram_bytes for one in results),
            "tcdm_bytes": sum(one.tcdm_bytes for one in results),
            "cycles": round(sum(known)) if len(known) == len(results) and results[0].slack is not None else None,
        }

    least = _ends(shared.results)
    fewest = None
    if least is not None:
        fewest = {"total_bytes": least[0], "cycles": None if least[1] is None else round(least[1])}
    return {**sums(shared.results), "fewest_bytes": fewest, "alone": sums(shared.alone)}


def _print_together(shared: SharedCluster) -> None:
    found = _together(shared)
    rows: list[list[object]] = [["these schedules", *_figures(found)]]
    if found["fewest_bytes"] is not None:
        rows.append(["fewest DRAM bytes", *_figures(found["fewest_bytes"])])
    if shared.tried:
        rows.append(["each layer on HWCs of its own", *_figures(found["alone"])])
    if len(rows) > 1:
        print_table("All layers", ["", "DRAM bytes", "TCDM bytes", "cycles (predicted)"], rows)


def _figures(sums: dict[str, Any]) -> list[object]:
    return ["" if sums.get(key) is None else sums[key] for key in ("total_bytes", "tcdm_bytes", "cycles")]


def _remarks(found: ClusterResult, cluster: Cluster, min_utilisation: float | None) -> list[str]:
    where = f"on {cluster.hwcs} HWCs with {cluster.tcdm} bytes of TCDM"
    if min_utilisation is not None:
        where += f", with a utilisation of {min_utilisation:g} at the least"
    moved = f"{found.dram_bytes} bytes of DRAM and {found.tcdm_bytes} of TCDM for I, W and O"
    if found.slack is not None:
        return [
            f"Fewest cycles within {100 * found.slack:g} % of the fewest bytes of DRAM, {where}:",
            f"{moved}.",
        ]
    return [
        f"Least {found.objective}, then fewest bytes of TCDM, {where}:",
        f"{found.value:.12g} {found.unit}; {moved}.",
    ]


def _row(layer: Layer, found: ClusterResult, *, timed: bool) -> list[object]:
    compulsory = layer.input_elements + layer.weight_elements + layer.output_elements
    return [
        layer.name,
        *([] if found.objective == "dram-bytes" else [found.value]),
        found.dram_bytes,
        found.dram_bytes / compulsory,
        found.tcdm_bytes,
        found.need,
        found.utilisation,
        found.judged if timed else "",
        "yes" if found.complete else "no",
        "" if found.gap is None else f"{100 * found.gap:.2f} %",
        found.seconds,
    ]


def _entry(
    layer: Layer, found: ClusterResult, path: Path | None, cluster: Cluster, counts: Counts, *, timed: bool
) -> dict[str, Any]:
    return {
        "layer": layer.name,
        "buffer_bytes": cluster.tcdm,
        "file": None if path is None else str(path),
        "objective": found.objective,
        "value": found.value,
        "unit": found.unit,
        "counts": counts.as_json(),
        "total_bytes": found.dram_bytes,
        "total_with_bias": counts.total_with_bias("dram"),
        "tcdm_bytes": found.tcdm_bytes,
        "by_operand": {array: counts.operand_bytes(array, "dram") for array in ARRAYS},
        "need": found.need,
        "utilisation": round(found.utilisation, 6),
        "utilisation_in_cycles": None if found.judged is None or not timed else round(found.judged, 6),
        "fewest_bytes": None if found.least is None else found.least[0],
        "complete": found.complete,
        "bound": found.bound,
        "gap": found.gap,
        "seconds": round(found.seconds, 6),
    }
