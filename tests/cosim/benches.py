"""Clusters and DMAs in a cocotb test bench: slow, and with nothing else in between."""

from collections.abc import Mapping, Sequence
from functools import partial

from cosim.cluster.model import cluster_device
from cosim.cluster.run import run_clusters
from cosim.cluster.simulated import SimulatedCluster
from cosim.device.job import Job, Outcome
from cosim.dma.model import SimulatedDma, dma_device
from cosim.dma.run import DmaJob, DmaResult, run_dma
from cosim.simulator.registry import SIMULATORS
from hwgen.arch.cluster import ClusterParameters
from hwgen.arch.dma import DmaParameters
from hwgen.tools.toolchain import Simulator

__all__ = ["clusters_in_bench", "dma_in_bench"]


def clusters_in_bench(
    cluster: ClusterParameters,
    jobs: Sequence[Job],
    *,
    simulator: Simulator,
    dram_log2: int = 18,
    verilog: str | None = None,
) -> list[Outcome]:
    """Programs on a cluster; ``verilog``: its text, if it is not made now."""
    device = cluster_device(cluster, dram_log2, verilog)
    return SIMULATORS[simulator].run_bench(device, partial(SimulatedCluster, cluster=cluster), run_clusters, jobs)


def dma_in_bench(
    parameters: DmaParameters, jobs: Sequence[DmaJob], *, simulator: Simulator, made: Mapping[str, str] | None = None
) -> list[DmaResult]:
    """Jobs of a DMA; ``made``: see `dma_device`."""
    device = dma_device(parameters, made)
    return SIMULATORS[simulator].run_bench(device, partial(SimulatedDma, parameters=parameters), run_dma, jobs)
