"""Simulators with generated pipelines, each built once and cached."""

import hashlib
import json
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import cosim.sim.compiling
from cosim.pipeline.wrapper import CLOCK, TOP, Sizes, wrapper
from cosim.sim.build import FAST, FAST_COMPILED, QUICK, QUICK_COMPILED, launch
from cosim.sim.compiling import CommandFailed, compile_model, verilate
from cosim.sim.requests import build_request
from hwgen.arch.pipeline import PipelineParameters
from hwgen.export.cached import kept_verilog
from hwgen.export.conversion import converted
from hwgen.gateware.pipeline.pipeline import Pipeline
from hwgen.tools.kept import kept_folder
from hwgen.tools.processes import completed
from hwgen.tools.toolchain import Simulator, ToolError, cache_room, environment, fingerprint, require_tools

__all__ = ["PipelineBuild"]

HARNESS = Path(__file__).resolve().parents[1] / "harness" / "pipeline"
VERILOG = (
    HARNESS / "harness.sv",
    HARNESS / "dram_harness.sv",
    HARNESS / "listed_runs.sv",
    *(HARNESS.parent / "dram" / f"{name}.sv" for name in ("dram", "dram_counters", "axi_rules")),
)
PUBLIC = HARNESS / "bench.vlt"


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

    def make(self) -> Path:
        """The simulator: a program or, for a test bench, the folder with it. Built unless the cache has it."""
        require_tools(self.simulator, waves=False)
        sources = [
            *VERILOG,
            HARNESS / "main.cpp",
            PUBLIC,
            Path(__file__),
            Path(cosim.sim.compiling.__file__),
        ]
        state = hashlib.sha256(
            json.dumps([self.text, self.simulator, self.fast, self.bench, fingerprint(self.simulator)]).encode()
        )
        for source in sources:
            state.update(source.read_bytes())
        folder = cache_room("pipeline") / state.hexdigest()[:24]
        made = kept_folder(folder, self._compile)
        return made / "sim" if self.bench else made / "simulator"

    def _compile(self, folder: Path) -> None:
        design, log = folder / "pipeline.v", folder / "build.log"
        design.write_text(self.text, encoding="utf-8")
        files = [*map(str, VERILOG), str(design)]
        if self.simulator == "icarus" and self.bench:
            launch(build_request("icarus", folder, [*VERILOG, design], TOP), folder)
            return
        if self.simulator == "icarus":
            command = ["iverilog", "-g2012", "-s", CLOCK, "-o", str(folder / "simulator"), *files]
            status, printed = completed(command, environment("icarus"))
            if status:
                raise ToolError(f"icarus: build failed: {printed.strip().partition(chr(10))[0]}")
            return
        options = FAST if self.fast else QUICK
        try:
            flags = FAST_COMPILED if self.fast else QUICK_COMPILED
            if self.bench:
                public = ["--no-public-flat-rw", str(PUBLIC)]
                verilate(folder / "sim", TOP, [*options, "-Wno-fatal", *public, *files], log)
                compile_model(folder / "sim", TOP, flags, [], log)
            else:
                verilate(folder, TOP, [*options, "-Wno-fatal", *files], log, vpi=False)
                compile_model(folder, "simulator", flags, [], log, main=HARNESS / "main.cpp")
        except CommandFailed:
            lines = [line for line in log.read_text().splitlines() if "rror" in line]
            raise ToolError(f"verilator: build failed: {lines[0] if lines else log}") from None


def _design(parameters: PipelineParameters, name: str) -> str:
    """Verilog of one pipeline; its modules are named after ``name``."""
    return kept_verilog([name, repr(parameters)], lambda: converted(Pipeline(parameters), name))
