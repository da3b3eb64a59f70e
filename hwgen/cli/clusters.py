"""Schedules of two memory levels on the command line: what they cost on a cluster."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hwgen.cli.console import print_table
from hwgen.ir.counts import Counts, directions_at, quantities_at
from hwgen.ir.document import InputError
from hwgen.ir.hardware import Cluster, Hardware
from hwgen.ir.schedule import ARRAYS, Schedule
from hwgen.lower.cluster import compile_cluster
from hwgen.lower.cluster_cycles import cluster_cycles
from hwgen.model.cluster_cycles import ClusterTimes
from hwgen.model.dma_cycles import DramTiming
from hwgen.model.dram import Dram, program_access
from hwgen.model.prediction import PerOperand
from hwgen.model.two_level_access import TwoLevelPrediction, predict_two_levels

__all__ = ["OnCluster", "cluster_document", "predicted_on_cluster", "print_cluster"]


@dataclass(frozen=True)
class OnCluster:
    """What a schedule costs; of one that no cluster runs, without a program, its cycles and its rings, and why."""

    prediction: TwoLevelPrediction
    times: ClusterTimes | None = None
    rings: PerOperand | None = None
    refused: str | None = None


def predicted_on_cluster(path: Path, schedule: Schedule, hardware: Hardware | None) -> OnCluster:
    """The counts, the program's among them, and the cycles; raises `InputError` where the given hardware has none."""
    cluster = (hardware and hardware.cluster) or Cluster()
    timing = DramTiming(**cluster.dram.model_dump()) if cluster.dram else DramTiming()
    dram = Dram(cluster.axi_bits, timing.row_bytes, timing.banks)
    try:
        found = predict_two_levels(schedule, cluster.hwcs, dram)
        try:
            program = compile_cluster(schedule, hardware)
        except InputError as error:
            if hardware is not None:
                raise
            return OnCluster(found, refused=str(error))
    except InputError as error:
        raise InputError(f"{path}: {error}") from None
    counted = found.with_program(program_access(program.layout, dram, 4 * len(program.words)))
    rings = PerOperand(*(program.rings[array].size for array in ARRAYS))
    return OnCluster(counted, cluster_cycles(program, timing), rings)


def cluster_document(path: Path, schedule: Schedule, found: OnCluster, *, elements: bool) -> dict[str, Any]:
    """What ``predict --json`` prints of one schedule."""
    times = found.times
    return {
        "layer": schedule.layer.name,
        "file": str(path),
        **found.prediction.as_json(elements=elements),
        "tcdm_rings": None if found.rings is None else {array: found.rings[array] for array in ARRAYS},
        "total_bytes": found.prediction.counts.total_bytes("dram"),
        "cycles": None if times is None else round(times.total),
        "busy": None if times is None else {queue: round(cycles) for queue, cycles in times.busy.items()},
        "waits": None if times is None else {f"{who} for {whom}": round(n) for (who, whom), n in times.waits.items()},
        "refused": found.refused,
    }


def print_cluster(path: Path, schedule: Schedule, on_cluster: OnCluster) -> None:
    """The same as tables."""
    found, times, rings = on_cluster.prediction, on_cluster.times, on_cluster.rings
    title = f"{schedule.layer.name} ({path})"
    for level in found.counts.levels():
        columns = quantities_at(level)
        print_table(f"{title}: {level}", ["operand", "direction", *columns], _rows(found.counts, level, columns))
    shares = [
        [number, *(counts.operand_bytes(operand) for operand in ARRAYS), counts.total_words()]
        for number, counts in enumerate(found.hwcs)
    ]
    print_table("", ["HWC", "I bytes", "W bytes", "O bytes", "words"], shares)
    needs: list[list[object]] = [
        [
            operand,
            found.tcdm_need[operand],
            found.tcdm_need_bytes[operand],
            "" if rings is None else rings[operand],
            found.local.need_bytes[operand],
            found.local.allocation[operand],
            found.replicated[operand],
        ]
        for operand in ARRAYS
    ]
    totals = (found.tcdm_need, found.tcdm_need_bytes, rings, found.local.need_bytes, found.local.allocation)
    needs.append(["total", *("" if total is None else total.total for total in totals), found.replicated.total])
    print_table(
        "",
        ["buffer", "in the TCDM", "its bytes", "its ring", "local bytes", "allocated", "words read alike"],
        needs,
    )
    if times is None:
        print_table("", ["no program, so neither P is counted nor cycles"], [[on_cluster.refused]])
        return
    macs = schedule.layer.macs
    busy = [round(times.busy[queue]) for queue in ("load", "compute", "store")]
    waits = round(times.waits.get(("compute", "load"), 0)), round(times.waits.get(("compute", "store"), 0))
    print_table(
        "",
        ["MACs", "cycles", "load", "compute", "store", "wait for load", "wait for store", "MACs per cycle"],
        [[macs, round(times.total), *busy, *waits, macs / times.total]],
    )


def _rows(counts: Counts, level: str, columns: tuple[str, ...]) -> list[list[object]]:
    """One row per operand and direction, and the sum of I, W and O."""
    rows: list[list[object]] = []
    totals = dict.fromkeys(columns, 0)
    for operand, directions in directions_at(level).items():
        for direction in directions:
            values = {column: getattr(counts[level, operand, direction], column) for column in columns}
            rows.append([operand, direction, *values.values()])
            if operand in ARRAYS:
                totals = {column: totals[column] + values[column] for column in columns}
    return [*rows, ["I+W+O", "total", *totals.values()]]
