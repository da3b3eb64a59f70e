"""Cycles of a depth-first pipeline: its maps, stages and queues cycle by cycle, without data.

What is counted is what the hardware does: a pixel is in flight until all readers of its map are done with it, a
window takes its steps one a cycle, padding included, a pixel that completes no window takes one cycle, what is
finished waits in short queues, and a stage that finds no room there stands still. Streams never wait here.

The same run tells in which order maps need the lines of their overlap, and in which order they have lines for later
tiles: `play` without an order gives every map its overlap when it wants it. To serve the port in the order of what
was seen then is free of deadlock: each line is asked for only when what had to come before it in that run has come.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hwgen.arch.pipeline import LEAST_QUEUE
from hwgen.model.pipeline.cycles_kernel import CONV, GLOBAL, JOIN, OPERAND, OUTPUT, POOL, SAVED, SHUFFLE, run_tile

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
    "PlayedTile",
    "Source",
    "Stage",
    "play",
]

Ints = NDArray[np.int64]


class Map(NamedTuple):
    """One map in a tile: columns and lines, its first columns that are overlap, pixels of its ring.

    ``maker``: the stage that makes it; -1: ``source`` brings it. ``beats``: of a pixel at the overlap port.
    ``overlap_queue``: pixels that wait for it there. ``saved``: columns that go out there.
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


class Stage(NamedTuple):
    """One stage in a tile. ``steps``: cycles of an output pixel, or of an input pixel of a global pool.

    Of windows: kernel and stride (across, along), lines and columns of outputs, where the first has its last tap.
    Of a shuffle: ``across`` is the factor, columns and first column are those of the output. ``queue``: pixels that
    wait behind the stage.
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


class Branch(NamedTuple):
    """What else happens to a map's pixels: some columns go out, are saved, or to a join; ``queue`` pixels wait.

    ``beats`` a pixel takes to leave. ``target``: the stage of an operand.
    """

    kind: int
    map: int
    first: int
    columns: int
    queue: int
    beats: int = 1
    target: int = -1


class Source(NamedTuple):
    """An input stream in a tile: columns, lines, beats of a pixel. ``target``: the join's stage, or -1 for a map.

    ``queue`` pixels wait before a join.
    """

    columns: int
    lines: int
    beats: int
    target: int = -1
    queue: int = 0


class Pipeline(NamedTuple):
    """All of a pipeline in one tile."""

    maps: tuple[Map, ...]
    stages: tuple[Stage, ...]
    branches: tuple[Branch, ...]
    sources: tuple[Source, ...]


class PlayedTile(NamedTuple):
    """What was seen: cycles (-1: nothing moved any more), and the maps whose lines passed the port, in order."""

    cycles: int
    incoming: tuple[int, ...]
    outgoing: tuple[int, ...]


def play(
    pipeline: Pipeline, incoming: tuple[int, ...] | None = None, outgoing: tuple[int, ...] | None = None
) -> PlayedTile:
    """Run one tile.

    Parameters
    ----------
    pipeline
        The tile.
    incoming, outgoing
        The order of the overlap port; None: as everybody likes.
    """
    maps, stages = _table(pipeline.maps, 9), _table(pipeline.stages, 13)
    branches, sources = _table(pipeline.branches, 7), _table(pipeline.sources, 5)
    lines_in = sum(one.lines for one in pipeline.maps if one.overlap)
    lines_out = sum(one.lines for one in pipeline.maps if one.saved)
    seen_in, seen_out = np.zeros(lines_in, np.int64), np.zeros(lines_out, np.int64)
    given_in = np.array([-1] if incoming is None else [*incoming, -1], np.int64)
    given_out = np.array([-1] if outgoing is None else [*outgoing, -1], np.int64)
    cycles = run_tile(
        maps, stages, branches, sources, given_in, given_out, incoming is None, outgoing is None, seen_in, seen_out
    )
    return PlayedTile(int(cycles), tuple(map(int, seen_in)), tuple(map(int, seen_out)))


def _table(rows: tuple[NamedTuple, ...], width: int) -> Ints:
    return np.array([tuple(row) for row in rows], np.int64).reshape(-1, width)
