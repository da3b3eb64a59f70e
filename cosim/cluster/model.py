"""A cluster in its harness as a shared library that is simulated in this process, built once and cached."""

import hashlib
import json
from functools import cache
from pathlib import Path
from typing import Any

import cosim.sim.compiling
from cosim.cluster.simulated import SimulatedCluster
from cosim.dma.dram import DRAM
from cosim.sim.build import FAST, HARNESS, QUICK
from cosim.sim.compiling import CommandFailed, compile_library, verilate
from cosim.sim.library import SimulatedLibrary
from cosim.sim.rewriting.design_text import MODULES, for_long_runs
from hwgen.arch.cluster import ClusterParameters
from hwgen.export.cached import generated_cluster
from hwgen.tools.kept import kept_folder
from hwgen.tools.toolchain import ToolError, cache_room, fingerprint, require_tools

__all__ = ["SOURCES", "ClusterModel", "built_cluster", "harness_sizes", "load_cluster"]

SOURCES = ("cluster.sv", "cluster_port.sv", "configuration.sv", *DRAM)
OTHERS = ("cluster.vlt", "library.cpp")
SHARED = ["-fno-dfg-scoped"]
"""For Verilator: of the data flow passes, none that treats each instance by itself. So all HWCs run the same code,
and so do all clusters of a system; the `.vlt` files keep their ports. With four HWCs a build takes half of the time
and runs a tenth faster; with 32 HWCs a build takes a sixth."""
FAST_COMPILED = ["-O1"]
"""Runs 3 % faster than one unit did with the flags of an HWC's, and compiles in half the time."""
QUICK_COMPILED = ["-Og"]
"""Compiles in 9 s where no optimisation takes 6 s, and needs a quarter of its 50 us a cycle (with four HWCs)."""


class ClusterModel(SimulatedLibrary, SimulatedCluster):
    """A simulated cluster in this process."""

    def __init__(self, library: Path, cluster: ClusterParameters) -> None:
        super().__init__(library)
        self.cluster = cluster


@cache
def load_cluster(
    cluster: ClusterParameters, *, dram_log2: int = 20, fast: bool = False, verilog: str | None = None
) -> ClusterModel:
    """The simulated cluster of these parameters, built unless it is there.

    ``dram_log2`` is the size of its DRAM in 32-bit words, as a power of two; ``fast`` optimises for long runs;
    otherwise the build is quicker. ``verilog`` is its text, if it is not made now.
    """
    folder = built_cluster(cluster, dram_log2, fast, verilog or generated_cluster(cluster))
    return ClusterModel(folder / "sim" / "model.so", cluster)


def built_cluster(cluster: ClusterParameters, dram_log2: int, fast: bool, verilog: str) -> Path:
    """The folder of a simulated cluster, made unless it is there: see `load_cluster`."""
    require_tools("verilator", waves=False)
    modules = (Path(__file__), Path(cosim.sim.compiling.__file__), *MODULES)
    files = [*(HARNESS / name for name in (*SOURCES, *OTHERS)), *modules]
    state = hashlib.sha256(json.dumps([dram_log2, fast, fingerprint("verilator")]).encode())
    for text in (verilog.encode(), *(file.read_bytes() for file in files)):
        state.update(text)
    folder = cache_room("builds") / state.hexdigest()[:24]
    return kept_folder(folder, lambda fresh: _make(fresh, cluster, verilog, dram_log2, fast))


def harness_sizes(cluster: ClusterParameters, dram_log2: int) -> dict[str, int]:
    """Parameters of the harness."""
    ports = cluster.hwc.ports
    sizes = {"DataBits": cluster.axi_bits, "Hwcs": cluster.hwcs, "Vector": int(cluster.vector), "DramLog2": dram_log2}
    return sizes | {"WidthI": ports.I, "WidthW": ports.W, "WidthO": ports.O}


def _make(folder: Path, cluster: ClusterParameters, verilog: str, dram_log2: int, fast: bool) -> None:
    log, design = folder / "build.log", folder / "cluster.v"
    design.write_text(for_long_runs(verilog) if fast else verilog, encoding="utf-8")
    options: list[Any] = [*(FAST if fast else QUICK), *SHARED, "-Wno-fatal", "--no-public-flat-rw"]
    options += [
        HARNESS / "cluster.vlt",
        *(f"-G{name}={value}" for name, value in harness_sizes(cluster, dram_log2).items()),
        *(HARNESS / name for name in SOURCES),
        design,
    ]
    try:
        verilate(folder / "sim", "harness", [str(option) for option in options], log)
        compile_library(folder / "sim", FAST_COMPILED if fast else QUICK_COMPILED, [HARNESS / "library.cpp"], log)
    except CommandFailed:
        raise ToolError(f"verilator: build failed: {log.read_text(encoding='utf-8')[-3000:]}") from None
