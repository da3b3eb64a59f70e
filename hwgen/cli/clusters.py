"""Schedules of two memory levels on the command line: counts, needs and cycles on a cluster."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from hwgen.arch.bus import MOST_MASTERS
from hwgen.cli.console import print_table
from hwgen.ir.counts import Counts, directions_at, quantities_at
from hwgen.ir.document import InputError
from hwgen.ir.hardware import Hardware
from hwgen.ir.schedule import ARRAYS, Schedule
from hwgen.lower.cluster.cost import OnCluster, predicted_on_cluster
from hwgen.lower.system.shares import PARTITIONS, Partition

__all__ = [
    "ClustersOption",
    "PartitionOption",
    "Sharing",
    "cluster_document",
    "predicted_by_file",
    "print_cluster",
    "sharing_of",
]

ClustersOption = Annotated[
    int | None,
    typer.Option(
        "--clusters",
        metavar="N",
        help=f"So many of the cluster on one DRAM, 2 to {MOST_MASTERS}; each computes a share of a layer.",
    ),
]
PartitionOption = Annotated[
    str | None,
    typer.Option(
        "--partition",
        metavar="KS|OFM|KS+OFM",
        help="With --clusters: shares by output channels (KS), output rows (OFM) or both; the fastest of them by the "
        "cycle model unless given.",
    ),
]
_NAMES: dict[str, Partition] = {partition.replace("&", "+"): partition for partition in PARTITIONS}


@dataclass(frozen=True)
class Sharing:
    """How many clusters, and how each layer is shared out; None: in the way that is the fastest for it."""

    clusters: int
    partition: Partition | None


def sharing_of(clusters: int | None, partition: str | None) -> Sharing | None:
    """What two options ask for; None without them."""
    if clusters is None:
        if partition is not None:
            raise InputError("--partition: expected with --clusters")
        return None
    if not 2 <= clusters <= MOST_MASTERS:
        raise InputError(f"--clusters: expected 2 to {MOST_MASTERS}, got {clusters}")
    if partition is not None and partition not in _NAMES:
        raise InputError(f"--partition: expected {', '.join(_NAMES)}, got {partition[:40]!r}")
    return Sharing(clusters, None if partition is None else _NAMES[partition])


def predicted_by_file(path: Path, schedule: Schedule, hardware: Hardware | None) -> OnCluster:
    """What a schedule costs; raises `InputError` with its file's name where the given hardware does not run it."""
    try:
        return predicted_on_cluster(schedule, hardware)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None


def cluster_document(path: Path, schedule: Schedule, found: OnCluster, *, elements: bool) -> dict[str, Any]:
    """What ``predict --json`` prints of one schedule."""
    times = found.times
    return {
        "layer": schedule.layer.name,
        "file": str(path),
        **found.prediction.as_json(elements=elements),
        "tcdm_rings": None if found.rings is None else {array: found.rings[array] for array in ARRAYS},
        "cycles": None if times is None else round(times.total),
        "energy": None if found.energy is None else found.energy.as_json(),
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
        wide=["store", "load"],
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
