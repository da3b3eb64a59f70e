"""The settings of a pipeline's movers: where in the DRAM the runs of each stream are, tile by tile."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from hwgen.arch.dram import Dram
from hwgen.arch.pipeline.movers import Mover, movers_of
from hwgen.arch.registers.pipeline import pipeline_registers
from hwgen.ir.counts import Access
from hwgen.lower.pipeline.images import Layout
from hwgen.lower.pipeline.program import OverlapLine, PipelineProgram, TileProgram
from hwgen.model.dram.streams import count_runs

__all__ = ["RunsOfTile", "all_runs", "dram_counts", "load_settings", "run_counts", "runs_of_tile", "settings_by_tile"]


@dataclass(frozen=True)
class RunsOfTile:
    """The runs of a mover in one tile.

    Members
    -------
    address, bytes, pitch, lines : of equal runs; without bytes or lines there are none.
    """

    address: int = 0
    bytes: int = 0
    pitch: int = 0
    lines: int = 0


def load_settings(program: PipelineProgram, layout: Layout) -> dict[str, int]:
    """The registers of the movers for the load of the weights."""
    return {"i_weights_address": layout.places["i_weights"], "i_weights_bytes": _weight_bytes(program)}


def _weight_bytes(program: PipelineProgram) -> int:
    """Bytes of all words that the stages load."""
    parameters = program.parameters
    loads = [index for index, stage in enumerate(parameters.stages) if stage.loads_weights]
    return sum(words * size for index in loads for words, size in parameters.memory_words(index).values())


def tile_settings(program: PipelineProgram, layout: Layout, tile: int) -> dict[str, int]:
    """The registers of the movers for a tile."""
    found: dict[str, int] = {}
    for mover in movers_of(program.parameters):
        if mover.stream == "i_weights":
            continue
        for runs, at in zip(mover.runs, runs_of_tile(program, layout, mover, tile), strict=True):
            found |= {f"{runs.name}_address": at.address, f"{runs.name}_bytes": at.bytes}
            if runs.pitched:
                found[f"{runs.name}_pitch"] = at.pitch
            if runs.counted:
                found[f"{runs.name}_lines"] = at.lines
    return found


def settings_by_tile(program: PipelineProgram, layout: Layout | None = None) -> list[dict[str, int]]:
    """The registers that software writes for each tile: all for the first one, then those that change.

    ``layout``: of the movers, if there are any.
    """
    known = pipeline_registers(program.parameters).addresses
    found: list[dict[str, int]] = []
    held: dict[str, int] = {}
    for number, tile in enumerate(program.tiles):
        moved = {} if layout is None else tile_settings(program, layout, number)
        values = {name: value for name, value in {**tile.registers, **moved}.items() if name in known}
        found.append({name: value for name, value in values.items() if held.get(name) != value})
        held |= values
    return found


def runs_of_tile(program: PipelineProgram, layout: Layout, mover: Mover, tile: int) -> list[RunsOfTile]:
    """The runs of a mover: for the overlap port those of each of its maps, else a single entry."""
    at = program.tiles[tile]
    if mover.maps:
        lines = at.overlap_in if mover.reads else at.overlap_out
        return [_overlap(program, layout, lines, number) for number in mover.maps]
    if mover.stream.endswith("_order"):
        return [_order(program, layout, mover.stream, tile)]
    return [_columns(program, layout, mover, at)]


def _columns(program: PipelineProgram, layout: Layout, mover: Mover, tile: TileProgram) -> RunsOfTile:
    columns, region = tile.streams[mover.stream], program.stream(mover.stream).region
    one = program.plan.by_number[region]
    address, pitch = layout.regions[region] + columns.first * one.channels, one.columns * one.channels
    size = columns.count * one.channels
    if size == pitch and mover.stream not in _in_step(program):
        return RunsOfTile(address, size * one.lines, 0, 1)
    return RunsOfTile(address, size, pitch, one.lines)


def _in_step(program: PipelineProgram) -> Iterator[str]:
    """The streams of which one waits, line by line, for what the other one writes."""
    for mover in movers_of(program.parameters):
        if mover.after is not None:
            yield from (mover.stream, mover.after)
        yield from mover.follows.values()


def _overlap(program: PipelineProgram, layout: Layout, lines: tuple[OverlapLine, ...], number: int) -> RunsOfTile:
    mine = [line for line in lines if line.map == number]
    region = program.maps[number].graph_number
    one = program.plan.by_number[region]
    if not mine:
        return RunsOfTile(lines=one.lines)
    address = layout.regions[region] + mine[0].first * one.channels
    return RunsOfTile(address, mine[0].count * one.channels, one.columns * one.channels, len(mine))


def _order(program: PipelineProgram, layout: Layout, stream: str, tile: int) -> RunsOfTile:
    counts = [len(one.order_in if stream == "i_overlap_in_order" else one.order_out) for one in program.tiles]
    before: Mapping[int, int] = dict(enumerate(accumulate(counts, initial=0)))
    return RunsOfTile(layout.places[stream] + before[tile], counts[tile], 0, 1)


# --- what the DRAM sees ---

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
