"""Schedules through model and hardware: is every access the predicted one, and every output right?"""

import io
import json
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from numpy.typing import NDArray

from cosim.device.device import LONG, VERY_LONG
from cosim.device.job import Outcome
from cosim.device.result import LayerResult
from cosim.hwc.comparison import judge
from cosim.hwc.divergence import divergences
from cosim.hwc.jobs import Job
from cosim.hwc.layer_data import LayerData, requantisation_for
from cosim.hwc.preparation import Run, prepare, rehearsal
from cosim.hwc.runner import Bench, build_profiled, run_jobs
from cosim.simulator.verilator import REHEARSED_CYCLES
from hwgen.export.cached import generated
from hwgen.ir.document import write_atomically
from hwgen.ir.hardware import Hardware
from hwgen.ir.names import file_names
from hwgen.ir.schedule import Schedule
from hwgen.lower.cluster.program import ClusterProgram
from hwgen.lower.hwc import Program, compile_layer
from hwgen.model.hwc.cycles import least_cycles
from hwgen.tools.toolchain import Simulator

__all__ = ["RunnableProgram", "cosimulate", "cosimulate_programs", "dump_layer"]

EXPLAINED = 3
"""Layers of one HWC whose differences are traced: it takes a run of its own for each port, at least."""


def cosimulate(
    schedules: Sequence[Schedule],
    hardware: Hardware | None = None,
    *,
    simulator: Simulator = "verilator",
    bench: Bench | None = None,
    seed: int = 0,
    streams: Sequence[int] | None = None,
    jobs: int = 1,
    stalls: bool = False,
    dump: Path | None = None,
    waves: Path | None = None,
    fast: bool | None = None,
    progress: Callable[[LayerResult], None] = lambda result: None,
) -> list[LayerResult]:
    """Run each schedule on the hardware and compare counts and output; results in the order of ``schedules``.

    Schedules for the same HWC share one build. Raises `InputError` where the hardware cannot run a schedule, before
    anything is simulated, and `ToolError` if a simulator is missing or fails. Where counts differ, the layer is run
    again with a trace, and its failures name the first iteration at which model and hardware part ways.

    Parameters
    ----------
    hardware : the HWC; None: for each schedule the smallest one that runs it.
    bench : see `run_jobs`.
    seed : of the test data, the stalls and the unused bytes; the same seed gives the same runs.
    streams : for each schedule a number that, with the seed, gives its random numbers; by default its place.
    jobs : simulators at a time.
    stalls : grants and responses are withheld at random.
    dump : folder for inputs, weights, biases and outputs of each layer.
    waves : folder for the waveforms, one file per layer.
    fast : build for long runs; else build in less time, with the design's assertions on. None: by how many cycles
        the layers take, see `cosim.device.device.LONG`.
    progress : called with each result as it arrives.
    """
    numbers = range(len(schedules)) if streams is None else streams
    compiled = [
        compile_layer(schedule, hardware, requantisation_for(schedule, seed, number))
        for schedule, number in zip(schedules, numbers, strict=True)
    ]
    verilog = {program.parameters: generated(program.parameters) for program in compiled}
    programs = [
        RunnableProgram(program, verilog[program.parameters], number)
        for program, number in zip(compiled, numbers, strict=True)
    ]
    return cosimulate_programs(
        programs,
        simulator=simulator,
        bench=bench,
        seed=seed,
        jobs=jobs,
        stalls=stalls,
        dump=dump,
        waves=waves,
        fast=fast,
        progress=progress,
    )


@dataclass(frozen=True)
class RunnableProgram:
    """A compiled layer, the Verilog that runs it, and what it computes with.

    Members
    -------
    stream : the number that, with the seed, gives its random numbers.
    images : bytes of the regions input, weights and bias; what is not there is random.
    """

    program: Program
    verilog: str
    stream: int
    images: Mapping[str, NDArray[np.int8]] = field(default_factory=dict)


def cosimulate_programs(
    programs: Sequence[RunnableProgram],
    *,
    simulator: Simulator = "verilator",
    bench: Bench | None = None,
    seed: int = 0,
    jobs: int = 1,
    stalls: bool = False,
    dump: Path | None = None,
    waves: Path | None = None,
    fast: bool | None = None,
    names: Sequence[str] | None = None,
    progress: Callable[[LayerResult], None] = lambda result: None,
) -> list[LayerResult]:
    """The same for what is compiled already; see `cosimulate`.

    ``names`` : what the files of the layers are called, where files of other layers are written beside them.
    """
    groups: dict[str, list[int]] = defaultdict(list)
    for index, one in enumerate(programs):
        groups[one.verilog].append(index)
    names = names or file_names([one.program.schedule.layer.name for one in programs])
    results: dict[int, LayerResult] = {}
    with ThreadPoolExecutor(1) as references, TemporaryDirectory(prefix="hwgen-") as images:
        for verilog, indices in groups.items():
            runs = [
                prepare(
                    programs[index].program,
                    index=index,
                    seed=seed,
                    stream=programs[index].stream,
                    stalls=stalls,
                    images=programs[index].images,
                    references=references,
                    folder=Path(images),
                )
                for index in indices
            ]
            block = _OneBlock(verilog, simulator, bench, jobs, fast, dump, waves, names, progress)
            results.update(block.results(runs))
    return [results[index] for index in range(len(programs))]


@dataclass(frozen=True)
class _OneBlock:
    """The schedules of one HWC; the fields are `cosimulate`'s parameters, the Verilog, and the layers' file names."""

    text: str
    simulator: Simulator
    bench: Bench | None
    jobs: int
    fast: bool | None
    dump: Path | None
    waves: Path | None
    names: Sequence[str]
    progress: Callable[[LayerResult], None]

    def results(self, runs: list[Run]) -> dict[int, LayerResult]:
        """Simulate and judge: results by the runs' index."""
        results: dict[int, LayerResult] = {}
        different: list[tuple[Run, Outcome]] = []
        by_name = {run.job.name: run for run in runs}

        def arrived(outcome: Outcome) -> None:
            run = by_name[outcome.name]
            if self.dump is not None:
                output = run.program.output(outcome.memory)
                dump_layer(self.dump, self.names[run.index], run.program, run.data, output)
            result = judge(run, outcome, self.simulator)
            if not result.equal:
                different.append((run, outcome))
            results[run.index] = result
            self.progress(result)

        longest_first = sorted(runs, key=lambda run: -run.prediction.iterations)
        fast = self.fast
        cycles = sum(least_cycles(run.prediction) for run in runs)
        if fast is None and cycles > LONG:
            fast = True
        if fast and cycles > VERY_LONG and self._in_native_loop:
            largest = max(runs, key=lambda run: len(run.job.image))
            build_profiled(self.text, rehearsal(largest.program, REHEARSED_CYCLES))
        for batch in [longest_first] if self.waves is None else [[run] for run in runs]:
            run_jobs(
                self.text,
                [run.job for run in batch],
                simulator=self.simulator,
                bench=self.bench,
                processes=self.jobs,
                waves=None if self.waves is None else self.waves / f"{self.names[batch[0].index]}.fst",
                fast=fast,
                on_result=arrived,
            )
        for run, outcome in different[:EXPLAINED]:
            result = results[run.index]
            reasons = divergences(run, outcome, self._once_more)
            results[run.index] = replace(result, failures=(*result.failures, *reasons))
        return results

    @property
    def _in_native_loop(self) -> bool:
        """Whether the simulator's own loop runs the clock, as in all long runs."""
        return self.simulator == "verilator" and self.waves is None and self.bench in (None, "native")

    def _once_more(self, job: Job) -> Outcome:
        return run_jobs(self.text, [job], simulator=self.simulator, fast=self.fast)[0]


def dump_layer(
    folder: Path, name: str, program: Program | ClusterProgram, data: LayerData, output: NDArray[np.signedinteger]
) -> None:
    """Write what a layer computed with, and what the hardware made of it, under a name."""
    arrays = {"I": data.inputs, "W": data.weights, "bias": data.bias, "O": output}
    for operand, array in arrays.items():
        content = io.BytesIO()
        np.save(content, array)
        write_atomically(folder / f"{name}.{operand}.npy", content.getvalue())
    form = program.schedule.requantisation
    settings = program.requantisation.as_data(data.bits, form)
    write_atomically(folder / f"{name}.json", json.dumps(settings) + "\n")
