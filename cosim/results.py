"""Schedules through model and hardware: is every access the predicted one, and every output right?"""

import json
from collections import defaultdict
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from cosim.comparison import LayerResult, judge
from cosim.jobs import JobResult
from cosim.preparation import Run, prepare
from cosim.runner import Bench, run_jobs
from cosim.toolchain import Simulator
from hwgen.export import verilog
from hwgen.gateware.params import HwcParameters
from hwgen.ir.hardware import Hardware
from hwgen.ir.schedule import Schedule
from hwgen.lower import compile_layer

__all__ = ["LayerResult", "cosimulate"]


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
        kept = Path(folder)
        for parameters, indices in groups.items():
            text = verilog(parameters)
            runs = [
                prepare(
                    schedules[index],
                    hardware,
                    index=index,
                    seed=seed,
                    stalls=stalls,
                    references=references,
                    folder=kept,
                )
                for index in indices
            ]
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


def _dump(folder: Path, name: str, run: Run, outcome: JobResult) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    np.save(folder / f"{name}.I.npy", run.data.inputs)
    np.save(folder / f"{name}.W.npy", run.data.weights)
    np.save(folder / f"{name}.bias.npy", run.data.bias)
    np.save(folder / f"{name}.O.npy", run.program.output(outcome.memory))
    (folder / f"{name}.json").write_text(json.dumps(run.data.settings()) + "\n", encoding="utf-8")
