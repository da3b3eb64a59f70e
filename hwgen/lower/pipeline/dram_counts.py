"""What the movers of a program ask of the DRAM, stream by stream: bytes, beats, bursts, blocks, row misses."""

import numpy as np
from numpy.typing import NDArray

from hwgen.arch.dram import Dram
from hwgen.arch.pipeline.movers import Mover, movers_of
from hwgen.ir.counts import Access
from hwgen.lower.pipeline.images import Layout
from hwgen.lower.pipeline.movers import load_settings, runs_of_tile
from hwgen.lower.pipeline.program import PipelineProgram
from hwgen.model.dram.runs import count_runs

__all__ = ["all_runs", "dram_counts", "runs_in_order"]

Ints = NDArray[np.int64]


def dram_counts(program: PipelineProgram, layout: Layout, dram: Dram) -> dict[str, Access]:
    """The accesses of every stream, over the load of the weights and all tiles. The program has movers."""
    movers = program.parameters.movers
    assert movers is not None
    return {
        mover.stream: count_runs(
            *all_runs(program, layout, mover),
            beat_bytes=movers.beat_bytes,
            burst_bytes=movers.burst_bytes,
            dram=dram,
        )
        for mover in movers_of(program.parameters)
    }


def all_runs(program: PipelineProgram, layout: Layout, mover: Mover) -> tuple[Ints, Ints]:
    """Start and end (exclusive) of every run of a stream, in order."""
    if mover.stream == "i_weights":
        settings = load_settings(program, layout)
        start = np.array([settings["i_weights_address"]], np.int64)
        return start, start + settings["i_weights_bytes"]
    parts = [runs_in_order(program, layout, mover, tile) for tile in range(len(program.tiles))]
    return np.concatenate([start for start, _ in parts]), np.concatenate([stop for _, stop in parts])


def runs_in_order(program: PipelineProgram, layout: Layout, mover: Mover, tile: int) -> tuple[Ints, Ints]:
    """Start and end (exclusive) of the runs of a stream in one tile, in order; of the weights there are none."""
    if mover.stream == "i_weights":
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    if not mover.maps:
        (runs,) = runs_of_tile(program, layout, mover, tile)
        start = runs.address + runs.pitch * np.arange(runs.lines if runs.bytes else 0, dtype=np.int64)
        return start, start + runs.bytes
    lines = program.tiles[tile].overlap_in if mover.reads else program.tiles[tile].overlap_out
    each = dict(zip(mover.maps, runs_of_tile(program, layout, mover, tile), strict=True))
    start = np.array([each[line.map].address + line.line * each[line.map].pitch for line in lines], np.int64)
    return start, start + np.array([each[line.map].bytes for line in lines], np.int64)
