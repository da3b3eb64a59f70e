"""Exact DRAM counts of a stream of runs of contiguous bytes."""

import numpy as np
from numpy.typing import NDArray

from hwgen.arch.dram import BLOCK_BYTES, Dram, closed_rows, row_misses
from hwgen.ir.counts import Access

__all__ = ["count_runs"]

Ints = NDArray[np.int64]


def count_runs(start: Ints, stop: Ints, *, beat_bytes: int, burst_bytes: int, dram: Dram) -> Access:
    """The accesses of a stream that has open rows of its own: runs from ``start`` to ``stop`` (exclusive), in order.

    Every run begins a burst; bursts end at multiples of ``burst_bytes``. An element is a byte.
    """
    if not start.size:
        return Access()
    last = stop - 1
    misses, _ = row_misses(start, stop, dram, closed_rows(dram))
    size = int((stop - start).sum())

    def touched(unit: int) -> int:
        return int((last // unit - start // unit + 1).sum())

    return Access(
        size,
        size,
        beats=touched(beat_bytes),
        axi_bursts=touched(burst_bytes),
        blocks=touched(min(burst_bytes, BLOCK_BYTES)),
        jumps=1 + int((start[1:] != stop[:-1]).sum()),
        row_misses=int(misses.sum()),
    )
