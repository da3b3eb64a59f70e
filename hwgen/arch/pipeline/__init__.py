"""A depth-first pipeline: what it is generated for, in values without any Amaranth."""

from hwgen.arch.pipeline.maps import LEAST_QUEUE, OUTPUT_QUEUE, MapParameters
from hwgen.arch.pipeline.movers import MoverParameters
from hwgen.arch.pipeline.parameters import PipelineParameters
from hwgen.arch.pipeline.stage import Operand, Stage, WindowStage
from hwgen.arch.pipeline.stages.conv import ConvStage
from hwgen.arch.pipeline.stages.join import JoinStage
from hwgen.arch.pipeline.stages.lookup import LookupStage
from hwgen.arch.pipeline.stages.pool import GlobalPoolStage, PoolStage
from hwgen.arch.pipeline.stages.shuffle import ShuffleStage

__all__ = [
    "LEAST_QUEUE",
    "OUTPUT_QUEUE",
    "ConvStage",
    "GlobalPoolStage",
    "JoinStage",
    "LookupStage",
    "MapParameters",
    "MoverParameters",
    "Operand",
    "PipelineParameters",
    "PoolStage",
    "ShuffleStage",
    "Stage",
    "WindowStage",
]
