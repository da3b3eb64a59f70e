"""``hwgen sweep``: many points in hardware, on one machine or on a farm: HWCs, clusters, pipelines."""

import re
from collections.abc import Mapping
from pathlib import Path

import typer

from hwgen.api.arguments import buffer_sizes, is_given, require_folder
from hwgen.api.networks import covered
from hwgen.cli.console import Json, printable
from hwgen.cli.coverage import Partial
from hwgen.ir.coverage import Coverage
from hwgen.ir.document import InputError
from hwgen.studies.sweep.command_configurations import configurations, curve_sizes
from hwgen.studies.sweep.command_depth_first import depth_first_question, sweep_depth_first
from hwgen.studies.sweep.command_options import (
    Attempts,
    Buffers,
    ClusterHardware,
    ClusterOption,
    DepthFirst,
    FarmOption,
    Hwce,
    JobMemory,
    Jobs,
    LanesOption,
    Macs,
    Memories,
    ObjectivesOption,
    OrderOption,
    Output,
    PerLayer,
    PhasesOption,
    PipelineDram,
    Queue,
    ResolutionOption,
    Scale,
    Scheduler,
    Seed,
    Set,
    Simulate,
    SlacksOption,
    Stalls,
    Synth,
    SynthLimit,
    TcdmOption,
    TimeLimit,
    Walltime,
    WorkerLimit,
)
from hwgen.studies.sweep.command_running import Running, place_of
from hwgen.studies.sweep.command_tables import print_sweep
from hwgen.studies.sweep.request import SYNTHESIS_SECONDS, Question
from hwgen.studies.sweep.run import Sweep

__all__ = ["sweep"]


def sweep(
    layer_set: Set,
    *,
    buffers: Buffers = None,
    lanes: LanesOption = None,
    objective: ObjectivesOption = None,
    slack: SlacksOption = None,
    order: OrderOption = None,
    cluster: ClusterOption = None,
    tcdm: TcdmOption = None,
    hardware: ClusterHardware = None,
    per_layer: PerLayer = False,
    partial: Partial = False,
    hwce: Hwce = False,
    depth_first: DepthFirst = False,
    memory: Memories = None,
    macs: Macs = None,
    dram: PipelineDram = None,
    resolution: ResolutionOption = None,
    phases: PhasesOption = False,
    stalls: Stalls = False,
    synthesise: Synth = False,
    synth_limit: SynthLimit = None,
    simulate: Simulate = True,
    scale: Scale = None,
    output: Output = Path("results/sweep"),
    seed: Seed = 0,
    jobs: Jobs = None,
    scheduler: Scheduler = None,
    farm: FarmOption = None,
    queue: Queue = None,
    walltime: Walltime = None,
    job_memory: JobMemory = None,
    worker_limit: WorkerLimit = None,
    time_limit: TimeLimit = 3600.0,
    attempts: Attempts = 3,
    as_json: Json = False,
) -> int:
    """Schedules, RTL, cosimulation and synthesis over buffers, lanes and orders; goes on where it stopped.

    Hardware and schedules are those of the fewest cycles within 1 % of the least traffic, as in schedule and cosim.
    With --depth-first the points are solutions within on-chip memories, their stacks run as pipelines.
    """
    require_folder(output)
    of_layers = {"--buffer": buffers, "--lanes": lanes, "--objective": objective, "--traffic-slack": slack,
                 "--order": order, "--cluster": cluster, "--tcdm": tcdm, "--hardware": hardware,
                 "--per-layer": per_layer, "--partial": partial, "--hwce": hwce, "--scale": scale}  # fmt: skip
    of_pipelines = {"--memory": memory, "--macs": macs, "--dram": dram, "--resolution": resolution,
                    "--phases": phases, "--stalls": stalls}  # fmt: skip
    _require_none(of_layers if depth_first else of_pipelines, depth_first=depth_first)
    if synth_limit is not None and not synthesise:
        raise InputError("--synth-limit: expected with --synth")
    synthesis_seconds = SYNTHESIS_SECONDS if synth_limit is None else synth_limit
    name = _set_name(layer_set)
    place = place_of(scheduler, farm, jobs, queue=queue, walltime=walltime, memory=job_memory,
                     patience=worker_limit, logs=output.resolve() / "logs")  # fmt: skip
    running = Running(output, place, time_limit, attempts)
    if depth_first:
        asked = depth_first_question(
            layer_set, name, own_set=_is_file(layer_set), memory=memory, macs=macs, dram=dram, resolution=resolution,
            phases=phases, stalls=stalls,
            simulate=simulate, synthesise=synthesise, synthesis_seconds=synthesis_seconds, seed=seed,
        )  # fmt: skip
        return sweep_depth_first(asked, running, as_json=as_json)
    if buffers is None:
        raise InputError("--buffer: expected sizes such as 512 or 1KiB,4KiB (with --depth-first: --memory)")
    sizes = buffer_sizes(buffers)
    wanted = configurations(
        sizes, lanes=lanes, objective=objective, slack=slack, order=order, cluster=cluster, tcdm=tcdm,
        hardware=hardware, per_layer=per_layer, hwce=hwce,
    )  # fmt: skip
    coverage = _covered(layer_set, partial=partial)
    curves = curve_sizes(sizes) if cluster is None else ()
    question = Question(
        coverage.layers, tuple(wanted), scale or 1, simulate, synthesise, seed, synthesis_seconds=synthesis_seconds,
        curve_sizes=curves, layer_set=name, own_set=_is_file(layer_set),
    )  # fmt: skip
    return _sweep_layers(question, running, coverage, as_json=as_json)


def _sweep_layers(question: Question, running: Running, coverage: Coverage, *, as_json: bool) -> int:
    """Run it and print it; the exit status."""
    running.prepare(simulate=question.simulate)
    outcome, tables = running.run(Sweep, question)
    if as_json:
        found = {"results": outcome.rows, "curves": outcome.curves, "left_out": coverage.as_json()}
        running.print_document(outcome, question, found)
    else:
        print_sweep(outcome.rows, question.scale)
        for row in outcome.wrong:
            typer.echo(printable(f"{row['configuration']} {row['buffer_bytes']} {row['layer']}: {row['status']}: "
                                 f"{row['reason']}"))  # fmt: skip
        running.print_files("results", outcome.rows, tables.rows, "schedules")
    return 1 if outcome.wrong else 0


def _require_none(options: Mapping[str, object], *, depth_first: bool) -> None:
    """Refuse what is for points of the other kind."""
    for option, value in options.items():
        if is_given(value):
            more = " (memory of each job of a farm: --job-memory)" if option == "--memory" else ""
            raise InputError(f"{option}: expected {'without' if depth_first else 'with'} --depth-first{more}")


def _covered(name: str, *, partial: bool) -> Coverage:
    coverage = covered(name, partial=partial)
    names = [layer.name for layer in coverage.layers]
    if len(set(names)) != len(names):
        twice = next(one for one in names if names.count(one) > 1)
        raise InputError(f"{name}: {twice}: expected layers with names of their own")
    return coverage


def _is_file(name: str) -> bool:
    """Whether a set is a file, or some layers of one; else it is built in."""
    return Path(name).is_file() or Path(name.rpartition(":")[0]).is_file()


def _set_name(name: str) -> str:
    """A built-in name, or that of a file, with the prefix of its layers."""
    return re.sub(r"\.(ya?ml|onnx|tflite)(?=:|$)", "", Path(name).name, flags=re.IGNORECASE)
