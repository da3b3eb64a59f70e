"""A cluster in its harness as a shared library that is simulated in this process, built once and cached."""

import hashlib
import json
from functools import cache
from pathlib import Path
from typing import Any

import cosim.sim.compiling
from cosim.dma.model import Model
from cosim.sim.build import FAST, HARNESS, QUICK, QUICK_COMPILED
from cosim.sim.compiling import CommandFailed, compile_library, verilate
from hwgen.arch.cluster import ClusterParameters
from hwgen.export.cached import generated_cluster
from hwgen.tools.kept import kept_folder
from hwgen.tools.toolchain import ToolError, cache_folder, fingerprint, require_tools

__all__ = ["ClusterModel", "load_cluster"]

SOURCES = ("cluster.sv", "cluster_port.sv", "configuration.sv", "dram.sv", "axi_rules.sv")
OTHERS = ("cluster.vlt", "library.cpp")
FAST_COMPILED = ["-O1"]
"""Runs 3 % faster than one unit did with the flags of an HWC's, and compiles in half the time."""


class ClusterModel(Model):
    """A simulated cluster: access to the variables of the harness, and its clock."""

    def __init__(self, library: Path, cluster: ClusterParameters) -> None:
        super().__init__(library, cluster.dma)
        self.cluster = cluster

    def transfer(self, address: int, value: int | None = None) -> tuple[int, bool]:
        """One access on the configuration port (a read without ``value``): data, and whether it was refused."""
        go = 1 - self.get("cfg_go")
        self.set(cfg_write=int(value is not None), cfg_address=address, cfg_data=value or 0, cfg_go=go)
        for _ in range(100):
            self.run(2)
            if self.get("cfg_served") == go:
                return self.get("cfg_answer"), bool(self.get("cfg_error"))
        raise ToolError(f"the cluster does not answer on its configuration port: {address:#x}")


@cache
def load_cluster(
    cluster: ClusterParameters, *, dram_log2: int = 20, fast: bool = False, verilog: str | None = None
) -> ClusterModel:
    """The simulated cluster of these parameters, built unless it is there.

    ``dram_log2`` is the size of its DRAM in 32-bit words, as a power of two; ``fast`` optimises for long runs;
    otherwise the build is quicker. ``verilog`` is its text, if it is not made now.
    """
    return ClusterModel(_built(cluster, dram_log2, fast, verilog or generated_cluster(cluster)), cluster)


def _built(cluster: ClusterParameters, dram_log2: int, fast: bool, verilog: str) -> Path:
    require_tools("verilator", waves=False)
    files = [*(HARNESS / name for name in (*SOURCES, *OTHERS)), Path(__file__), Path(cosim.sim.compiling.__file__)]
    state = hashlib.sha256(json.dumps([dram_log2, fast, fingerprint("verilator")]).encode())
    for text in (verilog.encode(), *(file.read_bytes() for file in files)):
        state.update(text)
    folder = cache_folder() / "builds" / state.hexdigest()[:24]
    kept_folder(folder, lambda fresh: _make(fresh, cluster, verilog, dram_log2, fast))
    return folder / "sim" / "model.so"


def _make(folder: Path, cluster: ClusterParameters, verilog: str, dram_log2: int, fast: bool) -> None:
    log, design = folder / "build.log", folder / "cluster.v"
    design.write_text(verilog, encoding="utf-8")
    ports = cluster.hwc.ports
    sizes = {"DataBits": cluster.axi_bits, "Hwcs": cluster.hwcs, "DramLog2": dram_log2}
    sizes |= {"WidthI": ports.I, "WidthW": ports.W, "WidthO": ports.O}
    options: list[Any] = [*(FAST if fast else QUICK), "-Wno-fatal", "--no-public-flat-rw", HARNESS / "cluster.vlt"]
    options += [
        *(f"-G{name}={value}" for name, value in sizes.items()),
        *(HARNESS / name for name in SOURCES),
        design,
    ]
    try:
        verilate(folder / "sim", "harness", [str(option) for option in options], log)
        compile_library(folder / "sim", FAST_COMPILED if fast else QUICK_COMPILED, [HARNESS / "library.cpp"], log)
    except CommandFailed:
        raise ToolError(f"verilator: build failed: {log.read_text(encoding='utf-8')[-3000:]}") from None
