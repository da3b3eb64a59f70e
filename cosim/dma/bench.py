"""The DMA's harness in a cocotb test bench, under Verilator or Icarus: slow, and with nothing else in between."""

from collections.abc import Mapping, Sequence

from cosim.dma.model import SOURCES, built_dma, designs, harness_sizes
from cosim.dma.run import DmaJob, DmaResult
from cosim.sim.bench import bench_around, icarus_bench, run_bench
from hwgen.arch.dma import DmaParameters
from hwgen.tools.toolchain import Simulator, require_tools

__all__ = ["run_in_bench"]


def run_in_bench(
    parameters: DmaParameters,
    jobs: Sequence[DmaJob],
    *,
    simulator: Simulator,
    made: Mapping[str, str] | None = None,
) -> list[DmaResult]:
    """Run jobs one after the other, driven by cocotb; the results of `run_dma`, in the order of ``jobs``.

    ``made`` : for Icarus, what `designs` gives, if it is another DMA.
    Raises `ToolError` if the simulator is missing or fails.
    """
    require_tools(simulator, waves=False)
    if simulator == "verilator":
        bench = bench_around(built_dma(parameters))
    else:
        bench = icarus_bench(made or designs(parameters), SOURCES, harness_sizes(parameters))
    results: list[DmaResult] = run_bench(simulator, bench, "cosim.dma.tb_harness", (parameters, list(jobs)))
    return results
