"""How long each stage of a pipeline has to work on a tile: the slowest one sets the pace of all."""

from collections.abc import Mapping

from hwgen.arch.pipeline import (
    ConvStage,
    GlobalPoolStage,
    JoinStage,
    PipelineParameters,
    PoolStage,
    ShuffleStage,
)

__all__ = ["slowest_stage", "stage_cycles"]


def slowest_stage(parameters: PipelineParameters, registers: Mapping[str, int]) -> int:
    """Cycles that the stage with the most work is busy in a tile, if it never waits."""
    return max(stage_cycles(parameters, registers, index) for index in range(len(parameters.stages)))


def stage_cycles(parameters: PipelineParameters, registers: Mapping[str, int], index: int) -> int:
    """Cycles that a stage is busy in a tile: with windows, padding included, and with pixels that complete none."""
    stage, steps, name = parameters.stages[index], parameters.steps(index), f"stage{index}"
    match stage:
        case ConvStage() | PoolStage():
            seen = registers[f"map{stage.reads}_lines"], registers[f"map{stage.reads}_line"]
            made = registers[f"{name}_lines"], registers[f"{name}_columns"]
            firsts = registers[f"{name}_first_line"], registers[f"{name}_first_column"]
            completing = 1
            for count, first, stride, extent in zip(made, firsts, stage.stride, seen, strict=True):
                completing *= len({min(first + place * stride, extent - 1) for place in range(count)})
            return steps * made[0] * made[1] + seen[0] * seen[1] - completing
        case GlobalPoolStage():
            return steps * (registers[f"map{stage.reads}_lines"] * registers[f"map{stage.reads}_line"] + 1)
        case JoinStage() | ShuffleStage():
            return steps * registers[f"map{stage.makes}_lines"] * registers[f"{name}_columns"]
