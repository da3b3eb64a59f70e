"""Harnesses in a simulator that cocotb drives, and runs of them: jobs go there and results come back in files."""

import pickle
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from cosim.sim.build import HARNESS, launch
from cosim.sim.compiling import CommandFailed, compile_bench
from cosim.sim.requests import build_request, test_request
from hwgen.tools.cache import digest_of, sources_digest
from hwgen.tools.kept import kept_folder
from hwgen.tools.toolchain import Simulator, ToolError, cache_room, fingerprint

__all__ = ["TOP", "bench_around", "icarus_bench", "run_bench"]

TOP = "harness"


def bench_around(library: Path) -> Path:
    """The folder of a test bench under Verilator, of the very objects of a library in a folder; made unless there."""
    native = HARNESS / "native.cpp"

    def make(folder: Path) -> None:
        (folder / "sim").mkdir()
        log = folder / "build.log"
        try:
            compile_bench(folder / "sim", library / "sim", TOP, [native], log)
        except CommandFailed:
            raise ToolError(f"verilator: build failed: {log.read_text(encoding='utf-8')[-3000:]}") from None

    key = digest_of([library.name, sources_digest([native, Path(__file__)])])
    return kept_folder(library.with_name(key), make)


def icarus_bench(designs: Mapping[str, str], sources: Sequence[str], sizes: Mapping[str, int]) -> Path:
    """The folder of a test bench under Icarus, made unless it is there.

    Parameters
    ----------
    designs : text by name of a file.
    sources : of the harness, by name.
    sizes : its parameters.
    """
    files = [HARNESS / name for name in (*sources, "memory_files.sv")]
    key = digest_of([dict(designs), dict(sizes), sources_digest([*files, Path(__file__)]), fingerprint("icarus")])

    def make(folder: Path) -> None:
        for name, text in designs.items():
            (folder / name).write_text(text, encoding="utf-8")
        given = [*(folder / name for name in designs), *files]
        launch(build_request("icarus", folder, given, TOP, parameters=sizes), folder)

    return kept_folder(cache_room("builds") / key, make)


def run_bench(simulator: Simulator, bench: Path, module: str, given: Any) -> Any:
    """What a cocotb test module makes of what it is given: ``jobs.pickle``, ``results.pickle`` in HWGEN_JOBS.

    Raises `ToolError` if the simulator fails.
    """
    with tempfile.TemporaryDirectory(prefix="hwgen-") as name:
        folder = Path(name)
        (folder / "jobs.pickle").write_bytes(pickle.dumps(given))
        request = test_request(simulator, bench / "sim", folder, module, TOP)
        launch(request, folder, {"HWGEN_JOBS": str(folder)})
        return pickle.loads((folder / "results.pickle").read_bytes())
