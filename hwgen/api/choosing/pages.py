"""What the page of a choice shows: a row for each plan, the bounds of all there is, what is asked for, columns."""

from collections.abc import Iterable, Sequence
from typing import Any

from hwgen.api.choosing.selection import Budget, Planned
from hwgen.api.choosing.space import Candidate
from hwgen.ir.schedule import ARRAYS

__all__ = ["COLUMNS", "asked_lines", "bound_cloud", "plan_rows"]

COLUMNS = tuple(
    {"name": name, "kind": "number" if unit else "text", "unit": unit, "meaning": meaning}
    for name, unit, meaning in (
        ("hardware", "", "the cluster"),
        ("lut4", "LUT4-equivalents", "of an ECP5, estimated"),
        ("images", "images a second", "in the RTL, or about"),
        ("cycles", "cycles", "of an image, planned"),
        ("measured", "cycles", "of a run in the RTL"),
        ("bound", "cycles", "that none goes below"),
        ("multipliers", "multipliers", "of all HWCs"),
        ("lanes", "", "of an HWC"),
        ("hwcs", "HWCs", "HWCs"),
        ("tcdm_bytes", "bytes", "of the shared memory"),
        ("banks", "banks", "of it"),
        ("vector_elements", "elements a cycle", "of the vector unit"),
        ("axi_bits", "bits", "of the port to the DRAM"),
        ("dsps", "DSPs", "multipliers of 18 x 18 bits, estimated"),
        ("brams", "block RAMs", "of 18 Kibit, estimated"),
        ("bytes", "bytes", "at the DRAM, of an image"),
    )
)
"""Columns of the table, each with its unit and meaning."""


def bound_cloud(candidates: Iterable[Candidate], budget: Budget) -> list[tuple[int, float]]:
    """LUT4 and milliseconds of an image by the bound, of those that can have the clock."""
    found = []
    for one in candidates:
        if budget.mhz is None or budget.mhz <= (one.area.mhz or 0.0):
            found.append((one.area.lut4, 1000 / budget.rate(one, one.bound)))
    return found


def asked_lines(budget: Budget) -> list[dict[str, float]]:
    """Lines in a picture of time against area."""
    lines: list[dict[str, float]] = [] if budget.fps is None else [{"ms": 1000 / budget.fps}]
    return lines if budget.luts is None else [*lines, {"lut4": budget.luts}]


def plan_rows(
    plans: Iterable[Planned], front: Sequence[Planned], chosen: Planned | None, budget: Budget
) -> list[dict[str, Any]]:
    """A row for each plan, the smallest first."""
    return [
        _row(one, budget) | {"front": one in front, "chosen": one == chosen}
        for one in sorted(plans, key=lambda one: (one.candidate.size, one.expected))
    ]


def _row(one: Planned, budget: Budget) -> dict[str, Any]:
    hardware, area, rate = one.candidate.hardware, one.candidate.area, one.images_a_second(budget)
    cluster, lanes, buffers, ports = hardware.cluster, hardware.shape, hardware.buffers, hardware.ports
    assert cluster is not None
    assert buffers is not None
    number = f"{cluster.hwcs} HWC{'s' if cluster.hwcs > 1 else ''}"
    vector = cluster.vector_elements if cluster.vector else 0
    text = (
        f"{hardware.name}\n{rate:,.1f} images a second{'' if one.measured else ', about'}\n{area.lut4:,} LUT4, "
        f"{lanes.product * cluster.hwcs} multipliers, {cluster.tcdm >> 10} KiB in {cluster.banks} banks"
    )
    return {
        "hardware": hardware.name, "family": number, "text": text, "counted": one.measured is not None,
        "lut4": area.lut4, "ms": 1000 / rate, "images_a_second": rate, "images": round(rate),
        "mhz": budget.clock(one.candidate), "mhz_estimated": area.mhz or 0.0, "dsps": area.dsps,
        "brams": area.block_rams, "cycles": one.cycles, "measured": one.measured, "expected": round(one.expected),
        "bound": one.candidate.bound, "bytes": one.bytes, "energy": one.energy, "host": one.host,
        "multipliers": lanes.product * cluster.hwcs, "lanes": str(lanes), "lanes_m": lanes.m, "lanes_c": lanes.c,
        "hwcs": cluster.hwcs, "tcdm_bytes": cluster.tcdm, "banks": cluster.banks, "axi_bits": cluster.axi_bits,
        "vector_elements": vector, "port_bits": ports.widest,
        **{f"{operand}_buffer": buffers[operand] for operand in ARRAYS},
        "nodes": [[node.name, node.kind, round(node.cycles), node.macs] for node in one.nodes],
    }  # fmt: skip
