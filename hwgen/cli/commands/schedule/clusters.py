"""``hwgen schedule`` for a cluster: the best schedule of two memory levels for every layer."""

import json
from pathlib import Path
from typing import Any

from hwgen.arch.dram import DramPort
from hwgen.cli.console import note, print_json, print_table
from hwgen.cli.schedules import require_hardware, save_beside
from hwgen.ir.counts import Counts
from hwgen.ir.coverage import Coverage
from hwgen.ir.document import InputError
from hwgen.ir.hardware import Cluster, EnergyCost, Hardware
from hwgen.ir.layer import Layer
from hwgen.ir.schedule import ARRAYS, save_schedule
from hwgen.lower.cluster.cost import judge_of
from hwgen.model.cluster.access import predict_two_levels
from hwgen.search.cluster.objectives import ClusterObjective
from hwgen.search.cluster.optimal import TwoLevelResult, search_two_levels

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
    objective: ClusterObjective,
    min_utilisation: float | None,
    output: Path | None,
    *,
    as_json: bool,
) -> None:
    """Search, write and print one schedule for each layer; layers that differ in their names alone share one."""
    require_hardware(hardware.name, output)
    cluster = hardware.cluster or Cluster()
    known: dict[str, TwoLevelResult] = {}
    entries, rows = [], []
    for number, layer in enumerate(coverage.layers, 1):
        note(f"searching {layer.name} ({number} of {len(coverage.layers)})")
        key = json.dumps(layer.shape_data)
        if key not in known:
            judge = judge_of(hardware, timed=min_utilisation is not None)
            known[key] = search_two_levels(layer, hardware, objective, min_utilisation=min_utilisation, judge=judge)
        found = known[key]
        schedule = found.schedule.model_copy(update={"layer": layer})
        path = None if output is None else output / f"{layer.name}.yaml"
        if path is not None:
            save_schedule(schedule, path, _remarks(found, cluster, min_utilisation))
        counts = predict_two_levels(schedule, cluster.hwcs, DramPort(cluster.axi_bits)).counts
        entries.append(_entry(layer, found, path, cluster, counts, timed=min_utilisation is not None))
        rows.append(_row(layer, found, timed=min_utilisation is not None))
    if output is not None:
        save_beside(hardware, output)
    if as_json:
        print_json({"schedules": entries, "left_out": coverage.as_json()})
        return
    columns = list(COLUMNS)
    if objective != "dram-bytes":
        columns.insert(1, f"{objective} ({known[key].unit})")
    title = "DRAM bytes" if objective == "dram-bytes" else objective
    print_table(f"Schedules of least {title}, then TCDM bytes", columns, rows)


def _remarks(found: TwoLevelResult, cluster: Cluster, min_utilisation: float | None) -> list[str]:
    where = f"on {cluster.hwcs} HWCs with {cluster.tcdm} bytes of TCDM"
    if min_utilisation is not None:
        where += f", with a utilisation of {min_utilisation:g} at the least"
    moved = f"{found.dram_bytes} bytes of DRAM and {found.tcdm_bytes} of TCDM for I, W and O"
    return [
        f"Least {found.objective}, then fewest bytes of TCDM, {where}:",
        f"{found.value:.12g} {found.unit}; {moved}.",
    ]


def _row(layer: Layer, found: TwoLevelResult, *, timed: bool) -> list[object]:
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
        found.seconds,
    ]


def _entry(
    layer: Layer, found: TwoLevelResult, path: Path | None, cluster: Cluster, counts: Counts, *, timed: bool
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
        "complete": found.complete,
        "seconds": round(found.seconds, 6),
    }
