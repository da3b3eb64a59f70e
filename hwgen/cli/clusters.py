"""Schedules of two memory levels on the command line: what they cost on a cluster."""

from pathlib import Path
from typing import Any

from hwgen.cli.console import print_table
from hwgen.ir.counts import Counts, directions_at, quantities_at
from hwgen.ir.document import InputError
from hwgen.ir.hardware import Cluster, Hardware
from hwgen.ir.schedule import ARRAYS, Schedule
from hwgen.lower.cluster import compile_cluster
from hwgen.model.dram import Dram, program_access
from hwgen.model.two_level_access import TwoLevelPrediction, predict_two_levels

__all__ = ["cluster_document", "predicted_on_cluster", "print_cluster"]


def predicted_on_cluster(
    path: Path, schedule: Schedule, hardware: Hardware | None
) -> tuple[TwoLevelPrediction, str | None]:
    """The prediction, the program's traffic in it; or, without it, why no cluster runs the schedule.

    Raises `InputError` where the given hardware does not run it.
    """
    cluster = (hardware and hardware.cluster) or Cluster()
    dram = Dram(axi_bits=cluster.axi_bits)
    try:
        found = predict_two_levels(schedule, cluster.hwcs, dram)
        try:
            program = compile_cluster(schedule, hardware)
        except InputError as error:
            if hardware is not None:
                raise
            return found, str(error)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None
    return found.with_program(program_access(program.layout, dram, 4 * len(program.words))), None


def cluster_document(path: Path, schedule: Schedule, found: TwoLevelPrediction, *, elements: bool) -> dict[str, Any]:
    """What ``predict --json`` prints of one schedule."""
    return {
        "layer": schedule.layer.name,
        "file": str(path),
        **found.as_json(elements=elements),
        "total_bytes": found.counts.total_bytes("dram"),
        "cycles": None,
    }


def print_cluster(path: Path, schedule: Schedule, found: TwoLevelPrediction, refused: str | None) -> None:
    """The same as tables."""
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
            found.local.need_bytes[operand],
            found.local.allocation[operand],
            found.replicated[operand],
        ]
        for operand in ARRAYS
    ]
    totals = (found.tcdm_need, found.tcdm_need_bytes, found.local.need_bytes, found.local.allocation)
    needs.append(["total", *(total.total for total in totals), found.replicated.total])
    print_table(
        "",
        ["buffer", "in the TCDM", "its bytes", "local bytes", "allocated", "words read alike"],
        needs,
    )
    if refused is not None:
        print_table("", ["no program, so P is not counted"], [[refused]])


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
