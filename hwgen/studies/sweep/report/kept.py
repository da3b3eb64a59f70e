"""Kept results of a sweep against themselves, their schedules and the model."""

from collections.abc import Iterator, Mapping
from typing import Any

from hwgen.ir.counts import directions_at, quantities_at
from hwgen.model.cluster.levels import is_for_cluster
from hwgen.model.nest.bounds import bounds
from hwgen.model.nest.one_level import predict
from hwgen.studies.sweep.report.results import SweepResults

__all__ = ["contradictions"]

Row = Mapping[str, Any]
RIGHT = "ok"
"""The status of rows whose counts all are as predicted."""


def contradictions(results: SweepResults) -> list[str]:
    """What rows say that cannot be, a line each; empty if all of them agree with themselves and the model."""
    lines = list(results.changed)
    lines += [f"{_named(row)}: {line}" for row in results.rows for line in _of_row(row, results)]
    for row in results.pipelines:
        lines += [f"{_named(row)}: {line}" for line in _of_stack(row)]
    return lines


def _named(row: Row) -> str:
    parts = [row["set"], row.get("configuration"), row.get("buffer_bytes") or row.get("memory_bytes")]
    return " ".join(str(part) for part in (*parts, row.get("layer") or row.get("stack")) if part is not None)


def _of_row(row: Row, results: SweepResults) -> Iterator[str]:
    """What contradicts itself in the row of a layer on HWCs: measured against predicted, sums against their parts,
    both against bound and model."""
    for level, total in (("tcdm", "total_bytes"), ("dram", "dram_total_bytes")):
        for source in ("predicted", "measured"):
            said = row[f"{total}_{source}"]
            parts = [
                row[f"{level}_{operand}_{direction}_bytes_{source}"] or 0
                for operand in ("I", "W", "O")
                for direction in directions_at(level)[operand]
            ]
            if said is not None and said != sum(parts):
                yield f"{total}_{source}: {said}, and its parts are {sum(parts)}"
    yield from _pairs(row, [name.removesuffix("_measured") for name in row if _is_count(row, name)])
    yield from _against_bound(row)
    schedule = results.schedules.get(row["schedule"] or "")
    if schedule is None or is_for_cluster(schedule) or row["hwcs"] is not None:
        return
    counts = predict(schedule).counts
    for operand, directions in directions_at("tcdm").items():
        for direction in directions:
            for quantity in quantities_at("tcdm"):
                name = f"tcdm_{operand}_{direction}_{quantity}_predicted"
                expected = getattr(counts["tcdm", operand, direction], quantity)
                if row[name] is not None and row[name] != expected:
                    yield f"{name}: {row[name]}, and the model says {expected}"
    limit = bounds(schedule.layer, row["buffer_bytes"], schedule.bits).largest
    if row["bound_bytes"] is not None and row["bound_bytes"] != limit:
        yield f"bound_bytes: {row['bound_bytes']}, and the model says {limit}"


def _is_count(row: Row, name: str) -> bool:
    """Whether a column is a count that a row that is right has as predicted.

    On a cluster partial sums and outputs are written to the same addresses, and counted together.
    """
    if row["hwcs"] is not None and ("_write" in name or "_P_" in name):
        return False
    return name.endswith("_measured") and name.startswith(("tcdm_", "dram_", "total_"))


def _pairs(row: Row, names: list[str]) -> Iterator[str]:
    """What is measured and not predicted, of a row that is right."""
    if row["status"] == RIGHT and row["output_exact"] is False:
        yield "ok, and output_exact is false"
    different = [
        name
        for name in names
        if row[f"{name}_measured"] is not None and row[f"{name}_measured"] != row[f"{name}_predicted"]
    ]
    if row["status"] == RIGHT or row["equal"]:
        for name in different:
            yield f"{name}: {row[f'{name}_measured']} measured, {row[f'{name}_predicted']} predicted"


def _against_bound(row: Row) -> Iterator[str]:
    """Traffic below what no schedule goes below, and a ratio that is not that of both."""
    total = "total_bytes" if row["hwcs"] is None else "dram_total_bytes"
    moved = row[f"{total}_predicted"] if row[f"{total}_measured"] is None else row[f"{total}_measured"]
    bound, ratio = row["bound_bytes"], row["bound_ratio"]
    if moved is None or not bound:
        return
    if moved < bound:
        yield f"{moved} bytes, and no schedule moves fewer than {bound}"
    if ratio is not None and abs(ratio - moved / bound) > 1e-5:
        yield f"bound_ratio: {ratio}, and {moved} by {bound} is {moved / bound:.6f}"


def _of_stack(row: Row) -> Iterator[str]:
    """What contradicts itself in the row of a stack on its pipeline: measured against predicted, and sums against
    their parts."""
    kinds = [
        name.removesuffix("_bytes_measured")
        for name in row
        if name.endswith("_bytes_measured") and not name.startswith(("dram_", "bias_", "total_"))
    ]
    for source in ("predicted", "measured"):
        said, parts = row[f"total_bytes_{source}"], sum(row[f"{kind}_bytes_{source}"] or 0 for kind in kinds)
        if said is not None and said != parts:
            yield f"total_bytes_{source}: {said}, and its parts are {parts}"
    yield from _pairs(row, [f"{kind}_bytes" for kind in (*kinds, "total")])
