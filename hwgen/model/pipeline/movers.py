"""The movers of a pipeline and the DRAM at their port, as `hwgen.model.pipeline.cycles` simulates them."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hwgen.arch.dram import Dram, closed_rows
from hwgen.arch.pipeline.movers import ORDERS_AHEAD, MoverParameters
from hwgen.model.dram.cycles_kernel import dram_parameters

__all__ = ["NO_MOVERS", "DramPath", "MovedStream", "MoverTables"]

Ints = NDArray[np.int64]
MoverTables = tuple[Ints, Ints, Ints, Ints, Ints, Ints, Ints, Ints, Ints]


class MovedStream(NamedTuple):
    """A mover in a run of tiles.

    Members
    -------
    reads : from the DRAM.
    beat : bytes of a beat of the stream, at most.
    after : number of the mover whose lines are written before this one reads them; -1: no such.
    order : number of the mover that reads the order of its runs; -1: they have none.
    lines : of a tile, where another mover waits for its lines or it waits for theirs.
    start, stop : of its runs, in order; stop is exclusive.
    counts : runs in each tile.
    maps : of the overlap port: the map of each run; else none.
    """

    reads: bool
    beat: int
    after: int
    order: int
    lines: int
    start: Ints
    stop: Ints
    counts: tuple[int, ...]
    maps: tuple[int, ...] = ()


@dataclass
class DramPath:
    """Movers, port and DRAM over a run of tiles. It remembers what outlasts a run: open rows and turns.

    Members
    -------
    movers, dram : what they are generated for, and the timing.
    granted : numbers of the movers that were granted last: of those that read, of those that write. -1: none.
    overlap : numbers of the movers of the overlap port, in and out; -1: no such.
    streams : the movers in the run to come.
    follows : for each map, the mover whose lines of the tile before come before the same lines are read; -1: none.
    """

    movers: MoverParameters
    dram: Dram
    granted: tuple[int, int] = (-1, -1)
    overlap: tuple[int, int] = (-1, -1)
    streams: Sequence[MovedStream] = ()
    follows: Sequence[int] = ()
    _rows: Ints = field(init=False)
    _kept: Ints = field(init=False)

    def __post_init__(self) -> None:
        self._rows = closed_rows(self.dram, 64)
        self._kept = np.array([*self.granted, 0], np.int64)

    def tables(self, maps: int, tiles: int) -> MoverTables:
        """Movers, start and stop of all runs, parameters; open rows and turns, which the simulation changes; the map
        of each run; runs by tile and mover; ``follows``, and then the mover of the outgoing overlap."""
        rows, first = [], 0
        for one in self.streams:
            rows.append((one.reads, one.beat, one.after, one.order, first, first + len(one.start), one.lines))
            first += len(one.start)
        p = self.movers
        parameters = [
            *dram_parameters(self.dram, p.beat_bytes), p.burst_bytes, p.queue, p.outstanding, ORDERS_AHEAD,
            *self.overlap, self._patience(),
        ]  # fmt: skip
        none = np.zeros(0, np.int64)
        of = [one.maps or (-1,) * len(one.start) for one in self.streams]
        counts = [one.counts for one in self.streams]
        return (
            np.array(rows, np.int64).reshape(-1, 7),
            np.concatenate([none, *(one.start for one in self.streams)]),
            np.concatenate([none, *(one.stop for one in self.streams)]),
            np.array(parameters, np.int64),
            self._rows,
            self._kept,
            np.array([number for each in of for number in each], np.int64),
            np.ascontiguousarray(np.array(counts, np.int64).reshape(-1, tiles).T),
            np.array([*(self.follows or (-1,) * maps), self.overlap[1]], np.int64),
        )

    def _patience(self) -> int:
        """Cycles after which a DRAM of this timing has answered, whatever waits before."""
        if not self.streams:
            return 0
        return self.dram.latency + 64 * (
            self.dram.miss_cycles + int(self.dram.block_cycles + self.dram.access_cycles) + 1
        )


NO_MOVERS = DramPath(MoverParameters(), Dram())
"""No stream has a mover."""
