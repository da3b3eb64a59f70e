"""Queue depths with which strides and skips do not stall the slowest stage of a pipeline.

A stage with a stride across lines makes its outputs in some lines of its input only. In these lines its output comes
faster than the next stage takes it, and its input may come faster than it takes it. In the other lines both are idle.
A queue for the surplus of one such line keeps the slowest stage busy all the time.

While the last operand of a join passes through stages and queues, the pixels of the other operands wait: their queues
need as many pixels as those stages and queues hold. Movers read a skip through the DRAM line by line, after it was
written: where a join would need it sooner, all that reaches the join earlier waits for a line.

The pixels in the datapath of a stage need room in the queue after it: a stage whose queue is full stands still, while
one with the same pixels in its datapath goes on. What may pass a stage then does not depend on when its pixels came.
"""

from collections.abc import Collection
from dataclasses import replace
from math import ceil

from hwgen.arch.pipeline import OUTPUT_QUEUE, PipelineParameters, Stage

__all__ = ["pixels_under_way", "with_queues"]


def pixels_under_way(parameters: PipelineParameters, number: int) -> int:
    """The most pixels that are in the datapath of a stage at a time."""
    return -(-parameters.stages[number].registers // parameters.steps(number))


def with_queues(
    parameters: PipelineParameters, delayed: Collection[tuple[int, int]] = (), *, datapaths: bool = False
) -> PipelineParameters:
    """The pipeline with queues that are deep enough for its strides and its skips.

    ``delayed``: stage and operand of the skips that come a line later than they are needed. ``datapaths``: every
    queue has room for the pixels in the datapath before it, and for one more.
    """
    depths = [OUTPUT_QUEUE] * len(parameters.maps)
    if datapaths:
        for number, stage in enumerate(parameters.stages):
            depths[stage.makes] = max(OUTPUT_QUEUE, 1 + pixels_under_way(parameters, number))
    for number, stage in enumerate(parameters.stages):
        down, right = stage.output_pitch
        if down == 1:
            continue
        (source,) = stage.window_reads
        # Cycles from input to input, and from output to output, in a line that completes windows.
        maker = parameters.maker(source)
        input_cycles = parameters.steps(maker) if maker is not None else 1
        window_cycles = parameters.steps(number) + right - 1  # a pixel that completes none takes one cycle
        cycles_per_input = window_cycles / right
        if maker is not None:
            # While the stage works on such a line, the stage before it goes on with the next line.
            _deepen(depths, source, min(cycles_per_input / input_cycles - 1, 1) * parameters.maps[source].line)
        output_cycles = max(window_cycles, input_cycles * right)
        readers = parameters.window_readers(stage.makes)
        reader_cycles = max((parameters.steps(reader) for reader in readers), default=0)
        if reader_cycles:
            _deepen(depths, stage.makes, (1 - output_cycles / reader_cycles) * parameters.maps[stage.makes].line)
    maps = (
        one if one.source else replace(one, queue=depth) for one, depth in zip(parameters.maps, depths, strict=True)
    )
    return _with_skips(replace(parameters, maps=tuple(maps)), delayed)


def _with_skips(parameters: PipelineParameters, delayed: Collection[tuple[int, int]]) -> PipelineParameters:
    """Queues of operands as deep as the pixels that the longest path to the join holds."""
    held = [0] * len(parameters.maps)
    """Pixels on the longest path to each map: in stages, in queues and in flight."""
    stages: list[Stage] = list(parameters.stages)
    for number in sorted(range(len(stages)), key=lambda index: stages[index].makes):
        stage = stages[number]
        before = [parameters.maps[one.reads].line for place, one in enumerate(stage.pixel_operands)
                  if (number, place) in delayed]  # fmt: skip
        longest = max(held[read] for read in stage.reads_of_all) + max(before, default=0)
        scaled = -(-stage.scaling // parameters.steps(number))
        held[stage.makes] = longest + parameters.maps[stage.makes].queue + 2 + scaled
        waits = [OUTPUT_QUEUE + longest - held[operand.reads] for operand in stage.pixel_operands]
        stages[number] = stage.with_operand_queues(waits)
    return replace(parameters, stages=tuple(stages))


def _deepen(depths: list[int], number: int, pixels: float) -> None:
    depths[number] = max(depths[number], OUTPUT_QUEUE + ceil(max(pixels, 0)))
