"""Runs jobs in a simulator: one build, few processes, many jobs each."""

import json
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np

from cosim.build import Build, build, failure, start, stop
from cosim.jobs import Job, JobResult
from cosim.toolchain import Simulator, ToolError

__all__ = ["run_jobs"]

_POLL_SECONDS = 0.02
_PATIENCE_SECONDS = 300.0
_DEPTHS = {"verilator": (23, 26, 28), "icarus": (14, 17, 20, 23)}


def run_jobs(
    verilog: str,
    jobs: Sequence[Job],
    *,
    simulator: Simulator = "verilator",
    clock: str | None = None,
    processes: int = 1,
    waves: Path | None = None,
    fast: bool = True,
    on_result: Callable[[JobResult], None] = lambda result: None,
) -> list[JobResult]:
    """Run ``jobs`` on the design and give their results in the same order.

    Parameters
    ----------
    verilog : the design's text, top ``hwc``.
    clock : ``native`` (the run loop linked into Verilator's executable) or ``gpi`` (cocotb's clock); by default the
        native one wherever it is to be had: under Verilator, without waves.
    processes : how many simulators share the jobs at most.
    waves : where the waveforms go (FST); one simulator then runs all jobs.
    fast : build for long runs; else build in less time, with the design's assertions on.
    on_result : called with each result as it arrives.
    """
    native = simulator == "verilator" and waves is None if clock is None else clock == "native"
    if native and (simulator != "verilator" or waves is not None):
        raise ValueError("clock: native: expected Verilator without waves")
    if not jobs:
        return []
    if len({job.name for job in jobs}) != len(jobs):
        raise ValueError("jobs: expected a name of its own for each")
    deepest = max(len(job.image) for job in jobs)
    depth = next((depth for depth in _DEPTHS[simulator] if deepest <= 1 << depth), None)
    if depth is None:
        raise ToolError(f"{simulator}: a memory of {deepest} words is more than the harness can have")
    simulation = build(Build(verilog, simulator, depth_log2=depth, waves=waves is not None, fast=fast))
    with tempfile.TemporaryDirectory(prefix="hwgen-") as folder_name:
        folder = Path(folder_name)
        for number, job in enumerate(jobs):
            np.save(folder / f"{number:05}.image.npy", job.image)
            (folder / f"{number:05}.job.json").write_text(json.dumps(job.as_data()), encoding="utf-8")
        count = 1 if waves else max(1, min(processes, len(jobs)))
        requests = [_request(simulator, simulation, folder, number, waves) for number in range(count)]
        return _collect(requests, folder, jobs, native, on_result)


def _request(simulator: Simulator, simulation: Path, folder: Path, number: int, waves: Path | None) -> dict[str, Any]:
    test_folder = folder / f"process{number}"
    test_folder.mkdir()
    request: dict[str, Any] = {
        "simulator": simulator,
        "step": "test",
        "test_module": "cosim.tb_layers",
        "hdl_toplevel": "harness",
        "hdl_toplevel_lang": "verilog",
        "build_dir": str(simulation),
        "test_dir": str(test_folder),
        "results_xml": str(test_folder / "results.xml"),
        "log_file": str(test_folder / "simulation.log"),
        "waves": waves is not None,
    }
    if waves is not None:
        waves = waves.absolute()
        waves.parent.mkdir(parents=True, exist_ok=True)
        key = "test_args" if simulator == "verilator" else "plusargs"
        request[key] = ["--trace-file", str(waves)] if simulator == "verilator" else [f"+dumpfile_path={waves}"]
    return request


def _collect(
    requests: list[dict[str, Any]],
    folder: Path,
    jobs: Sequence[Job],
    native: bool,
    on_result: Callable[[JobResult], None],
) -> list[JobResult]:
    """Start the simulators, read results as they appear, stop everything if anything goes wrong."""
    results: dict[int, JobResult] = {}
    variables = {"HWGEN_JOBS": str(folder), "HWGEN_CLOCK": "native" if native else "gpi"}
    with ExitStack() as running:
        processes = []
        for request in requests:
            process = start(request, Path(request["test_dir"]), variables)
            running.callback(stop, process)
            processes.append(process)
        ended = False
        while len(results) < len(jobs):
            for number, job in enumerate(jobs):
                file = folder / f"{number:05}.result.json"
                if number not in results and file.exists():
                    results[number] = _result(folder, number, job)
                    on_result(results[number])
            if len(results) < len(jobs):
                missing = next(job.name for number, job in enumerate(jobs) if number not in results)
                if ended:
                    worst = max(range(len(processes)), key=lambda number: abs(processes[number].returncode))
                    raise ToolError(f"{missing}: {failure(requests[worst])}")
                for process, request in zip(processes, requests, strict=True):
                    if process.poll() is None and _stands_still(request):
                        raise ToolError(
                            f"{missing}: {request['simulator']}: simulated time has stood still for too long"
                        )
                ended = all(process.poll() is not None for process in processes)
                time.sleep(_POLL_SECONDS)
        for process in processes:
            process.wait()
    return [results[number] for number in range(len(jobs))]


def _stands_still(request: dict[str, Any]) -> bool:
    """Whether a simulator has given no sign of life for long: combinational logic that oscillates, say."""
    folder = Path(request["test_dir"])
    sign = folder / "alive"
    last = (sign if sign.exists() else folder).stat().st_mtime
    return time.time() - last > _PATIENCE_SECONDS


def _result(folder: Path, number: int, job: Job) -> JobResult:
    data = json.loads((folder / f"{number:05}.result.json").read_text(encoding="utf-8"))
    memory = np.load(folder / f"{number:05}.memory.npy")
    for used in ("image.npy", "memory.npy"):
        (folder / f"{number:05}.{used}").unlink()
    trace_file = folder / f"{number:05}.trace.hex"
    trace = None
    if job.trace is not None:
        lines = trace_file.read_text(encoding="ascii").split() if trace_file.exists() else []
        trace = np.array([int(word, 16) for word in lines], dtype=np.uint32).reshape(-1, 2)
    return JobResult.from_data(data, memory, trace)
