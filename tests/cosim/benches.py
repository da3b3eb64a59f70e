"""Devices in a cocotb test bench: slow, and with nothing else in between."""

import pickle
import tempfile
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TypeVar

from cosim.cluster.model import SimulatedCluster, cluster_device
from cosim.cluster.run import run_clusters
from cosim.device.device import Device
from cosim.device.job import Job, Outcome
from cosim.dma.model import SimulatedDma, dma_device
from cosim.dma.run import DmaJob, DmaResult, run_dma
from cosim.pipeline.build import PipelineBuild
from cosim.simulator.harness import SimulatedHarness
from cosim.simulator.registry import SIMULATORS, simulator_for
from cosim.system.model import system_device
from hwgen.arch.cluster import ClusterParameters, SystemParameters
from hwgen.arch.dma import DmaParameters
from hwgen.tools.toolchain import Simulator

__all__ = ["BUS", "PipelinesInBench", "clusters_in_bench", "dma_in_bench", "systems_in_bench"]

BUS = "tests.cosim.hwc.tb_bus"
"""The bus in Python around an HWC, as `cosim.hwc.runner.run_jobs` takes it."""
Around = TypeVar("Around")
Given = TypeVar("Given")
Found = TypeVar("Found")


def in_bench(
    simulator: Simulator,
    device: Device,
    around: Callable[[SimulatedHarness], Around],
    run: Callable[[Around, Given], Found],
    jobs: Sequence[Given],
) -> list[Found]:
    """Run jobs one after the other on what ``around`` makes of the harness."""
    with tempfile.TemporaryDirectory(prefix="hwgen-") as name:
        folder = Path(name)
        (folder / "jobs.pickle").write_bytes(pickle.dumps((around, run, list(jobs))))
        SIMULATORS[simulator].run_test(device, folder, "tests.cosim.tb_driven")
        results: list[Found] = pickle.loads((folder / "results.pickle").read_bytes())
        return results


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
    return in_bench(simulator, device, partial(SimulatedCluster, cluster=cluster), run_clusters, jobs)


def systems_in_bench(
    system: SystemParameters, jobs: Sequence[Job], *, simulator: Simulator, dram_log2: int = 18
) -> list[Outcome]:
    """Programs on the clusters of a system, whose memories may stall."""
    device = system_device(system, dram_log2, slow=True)
    around = partial(SimulatedCluster, cluster=system.cluster, clusters=system.clusters)
    return in_bench(simulator, device, around, run_clusters, jobs)


def dma_in_bench(
    parameters: DmaParameters, jobs: Sequence[DmaJob], *, simulator: Simulator, made: Mapping[str, str] | None = None
) -> list[DmaResult]:
    """Jobs of a DMA; ``made``: see `dma_device`."""
    device = dma_device(parameters, made)
    return in_bench(simulator, device, partial(SimulatedDma, parameters=parameters), run_dma, jobs)


class PipelinesInBench(PipelineBuild):
    """Pipelines whose clock cocotb drives."""

    def run(self, folder: Path) -> None:
        simulator = simulator_for(self.simulator, fast=self.fast)
        simulator.run_test(self.device, folder, "tests.cosim.pipeline.tb_pipeline", [f"+folder={folder}"])
