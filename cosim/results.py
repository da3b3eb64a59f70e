"""Schedules through model and hardware: is every access the predicted one, and every output right?"""

import json
from collections import defaultdict
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from cosim.comparison import LayerResult, Run, judge
from cosim.jobs import Job, JobResult
from cosim.layer_data import expected_output, random_data
from cosim.runner import Bench, run_jobs
from cosim.toolchain import Simulator
from hwgen.export import verilog
from hwgen.gateware.csr import Control
from hwgen.gateware.params import HwcParameters
from hwgen.ir.hardware import Hardware
from hwgen.ir.schedule import Schedule
from hwgen.lower import compile_layer
from hwgen.model.access import predict

__all__ = ["LayerResult", "cosimulate"]

ACKNOWLEDGE: int = Control.const({"clear": 1}).as_bits()
"""Written to the register that starts a layer: takes the interrupt back."""


def cosimulate(
    schedules: Sequence[Schedule],
    hardware: Hardware | None = None,
    *,
    simulator: Simulator = "verilator",
    bench: Bench | None = None,
    seed: int = 0,
    jobs: int = 1,
    stalls: bool = False,
    dump: Path | None = None,
    waves: Path | None = None,
    fast: bool = True,
    progress: Callable[[LayerResult], None] = lambda result: None,
) -> list[LayerResult]:
    """Run each schedule on the hardware and compare counts and output; results in the order of ``schedules``.

    Schedules for the same HWC share one build. Raises `InputError` where the hardware cannot run a schedule, before
    anything is simulated, and `ToolError` if a simulator is missing or fails.

    Parameters
    ----------
    hardware : the HWC; None: for each schedule the smallest one that runs it.
    bench : see `run_jobs`.
    seed : of the test data, the stalls and the unused bytes; the same seed gives the same runs.
    jobs : simulators at a time.
    stalls : grants and responses are withheld at random.
    dump : folder for inputs, weights, biases and outputs of each layer.
    waves : folder for the waveforms, one file per layer.
    fast : build for long runs; else build in less time, with the design's assertions on.
    progress : called with each result as it arrives.
    """
    groups: dict[HwcParameters, list[int]] = defaultdict(list)
    for index, schedule in enumerate(schedules):
        groups[compile_layer(schedule, hardware).parameters].append(index)
    names = _file_names(schedules)
    results: dict[int, LayerResult] = {}
    with ThreadPoolExecutor(1) as references, TemporaryDirectory(prefix="hwgen-") as folder:
        preparation = _Preparation(hardware, seed, stalls, references, Path(folder))
        for parameters, indices in groups.items():
            text = verilog(parameters)
            runs = [preparation.run(index, schedules[index]) for index in indices]
            runs.sort(key=lambda run: -run.prediction.iterations)  # the longest first
            by_name = {run.job.name: run for run in runs}

            def arrived(outcome: JobResult, by_name: dict[str, Run] = by_name) -> None:
                run = by_name[outcome.name]
                if dump is not None:
                    _dump(dump, names[run.index], run, outcome)
                result = judge(run, outcome, simulator)
                results[run.index] = result
                progress(result)

            for batch in [runs] if waves is None else [[run] for run in runs]:
                run_jobs(
                    text,
                    [run.job for run in batch],
                    simulator=simulator,
                    bench=bench,
                    processes=jobs,
                    waves=None if waves is None else waves / f"{names[batch[0].index]}.fst",
                    fast=fast,
                    on_result=arrived,
                )
    return [results[index] for index in range(len(schedules))]


def _file_names(schedules: Sequence[Schedule]) -> list[str]:
    """The layers' names, numbered where a name comes again."""
    seen: dict[str, int] = defaultdict(int)
    names = []
    for schedule in schedules:
        seen[schedule.layer.name] += 1
        number = seen[schedule.layer.name]
        names.append(schedule.layer.name if number == 1 else f"{schedule.layer.name}-{number}")
    return names


class _Preparation:
    """Makes test data, program and memory image of each schedule; references are computed in the background."""

    def __init__(
        self, hardware: Hardware | None, seed: int, stalls: bool, references: ThreadPoolExecutor, folder: Path
    ) -> None:
        self._hardware, self._seed, self._stalls = hardware, seed, stalls
        self._references, self._folder = references, folder

    def run(self, index: int, schedule: Schedule) -> Run:
        """What one schedule needs to be simulated and judged."""
        layer = schedule.layer
        rng = np.random.default_rng([self._seed, index])
        data = random_data(layer, rng)
        program = compile_layer(schedule, self._hardware, shift=data.shift, relu=data.relu)
        prediction = predict(schedule)
        image = program.image(data.inputs, data.weights, data.bias).astype(np.uint32)
        for name in ("output", "partial"):  # what was there before must not matter
            region = program.regions[name]
            words = slice(region.base // 4, (region.base + region.size) // 4)
            image[words] = rng.integers(0, 1 << 32, words.stop - words.start, dtype=np.uint32)
        file = self._folder / f"{index}.npy"
        np.save(file, image)
        job = Job(
            name=f"{index}:{layer.name}",
            registers=program.registers,
            start=program.start,
            status=program.status,
            acknowledge=(program.start[0], ACKNOWLEDGE),
            regions={name: (region.base, region.size) for name, region in program.regions.items()},
            image=np.load(file, mmap_mode="r"),  # a layer set's images together may be more than the memory
            cycle_limit=100_000 + 40 * (prediction.iterations + prediction.counts.total_words()),
            random=int(rng.integers(1, 1 << 32)),
        )
        if self._stalls:
            rates = [int(rate) for rate in rng.integers(0, 200, 6)]
            job = replace(
                job,
                stall_rates=(rates[0], rates[1], rates[2]),
                delay_rates=(rates[3], rates[4], rates[5]),
                cycle_limit=16 * job.cycle_limit,
            )
        return Run(index, program, prediction, data, job, self._references.submit(expected_output, layer, data))


def _dump(folder: Path, name: str, run: Run, outcome: JobResult) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    np.save(folder / f"{name}.I.npy", run.data.inputs)
    np.save(folder / f"{name}.W.npy", run.data.weights)
    np.save(folder / f"{name}.bias.npy", run.data.bias)
    np.save(folder / f"{name}.O.npy", run.program.output(outcome.memory))
    (folder / f"{name}.json").write_text(json.dumps(run.data.settings()) + "\n", encoding="utf-8")
