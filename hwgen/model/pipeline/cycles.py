"""Cycles of a depth-first pipeline: maps, stages and queues simulated cycle by cycle, without data.

It does what the hardware does. A pixel is in flight until all readers of its map have released it. A window takes one
cycle a step, padding included. A pixel that completes no window takes one cycle. Finished pixels enter queues; a full
queue stalls its stage. Input and output streams never stall, unless movers bring and take them: then movers, AXI4
port and DRAM are simulated, too.

The same simulation finds the order in which maps need the lines of their overlap, and in which they have lines for
later tiles: without a given order `play` serves each map at once. Serving the port in the order that was found cannot
deadlock: in that order every line comes after all lines that had to come before it.

The tiles of a run overlap: see `turns_kernel`. Software starts them one after the other: it waits until all parts
have taken the settings of a tile, writes those of the next one and starts it.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hwgen.arch.pipeline import LEAST_QUEUE
from hwgen.model.pipeline.cycles_kernel import run_tiles
from hwgen.model.pipeline.kernel_tables import CONV, GLOBAL, JOIN, OPERAND, OUTPUT, POOL, SAVED, SHUFFLE
from hwgen.model.pipeline.movers import NO_MOVERS, DramPath

__all__ = [
    "CONV",
    "GLOBAL",
    "JOIN",
    "OPERAND",
    "OUTPUT",
    "POOL",
    "SAVED",
    "SHUFFLE",
    "Branch",
    "Map",
    "Pipeline",
    "PlayedRun",
    "Source",
    "Stage",
    "play",
]

Ints = NDArray[np.int64]


class Map(NamedTuple):
    """One map in a tile.

    Members
    -------
    line, lines : columns and lines.
    overlap : the first columns of each line, which come through the overlap port.
    saved : the last columns of each line, which leave through it.
    ring : pixels of the ring.
    maker : the stage that makes it; -1: it comes from an input stream.
    source : number of that stream.
    beats : cycles of a pixel at the overlap port.
    overlap_queue : pixels of the queue after that port.
    channels : bytes of a pixel; of a pipeline with movers.
    """

    line: int
    lines: int
    overlap: int
    saved: int
    ring: int
    maker: int
    source: int
    beats: int
    overlap_queue: int
    channels: int = 1


class Stage(NamedTuple):
    """One stage in a tile.

    Members
    -------
    kind : which of the plays in `cycles_kernel`.
    reads, makes : maps.
    steps : cycles of an output pixel; of an input pixel for a global pool.
    across, along : the kernel; of a shuffle ``across`` is the factor.
    stride_across, stride_along : of windows.
    lines, columns : outputs of the tile.
    first_line, first_column : the last tap of the first output; of a shuffle the first output column.
    queue : pixels of the queue after the stage.
    registers : of its datapath, from its last step of a pixel to that queue.
    """

    kind: int
    reads: int
    makes: int
    steps: int
    across: int = 1
    along: int = 1
    stride_across: int = 1
    stride_along: int = 1
    lines: int = 0
    columns: int = 0
    first_line: int = 0
    first_column: int = 0
    queue: int = LEAST_QUEUE
    registers: int = 0


class Branch(NamedTuple):
    """Columns of a map that are copied: to an output stream, to the overlap port, or to a join.

    Members
    -------
    kind : `OUTPUT`, `SAVED` or `OPERAND`.
    map : the map.
    first, columns : which columns of each line.
    queue : pixels of the queue after the copy.
    beats : cycles of a pixel at the output stream.
    target : the stage that reads the operand.
    mover : number of the output stream's mover; -1: the stream never stalls.
    """

    kind: int
    map: int
    first: int
    columns: int
    queue: int
    beats: int = 1
    target: int = -1
    mover: int = -1


class Source(NamedTuple):
    """An input stream in a tile.

    Members
    -------
    columns, lines : of the pixels that it brings.
    beats : cycles of a pixel.
    target : the join that reads it; -1: it fills a map.
    queue : pixels of the queue before the join.
    channels : bytes of a pixel; of a pipeline with movers.
    mover : number of the stream's mover; -1: the stream never stalls.
    after : the branch whose lines have to be complete before it brings the same lines; -1: no such.
    before, each : pixels of that branch in all tiles before, and in a line of this one.
    """

    columns: int
    lines: int
    beats: int
    target: int = -1
    queue: int = 0
    channels: int = 1
    mover: int = -1
    after: int = -1
    before: int = 0
    each: int = 0


class Pipeline(NamedTuple):
    """A whole pipeline in one tile."""

    maps: tuple[Map, ...]
    stages: tuple[Stage, ...]
    branches: tuple[Branch, ...]
    sources: tuple[Source, ...]


class PlayedRun(NamedTuple):
    """A run of tiles.

    Members
    -------
    cycles : of the whole run; -1: deadlock.
    incoming, outgoing : the maps whose lines crossed the overlap port, in order.
    worked : for each tile the last cycle in which each stage did something for it; 0 for joins, which have no tiles.
    """

    cycles: int
    incoming: tuple[int, ...]
    outgoing: tuple[int, ...]
    worked: tuple[tuple[int, ...], ...]


def play(
    tiles: Pipeline | Sequence[Pipeline],
    incoming: tuple[int, ...] | None = None,
    outgoing: tuple[int, ...] | None = None,
    path: DramPath | None = None,
    writes: Sequence[int] = (),
    access: int = 0,
) -> PlayedRun:
    """Simulate a run of tiles.

    Parameters
    ----------
    tiles
        The pipeline in each of them.
    incoming, outgoing
        The order of the overlap port in each direction; None: every map is served at once.
    path
        The movers and the DRAM that the streams come from and go to, which remembers its open rows; None: the streams
        never stall.
    writes, access
        Registers that software writes for each tile, and cycles from one of its accesses to the next. Without them a
        tile is started as soon as that is possible.
    """
    every = (tiles,) if isinstance(tiles, Pipeline) else tuple(tiles)
    maps, stages = _table([one.maps for one in every], 10), _table([one.stages for one in every], 14)
    branches, sources = _table([one.branches for one in every], 8), _table([one.sources for one in every], 10)
    lines_in = sum(one.lines for tile in every for one in tile.maps if one.overlap)
    lines_out = sum(one.lines for tile in every for one in tile.maps if one.saved)
    seen_in, seen_out = np.zeros(lines_in, np.int64), np.zeros(lines_out, np.int64)
    given_in = np.array([-1] if incoming is None else [*incoming, -1], np.int64)
    given_out = np.array([-1] if outgoing is None else [*outgoing, -1], np.int64)
    tables = (NO_MOVERS if path is None else path).tables(len(every[0].maps), len(every))
    software = np.array([access, -1, 0, access], np.int64)
    accesses = np.array(writes or [0] * len(every), np.int64)
    worked = np.zeros((len(every), len(every[0].stages)), np.int64)
    cycles = run_tiles(
        maps, stages, branches, sources, given_in, given_out, incoming is None, outgoing is None, seen_in, seen_out,
        worked, *tables, software, accesses,
    )  # fmt: skip
    ends = tuple(tuple(map(int, tile)) for tile in worked)
    return PlayedRun(int(cycles), tuple(map(int, seen_in)), tuple(map(int, seen_out)), ends)


def _table(tiles: Sequence[tuple[NamedTuple, ...]], width: int) -> Ints:
    """Rows by tile."""
    return np.array([[tuple(row) for row in rows] for rows in tiles], np.int64).reshape(len(tiles), -1, width)
