"""Predicted cycles of a lowered stack, and the order in which the overlap port serves its maps."""

from collections.abc import Mapping, Sequence
from functools import lru_cache

import numpy as np

from hwgen.arch.dram import Dram
from hwgen.arch.latency import SETTING_ACCESS
from hwgen.arch.pipeline import LEAST_QUEUE, OUTPUT_QUEUE, PipelineParameters
from hwgen.arch.pipeline.movers import Mover, movers_of
from hwgen.lower.pipeline.images import Layout
from hwgen.lower.pipeline.movers import all_runs, run_counts, runs_of_tile, settings_by_tile
from hwgen.lower.pipeline.program import Orders, PipelineProgram, TileProgram
from hwgen.lower.pipeline.queues import pixels_under_way
from hwgen.lower.pipeline.stage import RunningStage, kind_of_stage
from hwgen.model.pipeline.cycles import OPERAND, OUTPUT, SAVED, Branch, Map, Pipeline, PlayedRun, Source, play
from hwgen.model.pipeline.movers import DramPath, MovedStream

__all__ = [
    "played_on_dram",
    "played_run",
    "predict_on_dram",
    "predict_run",
    "predict_tile",
    "run_pipeline",
    "service_order",
    "tile_pipeline",
]


def predict_tile(parameters: PipelineParameters, tile: TileProgram) -> int:
    """Cycles of a run of one tile if no stream stalls; -1 if it deadlocks."""
    incoming = tuple(line.map for line in tile.overlap_in)
    outgoing = tuple(line.map for line in tile.overlap_out)
    return play(tile_pipeline(parameters, tile.registers), incoming, outgoing).cycles


def predict_run(program: PipelineProgram) -> int:
    """Cycles of all tiles of a program, one started after the other, if no stream stalls; -1 if they deadlock."""
    return played_run(program).cycles


def played_run(program: PipelineProgram, parameters: PipelineParameters | None = None) -> PlayedRun:
    """The run of `predict_run`; ``parameters``: of the pipeline, if that is not the program's own."""
    parameters = parameters or program.parameters
    writes = [len(each) for each in settings_by_tile(program)]
    return play(run_pipeline(parameters, program.tiles), *_orders(program), None, writes, SETTING_ACCESS)


def predict_on_dram(
    program: PipelineProgram, layout: Layout, dram: Dram, parameters: PipelineParameters | None = None
) -> int:
    """The same with movers, on a DRAM that nobody else uses."""
    return played_on_dram(program, layout, dram, parameters).cycles


def played_on_dram(
    program: PipelineProgram, layout: Layout, dram: Dram, parameters: PipelineParameters | None = None
) -> PlayedRun:
    """The run of `predict_on_dram`."""
    parameters = parameters or program.parameters
    assert parameters.movers is not None
    movers = movers_of(parameters)
    numbers = {mover.stream: number for number, mover in enumerate(movers)}
    follows = [-1] * len(parameters.maps)
    for mover in movers:
        for number, writer in mover.follows.items():
            follows[number] = numbers[writer]
    path = DramPath(
        parameters.movers,
        dram,
        granted=(numbers.get("i_weights", -1), -1),
        overlap=(numbers.get("i_overlap", -1), numbers.get("o_overlap", -1)),
        streams=[_moved(program, layout, mover, numbers) for mover in movers],
        follows=follows,
    )
    writes = [len(each) for each in settings_by_tile(program, layout)]
    tiles = run_pipeline(parameters, program.tiles, numbers)
    return play(tiles, *_orders(program), path, writes, SETTING_ACCESS)


def _moved(program: PipelineProgram, layout: Layout, mover: Mover, numbers: Mapping[str, int]) -> MovedStream:
    """A mover of a program."""
    none = np.zeros(0, np.int64)
    start, stop = (none, none) if mover.stream == "i_weights" else all_runs(program, layout, mover)
    lines, maps = 0, tuple[int, ...]()
    if mover.maps:
        maps = tuple(line.map for _, line in program.port_lines(incoming=mover.reads))
    elif mover.stream != "i_weights":
        (runs,) = runs_of_tile(program, layout, mover, 0)
        lines = runs.lines
    return MovedStream(
        mover.reads, mover.beat, numbers.get(mover.after or "", -1), numbers.get(mover.order or "", -1), lines, start,
        stop, tuple(run_counts(program, layout, mover)), maps,
    )  # fmt: skip


def _orders(program: PipelineProgram) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The order of the overlap port, in and out."""
    return (
        tuple(number for tile in program.tiles for number in tile.order_in),
        tuple(number for tile in program.tiles for number in tile.order_out),
    )


def service_order(parameters: PipelineParameters, tiles: Sequence[TileProgram]) -> Orders:
    """The order of the overlap port: that in which maps need or have lines if the port serves them at once.

    Stages have less room for their pixels there than in the hardware, where those in the datapath may have to go to
    the queue. So whatever happens there before a line can happen in the hardware, too, without that line.
    """
    pipelines = []
    for pipeline in run_pipeline(parameters, tiles):
        stages = tuple(
            stage._replace(queue=max(stage.queue - pixels_under_way(parameters, number), 1))
            for number, stage in enumerate(pipeline.stages)
        )
        pipelines.append(pipeline._replace(stages=stages))
    if not any(one.overlap or one.saved for pipeline in pipelines for one in pipeline.maps):
        return (), ()  # nothing to order, so that large stacks of one tile are not simulated for it
    played = _played_without_order(tuple(pipelines))
    return played.incoming, played.outgoing


@lru_cache(maxsize=8)
def _played_without_order(pipelines: tuple[Pipeline, ...]) -> PlayedRun:
    return play(pipelines)


def run_pipeline(
    parameters: PipelineParameters, tiles: Sequence[TileProgram], movers: Mapping[str, int] | None = None
) -> list[Pipeline]:
    """The pipeline in each tile of a run. ``movers``: see `tile_pipeline`."""
    found, before = [], [0] * len(parameters.maps)
    for tile in tiles:
        pipeline = tile_pipeline(parameters, tile.registers, movers)
        branches = pipeline.branches
        sources = tuple(
            one._replace(before=before[branches[one.after].map], each=branches[one.after].columns)
            if one.after >= 0
            else one
            for one in pipeline.sources
        )
        found.append(pipeline._replace(sources=sources))
        for branch in branches:
            if branch.kind == OUTPUT:
                before[branch.map] += branch.columns * pipeline.maps[branch.map].lines
    return found


def tile_pipeline(
    parameters: PipelineParameters, registers: Mapping[str, int], movers: Mapping[str, int] | None = None
) -> Pipeline:
    """The pipeline in one tile, from its parameters and register values.

    ``movers``: their numbers, by stream; None: the streams never stall.
    """
    movers = movers or {}
    sources: list[Source] = []
    maps = []
    for number, one in enumerate(parameters.maps):
        line, lines = registers[f"map{number}_line"], registers[f"map{number}_lines"]
        overlap = registers[f"map{number}_overlap"] if one.overlap_in else 0
        saved = registers[f"map{number}_saved"] if one.overlap_out else 0
        maker = parameters.maker(number)
        if maker is None:
            mover = movers.get(f"i_map{number}", -1)
            sources.append(
                Source(line - overlap, lines, -(-one.channels // one.beat), channels=one.channels, mover=mover)
            )
        beats = -(-one.channels // parameters.overlap_beat)
        maps.append(
            Map(line, lines, overlap, saved, one.pixels, -1 if maker is None else maker, len(sources) - 1, beats,
                max(one.overlap_in, LEAST_QUEUE), one.channels)
        )  # fmt: skip
    branches = _branches(parameters, registers, maps, movers)
    for index, place in parameters.skips():
        operand, makes = parameters.operand(index, place), parameters.stages[index].makes
        columns, lines = registers[f"stage{index}_columns"], registers[f"map{makes}_lines"]
        channels, mover = parameters.maps[operand.reads].channels, movers.get(f"i_skip{index}_{place}", -1)
        beats = -(-channels // operand.beat)
        after = _written_before(parameters, branches, operand.reads)
        sources.append(Source(columns, lines, beats, index, max(operand.queue, LEAST_QUEUE), channels, mover, after))
    stages = tuple(
        kind_of_stage(stage).played(stage, RunningStage(parameters, index, registers))
        for index, stage in enumerate(parameters.stages)
    )
    return Pipeline(tuple(maps), stages, tuple(branches), tuple(sources))


def _written_before(parameters: PipelineParameters, branches: list[Branch], read: int) -> int:
    """The branch that writes a map which a skip reads line by line; -1 if it does not wait for lines."""
    if parameters.movers is None:
        return -1
    writing = (number for number, branch in enumerate(branches) if branch.kind == OUTPUT and branch.map == read)
    return next(writing, -1)


def _branches(
    parameters: PipelineParameters, registers: Mapping[str, int], maps: list[Map], movers: Mapping[str, int]
) -> list[Branch]:
    found = []
    for number, (one, at) in enumerate(zip(parameters.maps, maps, strict=True)):
        if one.written:
            beats = -(-one.channels // one.beat)
            mover = movers.get(f"o_map{number}", -1)
            found.append(Branch(OUTPUT, number, at.overlap, at.line - at.overlap, OUTPUT_QUEUE, beats, mover=mover))
        if one.overlap_out:
            found.append(Branch(SAVED, number, at.line - at.saved, at.saved, max(one.overlap_out, LEAST_QUEUE)))
        for index, place in parameters.join_readers(number):
            first, columns = registers[f"stage{index}_first_{place}"], registers[f"stage{index}_columns"]
            queue = parameters.operand(index, place).queue
            found.append(
                Branch(
                    OPERAND, number, first, columns, queue if one.pixels else max(queue, LEAST_QUEUE), target=index
                )
            )
    return found
