"""The options of ``hwgen sweep``, and where its steps are done by them."""

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from hwgen.cli.jobs import fitting_jobs, hardware_names, set_names
from hwgen.ir.document import InputError
from hwgen.lower.pipeline.lowering import MACS
from hwgen.search.hwc.balanced import TRAFFIC_SLACK
from hwgen.studies.engine.farm import Place
from hwgen.studies.sweep.running import LOCAL_PATIENCE
from hwgen.tools.machine import processors

__all__ = [
    "Attempts",
    "Buffers",
    "ClusterHardware",
    "ClusterOption",
    "DepthFirst",
    "FarmOption",
    "Hwce",
    "JobMemory",
    "Jobs",
    "LanesOption",
    "Macs",
    "Memories",
    "ObjectivesOption",
    "OrderOption",
    "Output",
    "PerLayer",
    "PhasesOption",
    "PipelineDram",
    "Queue",
    "ResolutionOption",
    "Scale",
    "Scheduler",
    "Seed",
    "Set",
    "Simulate",
    "SlacksOption",
    "Stalls",
    "Synth",
    "SynthLimit",
    "TcdmOption",
    "TimeLimit",
    "Walltime",
    "WorkerLimit",
    "place_of",
]

Set = Annotated[
    str,
    typer.Argument(
        metavar="SET",
        help="A layer table (YAML, ONNX or TFLite), a built-in name, or one with :PREFIX; with --depth-first "
        "a connected network.",
        autocompletion=set_names,
    ),
]
Buffers = Annotated[str | None, typer.Option("--buffer", metavar="SIZE[,SIZE...]", help="Local buffers of each HWC.")]
LanesOption = Annotated[
    str | None,
    typer.Option(
        "--lanes",
        metavar="auto|SHAPE[,...]",
        help="Shapes of the lanes: x16, m8x2, m16c4, ...; auto, the default: the one that suits the layers. In a "
        "cluster x16 by default.",
    ),
]
ObjectivesOption = Annotated[
    str | None,
    typer.Option(
        "--objective",
        metavar="OBJECTIVE[,...]",
        help="cycles: the fewest, the default with --cluster and --hardware; balanced: the fewest within the slack "
        "of the least traffic, the default else; traffic: the least traffic.",
    ),
]
SlacksOption = Annotated[
    str | None,
    typer.Option(
        "--traffic-slack",
        metavar="SHARE[,SHARE...]",
        help=f"With balanced: traffic above the least, at most ({TRAFFIC_SLACK:g}).",
    ),
]
OrderOption = Annotated[
    str | None,
    typer.Option(
        "--order",
        metavar="ORDER[,ORDER...]",
        help="Loop orders, such as MYX[O]C[I]k[W]lmyx (capitals are tile loops, in brackets what is buffered at the "
        "next loop); best, the default: the best one.",
    ),
]
ClusterOption = Annotated[
    str | None,
    typer.Option(
        "--cluster",
        metavar="N[,N...]",
        help="Instead of single HWCs: clusters of this many HWCs, made for each layer, with the given buffers each.",
    ),
]
TcdmOption = Annotated[
    str | None, typer.Option("--tcdm", metavar="SIZE[,SIZE...]", help="With --cluster: the shared memory (256KiB).")
]
ClusterHardware = Annotated[
    str | None,
    typer.Option(
        "--hardware",
        metavar="FILE[,FILE...]",
        help="HWCs that the layers run on, each with its buffers, or with each --buffer where it leaves them free; "
        "with --cluster one file: banks, width to the DRAM and its timing.",
        autocompletion=hardware_names,
    ),
]
PerLayer = Annotated[bool, typer.Option("--per-layer", help="An HWC for each layer instead of one for all.")]
Hwce = Annotated[bool, typer.Option("--hwce", help="Also the nest of the HWCE.")]
Synth = Annotated[
    bool, typer.Option("--synth", help="Synthesise each HWC, cluster or pipeline: area by block, and clock.")
]
SynthLimit = Annotated[
    float | None,
    typer.Option("--synth-limit", min=1, metavar="SECONDS", help="With --synth: time limit of each tool (1200)."),
]
Simulate = Annotated[bool, typer.Option("--sim/--no-sim", help="Simulate, or only use the model.")]
Scale = Annotated[
    int | None,
    typer.Option("--scale", min=1, max=64, help="For a quick test: divide channels, rows and columns by this."),
]
Output = Annotated[
    Path, typer.Option("-o", "--output", metavar="DIR", help="Results; finished points are kept here.")
]
Seed = Annotated[int, typer.Option("--seed", min=0, max=(1 << 31) - 1, help="Seed of the random operands.")]
Jobs = Annotated[
    int | None,
    typer.Option(
        "--jobs",
        "-j",
        min=1,
        max=4096,
        help="Worker processes, or jobs of the farm at a time; by default as many as this machine has processors.",
    ),
]
Scheduler = Annotated[
    str | None, typer.Option("--scheduler", metavar="ADDRESS", help="A running Dask scheduler: tcp://host:8786.")
]
FarmOption = Annotated[
    Literal["slurm", "lsf"] | None, typer.Option("--farm", help="Workers are jobs of this queueing system.")
]
Queue = Annotated[str | None, typer.Option("--queue", metavar="NAME", help="With --farm: the queue or partition.")]
Walltime = Annotated[
    str | None,
    typer.Option(
        "--walltime",
        metavar="TIME",
        help="With --farm: time limit of each job, in hours and minutes (12:00); 0:30:00 has seconds, 1-12:00 days. "
        "Workers end before it, and jobs that have ended are replaced.",
    ),
]
JobMemory = Annotated[
    str | None, typer.Option("--job-memory", metavar="SIZE", help="With --farm: memory of each job (4GiB).")
]
WorkerLimit = Annotated[
    float | None,
    typer.Option(
        "--worker-limit",
        min=1,
        metavar="SECONDS",
        help="With --farm or --scheduler: end after this time without any worker (86400); the same command goes on.",
    ),
]
TimeLimit = Annotated[
    float, typer.Option("--time-limit", min=1, metavar="SECONDS", help="Time limit of one attempt at a step.")
]
Attempts = Annotated[
    int, typer.Option("--attempts", min=1, max=100, help="Attempts at a step that fails or whose worker dies.")
]
DepthFirst = Annotated[
    bool,
    typer.Option(
        "--depth-first",
        help="Instead of HWCs: for each --memory the depth-first solution of least traffic, as pipelines.",
    ),
]
Memories = Annotated[
    str | None,
    typer.Option("--memory", metavar="SIZE[,SIZE...]", help="With --depth-first: on-chip memory, rings and weights."),
]
Macs = Annotated[
    str | None,
    typer.Option("--macs", metavar="N[,N...]", help=f"With --depth-first: multipliers of each pipeline ({MACS})."),
]
PipelineDram = Annotated[
    str | None,
    typer.Option(
        "--dram",
        metavar="FILE",
        help="With --depth-first: pipelines with movers, on the DRAM of the cluster in this hardware file.",
        autocompletion=hardware_names,
    ),
]
ResolutionOption = Annotated[
    str | None,
    typer.Option("--resolution", metavar="WxH", help="With --depth-first: another size of the network's input."),
]
PhasesOption = Annotated[
    bool,
    typer.Option(
        "--phases", help="With --depth-first: transposed convolutions as a convolution and a pixel shuffle each."
    ),
]
Stalls = Annotated[
    bool, typer.Option("--stalls", help="With --depth-first: random stalls of every stream, for tests.")
]


def place_of(
    scheduler: str | None,
    farm: Literal["slurm", "lsf"] | None,
    jobs: int | None,
    *,
    queue: str | None,
    walltime: str | None,
    memory: str | None,
    patience: float | None,
    logs: Path,
) -> Place:
    """Where steps are done; options that would have no effect there are refused."""
    if scheduler is not None and farm is not None:
        raise InputError("--farm: expected without --scheduler")
    if farm is None:
        for option, value in {"--queue": queue, "--walltime": walltime, "--job-memory": memory}.items():
            if value is not None:
                raise InputError(f"{option}: expected with --farm")
    if scheduler is not None and jobs is not None:
        raise InputError("--jobs: expected without --scheduler, whose workers are there already")
    wanted: dict[str, Any] = {"queue": queue, "walltime": walltime, "memory": memory, "patience": patience}
    given = {name: value for name, value in wanted.items() if value is not None}
    if scheduler is not None:
        return Place("scheduler", address=scheduler, **given)
    if farm is not None:
        return Place(farm, jobs or processors(), logs=logs, **given)
    if patience is not None:
        raise InputError("--worker-limit: expected with --farm or --scheduler")
    return Place("local", fitting_jobs(jobs or processors()), patience=LOCAL_PATIENCE)
