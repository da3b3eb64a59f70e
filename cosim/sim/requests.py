"""Requests for `cosim.sim.launch`: one step of cocotb's runner each."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from hwgen.tools.toolchain import Simulator

__all__ = ["build_request", "test_request"]


def build_request(
    simulator: Simulator,
    folder: Path,
    sources: Sequence[Path],
    top: str,
    *,
    parameters: Mapping[str, int] | None = None,
    arguments: Sequence[str] = (),
    waves: bool = False,
) -> dict[str, Any]:
    """To build a simulator in ``folder / "sim"``, with its log in ``folder``."""
    return {
        "simulator": simulator,
        "step": "build",
        "sources": [str(source) for source in sources],
        "build_args": list(arguments),
        "parameters": dict(parameters or {}),
        "hdl_toplevel": top,
        "build_dir": str(folder / "sim"),
        "timescale": ["1ns", "1ps"],
        "waves": waves,
        "always": True,
        "log_file": str(folder / "build.log"),
    }


def test_request(simulator: Simulator, simulation: Path, folder: Path, module: str, top: str) -> dict[str, Any]:
    """To run the tests of a Python module, with its working directory and its logs in a folder."""
    return {
        "simulator": simulator,
        "step": "test",
        "test_module": module,
        "hdl_toplevel": top,
        "hdl_toplevel_lang": "verilog",
        "build_dir": str(simulation),
        "test_dir": str(folder),
        "results_xml": str(folder / "results.xml"),
        "log_file": str(folder / "simulation.log"),
        "waves": False,
    }
