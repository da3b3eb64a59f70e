"""Programs on a cluster in a cocotb test bench, under Verilator or Icarus: slow, and with nothing else in between."""

from collections.abc import Sequence

from cosim.cluster.model import SOURCES, built_cluster, harness_sizes
from cosim.cluster.run import ClusterJob, ClusterResult
from cosim.sim.bench import bench_around, icarus_bench, run_bench
from hwgen.arch.cluster import ClusterParameters
from hwgen.export.cached import generated_cluster
from hwgen.tools.toolchain import Simulator, require_tools

__all__ = ["run_in_bench"]


def run_in_bench(
    cluster: ClusterParameters,
    jobs: Sequence[ClusterJob],
    *,
    simulator: Simulator,
    dram_log2: int = 18,
    verilog: str | None = None,
) -> list[ClusterResult]:
    """Run programs one after the other, driven by cocotb; the results of `run_cluster`, in the order of ``jobs``.

    ``dram_log2`` is the size of the DRAM in 32-bit words, as a power of two; ``verilog`` the cluster's text, if it is
    not made now.

    Raises `ToolError` if the simulator is missing or fails.
    """
    require_tools(simulator, waves=False)
    text = verilog or generated_cluster(cluster)
    if simulator == "verilator":
        bench = bench_around(built_cluster(cluster, dram_log2, False, text))
    else:
        bench = icarus_bench({"cluster.v": text}, SOURCES, harness_sizes(cluster, dram_log2))
    results: list[ClusterResult] = run_bench(simulator, bench, "cosim.cluster.tb_cluster", (cluster, list(jobs)))
    return results
