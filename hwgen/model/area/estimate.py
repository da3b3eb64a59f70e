"""Area and clock of hardware on an ECP5, estimated in a millisecond, without synthesis.

The form is known: multipliers and memories follow from the parameters, and each block is a sum of terms
(`hwgen.model.area.terms`). The coefficients of the terms are fitted to designs
that were synthesised, and none is below 0: what has more of everything is never smaller.
``python -m benchmarks area --fit`` writes them, with the errors on designs that they were not fitted to, in
``coefficients.json`` beside this module.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, Self

from hwgen.arch.cluster import ClusterParameters
from hwgen.arch.dma import DmaParameters
from hwgen.arch.hwc import HwcParameters
from hwgen.arch.vector.shape import VectorShape
from hwgen.ir.hardware import Hardware, Order
from hwgen.ir.lanes import Lanes
from hwgen.ir.schedule import ArrayName
from hwgen.model.area.assumed import cluster_of, hwc_of
from hwgen.model.area.terms import (
    QUANTITIES,
    Structure,
    Terms,
    cluster_structure,
    dma_structure,
    hwc_memories,
    hwc_structure,
    vector_structure,
)

__all__ = [
    "COEFFICIENTS",
    "LUTS_OF_A_MEMORY",
    "EstimatedArea",
    "clock_terms",
    "coefficients",
    "estimated_area",
    "estimated_around",
    "estimated_cluster",
    "estimated_dma",
    "estimated_hwc",
    "estimated_vector_unit",
    "known_memories",
]

# --- the critical path of an HWC ---


def clock_terms(p: HwcParameters) -> Terms:
    """Terms of the period: nanoseconds in cells and wires.

    Where weights are packed densely, without lanes along c, the size of a tile of them is a product that the end of
    its nest selects: the longest path of such HWCs. The number of lanes has no term: more of them are further apart,
    but have another register on their way. Where they have none, weights in block RAM come late, and less so in many
    lines of LUTs.
    """
    return {
        "1": 1,
        "dense weights": p.weight_lines is None,
        "positions": p.position_bits,
        "wide": p.wide,
        "in a cluster": p.cluster,
        "scaled": p.scaled,
        "block RAM": p.block_ram,
        "weights in LUTs": p.weights_in_luts,
        "weights in block RAM": p.weights_answer_late and not p.weights_in_luts and _in_block_ram(p),
    }


def _in_block_ram(p: HwcParameters) -> bool:
    """Whether weights are."""
    return hwc_memories(p)["W"][1].block_rams > 0


# --- estimates ---

COEFFICIENTS = Path(__file__).with_name("coefficients.json")
NOTHING: Mapping[str, float] = {}
LUTS_OF_A_MEMORY = 6
"""LUT4 whose place a memory of 16 words of 4 bits takes."""


@dataclass(frozen=True)
class EstimatedArea:
    """What hardware is estimated to take on an ECP5 of speed grade 6.

    Members
    -------
    lut4 : LUT4-equivalents: LUT4, two for a carry cell, six for a memory of 16 words of 4 bits.
    flip_flops : registers, those in multipliers among them.
    dsps : multipliers of 18 x 18 bits (MULT18X18D).
    block_rams : of 18 Kibit (DP16KD).
    mhz : the clock, from register to register, of the HWC: of a cluster that of its HWCs. None for what is no HWC.
    """

    lut4: int
    flip_flops: int
    dsps: int
    block_rams: int
    mhz: float | None = None

    def __add__(self, other: Self) -> "EstimatedArea":
        """Both together; the slower clock."""
        clocks = [one.mhz for one in (self, other) if one.mhz is not None]
        counts = {one.name: getattr(self, one.name) + getattr(other, one.name) for one in fields(self)[:-1]}
        return EstimatedArea(**counts, mhz=min(clocks, default=None))

    def times(self, number: int) -> "EstimatedArea":
        """A number of it together."""
        return EstimatedArea(
            number * self.lut4, number * self.flip_flops, number * self.dsps, number * self.block_rams, self.mhz
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return asdict(self)


@cache
def coefficients() -> Mapping[str, Any]:
    """The document with the coefficients: see `COEFFICIENTS`."""
    document: Mapping[str, Any] = json.loads(COEFFICIENTS.read_text(encoding="utf-8"))
    return document


def estimated_area(
    hardware: Hardware,
    *,
    lanes: Lanes | None = None,
    buffers: Mapping[ArrayName, int] | None = None,
    order: Order | None = None,
) -> EstimatedArea:
    """The area and clock of a hardware file's HWC, or of its whole cluster.

    Parameters
    ----------
    hardware : one HWC or a cluster.
    lanes, buffers, order : what the file leaves free, buffers in bytes by operand. Without them lanes along x, a
        quarter and an eighth of the budget for I and W, the rest for O, and the order of most built-in hardware.

    Raises `InputError` where no hardware can be made of it.
    """
    hwc = hwc_of(hardware, lanes=lanes, buffers=buffers, order=order)
    return estimated_hwc(hwc) if hardware.cluster is None else estimated_cluster(cluster_of(hardware, hwc))


@lru_cache(maxsize=1 << 12)
def estimated_hwc(parameters: HwcParameters) -> EstimatedArea:
    """The area and clock of one HWC."""
    return _estimated(hwc_structure(parameters), _clock(parameters))


def estimated_cluster(parameters: ClusterParameters) -> EstimatedArea:
    """The area of a cluster: its HWCs and what is around them; the clock is that of an HWC."""
    return estimated_hwc(parameters.hwc).times(parameters.hwcs) + estimated_around(parameters)


def estimated_around(parameters: ClusterParameters) -> EstimatedArea:
    """The area of what is around the HWCs of a cluster: TCDM, interconnect, queues of commands, DMA, vector unit."""
    return _estimated(cluster_structure(parameters))


def estimated_dma(parameters: DmaParameters) -> EstimatedArea:
    """The area of a DMA."""
    return _estimated(dma_structure(parameters))


def estimated_vector_unit(shape: VectorShape, address_bits: int) -> EstimatedArea:
    """The area of a vector unit in a TCDM whose byte addresses have ``address_bits``."""
    return _estimated(vector_structure(shape, address_bits))


def _estimated(structure: Structure, mhz: float | None = None) -> EstimatedArea:
    """The sums of the terms; what is known is added."""
    sums = {quantity: sum(_sum(structure, block, quantity) for block in structure.terms) for quantity in QUANTITIES}
    lut_rams = structure.lut_rams + sums["lut_rams"]
    return EstimatedArea(
        round(sums["luts"] + LUTS_OF_A_MEMORY * lut_rams),
        round(sums["flip_flops"]),
        structure.dsps,
        structure.block_rams,
        mhz,
    )


def known_memories(parameters: ClusterParameters) -> tuple[float, float]:
    """Memories of 16 words of 4 bits around the HWCs of a cluster, and those of its vector unit among them."""
    structure = cluster_structure(parameters)
    of_each = {block: _sum(structure, block, "lut_rams") for block in structure.terms}
    return structure.lut_rams + sum(of_each.values()), of_each.get("vector", 0.0)


def _sum(structure: Structure, block: str, quantity: str) -> float:
    """The sum of the terms of a block."""
    fitted: Mapping[str, float] = coefficients()["blocks"][block].get(quantity, NOTHING)
    return sum(value * structure.terms[block].get(term, 0) for term, value in fitted.items())


def _clock(parameters: HwcParameters) -> float:
    """MHz: the inverse of a sum of terms in nanoseconds."""
    fitted: Mapping[str, float] = coefficients()["clock"]
    terms = clock_terms(parameters)
    return 1e3 / sum(coefficient * terms[term] for term, coefficient in fitted.items())
