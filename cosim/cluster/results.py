"""Schedules of clusters in the model and in the simulation: are all counts equal, and all outputs exact?"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from cosim.cluster.model import SimulatedCluster, load_cluster
from cosim.cluster.preparation import WrittenProgram, prepare_cluster
from cosim.cluster.run import run_clusters
from cosim.device.device import dram_depth
from cosim.device.job import Job, Outcome
from cosim.device.judge import Expected, judge
from cosim.device.result import LayerResult
from cosim.hwc.results import dump_layer
from cosim.simulator.pace import Forecast, cluster_paces, soonest, total
from hwgen.arch.dram import Dram
from hwgen.ir.hardware import Hardware
from hwgen.ir.names import file_names
from hwgen.ir.schedule import Schedule
from hwgen.tools.side_by_side import side_by_side

__all__ = ["cosimulate_clusters", "run_tasks"]


def cosimulate_clusters(
    schedules: Sequence[Schedule],
    hardware: Hardware | None = None,
    *,
    seed: int = 0,
    streams: Sequence[int] | None = None,
    stalls: bool = False,
    serial: bool = False,
    timing: Dram | None = None,
    dump: Path | None = None,
    written: Sequence[WrittenProgram] | None = None,
    verilog: str | None = None,
    fast: bool | None = None,
    names: Sequence[str] | None = None,
    jobs: int = 1,
    tell: Callable[[Forecast], None] = lambda forecast: None,
    progress: Callable[[LayerResult], None] = lambda result: None,
) -> list[LayerResult]:
    """Run each schedule on its cluster and compare counts and output; results in the order of ``schedules``.

    Schedules for the same cluster share one build. Raises `InputError` where the cluster cannot run a schedule,
    before anything is simulated, and `ToolError` if the simulator is missing or fails.

    Parameters
    ----------
    hardware : the cluster; None: for each schedule the default one with the smallest HWCs that run it.
    seed, streams, dump, jobs, tell, progress : see `cosim.hwc.results.cosimulate`.
    fast : build each cluster's simulator for long runs; None: whatever is soonest done.
    stalls : random stalls on every DRAM channel and every TCDM port.
    serial : nothing overlaps: load, compute and store one after the other.
    timing : of the DRAM; by default that of the hardware.
    written : for each schedule the program that runs instead of what it is compiled to.
    verilog : of the one cluster of all schedules, if it is not made now.
    names : see `cosim.hwc.results.cosimulate_programs`.
    """
    tasks = []
    for index, schedule in enumerate(schedules):
        stream = None if streams is None else streams[index]
        task = prepare_cluster(
            schedule,
            hardware,
            index=index,
            seed=seed,
            stream=stream,
            stalls=stalls,
            serial=serial,
            timing=timing,
            written=None if written is None else written[index],
        )
        tasks.append(task)
    names = names or file_names([schedule.layer.name for schedule in schedules])

    def arrived(index: int, outcome: Outcome, result: LayerResult) -> None:
        task = tasks[index]
        if dump is not None:
            dump_layer(dump, names[index], task.program, task.data, task.program.output(outcome.memory))
        progress(result)

    load = partial(load_cluster, verilog=verilog)
    return run_tasks(tasks, load, fast=fast, jobs=jobs, tell=tell, arrived=arrived)


class Task(Protocol):
    """A layer, prepared for clusters.

    Members
    -------
    parameters : of what is to be built.
    wanted : what a run of the job is to come to.
    """

    @property
    def job(self) -> Job: ...
    @property
    def parameters(self) -> Any: ...
    @property
    def wanted(self) -> Expected: ...
    @property
    def predicted_cycles(self) -> float: ...


def run_tasks(
    tasks: Sequence[Task],
    load: Callable[..., SimulatedCluster],
    *,
    fast: bool | None,
    arrived: Callable[[int, Outcome, LayerResult], None],
    jobs: int = 1,
    tell: Callable[[Forecast], None] = lambda forecast: None,
) -> list[LayerResult]:
    """Run layers and judge them; those with the same parameters share one build, with a DRAM for the largest.

    Parameters
    ----------
    load : see `load_cluster`; where several run at a time, each process calls it, so it is a function of a module.
    fast, jobs, tell : see `cosimulate_clusters`.
    arrived : called with each task's number, outcome and result as they are there.
    """
    groups: dict[Any, list[int]] = defaultdict(list)
    for index, task in enumerate(tasks):
        groups[task.parameters].append(index)
    forecasts = {
        parameters: _forecast([tasks[index] for index in members], fast=fast, jobs=jobs)
        for parameters, members in groups.items()
    }
    tell(total(list(forecasts.values())))
    results: dict[int, LayerResult] = {}
    for parameters, members in groups.items():
        depth = dram_depth(max(len(tasks[index].job.image) for index in members))
        forecast = forecasts[parameters]
        loaded = partial(load, parameters, dram_log2=depth, fast=forecast.simulator == "verilator_fast")
        longest_first = sorted(members, key=lambda index: -tasks[index].predicted_cycles)
        for index, outcome in _outcomes(tasks, longest_first, loaded, forecast.processes):
            results[index] = judge(tasks[index].wanted, outcome)
            arrived(index, outcome, results[index])
    return [results[index] for index in range(len(tasks))]


def _forecast(tasks: Sequence[Task], *, fast: bool | None, jobs: int) -> Forecast:
    """What is built for layers with the same parameters, and how long it all takes."""
    paces = cluster_paces(tasks[0].wanted.hwcs)
    if fast is not None:
        name = "verilator_fast" if fast else "verilator"
        paces = {name: paces[name]}
    return soonest(paces, [task.predicted_cycles for task in tasks], processes=jobs)


def _outcomes(
    tasks: Sequence[Task], members: Sequence[int], load: Callable[[], SimulatedCluster], processes: int
) -> Iterator[tuple[int, Outcome]]:
    """The outcomes of some tasks with their numbers, as they arrive."""
    model = load()
    if processes == 1:
        for index in members:
            yield index, run_clusters(model, tasks[index].job)
        return
    for place, outcome in side_by_side(_run, [(load, tasks[index].job) for index in members], processes):
        yield members[place], outcome


def _run(load: Callable[[], SimulatedCluster], job: Job) -> Outcome:
    """Run a job in a process of its own; the simulator is built already."""
    return run_clusters(load(), job)
