"""Programs on a cluster in a cocotb test bench, under Verilator or Icarus: slow, and with nothing else in between."""

import pickle
import tempfile
from collections.abc import Sequence
from pathlib import Path

from cosim.cluster.model import SOURCES, built_cluster, harness_sizes
from cosim.cluster.run import ClusterJob, ClusterResult
from cosim.sim.build import HARNESS, launch
from cosim.sim.compiling import CommandFailed, compile_bench
from cosim.sim.requests import build_request, test_request
from hwgen.arch.cluster import ClusterParameters
from hwgen.export.cached import generated_cluster
from hwgen.tools.cache import digest_of, sources_digest
from hwgen.tools.kept import kept_folder
from hwgen.tools.toolchain import Simulator, ToolError, cache_folder, fingerprint, require_tools

__all__ = ["run_in_bench"]

TOP = "harness"


def run_in_bench(
    cluster: ClusterParameters, jobs: Sequence[ClusterJob], *, simulator: Simulator, dram_log2: int = 18
) -> list[ClusterResult]:
    """Run programs one after the other, driven by cocotb; the results of `run_cluster`, in the order of ``jobs``.

    ``dram_log2`` is the size of the DRAM in 32-bit words, as a power of two.

    Raises `ToolError` if the simulator is missing or fails.
    """
    require_tools(simulator, waves=False)
    simulation = _bench(cluster, dram_log2) if simulator == "verilator" else _icarus(cluster, dram_log2)
    with tempfile.TemporaryDirectory(prefix="hwgen-") as name:
        folder = Path(name)
        (folder / "jobs.pickle").write_bytes(pickle.dumps((cluster, list(jobs))))
        request = test_request(simulator, simulation / "sim", folder, "cosim.cluster.tb_cluster", TOP)
        launch(request, folder, {"HWGEN_JOBS": str(folder)})
        results: list[ClusterResult] = pickle.loads((folder / "results.pickle").read_bytes())
        return results


def _bench(cluster: ClusterParameters, dram_log2: int) -> Path:
    """cocotb around the very objects that the library consists of, which is made unless it is there."""
    library, native = built_cluster(cluster, dram_log2, False, generated_cluster(cluster)), HARNESS / "native.cpp"

    def make(folder: Path) -> None:
        (folder / "sim").mkdir()
        log = folder / "build.log"
        try:
            compile_bench(folder / "sim", library / "sim", TOP, [native], log)
        except CommandFailed:
            raise ToolError(f"verilator: build failed: {log.read_text(encoding='utf-8')[-3000:]}") from None

    key = digest_of([library.name, sources_digest([native, Path(__file__)])])
    return kept_folder(library.with_name(key), make)


def _icarus(cluster: ClusterParameters, dram_log2: int) -> Path:
    verilog, sizes = generated_cluster(cluster), harness_sizes(cluster, dram_log2)
    sources = [HARNESS / name for name in (*SOURCES, "memory_files.sv")]
    key = digest_of([verilog, sizes, sources_digest([*sources, Path(__file__)]), fingerprint("icarus")])

    def make(folder: Path) -> None:
        design = folder / "cluster.v"
        design.write_text(verilog, encoding="utf-8")
        launch(build_request("icarus", folder, [design, *sources], TOP, parameters=sizes), folder)

    return kept_folder(cache_folder() / "builds" / key, make)
