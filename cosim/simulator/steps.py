"""Steps of cocotb's runner, a process each: requests for `cosim.simulator.launch`."""

import json
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

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
        command = [sys.executable, "-m", "cosim.simulator.launch", str(file)]
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
