"""The simulated DRAM, `cosim/harness/dram/dram.sv`: its controls, and what it counts."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from hwgen.arch.descriptor import OperandTag
from hwgen.arch.dram import Dram, ticks

__all__ = ["COUNTED", "COUNTERS", "DRAM", "Counted", "Region", "Unwanted", "dram_controls", "dram_counts",
           "dram_unwanted", "packed", "region_controls"]  # fmt: skip

DRAM = tuple(f"dram/{name}.sv" for name in ("dram", "dram_counters", "descriptor_runs", "axi_rules"))
"""Its sources, in `cosim/harness`."""
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
REGIONS = 8
OTHER = 15
"""The kind of what is in no region."""
Counted = dict[tuple[OperandTag | None, bool], dict[str, int]]
"""Counters by name, by the region's kind (None: in no region) and whether it was written."""


@dataclass(frozen=True)
class Region:
    """Byte addresses from ``base`` up to, not including, ``end``; accesses there are counted as ``kind``."""

    base: int
    end: int
    kind: OperandTag


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


class Counters(Protocol):
    """A harness with a DRAM: see `cosim.sim.library` and `cosim.sim.handles`."""

    def get(self, name: str, scope: str = "harness") -> int:
        """The value of a variable."""
        ...

    def counters(self, name: str, scope: str) -> NDArray[np.uint64]:
        """An array of counters."""
        ...


def dram_controls(dram: Dram) -> dict[str, int]:
    """Values of the harness' inputs, by name."""
    return {
        "timing": dram.latency | dram.miss_cycles << 16,
        "block_rate": ticks(dram.block_cycles),
        "geometry": dram.row_bytes.bit_length() - 1 | (dram.banks.bit_length() - 1) << 5,
    }


def region_controls(regions: Iterable[Region]) -> dict[str, int]:
    """The same for what accesses are counted by; of regions that share addresses the first counts."""
    given = list(regions)
    if len(given) > REGIONS:
        raise ValueError(f"regions: expected at most {REGIONS}, got {len(given)}")
    return {
        "dram_region_base": packed([region.base for region in given], 32),
        "dram_region_end": packed([region.end for region in given], 32),
        "dram_region_kind": packed([region.kind for region in given], 4),
    }


def dram_counts(model: Counters) -> Counted:
    """All counters of the DRAM."""
    counted = {name: model.counters(variable, COUNTED).tolist() for name, variable in COUNTERS.items()}
    return {
        (kind, written): {
            name: int(values[2 * (OTHER if kind is None else kind) + written]) for name, values in counted.items()
        }
        for kind in (*OperandTag, None)
        for written in (False, True)
    }


def dram_unwanted(model: Counters, scope: str = "harness.wanted") -> Unwanted:
    """What no descriptor asks for."""
    return Unwanted(*(model.get(f"unwanted_{what}", scope) for what in ("bursts", "beats", "at")))


def packed(values: Iterable[int], width: int) -> int:
    """Values of a width in bits, the first one in the lowest bits."""
    return sum(value << width * place for place, value in enumerate(values))
