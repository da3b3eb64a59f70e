"""The time that the DRAM takes for a schedule if it never waits for anything else."""

from hwgen.arch.dram import TICKS, Dram, ticks
from hwgen.ir.counts import Counts
from hwgen.ir.level import DRAM

__all__ = ["dram_ticks"]


def dram_ticks(counts: Counts, timing: Dram) -> int:
    """Time of everything counted at `dram`, in fractions of a cycle (`TICKS`).

    The DRAM transfers one block after another, each in ``block_cycles``, with ``miss_cycles`` more on a row miss;
    loads and stores share it. Loads and stores each have at most one beat a cycle. Bursts are requested ahead, so
    ``latency`` does not count.
    """
    beats = {"read": 0, "write": 0}
    busy, block, miss = 0, ticks(timing.block_cycles), ticks(timing.miss_cycles)
    for (_, _, direction), access in counts.at(DRAM.name).accesses.items():
        beats["read" if direction.startswith("read") else "write"] += access.beats
        busy += access.blocks * block + access.row_misses * miss
    return max(busy, TICKS * max(beats.values()))
