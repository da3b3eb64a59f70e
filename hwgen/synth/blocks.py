"""Area by block of HWCs, clusters and pipelines; nothing is placed, so that a cluster takes minutes."""

from collections.abc import Callable

from hwgen.arch.cluster import ClusterParameters
from hwgen.arch.hwc import HwcParameters
from hwgen.arch.pipeline import PipelineParameters
from hwgen.export.cached import generated, generated_cluster
from hwgen.export.pipeline import pipeline_verilog
from hwgen.synth.cells import Area
from hwgen.synth.ecp5 import areas

__all__ = ["cluster_blocks", "hwc_blocks", "pipeline_blocks"]

Tell = Callable[[str], None]


def hwc_blocks(parameters: HwcParameters, *, tell: Tell = lambda stage: None) -> dict[str, Area]:
    """The blocks of an HWC."""
    return areas(generated(parameters), "hwc", tell=tell)


def pipeline_blocks(parameters: PipelineParameters, *, tell: Tell = lambda stage: None) -> dict[str, Area]:
    """The blocks of a pipeline."""
    return areas(pipeline_verilog(parameters), "pipeline", tell=tell)


def cluster_blocks(parameters: ClusterParameters, *, tell: Tell = lambda stage: None) -> dict[str, Area]:
    """The blocks of a cluster: its HWCs, which are equal, and what is around them. One HWC is synthesised."""
    one = sum(areas(generated(parameters.hwc), "hwc", tell=tell).values(), Area())
    around = areas(generated_cluster(parameters), "cluster", boxes=("hwc",), tell=tell)
    return {f"{parameters.hwcs} HWCs": sum([one] * parameters.hwcs, Area()), **around}
