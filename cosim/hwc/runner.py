"""Runs jobs in a simulator: one build, few processes, many jobs each."""

import json
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Literal

import numpy as np

from cosim.device.device import LANES, Device, lane_macros
from cosim.device.dram import Unwanted
from cosim.device.job import Outcome, UnitOutcome
from cosim.hwc.jobs import PORTS, REGIONS, Job
from cosim.simulator.registry import SIMULATORS
from cosim.simulator.simulator import Simulator
from cosim.simulator.steps import failure, start
from cosim.simulator.verilator import ProfiledVerilator
from cosim.simulator.watch import Watch
from hwgen.arch.bus import WORD_BITS
from hwgen.tools.processes import stop
from hwgen.tools.toolchain import Simulator as Tool
from hwgen.tools.toolchain import ToolError

__all__ = ["Bench", "build_profiled", "depth_for", "hwc_device", "run_jobs"]

Bench = Literal["native", "gpi"] | str
"""What is around the HWC: the harness in HDL, with the clock from the run loop that is linked into Verilator's
executable, or from cocotb; or nothing: a cocotb module of this name is the bus."""
IN_HARNESS = ("native", "gpi")

OnResult = Callable[[Outcome], None]

_POLL_SECONDS = 0.02
STALL = "stall_"
"""How the names of registers begin that count cycles in which the datapath waits."""


def hwc_device(verilog: str, depth_log2: int, ports: tuple[int, int, int] = (WORD_BITS,) * 3) -> Device:
    """An HWC in the harness that counts and serves the memory: its Verilog, the log2 of words, bits of its ports."""
    widths = {f"Width{port}": width for port, width in zip("IWO", ports, strict=True)}
    sources = ("hwc.sv", "configuration.sv", "tcdm_port.sv", "lane_watch.sv")
    macros = lane_macros(registers="lane_accesses" in verilog)
    return Device({"hwc.v": verilog}, sources, "hwc.vlt", {"DepthLog2": depth_log2, **widths}, macros=macros)


def run_jobs(
    verilog: str,
    jobs: Sequence[Job],
    *,
    simulator: Tool = "verilator",
    bench: Bench | None = None,
    processes: int = 1,
    waves: Path | None = None,
    fast: bool | None = True,
    on_result: OnResult = lambda result: None,
) -> list[Outcome]:
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
    native = SIMULATORS[simulator].native and waves is None
    bench = bench or ("native" if native else "gpi")
    if bench == "native" and not native:
        raise ValueError("bench: native: expected Verilator without waves")
    if len({job.name for job in jobs}) != len(jobs):
        raise ValueError("jobs: expected a name of its own for each")
    if not jobs:
        return []
    if bench not in IN_HARNESS:
        device = Device({"hwc.v": verilog}, (), "bus.vlt", top="hwc", memory=False)
    else:
        device = hwc_device(verilog, depth_for(simulator, max(len(job.image) for job in jobs)), jobs[0].ports)
    chosen = _chosen(simulator, device, fast=False if waves else fast)
    built = chosen.build(device, "bench", waves=waves is not None)
    return _run_in(built, chosen, device, bench, jobs, processes, waves, on_result)


def _chosen(name: Tool, device: Device, *, fast: bool | None) -> Simulator:
    """What runs a device: the best that is built already, or what is to be built; see `run_jobs`."""
    for way in () if fast is False else ("profiled", "fast"):
        better = SIMULATORS.get(f"{name}_{way}")
        if better is not None and (better.has(device, "bench") or (fast and way == "fast")):
            return better
    return SIMULATORS[name]


def build_profiled(device: Device, rehearsal: Callable[[], Job]) -> None:
    """Make the build for very long runs, unless it is there; `run_jobs` then takes it wherever it takes a fast one.

    Parameters
    ----------
    device : an HWC; see `hwc_device`.
    rehearsal : gives a short run that is like those to come; called when the first of two compilations is done.
    """

    def rehearse(folder: Path) -> None:
        _run_in(folder, SIMULATORS["verilator"], device, "native", [rehearsal()], 1, None, lambda result: None)

    ProfiledVerilator(rehearse).build(device, "bench")


def _run_in(
    built: Path,
    simulator: Simulator,
    device: Device,
    bench: Bench,
    jobs: Sequence[Job],
    processes: int,
    waves: Path | None,
    on_result: OnResult,
) -> list[Outcome]:
    """Run jobs on a device that is built."""
    with tempfile.TemporaryDirectory(prefix="hwgen-") as name:
        folder = Path(name)
        for number, job in enumerate(jobs):
            np.save(folder / f"{number:05}.image.npy", job.image)
            (folder / f"{number:05}.job.json").write_text(json.dumps(job.as_data()), encoding="utf-8")
        count = 1 if waves else max(1, min(processes, len(jobs)))
        module = "cosim.hwc.tb_jobs" if bench in IN_HARNESS else bench
        requests = [_request(simulator, built, device, folder / f"process{i}", module, waves) for i in range(count)]
        with ExitStack() as running:
            variables = {"HWGEN_JOBS": str(folder), "HWGEN_BENCH": bench}
            simulators = []
            for request in requests:
                process = start(request, Path(request["test_dir"]), variables)
                running.callback(stop, process)
                simulators.append((process, request))
            return _Collection(folder, jobs, simulators, on_result).complete()


def depth_for(simulator: Tool, words: int) -> int:
    """Words of the harness' memory as a power of two: one of few, so that one build serves many layers."""
    for depth in SIMULATORS[simulator].depths:
        if words <= 1 << depth:
            return depth
    raise ToolError(f"{simulator}: a memory of {words} words is more than the harness can have")


def _request(
    simulator: Simulator, built: Path, device: Device, folder: Path, module: str, waves: Path | None
) -> dict[str, Any]:
    folder.mkdir()
    if waves is not None:
        waves.absolute().parent.mkdir(parents=True, exist_ok=True)
    return simulator.request(built, folder, module, device.top, waves)


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
        self._results: dict[int, Outcome] = {}
        self._watches = [Watch(process, Path(request["test_dir"])) for process, request in simulators]

    def complete(self) -> list[Outcome]:
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

    def _result(self, number: int, job: Job) -> Outcome:
        stem = str(self._folder / f"{number:05}")
        data = json.loads(Path(f"{stem}.result.json").read_text(encoding="utf-8"))
        memory = np.load(f"{stem}.memory.npy", mmap_mode="r")  # stays readable when its file is gone
        for used in ("image", "memory"):
            Path(f"{stem}.{used}.npy").unlink()
        trace = None
        if job.trace is not None:
            trace = _trace(Path(f"{stem}.trace.hex"))
        return _outcome(job, data, memory, trace)


def _outcome(job: Job, data: dict[str, Any], memory: np.ndarray, trace: np.ndarray | None) -> Outcome:
    """The results from the test bench's plain data: counters come as lists over regions and directions."""
    names = {address: name for name, address, _ in job.registers}
    registers = {"status": data["status"], **dict(zip(job.reads, data["values"], strict=True))}
    kinds = [(region, written) for region in REGIONS for written in (False, True)]
    accesses: dict[tuple[str, str, bool], tuple[int, int]] = {
        (port, *kind): (words, size)
        for port in PORTS
        for kind, (words, size) in zip(kinds, data["counters"][port], strict=True)
    }
    for place, vectors in zip(LANES, data["lanes"], strict=False):
        operand, written = place
        accesses["lanes", operand, written] = (vectors, 0)
    unit = UnitOutcome(
        registers=registers,
        refused=tuple(names.get(address, f"{address:#x}") for address in data["refused"]),
        cycles=data["cycles"],
        tcdm={place: counted for place, counted in accesses.items() if counted != (0, 0)},
        dram={},
        unwanted=Unwanted(),
        waits={},
        stalls={name.removeprefix(STALL): value for name, value in registers.items() if name.startswith(STALL)},
    )
    return Outcome(
        name=data["name"],
        units=(unit,),
        irq=(int(data["irq"][0]), int(data["irq"][1])),
        timed_out=data["timed_out"],
        cycles=data["cycles"],
        memory=memory,
        violations=data["violations"],
        seconds=data["seconds"],
        cpu_seconds=data["cpu_seconds"],
        unknown_words=data["unknown_words"],
        trace=trace,
    )


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
