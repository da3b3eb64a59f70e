"""Steps of a simulation with cocotb, a process each: a build by its runner, see `cosim.simulator.launch`, and a test.

A test is the simulator itself, with the environment that cocotb's runner would give it: the runner would be a second
process, which takes half as long to begin as the simulator.
"""

import json
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import cocotb_tools.config
from cocotb_tools.check_results import get_results
from find_libpython import find_libpython

from cosim.device.device import HARNESS
from hwgen.ir.document import write_atomically
from hwgen.tools.processes import started, stop
from hwgen.tools.toolchain import Simulator, ToolError, cache_room, environment

__all__ = ["build_request", "failure", "launch", "start", "test_request"]


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
    """The request to build a simulator in ``folder / "sim"``, with its log in ``folder``."""
    return {
        "simulator": simulator,
        "step": "build",
        "sources": [str(source) for source in sources],
        "includes": [str(HARNESS)],
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
    """The request to run the tests of a Python module, with its working directory and its logs in a folder."""
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


def launch(request: dict[str, Any], folder: Path, variables: Mapping[str, str] | None = None) -> None:
    """Run one step in a process of its own and wait; `ToolError` if it fails."""
    process = start(request, folder, variables)
    try:
        status = process.wait()
    finally:
        stop(process)
    if status or not _passed(request):
        raise ToolError(failure(request))


def start(
    request: dict[str, Any], folder: Path, variables: Mapping[str, str] | None = None
) -> "subprocess.Popen[bytes]":
    """Start one step, as the leader of a process group of its own; `ToolError` if that cannot be."""
    surroundings = {**environment(request["simulator"]), **(variables or {})}
    if request["step"] == "build":
        file = folder / "build.json"
        file.write_text(json.dumps(request), encoding="utf-8")
        with Path(f"{request['log_file']}.runner").open("wb") as log:
            return started([sys.executable, "-m", "cosim.simulator.launch", str(file)], surroundings, output=log)
    folder = Path(request["test_dir"])
    folder.mkdir(parents=True, exist_ok=True)
    Path(request["results_xml"]).unlink(missing_ok=True)
    with Path(request["log_file"]).open("wb") as log:
        try:
            return started(_command(request), _for_cocotb(request, surroundings), output=log, folder=folder)
        except OSError as error:
            raise ToolError(f"{request['simulator']}: test failed: {error}") from None


def _command(request: dict[str, Any]) -> list[str]:
    """What starts a built simulator with cocotb in it."""
    built, arguments, plusargs = Path(request["build_dir"]), request.get("test_args", []), request.get("plusargs", [])
    if request["simulator"] == "verilator":
        return [str(built / request["hdl_toplevel"]), *(["--trace"] * request["waves"]), *arguments, *plusargs]
    library = cocotb_tools.config.lib_entry("vpi", "icarus")
    recording = "-fst" if request["waves"] else "-none"
    return ["vvp", "-m", library, *arguments, str(built / "sim.vvp"), *plusargs, recording]


def _for_cocotb(request: dict[str, Any], variables: Mapping[str, str]) -> dict[str, str]:
    """The environment of a simulator with cocotb in it; users of its GPI that the user names are kept."""
    return {
        "GPI_USERS": f"{_libpython()};{cocotb_tools.config.pygpi_entry_point()}",
        **variables,
        "PYGPI_PYTHON_BIN": sys.executable,
        "COCOTB_TOPLEVEL": request["hdl_toplevel"],
        "COCOTB_TEST_MODULES": request["test_module"],
        "COCOTB_RESULTS_FILE": request["results_xml"],
        "TOPLEVEL_LANG": request["hdl_toplevel_lang"],
        **({"COCOTB_TRUST_INERTIAL_WRITES": "1"} if request["simulator"] == "verilator" else {}),
    }


@cache
def _libpython() -> str:
    found = find_libpython()
    if found is None:
        raise ToolError("cocotb: libpython is missing: expected a Python that was built with a shared library")
    return str(found)


def _passed(request: dict[str, Any]) -> bool:
    """Whether no test has failed; cocotb ends with status 0 all the same."""
    if request["step"] == "build":
        return True
    try:
        return get_results(Path(request["results_xml"]))[1] == 0
    except RuntimeError:  # there are no results
        return False


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
