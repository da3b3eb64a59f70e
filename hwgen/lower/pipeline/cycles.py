"""Predicted cycles of a lowered stack, and the order in which the overlap port serves its maps."""

from collections.abc import Mapping
from functools import lru_cache
from typing import Literal

from hwgen.arch.pipeline import LEAST_QUEUE, OUTPUT_QUEUE, PipelineParameters
from hwgen.lower.pipeline.program import TileProgram
from hwgen.lower.pipeline.stage import RunningStage, kind_of_stage
from hwgen.model.pipeline.cycles import OPERAND, OUTPUT, SAVED, Branch, Map, Pipeline, PlayedTile, Source, play

__all__ = ["predict_tile", "service_order", "tile_pipeline"]


def predict_tile(parameters: PipelineParameters, tile: TileProgram) -> int:
    """Cycles of a tile if no stream stalls; -1 if it deadlocks."""
    incoming = tuple(line.map for line in tile.overlap_in)
    outgoing = tuple(line.map for line in tile.overlap_out)
    return play(tile_pipeline(parameters, tile.registers), incoming, outgoing).cycles


def service_order(parameters: PipelineParameters, tile: TileProgram, direction: Literal["in", "out"]) -> list[int]:
    """The order of the overlap port: that in which maps need or have lines if the port serves them at once."""
    pipeline = tile_pipeline(parameters, tile.registers)
    if not any(one.overlap if direction == "in" else one.saved for one in pipeline.maps):
        return []  # nothing to order, so that large stacks of one tile are not simulated for it
    played = _played_without_order(pipeline)
    return list(played.incoming if direction == "in" else played.outgoing)


@lru_cache(maxsize=8)
def _played_without_order(pipeline: Pipeline) -> PlayedTile:
    return play(pipeline)


def tile_pipeline(parameters: PipelineParameters, registers: Mapping[str, int]) -> Pipeline:
    """The pipeline in one tile, from its parameters and register values."""
    sources: list[Source] = []
    maps = []
    for number, one in enumerate(parameters.maps):
        line, lines = registers[f"map{number}_line"], registers[f"map{number}_lines"]
        overlap = registers[f"map{number}_overlap"] if one.overlap_in else 0
        saved = registers[f"map{number}_saved"] if one.overlap_out else 0
        maker = parameters.maker(number)
        if maker is None:
            sources.append(Source(line - overlap, lines, -(-one.channels // one.beat)))
        beats = -(-one.channels // parameters.overlap_beat)
        maps.append(
            Map(line, lines, overlap, saved, one.pixels, -1 if maker is None else maker, len(sources) - 1, beats,
                max(one.overlap_in, LEAST_QUEUE))
        )  # fmt: skip
    for index, place in parameters.skips():
        operand, makes = parameters.operand(index, place), parameters.stages[index].makes
        columns, lines = registers[f"stage{index}_columns"], registers[f"map{makes}_lines"]
        beats = -(-parameters.maps[operand.reads].channels // operand.beat)
        sources.append(Source(columns, lines, beats, index, max(operand.queue, LEAST_QUEUE)))
    stages = tuple(
        kind_of_stage(stage).played(stage, RunningStage(parameters, index, registers))
        for index, stage in enumerate(parameters.stages)
    )
    return Pipeline(tuple(maps), stages, tuple(_branches(parameters, registers, maps)), tuple(sources))


def _branches(parameters: PipelineParameters, registers: Mapping[str, int], maps: list[Map]) -> list[Branch]:
    found = []
    for number, (one, at) in enumerate(zip(parameters.maps, maps, strict=True)):
        if one.written:
            beats = -(-one.channels // one.beat)
            found.append(Branch(OUTPUT, number, at.overlap, at.line - at.overlap, OUTPUT_QUEUE, beats))
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
