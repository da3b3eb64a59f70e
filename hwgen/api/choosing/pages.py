"""What the page of a choice shows: a row for each plan, the bounds of all there is, what is asked for, columns."""

from collections.abc import Iterable, Sequence
from typing import Any

from hwgen.api.choosing.selection import Budget, Planned
from hwgen.api.choosing.space import Candidate
from hwgen.ir.schedule import ARRAYS

__all__ = ["area_unit", "asked_lines", "bound_cloud", "columns_in", "plan_rows"]

LUT4, MM2 = "LUT4", "mm2"
"""Units of areas: of an ECP5, and in the cells of a library."""


def area_unit(one: Candidate) -> str:
    """The unit of `Candidate.size`."""
    return LUT4 if one.mm2 is None else MM2


AREAS = {LUT4: "LUT4-equivalents of an ECP5, estimated", MM2: "in cells of the library, estimated"}
OTHERS = (
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
    ("bytes", "bytes", "at the DRAM, of an image; of an HWC alone at the memory it shares with its host"),
)
OF_ECP5 = (
    ("dsps", "DSPs", "multipliers of 18 x 18 bits, estimated"),
    ("brams", "block RAMs", "of 18 Kibit, estimated"),
)


def columns_in(unit: str) -> list[dict[str, str]]:
    """Columns of the table, each with its unit and meaning; ``unit`` : of areas."""
    return [
        {"name": name, "kind": "number" if of else "text", "unit": of, "meaning": meaning}
        for name, of, meaning in (
            ("hardware", "", "the cluster, or the HWC"),
            ("area", unit, AREAS[unit]),
            *OTHERS,
            *(OF_ECP5 if unit == LUT4 else ()),
        )
    ]


def bound_cloud(candidates: Iterable[Candidate], budget: Budget) -> list[tuple[float, float]]:
    """Area and milliseconds of an image by the bound, of those that can have the clock."""
    found = []
    for one in candidates:
        if budget.mhz is None or budget.mhz <= (one.area.mhz or 0.0):
            found.append((one.size, 1000 / budget.rate(one, one.bound)))
    return found


def asked_lines(budget: Budget) -> list[dict[str, float]]:
    """Lines in a picture of time against area."""
    lines: list[dict[str, float]] = [] if budget.fps is None else [{"ms": 1000 / budget.fps}]
    most = budget.luts if budget.mm2 is None else budget.mm2
    return lines if most is None else [*lines, {"area": most}]


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
    assert buffers is not None
    multipliers, number, memory = lanes.product, "HWC alone", ""
    around = {"hwcs": 1, "tcdm_bytes": 0, "banks": 0, "axi_bits": 0, "vector_elements": 0}
    if cluster is not None:
        multipliers *= cluster.hwcs
        number = f"{cluster.hwcs} HWC{'s' if cluster.hwcs > 1 else ''}"
        memory = f", {cluster.tcdm >> 10} KiB in {cluster.banks} banks"
        around = {"hwcs": cluster.hwcs, "tcdm_bytes": cluster.tcdm, "banks": cluster.banks,
                  "axi_bits": cluster.axi_bits,
                  "vector_elements": cluster.vector_elements if cluster.vector else 0}  # fmt: skip
    text = (
        f"{hardware.name}\n{rate:,.1f} images a second{'' if one.measured else ', about'}\n"
        f"{one.candidate.area_text}, "
        f"{multipliers} multipliers{memory}"
    )
    return {
        "hardware": hardware.name, "family": number, "text": text, "counted": one.measured is not None,
        "area": one.candidate.size, "area_unit": area_unit(one.candidate), "lut4": area.lut4,
        "ms": 1000 / rate, "images_a_second": rate, "images": round(rate),
        "mhz": budget.clock(one.candidate), "mhz_estimated": area.mhz or 0.0, "dsps": area.dsps,
        "brams": area.block_rams, "cycles": one.cycles, "measured": one.measured, "expected": round(one.expected),
        "bound": one.candidate.bound, "bytes": one.bytes, "energy": one.energy, "host": one.host,
        "multipliers": multipliers, "lanes": str(lanes), "lanes_m": lanes.m, "lanes_c": lanes.c,
        **around, "port_bits": ports.widest,
        **{f"{operand}_buffer": buffers[operand] for operand in ARRAYS},
        "nodes": [[node.name, node.kind, round(node.cycles), node.macs] for node in one.nodes],
    }  # fmt: skip
