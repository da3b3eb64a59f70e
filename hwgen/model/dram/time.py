"""The time that the DRAM takes for a schedule if it never waits for anything else."""

from hwgen.ir.counts import Counts
from hwgen.ir.hardware import Cluster
from hwgen.model.dma.transfers import DramTiming

__all__ = ["TICKS", "dram_ticks", "timing_of"]

TICKS = 256
"""Time units in a cycle: the hardware counts the time of a block in fractions of a cycle."""


def timing_of(cluster: Cluster) -> DramTiming:
    """The DRAM of a cluster; by default one that transfers a beat in every cycle."""
    return DramTiming() if cluster.dram is None else DramTiming(**cluster.dram.model_dump())


def dram_ticks(counts: Counts, timing: DramTiming) -> int:
    """Time of everything counted at `dram`, in fractions of a cycle.

    The DRAM transfers one block after another, each in ``block_cycles``, with ``miss_cycles`` more on a row miss;
    loads and stores share it. Loads and stores each have at most one beat a cycle. Bursts are requested ahead, so
    ``latency`` does not count.
    """
    beats = {"read": 0, "write": 0}
    busy, block, miss = 0, round(timing.block_cycles * TICKS), timing.miss_cycles * TICKS
    for (level, _, direction), access in counts.accesses.items():
        if level == "dram":
            beats["read" if direction.startswith("read") else "write"] += access.beats
            busy += access.blocks * block + access.row_misses * miss
    return max(busy, TICKS * max(beats.values()))
