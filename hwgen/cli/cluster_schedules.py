"""``hwgen schedule`` for a cluster: the best schedule of two memory levels for every layer."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hwgen.cli.console import note, print_json, print_table
from hwgen.ir.counts import Counts
from hwgen.ir.hardware import Cluster, Hardware
from hwgen.ir.layer import Layer
from hwgen.ir.schedule import ARRAYS, save_schedule
from hwgen.model.dram import Dram
from hwgen.model.two_level_access import predict_two_levels
from hwgen.search.two_level import TwoLevelResult, search_two_levels

__all__ = ["schedule_on_cluster"]

COLUMNS = ("layer", "DRAM bytes", "/ compulsory", "TCDM bytes", "TCDM taken", "utilisation", "all tiles", "seconds")


def schedule_on_cluster(layers: Sequence[Layer], hardware: Hardware, output: Path | None, *, as_json: bool) -> None:
    """Search, write and print one schedule for each layer; layers that differ in their names alone share one."""
    cluster = hardware.cluster or Cluster()
    known: dict[str, TwoLevelResult] = {}
    entries, rows = [], []
    for layer in layers:
        note(f"searching {layer.name}")
        key = layer.model_dump_json(exclude={"name"})
        if key not in known:
            known[key] = search_two_levels(layer, hardware)
        found = known[key]
        schedule = found.schedule.model_copy(update={"layer": layer})
        path = None if output is None else output / f"{layer.name}.yaml"
        if path is not None:
            save_schedule(schedule, path, _remarks(found, cluster))
        counts = predict_two_levels(schedule, cluster.hwcs, Dram(axi_bits=cluster.axi_bits)).counts
        entries.append(_entry(layer, found, path, cluster, counts))
        compulsory = layer.input_elements + layer.weight_elements + layer.output_elements
        rows.append(
            [
                layer.name,
                found.dram_bytes,
                found.dram_bytes / compulsory,
                found.tcdm_bytes,
                found.need,
                found.utilisation,
                "yes" if found.complete else "no",
                found.seconds,
            ]
        )
    if as_json:
        print_json({"schedules": entries})
    else:
        print_table("Schedules of fewest DRAM bytes, then TCDM bytes", COLUMNS, rows)


def _remarks(found: TwoLevelResult, cluster: Cluster) -> list[str]:
    return [
        f"Fewest bytes of DRAM, then of TCDM, on {cluster.hwcs} HWCs with {cluster.tcdm} bytes of TCDM:",
        f"{found.dram_bytes} and {found.tcdm_bytes} bytes of I, W and O.",
    ]


def _entry(
    layer: Layer, found: TwoLevelResult, path: Path | None, cluster: Cluster, counts: Counts
) -> dict[str, Any]:
    return {
        "layer": layer.name,
        "buffer_bytes": cluster.tcdm,
        "file": None if path is None else str(path),
        "counts": counts.as_json(),
        "total_bytes": found.dram_bytes,
        "tcdm_bytes": found.tcdm_bytes,
        "by_operand": {array: counts.operand_bytes(array, "dram") for array in ARRAYS},
        "need": found.need,
        "utilisation": round(found.utilisation, 6),
        "complete": found.complete,
        "seconds": round(found.seconds, 6),
    }
