"""What the movers of a program ask of the DRAM, stream by stream: bytes, beats, bursts, blocks, row misses."""

import numpy as np
from numpy.typing import NDArray

from hwgen.arch.dram import Dram
from hwgen.arch.pipeline.movers import Mover, movers_of
from hwgen.ir.counts import Access
from hwgen.lower.pipeline.images import Layout
from hwgen.lower.pipeline.movers import load_settings, runs_of_tile
from hwgen.lower.pipeline.program import PipelineProgram
from hwgen.model.dram.streams import count_runs

__all__ = ["all_runs", "dram_counts", "run_counts"]

Ints = NDArray[np.int64]


def dram_counts(program: PipelineProgram, layout: Layout, dram: Dram) -> dict[str, Access]:
    """The accesses of every stream, over the load of the weights and all tiles. The program has movers."""
    movers = program.parameters.movers
    assert movers is not None
    return {
        mover.stream: count_runs(
            *all_runs(program, layout, mover), beat_bytes=movers.beat_bytes, burst_bytes=movers.burst_bytes, dram=dram
        )
        for mover in movers_of(program.parameters)
    }


def all_runs(program: PipelineProgram, layout: Layout, mover: Mover) -> tuple[Ints, Ints]:
    """Start and end (exclusive) of every run of a stream, in order."""
    if mover.stream == "i_weights":
        settings = load_settings(program, layout)
        start = np.array([settings["i_weights_address"]], np.int64)
        return start, start + settings["i_weights_bytes"]
    tiles = range(len(program.tiles))
    if mover.maps:
        each = [dict(zip(mover.maps, runs_of_tile(program, layout, mover, tile), strict=True)) for tile in tiles]
        found = [(each[tile][line.map], line.line) for tile, line in program.port_lines(incoming=mover.reads)]
        start = np.array([runs.address + line * runs.pitch for runs, line in found], np.int64)
        return start, start + np.array([runs.bytes for runs, _ in found], np.int64)
    parts = [_runs_of_lines(program, layout, mover, tile) for tile in tiles]
    return np.concatenate([start for start, _ in parts]), np.concatenate([stop for _, stop in parts])


def run_counts(program: PipelineProgram, layout: Layout, mover: Mover) -> list[int]:
    """Runs of a stream in each tile; none of the weights, and of the overlap port those of its order."""
    if mover.stream == "i_weights":
        return [0] * len(program.tiles)
    if mover.maps:
        return [len(tile.order_in if mover.reads else tile.order_out) for tile in program.tiles]
    return [len(_runs_of_lines(program, layout, mover, tile)[0]) for tile in range(len(program.tiles))]


def _runs_of_lines(program: PipelineProgram, layout: Layout, mover: Mover, tile: int) -> tuple[Ints, Ints]:
    """Start and end (exclusive) of the runs of a stream in one tile that come one after the other."""
    (runs,) = runs_of_tile(program, layout, mover, tile)
    start = runs.address + runs.pitch * np.arange(runs.lines if runs.bytes else 0, dtype=np.int64)
    return start, start + runs.bytes
