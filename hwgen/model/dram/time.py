"""How long the DRAM is at work for a schedule, if nothing else ever makes it wait."""

from hwgen.ir.counts import Counts
from hwgen.ir.hardware import Cluster
from hwgen.model.dma.transfers import DramTiming

__all__ = ["TICKS", "dram_ticks", "timing_of"]

TICKS = 256
"""Parts of a cycle in which the hardware counts the time of a block."""


def timing_of(cluster: Cluster) -> DramTiming:
    """The DRAM behind a cluster; one that gives a beat in every cycle where the cluster says nothing of it."""
    return DramTiming() if cluster.dram is None else DramTiming(**cluster.dram.model_dump())


def dram_ticks(counts: Counts, timing: DramTiming) -> int:
    """Time of everything counted at `dram`, in parts of a cycle.

    The DRAM moves block after block, each in ``block_cycles``, with ``miss_cycles`` more where another row of the
    bank was open; loads and stores share it. Nor is there more than a beat of either a cycle. Addresses are asked
    for ahead, so that ``latency`` is in none of this.
    """
    beats = {"read": 0, "write": 0}
    busy, block, miss = 0, round(timing.block_cycles * TICKS), timing.miss_cycles * TICKS
    for (level, _, direction), access in counts.accesses.items():
        if level == "dram":
            beats["read" if direction.startswith("read") else "write"] += access.beats
            busy += access.blocks * block + access.row_misses * miss
    return max(busy, TICKS * max(beats.values()))
