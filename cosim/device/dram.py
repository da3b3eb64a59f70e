"""The simulated DRAM, `cosim/harness/dram/dram.sv`: its controls, and what it counts."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from cosim.simulator.harness import SimulatedHarness
from hwgen.arch.descriptor import OperandTag
from hwgen.arch.dram import Dram, ticks

__all__ = ["AHEAD", "COUNTED", "COUNTERS", "Counted", "Region", "Unwanted", "dram_controls", "dram_counts",
           "dram_unwanted", "packed", "region_controls", "timing_words"]  # fmt: skip

COUNTED = "harness.dram.counted"
"""The scope of its counters."""
COUNTERS = {
    "bytes": "bytes",
    "beats": "beats",
    "axi_bursts": "bursts",
    "blocks": "blocks",
    "jumps": "jumps",
    "row_misses": "row_misses",
}
"""The counters' names in the harness, by those of `hwgen.ir.counts`."""
REGIONS = 16
AHEAD = max(OperandTag) + 1
"""The first kind of what is moved for the next part of a program; its `OperandTag` is added."""
OTHER = 15
"""The kind of what is in no region."""
Counted = dict[tuple[int | None, bool], dict[str, int]]
"""Counters by name, by the region's kind (None: in no region) and whether it was written."""


@dataclass(frozen=True)
class Region:
    """Byte addresses from ``base`` up to, not including, ``end``; accesses there are counted as ``kind``,
    an `OperandTag`, or `AHEAD` and one."""

    base: int
    end: int
    kind: int


@dataclass(frozen=True)
class Unwanted:
    """What was read besides what the descriptors ask for.

    Members
    -------
    bursts : bursts that begin at another byte than the next that is wanted.
    beats : further beats of bursts, after the last wanted byte.
    address : byte address of the first of either.
    """

    bursts: int = 0
    beats: int = 0
    address: int = 0


def dram_controls(dram: Dram) -> dict[str, int]:
    """Values of the harness' inputs, by name."""
    return {"dram_timing": packed(timing_words(dram), 32)}


def timing_words(dram: Dram) -> tuple[int, ...]:
    """The timing in the words in which the simulated DRAM has it."""
    geometry = dram.row_bytes.bit_length() - 1 | (dram.banks.bit_length() - 1) << 5
    return dram.latency | ticks(dram.access_cycles) << 16, dram.miss_cycles, ticks(dram.block_cycles), geometry


def region_controls(units: Sequence[Sequence[Region]]) -> dict[str, int]:
    """The same for what accesses of each unit are counted by; of regions that share addresses the first counts."""
    slots: list[Region | None] = []
    for regions in units:
        if len(regions) > REGIONS:
            raise ValueError(f"regions: expected at most {REGIONS}, got {len(regions)}")
        slots += [*regions, *[None] * (REGIONS - len(regions))]
    return {
        "dram_region_base": packed([0 if slot is None else slot.base for slot in slots], 32),
        "dram_region_end": packed([0 if slot is None else slot.end for slot in slots], 32),
        "dram_region_kind": packed([0 if slot is None else slot.kind for slot in slots], 4),
    }


def dram_counts(model: SimulatedHarness, scope: str = COUNTED) -> Counted:
    """All counters of the DRAM, or of what watches one master of it."""
    counted = {name: model.counters(variable, scope).tolist() for name, variable in COUNTERS.items()}
    return {
        (kind, written): {
            name: int(values[2 * (OTHER if kind is None else kind) + written]) for name, values in counted.items()
        }
        for kind in (*OperandTag, *(AHEAD + tag for tag in OperandTag), None)
        for written in (False, True)
    }


def dram_unwanted(model: SimulatedHarness, scope: str = "harness.wanted") -> Unwanted:
    """What no descriptor asks for."""
    return Unwanted(*(model.get(f"unwanted_{what}", scope) for what in ("bursts", "beats", "at")))


def packed(values: Iterable[int], width: int) -> int:
    """Values of a width in bits, the first one in the lowest bits."""
    return sum(value << width * place for place, value in enumerate(values))
