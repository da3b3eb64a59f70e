"""Streams of runs to and from a DRAM, counted exactly: what each run counts as, and where a stream goes on."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hwgen.arch.dram import BLOCK_BYTES, Dram, DramPort, closed_rows, row_misses
from hwgen.ir.counts import Access

__all__ = ["RunCounts", "Stream", "Streams", "count_runs"]


Ints = NDArray[np.int64]


@dataclass(frozen=True)
class RunCounts:
    """Counts of each run at the DRAM, as in `hwgen.ir.counts.Access`."""

    bytes: Ints
    beats: Ints
    axi_bursts: Ints
    blocks: Ints
    jumps: Ints
    row_misses: Ints


class Stream:
    """Runs of one channel in their order. It keeps a row open in each bank."""

    def __init__(self, port: DramPort) -> None:
        self._port = port
        self._end, self._open_rows = -1, closed_rows(port.dram)

    def counted(self, start: Ints, stop: Ints) -> RunCounts:
        """The next runs: first byte address of each, and the one after its last. There is one at least."""
        last = stop - 1
        beats, bursts, blocks = (
            last // unit - start // unit + 1 for unit in (self._port.beat_bytes, self._port.burst_window, BLOCK_BYTES)
        )
        jumps = (start != np.append(self._end, stop[:-1])).astype(np.int64)
        self._end = int(stop[-1])
        misses, self._open_rows = row_misses(start, stop, self._port.dram, self._open_rows)
        return RunCounts(stop - start, beats, bursts, blocks, jumps, misses)


class Streams:
    """The streams of loads and of stores, from one layer of a program to the next."""

    def __init__(self, port: DramPort) -> None:
        self.loads, self.stores = Stream(port), Stream(port)


# --- runs of contiguous bytes ---


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
