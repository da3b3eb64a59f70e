"""Runs jobs in a simulator: one build, few processes, many jobs each."""

import json
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from cosim.hwc.jobs import Job, JobResult
from cosim.sim.build import Build, build, failure, start
from cosim.sim.requests import test_request
from cosim.sim.watch import Watch
from hwgen.tools.processes import stop
from hwgen.tools.toolchain import Simulator, ToolError

__all__ = ["Bench", "build_profiled", "depth_for", "run_jobs"]

Bench = Literal["native", "gpi", "bus"]
"""What is around the HWC: the harness in HDL, with the clock from the run loop that is linked into Verilator's
executable, or from cocotb; or a bus in Python, without the harness."""

OnResult = Callable[[JobResult], None]

_POLL_SECONDS = 0.02
_DEPTHS: dict[Simulator, tuple[int, ...]] = {"verilator": (23, 26, 28), "icarus": (14, 17, 20, 23)}


def run_jobs(
    verilog: str,
    jobs: Sequence[Job],
    *,
    simulator: Simulator = "verilator",
    bench: Bench | None = None,
    processes: int = 1,
    waves: Path | None = None,
    fast: bool | None = True,
    on_result: OnResult = lambda result: None,
) -> list[JobResult]:
    """Run ``jobs`` on the design and give their results in the same order.

    Raises `ToolError` if a simulator is missing, fails, or stands still.

    Parameters
    ----------
    verilog : the design's text, top ``hwc``.
    bench : by default the native run loop wherever it is to be had, which is under Verilator without waves.
    processes : how many simulators share the jobs at most.
    waves : where the waveforms go (FST); one simulator then runs all jobs. Mind the size: megabytes for some ten
        thousand cycles.
    fast : build for long runs; else build in less time, with the design's assertions on. None: the build for long
        runs if it is there, else the other one.
    on_result : called with each result as it arrives.
    """
    if bench is None:
        bench = "native" if simulator == "verilator" and waves is None else "gpi"
    if bench == "native" and (simulator != "verilator" or waves is not None):
        raise ValueError("bench: native: expected Verilator without waves")
    if len({job.name for job in jobs}) != len(jobs):
        raise ValueError("jobs: expected a name of its own for each")
    if not jobs:
        return []
    depth = depth_for(simulator, max(len(job.image) for job in jobs))
    harness = bench != "bus"
    wanted = Build(
        verilog, simulator, harness=harness, depth_log2=depth, ports=jobs[0].ports, waves=waves is not None
    )
    profiled = replace(wanted, profiled=True)
    if fast is not False and profiled.is_there:
        wanted = profiled
    elif fast is False or (fast is None and not wanted.is_there):
        wanted = replace(wanted, fast=False)
    return _run_in(build(wanted), simulator, bench, jobs, processes, waves, on_result)


def build_profiled(verilog: str, rehearsal: Job) -> None:
    """Make the build for very long runs, unless it is there; `run_jobs` then takes it wherever it takes a fast one.

    Parameters
    ----------
    verilog : the design's text, top ``hwc``.
    rehearsal : a short run that is like those to come and has as large a memory.
    """
    depth = depth_for("verilator", len(rehearsal.image))
    build(
        Build(verilog, depth_log2=depth, ports=rehearsal.ports, profiled=True),
        lambda folder: _run_in(folder, "verilator", "native", [rehearsal], 1, None, lambda result: None),
    )


def _run_in(
    simulation: Path,
    simulator: Simulator,
    bench: Bench,
    jobs: Sequence[Job],
    processes: int,
    waves: Path | None,
    on_result: OnResult,
) -> list[JobResult]:
    """Run jobs in the build of a folder."""
    with tempfile.TemporaryDirectory(prefix="hwgen-") as name:
        folder = Path(name)
        for number, job in enumerate(jobs):
            np.save(folder / f"{number:05}.image.npy", job.image)
            (folder / f"{number:05}.job.json").write_text(json.dumps(job.as_data()), encoding="utf-8")
        count = 1 if waves else max(1, min(processes, len(jobs)))
        requests = [
            _request(simulator, simulation, bench != "bus", folder / f"process{i}", waves) for i in range(count)
        ]
        with ExitStack() as running:
            variables = {"HWGEN_JOBS": str(folder), "HWGEN_BENCH": bench}
            simulators = []
            for request in requests:
                process = start(request, Path(request["test_dir"]), variables)
                running.callback(stop, process)
                simulators.append((process, request))
            return _Collection(folder, jobs, simulators, on_result).complete()


def depth_for(simulator: Simulator, words: int) -> int:
    """Words of the harness' memory as a power of two: one of few, so that one build serves many layers."""
    for depth in _DEPTHS[simulator]:
        if words <= 1 << depth:
            return depth
    raise ToolError(f"{simulator}: a memory of {words} words is more than the harness can have")


def _request(
    simulator: Simulator, simulation: Path, harness: bool, folder: Path, waves: Path | None
) -> dict[str, Any]:
    folder.mkdir()
    request = test_request(simulator, simulation, folder, "cosim.hwc.tb_jobs", "harness" if harness else "hwc")
    request["waves"] = waves is not None
    if waves is not None:
        waves = waves.absolute()
        waves.parent.mkdir(parents=True, exist_ok=True)
        key = "test_args" if simulator == "verilator" else "plusargs"
        request[key] = ["--trace-file", str(waves)] if simulator == "verilator" else [f"+dumpfile_path={waves}"]
    return request


class _Collection:
    """The results of some jobs, as the simulators that do them leave them in a folder."""

    def __init__(
        self,
        folder: Path,
        jobs: Sequence[Job],
        simulators: list[tuple["subprocess.Popen[bytes]", dict[str, Any]]],
        on_result: OnResult,
    ) -> None:
        self._folder, self._jobs, self._simulators, self._on_result = folder, jobs, simulators, on_result
        self._results: dict[int, JobResult] = {}
        self._watches = [Watch(process, Path(request["test_dir"])) for process, request in simulators]

    def complete(self) -> list[JobResult]:
        """Wait for every result; `ToolError` if one cannot come any more."""
        while True:
            ended = all(process.poll() is not None for process, _ in self._simulators)
            self._read()
            if len(self._results) == len(self._jobs):
                break
            if ended:
                _, request = max(self._simulators, key=lambda simulator: abs(simulator[0].returncode))
                raise ToolError(f"{self._missing}: {failure(request)}")
            for watch, (process, request) in zip(self._watches, self._simulators, strict=True):
                if process.poll() is None and watch.stands_still():
                    raise ToolError(f"{self._missing}: {request['simulator']}: simulated time stands still")
            time.sleep(_POLL_SECONDS)
        for process, _ in self._simulators:
            process.wait()
        return [self._results[number] for number in range(len(self._jobs))]

    @property
    def _missing(self) -> str:
        return next(job.name for number, job in enumerate(self._jobs) if number not in self._results)

    def _read(self) -> None:
        for number, job in enumerate(self._jobs):
            if number not in self._results and (self._folder / f"{number:05}.result.json").exists():
                self._results[number] = self._result(number, job)
                self._on_result(self._results[number])

    def _result(self, number: int, job: Job) -> JobResult:
        stem = str(self._folder / f"{number:05}")
        data = json.loads(Path(f"{stem}.result.json").read_text(encoding="utf-8"))
        memory = np.load(f"{stem}.memory.npy", mmap_mode="r")  # stays readable when its file is gone
        for used in ("image", "memory"):
            Path(f"{stem}.{used}.npy").unlink()
        trace = None
        if job.trace is not None:
            trace = _trace(Path(f"{stem}.trace.hex"))
        return JobResult.from_data(data, memory, trace)


def _trace(file: Path) -> np.ndarray:
    """The lines ``AAAAAAAA W BBBBBBBBBBBBBBBB`` of a trace, in hexadecimal, as numbers: address, whether it is a
    write, byte enables. Unknown digits (Icarus) become 0."""
    if not file.exists():
        return np.empty((0, 3), np.uint64)
    digits = np.zeros(256, np.uint8)
    for value in range(16):
        digits[ord(f"{value:x}")] = value
    lines = digits[np.fromfile(file, np.uint8).reshape(-1, len("AAAAAAAA W BBBBBBBBBBBBBBBB\n"))]
    addresses, enables = (
        sum(lines[:, place + i].astype(np.uint64) << np.uint64(4 * (number - 1 - i)) for i in range(number))
        for place, number in ((0, 8), (11, 16))
    )
    return np.stack([addresses, lines[:, 9].astype(np.uint64), enables], axis=1)
