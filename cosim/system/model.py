"""A system of clusters in its harness as a shared library, simulated in this process, built once and cached."""

import hashlib
import json
from functools import cache
from pathlib import Path

import cosim.sim.compiling
from cosim.cluster.model import FAST_COMPILED, QUICK_COMPILED, SHARED
from cosim.cluster.simulated import SimulatedCluster
from cosim.dma.dram import DRAM
from cosim.sim.build import FAST, HARNESS, QUICK
from cosim.sim.compiling import CommandFailed, compile_library, verilate
from cosim.sim.library import SimulatedLibrary
from cosim.sim.rewriting.design_text import MODULES, for_long_runs
from hwgen.arch.system import SystemParameters
from hwgen.export.cached import generated_system
from hwgen.tools.kept import kept_folder
from hwgen.tools.toolchain import ToolError, cache_room, fingerprint, require_tools

__all__ = ["SystemModel", "load_system", "verilate_system"]

SOURCES = ("system/harness.sv", "system/axi_watch.sv", "system/tcdm_watch.sv", *DRAM)
SLOW = "system/slow_tcdm.sv"
MEMORY = "  cluster_tcdm tcdm ("
"""In the Verilog of a cluster."""
OTHERS = ("system/harness.vlt", "library.cpp")


class SystemModel(SimulatedLibrary, SimulatedCluster):
    """A simulated system in this process; ``slow``: its memories can stall."""

    def __init__(self, library: Path, system: SystemParameters, *, slow: bool) -> None:
        super().__init__(library)
        self.system, self.cluster, self.slow = system, system.cluster, slow


@cache
def load_system(
    system: SystemParameters, *, dram_log2: int = 20, fast: bool = False, slow: bool | None = None
) -> SystemModel:
    """The simulated system of these parameters, built unless it is there; see `cosim.cluster.model.load_cluster`.

    ``slow`` : with memories that can stall; None: unless it is ``fast``.
    """
    slow = not fast if slow is None else slow
    require_tools("verilator", waves=False)
    verilog = generated_system(system)
    modules = (Path(__file__), Path(cosim.sim.compiling.__file__), *MODULES)
    files = [*(HARNESS / name for name in (*SOURCES, SLOW, *OTHERS)), *modules]
    state = hashlib.sha256(json.dumps([dram_log2, fast, slow, fingerprint("verilator")]).encode())
    for text in (verilog.encode(), *(file.read_bytes() for file in files)):
        state.update(text)
    folder = cache_room("builds") / state.hexdigest()[:24]
    kept_folder(folder, lambda fresh: _make(fresh, system, verilog, dram_log2, fast, slow))
    return SystemModel(folder / "sim" / "model.so", system, slow=slow)


def _make(folder: Path, system: SystemParameters, verilog: str, dram_log2: int, fast: bool, slow: bool) -> None:
    log = folder / "build.log"
    try:
        verilate_system(folder, system, verilog, dram_log2=dram_log2, fast=fast, slow=slow)
        compile_library(folder / "sim", FAST_COMPILED if fast else QUICK_COMPILED, [HARNESS / "library.cpp"], log)
    except CommandFailed:
        raise ToolError(f"verilator: build failed: {log.read_text(encoding='utf-8')[-3000:]}") from None


def verilate_system(
    folder: Path, system: SystemParameters, verilog: str, *, dram_log2: int, fast: bool, slow: bool
) -> None:
    """Have Verilator write the C++ files of a system in its harness to ``folder / "sim"``; see `load_system`."""
    design, cluster = folder / "system.v", system.cluster
    if slow:
        assert verilog.count(MEMORY) == 1
        shape = f"#(.Ports({len(cluster.masters)}), .Bits({32 * sum(cluster.words)}))"
        verilog = verilog.replace(MEMORY, f"  slow_tcdm {shape} tcdm (")
    design.write_text(for_long_runs(verilog) if fast else verilog, encoding="utf-8")
    ports = cluster.hwc.ports
    sizes = {"Clusters": system.clusters, "DataBits": cluster.axi_bits, "Hwcs": cluster.hwcs, "DramLog2": dram_log2}
    sizes |= {"WidthI": ports.I, "WidthW": ports.W, "WidthO": ports.O}
    sources = (*SOURCES, SLOW) if slow else SOURCES
    options = [*(FAST if fast else QUICK), *SHARED, "-Wno-fatal", "--no-public-flat-rw", str(HARNESS / OTHERS[0])]
    # A macro and no parameter: Verilator looks up names in other modules before it knows the parameters.
    options += ["-DSLOW_TCDM"] if slow else []
    options += [*(f"-G{name}={value}" for name, value in sizes.items()), *(str(HARNESS / name) for name in sources)]
    verilate(folder / "sim", "harness", [*options, str(design)], folder / "build.log")
