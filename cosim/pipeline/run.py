"""Runs programs of depth-first pipelines in a simulator, and reads what the harness wrote down."""

import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cosim.pipeline.build import PipelineBuild
from cosim.pipeline.wrapper import Sizes, ports_of
from hwgen.arch.pipeline import PipelineParameters
from hwgen.arch.registers.control import Control, Status
from hwgen.arch.registers.pipeline import pipeline_registers
from hwgen.lower.pipeline.images import Images, Segment
from hwgen.lower.pipeline.program import PipelineProgram
from hwgen.tools.toolchain import ToolError, environment

__all__ = ["PipelineJob", "PipelineResult", "RunTimes", "StreamCount", "StreamTimes", "run_pipelines", "sizes_for"]

WRITE, READ, WAIT, END = range(4)


@dataclass(frozen=True)
class PipelineJob:
    """One run of a program.

    Members
    -------
    pipeline : which of a build's pipelines runs it.
    program : what runs, on ``images``.
    random : start of the random numbers for stalls and unused bytes, not 0.
    stall_rate : in how many of 256 cycles a stream stalls, each for itself.
    cycle_limit : cycles after which the run is given up.
    watchdog : cycles without movement after which the pipeline gives up.
    """

    pipeline: int
    program: PipelineProgram
    images: Images
    random: int
    stall_rate: int
    cycle_limit: int
    watchdog: int = 4_000


@dataclass(frozen=True)
class StreamCount:
    """What a stream moved: bytes that were used, those counted apart, beats; segments that it did not get to."""

    bytes: int
    apart: int
    beats: int
    left: int


class StreamTimes(NamedTuple):
    """A stream in one tile.

    Members
    -------
    beats : how many.
    first, last : the harness' cycle of the first and last of them.
    waited : cycles between them in which one side was ready for another beat and the other was not, not counting
        those before the first beat of the stack's output.
    """

    beats: int
    first: int
    last: int
    waited: int


@dataclass(frozen=True)
class RunTimes:
    """The load of weights, or a tile.

    Members
    -------
    began, ended : the harness' cycles.
    streams : by port, those that moved anything.
    lines : of the output streams, by port: when each line was complete.
    """

    began: int
    ended: int
    streams: Mapping[str, StreamTimes]
    lines: Mapping[str, tuple[int, ...]]


@dataclass(frozen=True)
class PipelineResult:
    """What came of a run.

    Members
    -------
    streams : by port.
    ended : whether the script came to its end before the limit.
    status : of the weight load, if there is one, and of each tile.
    cycles : of each of them, by the pipeline's own register.
    times : when they went on, stream by stream.
    total : cycles of everything, configuration included.
    twice, beyond, refused : bytes written twice; beats out of place; refused configuration accesses.
    memory, written : DRAM after the run.
    """

    streams: Mapping[str, StreamCount]
    ended: bool
    status: tuple[int, ...]
    cycles: tuple[int, ...]
    times: tuple[RunTimes, ...]
    total: int
    twice: int
    beyond: int
    refused: int
    memory: NDArray[np.uint8]
    written: NDArray[np.bool_]


def run_pipelines(build: PipelineBuild, jobs: Sequence[PipelineJob]) -> list[PipelineResult]:
    """Run jobs, all at once those on different pipelines, the others one after the other."""
    simulator = build.make()
    results: dict[int, PipelineResult] = {}
    waiting = list(enumerate(jobs))
    while waiting:
        now: dict[int, tuple[int, PipelineJob]] = {}
        for number, job in waiting:
            now.setdefault(job.pipeline, (number, job))
        waiting = [item for item in waiting if now[item[1].pipeline][0] != item[0]]
        with tempfile.TemporaryDirectory(prefix="hwgen-") as name:
            folder = Path(name)
            for _, job in now.values():
                _write(folder, build.pipelines[job.pipeline][0], job)
            command = [str(simulator)] if build.simulator == "verilator" else ["vvp", "-n", str(simulator)]
            done = subprocess.run(
                [*command, f"+folder={folder}"], capture_output=True, text=True, check=False, start_new_session=True,
                env=environment(build.simulator),
            )  # fmt: skip
            if done.returncode:
                raise ToolError(f"{build.simulator}: the simulation failed: {(done.stderr or done.stdout)[-300:]}")
            for number, job in now.values():
                results[number] = _read(folder, build.pipelines[job.pipeline][0], job)
    return [results[number] for number in range(len(jobs))]


def sizes_for(jobs: Sequence[PipelineJob]) -> Sizes:
    """Room for all of some jobs on one pipeline."""
    memory = max(job.images.memory.size for job in jobs)
    segments = max(sum(map(len, job.images.segments.values())) for job in jobs)
    script = max(len(_script(job.program.parameters, job)) for job in jobs)
    return Sizes(*(max(size.bit_length(), 4) for size in (memory, segments, script)))


def _script(parameters: PipelineParameters, job: PipelineJob) -> list[tuple[int, int, int]]:
    addresses = pipeline_registers(parameters).addresses
    control, status, cycles = (addresses[name] for name in ("control", "status", "cycles"))
    lines = [(WRITE, addresses["watchdog"], job.watchdog)]

    def run(what: int) -> None:
        lines.extend([(WRITE, control, what), (WAIT, 0, 0), (READ, cycles, 0), (READ, status, Status.FAILED)])
        lines.append((WRITE, control, Control.CLEAR))

    if parameters.loads_weights:
        run(Control.LOAD)
    for tile in job.program.tiles:
        lines += [(WRITE, addresses[name], value) for name, value in tile.registers.items() if name in addresses]
        run(Control.START)
    return [*lines, (END, 0, 0)]


def _write(folder: Path, parameters: PipelineParameters, job: PipelineJob) -> None:
    script = _script(parameters, job)
    segments: list[Segment] = []
    ranges: list[int] = []
    ports = ports_of(parameters)
    last = [port.name for port in ports].index(f"o_map{parameters.stages[-1].makes}")
    for port in ports:
        moved = job.images.segments.get(port.name, ())
        ranges += [len(segments), len(segments) + len(moved)]
        segments += moved
    header = [job.images.memory.size, max(len(segments), 1), len(script), job.cycle_limit, job.random, job.stall_rate]
    stem = folder / str(job.pipeline)
    bytes_ = (job.images.memory + 256 * job.images.written.astype(np.uint16)).tolist()
    texts = {
        "header": "".join(f"{value:08x}\n" for value in [*header, last, 0, *ranges]),
        "memory": "".join(f"{value:03x}\n" for value in bytes_),
        "segments": "".join(
            f"{one.address:08x}{one.pitch:08x}{one.lines:04x}{one.columns:04x}{one.size:04x}\n" for one in segments
        )
        or "0\n",
        "script": "".join(f"{what:01x}{address:08x}{value:08x}\n" for what, address, value in script),
    }
    for name, text in texts.items():
        Path(f"{stem}.{name}.hex").write_text(text, encoding="ascii")


def _read(folder: Path, parameters: PipelineParameters, job: PipelineJob) -> PipelineResult:
    stem, ports = folder / str(job.pipeline), ports_of(parameters)
    lines = [line.split() for line in Path(f"{stem}.answers.txt").read_text(encoding="ascii").splitlines()]
    if not lines or lines[-1][0] not in ("end", "limit", "failed"):
        raise ToolError(f"{job.program.plan.name}: the simulation ended before the run did")
    named: dict[str, list[list[str]]] = {}
    for what, *values in lines:
        named.setdefault(what, []).append(values)
    addresses = {register.address: register.name for register in pipeline_registers(parameters)}
    read = [(addresses[int(address)], int(value)) for address, value in named.get("read", [])]
    cycles = [value for name, value in read if name == "cycles"]
    memory = _hex_words(Path(f"{stem}.result.hex").read_bytes())
    return PipelineResult(
        streams={ports[int(values[0])].name: StreamCount(*map(int, values[1:])) for values in named["stream"]},
        ended="end" in named,
        status=tuple(value for name, value in read if name == "status"),
        cycles=tuple(cycles),
        times=tuple(_times(lines, [port.name for port in ports], cycles)),
        total=int(named["cycles"][0][0]),
        twice=int(named["twice"][0][0]),
        beyond=int(named["beyond"][0][0]),
        refused=len(named.get("refused", [])),
        memory=(memory & 255).astype(np.uint8),
        written=memory >> 8 == 1,
    )


def _times(answers: list[list[str]], ports: list[str], cycles: list[int]) -> Iterator[RunTimes]:
    """Run by run; what the streams did is written behind the wait, and when lines ended before it."""
    waits = [place for place, (what, *_) in enumerate(answers) if what == "wait"]
    runs = zip([0, *waits], waits, [*waits[1:], len(answers)], cycles, strict=False)
    for begin, place, end, taken in runs:
        lines: dict[str, list[int]] = {}
        for what, *values in answers[begin:place]:
            if what == "line":
                lines.setdefault(ports[int(values[0])], []).append(int(values[1]))
        streams = {ports[int(values[0])]: StreamTimes(*map(int, values[1:]))
                   for what, *values in answers[place:end] if what == "run"}  # fmt: skip
        ended = int(answers[place][1])
        yield RunTimes(ended - taken, ended, streams, {name: tuple(each) for name, each in lines.items()})


def _hex_words(text: bytes) -> NDArray[np.uint16]:
    """The lines of ``$writememh``, three digits each, without its comments."""
    lines = b"\n".join(line for line in text.split(b"\n") if line and not line.startswith(b"//"))
    digits = np.zeros(256, np.uint16)
    for value in range(16):
        digits[ord(f"{value:x}")] = value
    found = digits[np.frombuffer(lines + b"\n", np.uint8).reshape(-1, 4)]
    return (found[:, 0] << 8 | found[:, 1] << 4 | found[:, 2]).astype(np.uint16)
