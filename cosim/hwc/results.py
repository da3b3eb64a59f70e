"""Schedules through model and hardware: is every access the predicted one, and every output right?"""

import io
import json
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from numpy.typing import NDArray

from cosim.device.device import Device
from cosim.device.job import Outcome
from cosim.device.judge import AT_HWC, Expected
from cosim.device.judge import judge as judge_outcome
from cosim.device.result import LayerResult
from cosim.hwc.divergence import divergences
from cosim.hwc.jobs import Job
from cosim.hwc.layer_data import LayerData, requantisation_for
from cosim.hwc.preparation import Run, prepare, rehearsal
from cosim.hwc.runner import Bench, build_profiled, depth_for, hwc_device, run_jobs
from cosim.simulator.pace import Forecast, hwc_paces, soonest, total
from cosim.simulator.registry import SIMULATORS
from cosim.simulator.verilator import REHEARSED_CYCLES
from hwgen.arch.bus import WORD_BYTES
from hwgen.export.cached import generated
from hwgen.ir.document import write_atomically
from hwgen.ir.hardware import Hardware
from hwgen.ir.names import file_names
from hwgen.ir.schedule import Schedule
from hwgen.lower.cluster.program import ClusterProgram
from hwgen.lower.hwc import Program, compile_layer
from hwgen.lower.network.parts import PartCounts
from hwgen.model.energy import prices_of
from hwgen.model.hwc.cycles import Cycles, predicted_cycles
from hwgen.tools.toolchain import Simulator

__all__ = ["RunnableProgram", "cosimulate", "cosimulate_programs", "dump_layer", "judge"]


INTERRUPT_CYCLES = 2
"""Cycles from the start write's grant to the interrupt that the register ``cycles`` does not count."""


def judge(run: Run, outcome: Outcome, simulator: Simulator, timed: Cycles | None = None) -> LayerResult:
    """The result of one run: counts and output against model and reference; ``timed`` : cycles predicted already."""
    schedule = run.program.schedule
    timed = timed or predicted_cycles(schedule, run.program.parameters)
    expected = Expected(
        schedule=schedule,
        units=[PartCounts(run.prediction.counts)],
        output=run.program.output,
        reference=run.expected.result(),
        cycles=timed.total,
        late=INTERRUPT_CYCLES,
        ports=AT_HWC,
        computing=run.prediction.iterations,
        stalls=timed.stalls_by_name(),
        prices=prices_of(run.program.parameters, None),
    )
    return judge_outcome(expected, outcome, simulator)


FAST = ("verilator_fast", "verilator_profiled")
"""Builds for long runs."""
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
    tell: Callable[[Forecast], None] = lambda forecast: None,
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
    jobs : simulators at a time, at most.
    stalls : grants and responses are withheld at random.
    dump : folder for inputs, weights, biases and outputs of each layer.
    waves : folder for the waveforms, one file per layer.
    fast : build for long runs; else build in less time, with the design's assertions on. None: whatever is soonest
        done, see `cosim.simulator.pace`.
    tell : called with what the wait will be, before anything is built.
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
        tell=tell,
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

    @cached_property
    def timed(self) -> Cycles:
        """The predicted cycles."""
        return predicted_cycles(self.program.schedule, self.program.parameters)


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
    tell: Callable[[Forecast], None] = lambda forecast: None,
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
    blocks = {
        verilog: _OneBlock(verilog, simulator, bench, jobs, fast, dump, waves, names, progress) for verilog in groups
    }
    forecasts = {
        verilog: block.forecast([programs[index] for index in groups[verilog]]) for verilog, block in blocks.items()
    }
    tell(total(list(forecasts.values())))
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
            results.update(
                blocks[verilog].results(runs, [programs[index].timed for index in indices], forecasts[verilog])
            )
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

    def forecast(self, runnable: Sequence[RunnableProgram]) -> Forecast:
        """What is to be built, and how long it all takes."""
        programs = [one.program for one in runnable]
        parameters = programs[0].parameters
        device = self._device(parameters.ports.each, max(program.layout.size for program in programs) // WORD_BYTES)
        paces = hwc_paces(parameters.lanes.product)
        ways = (self.simulator,) if self.fast is False or not self._in_native_loop else ("verilator", *FAST)
        paces = {name: paces[name] for name in (FAST if self.fast and self._in_native_loop else ways)}
        return soonest(
            paces,
            [one.timed.total for one in runnable],
            processes=self.jobs,
            built=lambda name: SIMULATORS[name].has(device, "bench"),
        )

    def results(self, runs: list[Run], timed: Sequence[Cycles], forecast: Forecast) -> dict[int, LayerResult]:
        """Simulate and judge: results by the runs' index; ``timed`` : the predicted cycles of each."""
        results: dict[int, LayerResult] = {}
        different: list[tuple[Run, Outcome]] = []
        by_name = {run.job.name: (run, cycles) for run, cycles in zip(runs, timed, strict=True)}

        def arrived(outcome: Outcome) -> None:
            run, cycles = by_name[outcome.name]
            if self.dump is not None:
                output = run.program.output(outcome.memory)
                dump_layer(self.dump, self.names[run.index], run.program, run.data, output)
            result = judge(run, outcome, self.simulator, cycles)
            if not result.equal:
                different.append((run, outcome))
            results[run.index] = result
            self.progress(result)

        longest_first = sorted(runs, key=lambda run: -run.prediction.iterations)
        # What is built already may serve, where nothing has to be.
        fast = True if forecast.simulator in FAST else self.fast
        if forecast.simulator == "verilator_profiled":
            largest = max(runs, key=lambda run: len(run.job.image))
            device = self._device(largest.job.ports, len(largest.job.image))
            build_profiled(device, lambda: rehearsal(largest.program, REHEARSED_CYCLES))
        for batch in [longest_first] if self.waves is None else [[run] for run in runs]:
            run_jobs(
                self.text,
                [run.job for run in batch],
                simulator=self.simulator,
                bench=self.bench,
                processes=forecast.processes,
                waves=None if self.waves is None else self.waves / f"{self.names[batch[0].index]}.fst",
                fast=fast,
                on_result=arrived,
            )
        for run, outcome in different[:EXPLAINED]:
            result = results[run.index]
            reasons = divergences(run, outcome, self._once_more)
            results[run.index] = replace(result, failures=(*result.failures, *reasons))
        return results

    def _device(self, ports: tuple[int, int, int], words: int) -> Device:
        """The HWC with a memory for images of this number of words."""
        return hwc_device(self.text, depth_for(self.simulator, words), ports)

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
