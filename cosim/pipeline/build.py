"""Generated pipelines in their harnesses."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from cosim.device.device import DRAM, Device
from cosim.pipeline.wrapper import CLOCK, TOP, Sizes, wrapper
from cosim.simulator.registry import simulator_for
from hwgen.arch.pipeline import PipelineParameters
from hwgen.export.cached import kept_verilog
from hwgen.export.conversion import converted
from hwgen.gateware.pipeline.pipeline import Pipeline
from hwgen.tools.toolchain import Simulator

__all__ = ["PipelineBuild"]


@dataclass(frozen=True)
class PipelineBuild:
    """Pipelines built into one simulator, each in a harness with room for the largest of its programs.

    Members
    -------
    fast : optimised for long runs; else built in less time, with the design's assertions on.
    bench : for a cocotb test bench that drives the clock; else the simulator runs by itself.
    """

    pipelines: tuple[tuple[PipelineParameters, Sizes], ...]
    simulator: Simulator = "verilator"
    fast: bool = True
    bench: bool = False

    @cached_property
    def text(self) -> str:
        """Verilog of the pipelines and of the wrappers around them, without the harness."""
        designs = [_design(parameters, f"pipeline_{index}") for index, (parameters, _) in enumerate(self.pipelines)]
        return "".join(designs) + wrapper(self.pipelines)

    @property
    def device(self) -> Device:
        """All pipelines."""
        return Device(
            designs={"pipeline.v": self.text},
            sources=(
                *(f"pipeline/{name}.sv" for name in ("harness", "dram_harness", "listed_runs")),
                *(name for name in DRAM if name != "dram/descriptor_runs.sv"),
            ),
            public="pipeline/bench.vlt",
            top=TOP,
            clock=CLOCK,
            main="pipeline/main.cpp",
            rewritten=False,
            memory=False,
        )

    def run(self, folder: Path) -> None:
        """Run what is in a folder, by the simulator itself or from cocotb; `ToolError` if it fails."""
        simulator = simulator_for(self.simulator, fast=self.fast)
        files = [f"+folder={folder}"]
        if self.bench:
            simulator.run_test(self.device, folder, "cosim.pipeline.tb_pipeline", files)
        else:
            simulator.run_program(self.device, files)


def _design(parameters: PipelineParameters, name: str) -> str:
    """Verilog of one pipeline; its modules are named after ``name``."""
    return kept_verilog([name, repr(parameters)], lambda: converted(Pipeline(parameters), name))
