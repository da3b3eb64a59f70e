"""``hwgen sweep``: the call of `hwgen.sweep`, on one machine or on a farm, and depth-first points."""

from pathlib import Path

import typer

from hwgen.api.arguments import require_folder
from hwgen.cli.console import Json, print_json, printable
from hwgen.cli.coverage import Partial
from hwgen.ir.document import InputError
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
    place_of,
)
from hwgen.studies.sweep.command_tables import Lines, print_files, print_pipelines, print_sweep
from hwgen.studies.sweep.depth_first.study import DepthFirstSweepRequest
from hwgen.studies.sweep.request import SYNTHESIS_SECONDS, require_kind
from hwgen.studies.sweep.running import Running
from hwgen.studies.sweep.study import SweepRequest, Swept

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

    Hardware and schedules are those of the fewest cycles within 1 % of the least traffic; on HWCs and clusters that
    are given those of the fewest cycles, as in schedule and cosim.
    With --depth-first the points are solutions within on-chip memories, their stacks run as pipelines.
    """
    require_folder(output)
    of_layers = {"--buffer": buffers, "--lanes": lanes, "--objective": objective, "--traffic-slack": slack,
                 "--order": order, "--cluster": cluster, "--tcdm": tcdm, "--hardware": hardware,
                 "--per-layer": per_layer, "--partial": partial, "--hwce": hwce, "--scale": scale}  # fmt: skip
    of_pipelines = {"--memory": memory, "--macs": macs, "--dram": dram, "--resolution": resolution,
                    "--phases": phases, "--stalls": stalls}  # fmt: skip
    require_kind(of_layers, of_pipelines, depth_first=depth_first)
    if synth_limit is not None and not synthesise:
        raise InputError("--synth-limit: expected with --synth")
    synthesis_seconds = SYNTHESIS_SECONDS if synth_limit is None else synth_limit
    place = place_of(scheduler, farm, jobs, queue=queue, walltime=walltime, memory=job_memory,
                     patience=worker_limit, logs=output.resolve() / "logs")  # fmt: skip
    lines = Lines()
    running = Running(
        output=output, place=place, seconds=time_limit, attempts=attempts, tell=lines.tell, look=lines.look
    )
    request: SweepRequest | DepthFirstSweepRequest
    if depth_first:
        request = DepthFirstSweepRequest(
            network=layer_set, memory=memory, macs=macs, dram=dram, resolution=resolution, phases=phases,
            stalls=stalls, simulate=simulate, synthesise=synthesise, synthesis_seconds=synthesis_seconds,
            seed=seed, running=running,
        )  # fmt: skip
    else:
        request = SweepRequest(
            network=layer_set, hardware=None if hardware is None else hardware.split(","), buffer=buffers,
            lanes=lanes, objective=objective, slack=slack, order=order, cluster=cluster, tcdm=tcdm,
            per_layer=per_layer, partial=partial, hwce=hwce, simulate=simulate, synthesise=synthesise,
            synthesis_seconds=synthesis_seconds, scale=scale or 1, seed=seed, running=running,
        )  # fmt: skip
    try:
        found = request.answer()
    finally:
        lines.clear()
    if as_json:
        print_json(found.document())
        return 0 if found.passed else 1
    if isinstance(found, Swept):
        print_sweep(found.results, found.question.scale)
    else:
        print_pipelines(found.results)
    for line in found.failures:
        typer.echo(printable(line))
    if isinstance(found, Swept):
        print_files(output, "results", len(found.results), found.kept, "schedules")
    else:
        print_files(output, "pipelines", len(found.results), found.kept, "fronts.csv, solutions")
    return 0 if found.passed else 1
