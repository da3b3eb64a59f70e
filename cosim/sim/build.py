"""Builds of generated hardware for a simulator, each made once and kept."""

import hashlib
import json
import re
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import cosim.sim.compiling
from cosim.sim.compiling import UNOPTIMISED, CommandFailed, compile_model, verilate
from cosim.sim.requests import build_request
from cosim.sim.rewriting.design_text import MODULES, for_long_runs
from cosim.sim.rewriting.edge import rearrange
from hwgen.arch.bus import WORD_BITS
from hwgen.ir.document import write_atomically
from hwgen.tools.cache import sources_digest
from hwgen.tools.kept import kept_folder
from hwgen.tools.processes import started, stop
from hwgen.tools.toolchain import Simulator, ToolError, cache_room, environment, fingerprint, require_tools

__all__ = ["LONG", "REHEARSED_CYCLES", "VERY_LONG", "Build", "build", "failure", "launch", "start", "stop"]

HARNESS = Path(__file__).resolve().parents[1] / "harness"
SOURCES = ("hwc.sv", "configuration.sv", "tcdm_port.sv", "memory_files.sv")
# Measured on generated HWCs: without Verilator's lookup tables the branches of the source stay, most of which are not
# taken. Its data flow passes save a twentieth to a tenth, and another twentieth without their peephole patterns. g++
# does better with less cleverness on what is one very long function.
FAST = ["-O3", "--x-assign", "fast", "--x-initial", "fast", "--noassert", "-fno-table", "-fno-dfg-peephole"]
FAST_COMPILED = ["-O2", "-fno-schedule-insns2", "-fno-tree-vectorize", "-fno-gcse", "-fno-tree-pre"]
# Moving statements to others with the same condition takes a quarter of Verilator's time, and saves g++ less if it
# does not optimise.
QUICK = ["-O3", "--assert", "--output-split", "0", "-fno-table", "-fno-merge-cond-motion"]
QUICK_COMPILED = UNOPTIMISED
WATCHED = ["-fprofile-generate", "-fprofile-update=single"]
REBUILT = ["-fprofile-use", "-fprofile-correction", "-Wno-missing-profile"]
"""For g++: count how often each branch is taken; arrange the code accordingly."""
LONG = 1_000_000
"""Cycles of an HWC from which on an optimised build pays: it takes 6 s more, and saves 5 us a cycle."""
VERY_LONG = 100_000_000
"""From which on a profiled one pays, too: it takes 15 s more, and saves a fifth, 0.15 us a cycle."""
REHEARSED_CYCLES = 200_000
"""After which it is known which branches are taken."""


@dataclass(frozen=True)
class Build:
    """What is built: a generated design, and how.

    Parameters
    ----------
    verilog : the design's text; its top is ``hwc``.
    simulator : which simulator it is for.
    harness : inside the harness that counts and serves the memory; else ``hwc`` itself is the top, all its ports open
        to a bus that the test bench drives.
    depth_log2 : words of the harness' memory, as a power of two.
    ports : bits of a word of the ports I, W and O.
    waves : with waveforms (FST).
    fast : optimised for long runs; else built in less time, with the design's assertions on.
    profiled : for very long runs: compiled a second time, when a rehearsal has shown which branches are taken.
    """

    verilog: str
    simulator: Simulator = "verilator"
    harness: bool = True
    depth_log2: int = 23
    ports: tuple[int, int, int] = (WORD_BITS, WORD_BITS, WORD_BITS)
    waves: bool = False
    fast: bool = True
    profiled: bool = False

    @property
    def top(self) -> str:
        """Name of the module on top."""
        return "harness" if self.harness else "hwc"

    @property
    def folder(self) -> Path:
        """Where it is kept."""
        return cache_room("builds") / self.digest

    @property
    def is_there(self) -> bool:
        """Whether it has been made."""
        return (self.folder / "complete").exists()

    @property
    def digest(self) -> str:
        """Names this build: the same for the same sources, options and tools."""
        text = json.dumps([asdict(self), fingerprint(self.simulator)])
        state = hashlib.sha256(text.encode())
        modules = (Path(__file__), Path(cosim.sim.compiling.__file__), *MODULES)
        state.update(sources_digest([HARNESS, *modules]).encode())
        return state.hexdigest()[:24]

    @property
    def _sources(self) -> list[Path]:
        """What the simulator reads besides the design."""
        return [HARNESS / name for name in SOURCES] if self.harness else []

    @property
    def _parameters(self) -> dict[str, int]:
        """Parameters of the top."""
        if not self.harness:
            return {}
        widths = {f"Width{port}": width for port, width in zip("IWO", self.ports, strict=True)}
        return {"DepthLog2": self.depth_log2, **widths}

    @property
    def _arguments(self) -> list[str]:
        """Options and control files for Verilator."""
        public = HARNESS / ("hwc.vlt" if self.harness else "bus.vlt")
        return [*(FAST if self.fast else QUICK), "-Wno-fatal", "--no-public-flat-rw", str(public)]

    def make(self, folder: Path, rehearse: Callable[[Path], object]) -> None:
        """Build in a folder; `ToolError` if a tool refuses. ``rehearse`` runs what it finds there for a while."""
        design = folder / "hwc.v"
        shortened = self.fast and self.simulator == "verilator" and not self.waves
        design.write_text(for_long_runs(self.verilog) if shortened else self.verilog, encoding="utf-8")
        if self.simulator == "icarus" or self.waves:
            launch(self._request(folder), folder)
            return
        log, sources = folder / "build.log", [str(file) for file in (design, *self._sources)]
        parameters = [f"-G{name}={value}" for name, value in self._parameters.items()]
        try:
            verilate(folder / "sim", self.top, [*self._arguments, *parameters, *sources], log)
            flags = FAST_COMPILED if self.fast else QUICK_COMPILED
            more = [HARNESS / "native.cpp"] if self.harness else []
            if self.fast and self.harness and (edge := rearrange(folder / "sim")) is not None:
                flags = [*flags, f"-DHWGEN_EDGE={edge}"]
            if self.profiled:
                compile_model(folder / "sim", self.top, [*flags, *WATCHED], more, log)
                rehearse(folder / "sim")
                flags = [*flags, *REBUILT]
            compile_model(folder / "sim", self.top, flags, more, log)
        except CommandFailed:
            raise ToolError(failure({"simulator": "verilator", "step": "build", "log_file": str(log)})) from None

    def _request(self, folder: Path) -> dict[str, Any]:
        """What `cosim.sim.launch` has to ask of cocotb's runner, which knows Icarus, and what waveforms need."""
        arguments: list[str] = []
        if self.simulator == "verilator":
            flags = FAST_COMPILED if self.fast else QUICK_COMPILED
            arguments = [*self._arguments, "-CFLAGS", " ".join(flags), "-LDFLAGS", "-rdynamic"]
            arguments += ["--trace-fst", "--trace-structs"]
            if self.harness:
                arguments.append(str(HARNESS / "native.cpp"))
        return build_request(
            self.simulator,
            folder,
            [folder / "hwc.v", *self._sources],
            self.top,
            parameters=self._parameters,
            arguments=arguments,
            waves=self.waves,
        )


def build(wanted: Build, rehearse: Callable[[Path], object] = lambda folder: None) -> Path:
    """The folder of this build, made unless it is there; `ToolError` if the simulator refuses the sources.

    ``rehearse`` is called for a profiled one, with the folder of a simulator that counts which branches are taken.
    """
    require_tools(wanted.simulator, waves=wanted.waves)
    return kept_folder(wanted.folder, lambda folder: wanted.make(folder, rehearse)) / "sim"


def launch(request: dict[str, Any], folder: Path, variables: Mapping[str, str] | None = None) -> None:
    """Run one step of cocotb's runner in a process of its own and wait; `ToolError` if it fails."""
    process = start(request, folder, variables)
    try:
        status = process.wait()
    finally:
        stop(process)
    if status:
        raise ToolError(failure(request))


def start(
    request: dict[str, Any], folder: Path, variables: Mapping[str, str] | None = None
) -> "subprocess.Popen[bytes]":
    """Start one step of cocotb's runner, as the leader of a process group of its own."""
    file = folder / f"{request['step']}.json"
    file.write_text(json.dumps(request), encoding="utf-8")
    with Path(f"{request['log_file']}.runner").open("wb") as log:
        command = [sys.executable, "-m", "cosim.sim.launch", str(file)]
        return started(command, {**environment(request["simulator"]), **(variables or {})}, output=log)


def failure(request: dict[str, Any]) -> str:
    """One line on a step that failed, with the errors that its logs show; the logs are kept in the cache folder."""
    text = ""
    for file in (Path(request["log_file"]), Path(f"{request['log_file']}.runner")):
        if file.exists():
            text += file.read_text(encoding="utf-8", errors="replace")
    kept = cache_room("logs") / f"failed-{request['step']}.log"
    write_atomically(kept, text)
    lines = text.splitlines()
    telling = [line for line in lines if re.search(r"\b(\w*Error|ERROR|error|sorry|CRITICAL)\b", line)]
    shown = " | ".join(line.strip() for line in (telling or lines[-3:])[:3])
    return f"{request['simulator']}: {request['step']} failed: {shown or 'no output'} (log: {kept})"
