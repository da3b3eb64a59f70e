"""The designs that the manual shows: an HWC, a cluster with its DMA, and a pipeline with every kind of port."""

from functools import cache
from pathlib import Path

import hwgen
from hwgen.arch.cluster import ClusterParameters
from hwgen.arch.hardware_file import load_hardware
from hwgen.arch.hwc import HwcParameters
from hwgen.arch.pipeline import ConvStage, JoinStage, MapParameters, Operand, PipelineParameters
from hwgen.ir.builtin import named_file
from hwgen.ir.schedule import load_schedule
from hwgen.lower.cluster.program import compile_cluster
from hwgen.lower.hwc import compile_layer

__all__ = ["ROOT", "cluster", "hwc", "pipeline"]

ROOT = Path(hwgen.__file__).parents[1]


@cache
def hwc() -> HwcParameters:
    """The smallest HWC that runs the example schedule."""
    schedule = load_schedule(ROOT / "schedules" / "examples" / "fig8_conv4_2.yaml")
    return compile_layer(schedule).parameters


@cache
def cluster() -> ClusterParameters:
    """The cluster of four HWCs that the third convolution of AlexNet is scheduled for."""
    schedule = load_schedule(ROOT / "schedules" / "alexnet_cluster" / "alexnet_3.yaml")
    return compile_cluster(schedule, load_hardware(named_file("hardware", "alexnet_cluster"))).hardware


@cache
def pipeline() -> PipelineParameters:
    """A convolution and a sum with its input, which comes a second time from DRAM; both maps have overlap columns."""
    maps = (
        MapParameters(8, 40, 16, 16, beat=4, source=True, overlap_in=2),
        MapParameters(8, 0, 16, 16, overlap_out=2),
        MapParameters(8, 0, 16, 16, beat=4, written=True),
    )
    conv = ConvStage(0, 1, (3, 3), (1, 1), input_lanes=4, output_lanes=4)
    join = JoinStage((Operand(1), Operand(0, through_dram=True, beat=4)), 2)
    return PipelineParameters(maps, (conv, join))
