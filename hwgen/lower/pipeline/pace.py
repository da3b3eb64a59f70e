"""The cycles that each stage of a pipeline works on a tile. The slowest stage sets the pace of all."""

from collections.abc import Mapping

from hwgen.arch.pipeline import PipelineParameters
from hwgen.lower.pipeline.stage import RunningStage, kind_of_stage

__all__ = ["slowest_stage", "stage_cycles"]


def slowest_stage(parameters: PipelineParameters, registers: Mapping[str, int]) -> int:
    """Cycles that the stage with the most work is busy in a tile, if it never waits."""
    return max(stage_cycles(parameters, registers, index) for index in range(len(parameters.stages)))


def stage_cycles(parameters: PipelineParameters, registers: Mapping[str, int], index: int) -> int:
    """Cycles that a stage is busy in a tile, if it never waits."""
    stage = parameters.stages[index]
    return kind_of_stage(stage).busy_cycles(stage, RunningStage(parameters, index, registers))
