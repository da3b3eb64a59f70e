"""Queues that keep strides from holding a pipeline up: pixels come evenly, but some lines make more than others.

A stage with a stride across lines makes outputs only in some of the lines of its input. While it does, its output
comes faster than the next stage takes it, and its input may come faster than it takes that; in the other lines both
wait. A queue of what piles up within such a line is enough for the slowest stage to work all the time. And while the
last operand of a join is on its way through stages and queues, what they hold piles up before the other operands.
"""

from dataclasses import replace
from math import ceil

from hwgen.arch.pipeline import OUTPUT_QUEUE, PipelineParameters, Stage

__all__ = ["with_even_queues"]


def with_even_queues(parameters: PipelineParameters) -> PipelineParameters:
    """The pipeline with queues deep enough for its strides and its skips."""
    depths = [OUTPUT_QUEUE] * len(parameters.maps)
    for number, stage in enumerate(parameters.stages):
        down, right = stage.output_pitch
        if down == 1:
            continue
        (source,) = stage.window_reads
        # Cycles between two inputs, and between two outputs, in a line in which windows are completed.
        before = parameters.maker(source)
        brought = parameters.steps(before) if before is not None else 1
        window = parameters.steps(number) + right - 1  # pixels that complete none take a cycle each
        taken = window / right
        if before is not None:
            # While the stage is busy with such a line, the one before it goes on with the next.
            _deepen(depths, source, min(taken / brought - 1, 1) * parameters.maps[source].line)
        made = max(window, brought * right)
        after = max((parameters.steps(reader) for reader in parameters.window_readers(stage.makes)), default=0)
        if after:
            _deepen(depths, stage.makes, (1 - made / after) * parameters.maps[stage.makes].line)
    maps = (
        one if one.source else replace(one, queue=depth) for one, depth in zip(parameters.maps, depths, strict=True)
    )
    return _with_skips(replace(parameters, maps=tuple(maps)))


def _with_skips(parameters: PipelineParameters) -> PipelineParameters:
    """Operands of joins wait for the pixels that are under way on the longest path."""
    held = [0] * len(parameters.maps)
    """Pixels that may be under way before each map: in stages, in queues and in flight."""
    stages: list[Stage] = list(parameters.stages)
    for number in sorted(range(len(stages)), key=lambda index: stages[index].makes):
        stage = stages[number]
        longest = max(held[read] for read in stage.reads_of_all)
        held[stage.makes] = longest + parameters.maps[stage.makes].queue + 2
        waits = [OUTPUT_QUEUE + longest - held[operand.reads] for operand in stage.pixel_operands]
        stages[number] = stage.with_operand_queues(waits)
    return replace(parameters, stages=tuple(stages))


def _deepen(depths: list[int], number: int, pixels: float) -> None:
    depths[number] = max(depths[number], OUTPUT_QUEUE + ceil(max(pixels, 0)))
