"""Two-level schedules in the model and on the simulated cluster: are all counts equal, and all outputs exact?"""

from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path

from cosim.cluster.comparison import judge_cluster
from cosim.cluster.model import load_cluster
from cosim.cluster.preparation import ClusterTask, WrittenProgram, prepare_cluster
from cosim.cluster.run import run_cluster
from cosim.hwc.comparison import LayerResult
from cosim.hwc.results import dump_layer
from cosim.sim.build import LONG
from hwgen.arch.cluster import ClusterParameters
from hwgen.arch.dram import Dram
from hwgen.ir.hardware import Hardware
from hwgen.ir.names import file_names
from hwgen.ir.schedule import Schedule

__all__ = ["cosimulate_clusters", "dram_depth"]

DEPTHS = (18, 20, 22, 24)
"""log2 of the words of the simulated DRAM: a few sizes only, so that one build serves many layers."""


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
    progress: Callable[[LayerResult], None] = lambda result: None,
) -> list[LayerResult]:
    """Run each schedule on its cluster and compare counts and output; results in the order of ``schedules``.

    Schedules for the same cluster share one build. Raises `InputError` where the cluster cannot run a schedule,
    before anything is simulated, and `ToolError` if the simulator is missing or fails.

    Parameters
    ----------
    hardware : the cluster; None: for each schedule the default one with the smallest HWCs that run it.
    seed, streams, dump, progress : see `cosim.hwc.results.cosimulate`.
    fast : build each cluster's simulator for long runs; None: where all of its runs together are predicted to take
        more than `cosim.sim.build.LONG` cycles.
    stalls : random stalls on every DRAM channel and every TCDM port.
    serial : nothing overlaps: load, compute and store one after the other.
    timing : of the DRAM; by default that of the hardware.
    written : for each schedule the program that runs instead of what it is compiled to.
    verilog : of the one cluster of all schedules, if it is not made now.
    names : see `cosim.hwc.results.cosimulate_programs`.
    """
    groups: dict[ClusterParameters, list[tuple[int, ClusterTask]]] = defaultdict(list)
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
        groups[task.program.hardware].append((index, task))
    names = names or file_names([schedule.layer.name for schedule in schedules])
    results: dict[int, LayerResult] = {}
    for parameters, tasks in groups.items():
        depth = dram_depth(max(len(task.job.image) for _, task in tasks))
        long = sum(task.predicted_cycles for _, task in tasks) > LONG if fast is None else fast
        model = load_cluster(parameters, dram_log2=depth, fast=long, verilog=verilog)
        for index, task in tasks:
            outcome = run_cluster(model, task.job)
            results[index] = judge_cluster(task, outcome)
            if dump is not None:
                output = task.program.output(outcome.memory)
                dump_layer(dump, names[index], task.program, task.data, output)
            progress(results[index])
    return [results[index] for index in range(len(schedules))]


def dram_depth(words: int) -> int:
    """The ``dram_log2`` of `load_cluster` for an image of ``words`` words."""
    return next(depth for depth in DEPTHS if words <= 1 << depth)
