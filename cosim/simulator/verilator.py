"""Verilator: built in little time for short runs, optimised for long ones, profiled for very long ones."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, ClassVar

from cosim.device.device import HARNESS, Device
from cosim.simulator.compiling import (
    UNOPTIMISED,
    CommandFailed,
    compile_bench,
    compile_library,
    compile_model,
    verilate,
)
from cosim.simulator.rewriting.design_text import for_long_runs
from cosim.simulator.rewriting.edge import rearrange
from cosim.simulator.simulator import Form, Simulator
from cosim.simulator.steps import build_request, failure, launch
from hwgen.tools.toolchain import ToolError

__all__ = ["FAST", "OPTIMISED", "QUICK", "REHEARSED_CYCLES", "FastVerilator", "ProfiledVerilator", "Verilator"]

# Measured on generated HWCs: without Verilator's lookup tables the branches of the source stay, most of which are not
# taken. Its data flow passes save a twentieth to a tenth, and another twentieth without their peephole patterns. g++
# does better with less cleverness on what is one very long function.
FAST = ("-O3", "--x-assign", "fast", "--x-initial", "fast", "--noassert", "-fno-table", "-fno-dfg-peephole")
# Moving statements to others with the same condition takes a quarter of Verilator's time, and saves g++ less if it
# does not optimise.
QUICK = ("-O3", "--assert", "--output-split", "0", "-fno-table", "-fno-merge-cond-motion")
SHARED = ("-fno-dfg-scoped",)
"""Options of Verilator: none of the data flow passes that treat each instance by itself. So all HWCs run the same
code, and so do all clusters of a system; the `.vlt` files keep their ports. With four HWCs a build takes half of the
time and runs a tenth faster; with 32 HWCs a build takes a sixth."""
OPTIMISED = ("-O2", "-fno-schedule-insns2", "-fno-tree-vectorize", "-fno-gcse", "-fno-tree-pre")
WATCHED = ("-fprofile-generate", "-fprofile-update=single")
REBUILT = ("-fprofile-use", "-fprofile-correction", "-Wno-missing-profile")
"""Options of g++: count how often each branch is taken; arrange the code accordingly."""
REHEARSED_CYCLES = 200_000
"""Cycles after which it is known which branches are taken."""


class Verilator(Simulator):
    """Verilator for short runs: built in little time, with the design's assertions on."""

    tool = "verilator"
    forms = frozenset[Form](("library", "bench", "program"))
    depths = (23, 26, 28)
    native = True
    options: ClassVar[Sequence[str]] = QUICK

    def flags(self, device: Device) -> list[str]:
        """How the C++ is compiled."""
        return list(device.quick or UNOPTIMISED)

    def make(self, folder: Path, device: Device, form: Form, *, waves: bool) -> None:
        """See `Simulator`."""
        log = folder / "build.log"
        try:
            if waves:
                self._with_waves(folder, device)
            elif form == "bench" and device.loaded:
                (folder / "sim").mkdir()
                library = self.build(device, "library") / "sim"
                compile_bench(folder / "sim", library, device.top, [HARNESS / "native.cpp"], log)
            else:
                self.verilate(folder, device, vpi=form != "program")
                self.compile(folder / "sim", device, form, log)
        except CommandFailed:
            raise ToolError(failure({"simulator": "verilator", "step": "build", "log_file": str(log)})) from None

    def verilate(self, folder: Path, device: Device, *, vpi: bool = True) -> None:
        """Have Verilator write its C++ files into the folder ``sim`` in a folder."""
        files = [str(file) for file in self.write(folder, device)]
        sizes = [f"-G{name}={value}" for name, value in device.sizes.items()]
        arguments = [*(self._arguments(device) if vpi else [*self.options, "-Wno-fatal"]), *sizes, *files]
        verilate(folder / "sim", device.top, arguments, folder / "build.log", vpi=vpi)

    def compile(self, folder: Path, device: Device, form: Form, log: Path) -> None:
        """Compile what Verilator wrote into a folder."""
        if form == "library":
            compile_library(folder, self.flags(device), [HARNESS / "library.cpp"], log)
        elif form == "program":
            compile_model(folder, "simulator", self.flags(device), [], log, main=HARNESS / device.main)
        else:
            native = [HARNESS / "native.cpp"] if device.memory else []
            compile_model(folder, device.top, self.flags(device), native, log)

    def _arguments(self, device: Device) -> list[str]:
        shared = SHARED if device.loaded else ()
        macros = [f"-D{name}" for name in device.macros]
        included = ["-Wno-fatal", f"-I{HARNESS}", *macros]
        return [*self.options, *shared, *included, "--no-public-flat-rw", str(HARNESS / device.public)]

    def _with_waves(self, folder: Path, device: Device) -> None:
        """Build by cocotb's runner, which knows what waveforms need."""
        arguments = [*self._arguments(device), "-CFLAGS", " ".join(self.flags(device)), "-LDFLAGS", "-rdynamic"]
        arguments += ["--trace-fst", "--trace-structs"]
        arguments += [str(HARNESS / "native.cpp")] if device.memory else []
        request = build_request(
            "verilator",
            folder,
            self.write(folder, device),
            device.top,
            parameters=device.sizes,
            arguments=arguments,
            waves=True,
        )
        launch(request, folder)

    def command(self, built: Path) -> list[str]:
        """See `Simulator`."""
        return [str(built / "sim" / "simulator")]

    def recording(self, waves: Path) -> dict[str, Any]:
        """See `Simulator`."""
        return {"test_args": ["--trace-file", str(waves)]}


class FastVerilator(Verilator):
    """Optimised: for long runs."""

    options = FAST

    def flags(self, device: Device) -> list[str]:
        """How the C++ is compiled."""
        return list(device.fast or OPTIMISED)

    def text(self, device: Device, text: str) -> str:
        """A design's Verilog as it is simulated."""
        return for_long_runs(text) if device.rewritten else text

    def compile(self, folder: Path, device: Device, form: Form, log: Path) -> None:
        """Compile what Verilator wrote into a folder."""
        if form != "bench" or not device.memory:
            super().compile(folder, device, form, log)
            return
        edge = rearrange(folder)
        self.optimise(folder, device, [*self.flags(device), *([] if edge is None else [f"-DHWGEN_EDGE={edge}"])], log)

    def optimise(self, folder: Path, device: Device, flags: Sequence[str], log: Path) -> None:
        """Compile a test bench."""
        compile_model(folder, device.top, flags, [HARNESS / "native.cpp"], log)


class ProfiledVerilator(FastVerilator):
    """Compiled a second time, when a rehearsal has shown which branches are taken: for very long runs."""

    forms = frozenset[Form](("bench",))

    def __init__(self, rehearse: Callable[[Path], object] = lambda folder: None) -> None:
        """``rehearse`` runs what it finds in a folder for a while."""
        self._rehearse = rehearse

    def optimise(self, folder: Path, device: Device, flags: Sequence[str], log: Path) -> None:
        """Compile a test bench."""
        super().optimise(folder, device, [*flags, *WATCHED], log)
        self._rehearse(folder.parent)
        super().optimise(folder, device, [*flags, *REBUILT], log)
