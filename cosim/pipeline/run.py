"""Runs pipeline programs in a simulator, and reads the results that the harness writes."""

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cosim.device.dram import Unwanted, timing_words
from cosim.pipeline.build import PipelineBuild, Sizes
from hwgen.arch.dram import Dram
from hwgen.arch.pipeline import PipelineParameters
from hwgen.arch.pipeline.maps import stream_ports
from hwgen.arch.pipeline.movers import id_bits, movers_of
from hwgen.arch.registers.control import Control, Status
from hwgen.arch.registers.pipeline import pipeline_registers
from hwgen.ir.counts import Access
from hwgen.lower.pipeline.images import Images, Segment
from hwgen.lower.pipeline.movers import all_runs, load_settings, settings_by_tile
from hwgen.lower.pipeline.program import PipelineProgram
from hwgen.tools.toolchain import ToolError

__all__ = [
    "AccessError",
    "PipelineJob",
    "PipelineResult",
    "RunTimes",
    "StreamCount",
    "StreamTimes",
    "run_pipelines",
    "sizes_for",
]

WRITE, READ, WAIT, END, RESET, POLL = range(6)


@dataclass(frozen=True)
class PipelineJob:
    """One run of a program.

    Members
    -------
    pipeline : the number of a pipeline of the build.
    program : what to run, on ``images``.
    random : seed of the random numbers for stalls and unused bytes, not 0.
    stall_rate : cycles of 256 in which a stream stalls, each stream by itself.
    cycle_limit : cycles after which the harness stops the run.
    watchdog : cycles without movement after which the pipeline reports a failure.
    dram : of a pipeline with movers: the timing of its DRAM.
    error : of a pipeline with movers: which access is answered with an error.
    mistakes : register values with which the first tile is started once more, before; it is expected to fail.
    reset_after : with movers: cycles from the first tile's start to a reset of all; then everything begins anew.
    """

    pipeline: int
    program: PipelineProgram
    images: Images
    random: int
    stall_rate: int
    cycle_limit: int
    watchdog: int = 4_000
    dram: Dram = field(default_factory=Dram)
    error: "AccessError | None" = None
    mistakes: Mapping[str, int] = field(default_factory=dict)
    reset_after: int | None = None


class AccessError(NamedTuple):
    """An address whose accesses are answered with an error: reads, or else writes."""

    address: int
    reads: bool


@dataclass(frozen=True)
class StreamCount:
    """Counts of a stream.

    Members
    -------
    bytes : used bytes, without those counted apart.
    apart : bytes that are counted apart: biases.
    beats : beats.
    left : segments that were not reached.
    """

    bytes: int
    apart: int
    beats: int
    left: int


class StreamTimes(NamedTuple):
    """Times of a stream in a run of tiles, in cycles of the harness.

    Members
    -------
    beats : number of beats.
    first, last : cycles of the first and the last beat.
    waited : cycles between them in which only one side was ready, counted from the first beat of the stack's output.
    """

    beats: int
    first: int
    last: int
    waited: int


@dataclass(frozen=True)
class RunTimes:
    """Times of a weight load or of a run of tiles, in cycles of the harness.

    Members
    -------
    began, ended : first and last cycle.
    streams : by port, the streams that moved.
    lines : for each output stream, by port, the cycle in which each line was complete.
    """

    began: int
    ended: int
    streams: Mapping[str, StreamTimes]
    lines: Mapping[str, tuple[int, ...]]


@dataclass(frozen=True)
class PipelineResult:
    """The result of a run.

    Members
    -------
    streams : by port; with movers none.
    dram : with movers the accesses of the DRAM, by stream.
    violations, busy : with movers: breaches of AXI4; cycles in which the DRAM moved a block.
    unwanted : with movers: bursts and beats at the DRAM that the program does not ask for.
    ended : the script ended before the cycle limit.
    status : status register after the weight load, if there is one, and after the tiles.
    cycles : of both, from the pipeline's register.
    times : of both, stream by stream.
    total : all cycles, configuration included.
    twice, beyond, refused : bytes written twice; beats outside any segment; refused configuration accesses.
    memory, written : DRAM after the run, and which of its bytes are valid.
    """

    streams: Mapping[str, StreamCount]
    dram: Mapping[str, Access]
    violations: int
    busy: int
    unwanted: Unwanted
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
    """Run jobs: those on different pipelines at the same time, those on the same one after the other."""
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
            build.run(folder)
            for number, job in now.values():
                results[number] = _read(folder, build.pipelines[job.pipeline][0], job)
    return [results[number] for number in range(len(jobs))]


def sizes_for(jobs: Sequence[PipelineJob]) -> Sizes:
    """The harness sizes that all of these jobs fit into."""
    memory = max(job.images.memory.size for job in jobs)
    segments = max(sum(map(len, job.images.segments.values()), start=len(_runs(job)[0]) + 1) for job in jobs)
    script = max(len(_script(job.program.parameters, job)) for job in jobs)
    return Sizes(*(max(size.bit_length(), 4) for size in (memory, segments, script)))


def _script(parameters: PipelineParameters, job: PipelineJob) -> list[tuple[int, int, int]]:
    addresses = pipeline_registers(parameters).addresses
    control, status, cycles = (addresses[name] for name in ("control", "status", "cycles"))
    lines = [(WRITE, addresses["watchdog"], job.watchdog)]

    def run(what: int, unwanted: int = Status.FAILED) -> None:
        lines.extend([(WRITE, control, what), (WAIT, 0, 0), (READ, cycles, 0), (READ, status, unwanted)])
        lines.append((WRITE, control, Control.CLEAR))

    def write(settings: Mapping[str, int]) -> None:
        lines.extend((WRITE, addresses[name], value) for name, value in settings.items() if name in addresses)

    if parameters.loads_weights:
        write({} if parameters.movers is None else load_settings(job.program, job.images.layout))
        run(Control.LOAD)
    tiles = settings_by_tile(job.program, None if parameters.movers is None else job.images.layout)
    if job.mistakes:
        write({**tiles[0], **job.mistakes})
        run(Control.START, Status.DONE)
    for settings in tiles[:-1]:
        write(settings)
        lines.extend([(WRITE, control, Control.START | Control.MORE), (POLL, status, Status.QUEUED)])
    write(tiles[-1])
    run(Control.START)
    if job.reset_after is not None:
        starts = (Control.START, Control.START | Control.MORE)
        started = next(place for place, line in enumerate(lines) if line[1] == control and line[2] in starts) + 1
        lines = [*lines[:started], (RESET, 0, job.reset_after), *lines]
    return [*lines, (END, 0, 0)]


def _write(folder: Path, parameters: PipelineParameters, job: PipelineJob) -> None:
    script = _script(parameters, job)
    stem = folder / str(job.pipeline)
    bytes_ = (job.images.memory + 256 * job.images.written.astype(np.uint16)).tolist()
    texts = {
        "memory": "".join(f"{value:03x}\n" for value in bytes_),
        "script": "".join(f"{what:01x}{address:08x}{value:08x}\n" for what, address, value in script),
    }
    at_streams = parameters.movers is None
    texts |= (_at_streams if at_streams else _at_dram)(parameters, job, len(script))
    for name, text in texts.items():
        Path(f"{stem}.{name}.hex").write_text(text, encoding="ascii")


def _at_streams(parameters: PipelineParameters, job: PipelineJob, script: int) -> dict[str, str]:
    """Header and segments for the harness that plays the memory at every stream."""
    segments: list[Segment] = []
    ranges: list[int] = []
    ports = stream_ports(parameters)
    last = [port.name for port in ports].index(f"o_map{parameters.stages[-1].makes}")
    for port in ports:
        moved = job.images.segments.get(port.name, ())
        ranges += [len(segments), len(segments) + len(moved)]
        segments += moved
    header = [job.images.memory.size, max(len(segments), 1), script, job.cycle_limit, job.random, job.stall_rate]
    return {
        "header": "".join(f"{value:08x}\n" for value in [*header, last, 0, *ranges]),
        "segments": "".join(
            f"{one.address:08x}{one.pitch:08x}{one.lines:04x}{one.columns:04x}{one.size:04x}\n" for one in segments
        )
        or "0\n",
    }


def _at_dram(parameters: PipelineParameters, job: PipelineJob, script: int) -> dict[str, str]:
    """Header and runs for the harness with the DRAM."""
    runs, numbers = _runs(job)
    ranges = [(0, 0)] * (1 << id_bits(parameters))
    for mover in movers_of(parameters):
        ranges[mover.id] = numbers.get(mover.stream, (0, 0))
    error = job.error
    errors = (0, 0) if error is None else (1 if error.reads else 2, error.address)
    header = [job.images.memory.size, script, job.cycle_limit, job.random, job.stall_rate,
              *timing_words(job.dram), *errors, max(len(runs), 1)]  # fmt: skip
    return {
        "header": "".join(f"{value:08x}\n" for value in [*header, *chain.from_iterable(ranges)]),
        "runs": "".join(f"{start:08x}{stop:08x}\n" for start, stop in runs) or "0\n",
    }


def _runs(job: PipelineJob) -> tuple[list[tuple[int, int]], dict[str, tuple[int, int]]]:
    """Start and end (exclusive) of the runs of all streams in order; for each stream the number of its first one, and
    of the one after its last. Without movers there are none."""
    runs: list[tuple[int, int]] = []
    numbers = {}
    if job.program.parameters.movers is not None:
        for mover in movers_of(job.program.parameters):
            start, stop = all_runs(job.program, job.images.layout, mover)
            numbers[mover.stream] = (len(runs), len(runs) + len(start))
            runs += zip(start.tolist(), stop.tolist(), strict=True)
    return runs, numbers


def _read(folder: Path, parameters: PipelineParameters, job: PipelineJob) -> PipelineResult:
    stem, ports = folder / str(job.pipeline), stream_ports(parameters)
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
        streams={
            ports[int(values[0])].name: StreamCount(*map(int, values[1:])) for values in named.get("stream", [])
        },
        dram=dict(_accesses(parameters, named.get("dram", []))),
        violations=int(named.get("violations", [["0"]])[0][0]),
        busy=int(named.get("busy", [["0"]])[0][0]),
        unwanted=Unwanted(*map(int, named.get("unwanted", [["0", "0", "0"]])[0])),
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


def _accesses(parameters: PipelineParameters, counters: list[list[str]]) -> Iterator[tuple[str, Access]]:
    """The counters of the DRAM, whose number is that of the mover and then 0 for a read and 1 for a write."""
    names = {mover.id: mover.stream for mover in movers_of(parameters)} if parameters.movers is not None else {}
    for values in counters:
        number, size, beats, bursts, blocks, jumps, misses = map(int, values)
        yield (
            names[number],
            Access(size, size, beats=beats, axi_bursts=bursts, blocks=blocks, jumps=jumps, row_misses=misses),
        )


def _times(answers: list[list[str]], ports: list[str], cycles: list[int]) -> Iterator[RunTimes]:
    """The times of each run. The harness writes the ends of lines before a wait, the streams' times after it."""
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
    """The words of a ``$writememh`` file, three digits each, without comments."""
    lines = b"\n".join(line for line in text.split(b"\n") if line and not line.startswith(b"//"))
    digits = np.zeros(256, np.uint16)
    for value in range(16):
        digits[ord(f"{value:x}")] = value
    found = digits[np.frombuffer(lines + b"\n", np.uint8).reshape(-1, 4)]
    return (found[:, 0] << 8 | found[:, 1] << 4 | found[:, 2]).astype(np.uint16)
