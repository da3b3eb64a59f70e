"""Queues that keep strides from holding a pipeline up: pixels come evenly, but some lines make more than others.

A stage with a stride across lines makes outputs only in some of the lines of its input. While it does, its output
comes faster than the next stage takes it, and its input may come faster than it takes that; in the other lines both
wait. A queue of what piles up within such a line is enough for the slowest stage to work all the time.
"""

from dataclasses import replace
from math import ceil

from hwgen.gateware.fused_params import OUTPUT_QUEUE, ConvStage, FusedParameters, PoolStage

__all__ = ["with_even_queues"]


def with_even_queues(parameters: FusedParameters) -> FusedParameters:
    """The pipeline with queues deep enough for its strides."""
    depths = [OUTPUT_QUEUE] * len(parameters.maps)
    for number, stage in enumerate(parameters.stages):
        if not isinstance(stage, ConvStage | PoolStage) or stage.stride[0] == 1:
            continue
        # Cycles between two inputs, and between two outputs, in a line in which windows are completed.
        before = parameters.maker(stage.reads)
        brought = parameters.steps(before) if before is not None else 1
        taken = parameters.steps(number) / stage.stride[1]
        if before is not None:
            # While the stage is busy with such a line, the one before it goes on with the next.
            _deepen(depths, stage.reads, min(taken / brought - 1, 1) * parameters.maps[stage.reads].line)
        made = max(parameters.steps(number), brought * stage.stride[1])
        after = max((parameters.steps(reader) for reader in parameters.window_readers(stage.makes)), default=0)
        if after:
            _deepen(depths, stage.makes, (1 - made / after) * parameters.maps[stage.makes].line)
    maps = (
        one if one.source else replace(one, queue=depth) for one, depth in zip(parameters.maps, depths, strict=True)
    )
    return replace(parameters, maps=tuple(maps))


def _deepen(depths: list[int], number: int, pixels: float) -> None:
    depths[number] = max(depths[number], OUTPUT_QUEUE + ceil(max(pixels, 0)))
