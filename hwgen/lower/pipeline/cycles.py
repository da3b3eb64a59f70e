"""Predicted cycles of a lowered stack, and the order in which the overlap port serves its maps."""

from collections.abc import Mapping
from functools import lru_cache
from typing import Literal

from hwgen.arch.dram import Dram
from hwgen.arch.pipeline import LEAST_QUEUE, OUTPUT_QUEUE, PipelineParameters
from hwgen.arch.pipeline.movers import movers_of
from hwgen.lower.pipeline.dram_counts import runs_in_order
from hwgen.lower.pipeline.images import Layout
from hwgen.lower.pipeline.program import PipelineProgram, TileProgram
from hwgen.lower.pipeline.queues import pixels_under_way
from hwgen.lower.pipeline.stage import RunningStage, kind_of_stage
from hwgen.model.pipeline.cycles import OPERAND, OUTPUT, SAVED, Branch, Map, Pipeline, PlayedTile, Source, play
from hwgen.model.pipeline.movers import DramPath, MovedStream

__all__ = ["predict_on_dram", "predict_tile", "service_order", "tile_pipeline"]


def predict_tile(parameters: PipelineParameters, tile: TileProgram) -> int:
    """Cycles of a tile if no stream stalls; -1 if it deadlocks."""
    incoming = tuple(line.map for line in tile.overlap_in)
    outgoing = tuple(line.map for line in tile.overlap_out)
    return play(tile_pipeline(parameters, tile.registers), incoming, outgoing).cycles


def predict_on_dram(
    program: PipelineProgram, layout: Layout, dram: Dram, parameters: PipelineParameters | None = None
) -> tuple[int, ...]:
    """Cycles of each tile of a program with movers, on a DRAM that nobody else uses; -1 if it deadlocks.

    ``parameters``: of the pipeline that it runs on, if that is not the program's own.
    """
    parameters = parameters or program.parameters
    assert parameters.movers is not None
    movers = movers_of(parameters)
    numbers = {mover.stream: number for number, mover in enumerate(movers)}
    path = DramPath(
        parameters.movers,
        dram,
        granted=(numbers.get("i_weights", -1), -1),
        overlap=(numbers.get("i_overlap", -1), numbers.get("o_overlap", -1)),
    )
    found = []
    for number, tile in enumerate(program.tiles):
        path.streams = [
            MovedStream(
                mover.reads,
                mover.beat,
                numbers.get(mover.after or "", -1),
                numbers.get(mover.order or "", -1),
                *runs_in_order(program, layout, mover, number),
            )
            for mover in movers
        ]
        incoming = tuple(line.map for line in tile.overlap_in)
        outgoing = tuple(line.map for line in tile.overlap_out)
        pipeline = tile_pipeline(parameters, tile.registers, numbers)
        found.append(play(pipeline, incoming, outgoing, path).cycles)
    return tuple(found)


def service_order(parameters: PipelineParameters, tile: TileProgram, direction: Literal["in", "out"]) -> list[int]:
    """The order of the overlap port: that in which maps need or have lines if the port serves them at once.

    Stages have less room for their pixels there than in the hardware, where those in the datapath may have to go to
    the queue. So whatever happens there before a line can happen in the hardware, too, without that line.
    """
    pipeline = tile_pipeline(parameters, tile.registers)
    stages = tuple(
        stage._replace(queue=max(stage.queue - pixels_under_way(parameters, number), 1))
        for number, stage in enumerate(pipeline.stages)
    )
    pipeline = pipeline._replace(stages=stages)
    if not any(one.overlap if direction == "in" else one.saved for one in pipeline.maps):
        return []  # nothing to order, so that large stacks of one tile are not simulated for it
    played = _played_without_order(pipeline)
    return list(played.incoming if direction == "in" else played.outgoing)


@lru_cache(maxsize=8)
def _played_without_order(pipeline: Pipeline) -> PlayedTile:
    return play(pipeline)


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
