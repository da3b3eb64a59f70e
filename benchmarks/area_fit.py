"""The coefficients of `hwgen.model.area`, fitted to designs that were synthesised, and their errors on others."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from statistics import median
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.area_designs import TOOLS, is_held_out, is_of_choose
from hwgen.arch.dma import DmaParameters
from hwgen.arch.hardware_file import read_hardware_data
from hwgen.arch.hwc import HwcParameters
from hwgen.arch.vector.shape import VectorShape
from hwgen.model.area.assumed import cluster_of, hwc_of
from hwgen.model.area.estimate import (
    LUTS_OF_A_MEMORY,
    clock_terms,
    estimated_around,
    estimated_dma,
    estimated_hwc,
    estimated_vector_unit,
)
from hwgen.model.area.fit import nonnegative
from hwgen.model.area.terms import (
    GIVEN,
    QUANTITIES,
    REGISTERS,
    Structure,
    cluster_structure,
    dma_structure,
    hwc_structure,
    vector_structure,
)
from hwgen.synthesis.tool_run import DEVICE

__all__ = ["Errors", "Judged", "block_of", "errors_of", "fitted", "group_of", "judged", "structure_of", "total"]

Row = Mapping[str, Any]
Floats = NDArray[np.float64]
KINDS = ("hwc", "cluster", "vector", "dma")
GROUPS = (*KINDS, "hwc of choose", "cluster of choose")
"""Designs whose errors are told together."""
RIDGE = 5e-3
"""See `hwgen.model.area.fit.nonnegative`."""
OF_BLOCKS = 0.8
"""Weight of an error of a block beside that of the whole. With both, designs that were fitted to are estimated best
where each is left out in turn."""
CELLS = {"luts": 0, "lut_rams": 1, "flip_flops": 2, "dsps": 3, "block_rams": 4}
"""Places of quantities in a block of a row: those of `hwgen.synthesis.cells.Area`."""
FILL = ("memory", "writes", "upper_writes", "fill")


def group_of(row: Row) -> str:
    """The group of `GROUPS` that a design is in."""
    return f"{row['kind']} of choose" if is_of_choose(row["number"]) else str(row["kind"])


def block_of(kind: str, name: str) -> str:
    """The block of the model that an instance belongs to."""
    first, _, rest = name.partition(".")
    if kind in ("vector", "dma"):
        return kind
    if kind == "cluster":
        inner = rest.partition(".")[0] if first == "core" else first
        if inner in ("vector", "dma"):
            return inner
        # What the memory answers has the names of those who asked.
        return "interconnect" if (inner in ("", "tcdm") and first != "core") or inner.startswith("hwc_") else "queues"
    if first == "input":
        return "fill" if rest.startswith(FILL) else "placer"
    if first.startswith("master_"):
        return "ports"
    return first if first in ("datapath", "weight", "output", "sequencer") else "control"


def structure_of(row: Row) -> Structure:
    """The structure of a design."""
    if row["kind"] == "vector":
        return vector_structure(VectorShape(row["data"]["elements"]), row["data"]["address_bits"])
    if row["kind"] == "dma":
        return dma_structure(DmaParameters(**row["data"]))
    hardware = read_hardware_data(row["data"], "drawn")
    hwc = hwc_of(hardware)
    return hwc_structure(hwc) if row["kind"] == "hwc" else cluster_structure(cluster_of(hardware, hwc))


def total(row: Row, quantity: str, block: str | None = None) -> int:
    """Cells of a design, or of one of its blocks."""
    at = CELLS[quantity]
    return sum(cells[at] for name, cells in row["blocks"].items() if block in (None, block_of(row["kind"], name)))


def fitted(rows: Iterable[Row]) -> dict[str, Any]:
    """The document with the coefficients, of the rows that are not held out."""
    given = list(rows)
    used = [(row, structure_of(row)) for row in given if not is_held_out(row)]
    blocks: dict[str, dict[str, dict[str, float]]] = {}
    for quantity in QUANTITIES:
        # Memories of HWCs are known.
        of_all = [(row, one) for row, one in used if quantity != "lut_rams" or row["kind"] != "hwc"]
        for (block, term), value in _together(of_all, quantity).items():
            blocks.setdefault(block, {}).setdefault(quantity, {})[term] = value
    placed = [row for row, _ in used if row["mhz"]]
    periods = [1e3 / row["mhz"] for row in placed]
    return {
        "format": 1,
        "tools": {name: version(name) for name in TOOLS},
        "device": asdict(DEVICE),
        "designs": {
            kind: {part: sorted(row["number"] for row in given if row["kind"] == kind and is_held_out(row) == held)
                   for part, held in (("fitted", False), ("held_out", True))}
            for kind in KINDS
        },
        "blocks": blocks,
        "clock": _clock(placed, periods),
    }  # fmt: skip


def _together(designs: Sequence[tuple[Row, Structure]], quantity: str) -> dict[tuple[str, str], float]:
    """Coefficients above 0, by block and term, of all blocks together.

    Of each design the errors of its blocks count, and more than these that of the whole: what is joined across blocks
    counts in any of them. All are parts of the whole.
    """
    names = list(
        dict.fromkeys(
            (block, term) for _, one in designs for block in one.terms for term in one.terms[block]
            if quantity == "flip_flops" or term not in REGISTERS
        )
    )  # fmt: skip
    given = {(block, term): value for (block, term, of), value in GIVEN.items() if of == quantity}
    table, measured, weights = [], [], []
    for row, one in designs:
        size = max(1, total(row, quantity))
        for block in (None, *one.terms):
            table.append([one.terms[of].get(term, 0.0) if of in one.terms and block in (None, of) else 0.0
                          for of, term in names])  # fmt: skip
            measured.append(total(row, quantity, block))
            weights.append((1.0 if block is None else OF_BLOCKS) / size)
    terms, known = np.array(table, float), np.array([given.get(name, 0.0) for name in names])
    left, free = np.array(measured, float) - terms @ known, known == 0
    known[free] = nonnegative(terms[:, free], left, np.array(weights), ridge=RIDGE)
    return {name: round(float(value), 5) for name, value in zip(names, known, strict=True) if value > 0}


def _clock(placed: Sequence[Row], periods: Sequence[float]) -> dict[str, float]:
    """Coefficients of the period in nanoseconds. Few designs are placed: terms have no share unless they show it."""
    if not placed:
        return {}
    terms = [clock_terms(_hwc(row)) for row in placed]
    table = np.array([list(one.values()) for one in terms], float)
    found = nonnegative(table, np.array(periods), 1 / np.array(periods))
    return {name: round(float(value), 5) for name, value in zip(terms[0], found, strict=True) if value > 0}


def _hwc(row: Row) -> HwcParameters:
    return hwc_of(read_hardware_data(row["data"], "drawn"))


@dataclass(frozen=True)
class Judged:
    """A design, what is estimated for it, and by how much that is above what was measured, in parts of it."""

    row: Row
    lut4: float
    flip_flops: float
    dsps: int
    block_rams: int
    mhz: float | None


def judged(row: Row) -> Judged:
    """A design against the coefficients of the package."""
    kind, data = row["kind"], row["data"]
    if kind == "vector":
        found = estimated_vector_unit(VectorShape(data["elements"]), data["address_bits"])
    elif kind == "dma":
        found = estimated_dma(DmaParameters(**data))
    elif kind == "hwc":
        found = estimated_hwc(_hwc(row))
    else:
        hardware = read_hardware_data(data, "drawn")
        found = estimated_around(cluster_of(hardware, hwc_of(hardware)))
    lut4 = total(row, "luts") + LUTS_OF_A_MEMORY * total(row, "lut_rams")
    return Judged(
        row,
        found.lut4 / lut4 - 1,
        found.flip_flops / total(row, "flip_flops") - 1,
        found.dsps - total(row, "dsps"),
        found.block_rams - total(row, "block_rams"),
        found.mhz / row["mhz"] - 1 if row["mhz"] and found.mhz else None,
    )


@dataclass(frozen=True)
class Errors:
    """Errors of several designs, in parts of what was measured."""

    designs: int
    lut4_median: float
    lut4_worst: float
    flip_flops_median: float
    flip_flops_worst: float
    dsps_equal: int
    block_rams_equal: int
    placed: int
    mhz_median: float | None
    mhz_worst: float | None


def errors_of(found: Sequence[Judged]) -> Errors:
    """The errors of some designs, at least one."""
    luts, registers = [abs(one.lut4) for one in found], [abs(one.flip_flops) for one in found]
    clocks = [abs(one.mhz) for one in found if one.mhz is not None]
    return Errors(
        len(found), _rounded(median(luts)), _rounded(max(luts)),
        _rounded(median(registers)), _rounded(max(registers)),
        sum(one.dsps == 0 for one in found), sum(one.block_rams == 0 for one in found), len(clocks),
        _rounded(median(clocks)) if clocks else None, _rounded(max(clocks)) if clocks else None,
    )  # fmt: skip


def _rounded(part: float) -> float:
    return round(part, 4)
