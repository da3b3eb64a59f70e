"""``hwgen sweep``: buffer sizes, lanes and loop orders in hardware, on one machine or on a farm."""

import re
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Literal

import typer

from hwgen.arch.hwc import ALONG_X
from hwgen.campaigns.goals import Kind
from hwgen.campaigns.plans import Configuration
from hwgen.cli.commands.layers import LayerSet
from hwgen.cli.commands.schedule.utilisation import lanes_of
from hwgen.cli.commands.sweep.tables import print_sweep
from hwgen.cli.console import (
    Json,
    buffer_sizes,
    print_json,
    printable,
    require_folder,
)
from hwgen.cli.coverage import Partial, covered
from hwgen.cli.jobs import fitting_jobs
from hwgen.cli.names import hardware_names
from hwgen.cli.stages import Lines
from hwgen.cli.workload import MOST_SLACK, read_hardware
from hwgen.ir.coverage import Coverage
from hwgen.ir.document import InputError, validated
from hwgen.ir.hardware import Cluster
from hwgen.ir.lanes import Lanes
from hwgen.ir.layer import DIMS
from hwgen.search.hwc.balanced import TRAFFIC_SLACK
from hwgen.sweep.clusters import ClusterConfiguration
from hwgen.sweep.farm import Place
from hwgen.sweep.request import Outcome, Question
from hwgen.sweep.run import Sweep
from hwgen.sweep.tables.files import require_parquet, write_results
from hwgen.sweep.tables.merge import Tables, known_tables
from hwgen.tools.machine import processors
from hwgen.tools.toolchain import require_tools

__all__ = ["sweep", "terminated_like_interrupted"]

PROCESSORS = processors()

Buffers = Annotated[str, typer.Option("--buffer", metavar="SIZE[,SIZE...]", help="Local buffers of each HWC.")]
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
    str,
    typer.Option(
        "--objective",
        metavar="OBJECTIVE[,...]",
        help="balanced: the fewest cycles within the slack of the least traffic; traffic: the least traffic.",
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
    str,
    typer.Option(
        "--order",
        metavar="ORDER[,ORDER...]",
        help="Loop orders, such as MYX[O]C[I]k[W]lmyx (capitals are tile loops, in brackets what is buffered at the "
        "next loop); best: the best one.",
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
        metavar="FILE",
        help="With --cluster: banks, width to the DRAM and its timing.",
        autocompletion=hardware_names,
    ),
]
PerLayer = Annotated[bool, typer.Option("--per-layer", help="An HWC for each layer instead of one for all.")]
Hwce = Annotated[bool, typer.Option("--hwce", help="Also the nest of the HWCE.")]
Synth = Annotated[bool, typer.Option("--synth", help="Synthesise each HWC: area and clock.")]
SynthLimit = Annotated[
    float, typer.Option("--synth-limit", min=1, metavar="SECONDS", help="With --synth: time limit of each tool.")
]
Simulate = Annotated[bool, typer.Option("--sim/--no-sim", help="Simulate, or only use the model.")]
Scale = Annotated[
    int, typer.Option("--scale", min=1, max=64, help="For a quick test: divide channels, rows and columns by this.")
]
Output = Annotated[
    Path, typer.Option("-o", "--output", metavar="DIR", help="Results; finished points are kept here.")
]
Seed = Annotated[int, typer.Option("--seed", min=0, max=(1 << 31) - 1, help="Seed of the random operands.")]
Jobs = Annotated[int, typer.Option("--jobs", "-j", min=1, max=4096, help="Worker processes, or jobs of the farm.")]
Scheduler = Annotated[
    str | None, typer.Option("--scheduler", metavar="ADDRESS", help="A running Dask scheduler: tcp://host:8786.")
]
FarmOption = Annotated[
    Literal["slurm", "lsf"] | None, typer.Option("--farm", help="Workers are jobs of this queueing system.")
]
Queue = Annotated[str | None, typer.Option("--queue", metavar="NAME", help="With --farm: the queue or partition.")]
Walltime = Annotated[str, typer.Option("--walltime", metavar="TIME", help="With --farm: time limit of each job.")]
Memory = Annotated[str, typer.Option("--memory", metavar="SIZE", help="With --farm: memory of each job.")]
TimeLimit = Annotated[
    float, typer.Option("--time-limit", min=1, metavar="SECONDS", help="Time limit of one attempt at a step.")
]
Attempts = Annotated[
    int, typer.Option("--attempts", min=1, max=100, help="Attempts at a step that fails or whose worker dies.")
]


def sweep(
    layer_set: LayerSet,
    *,
    buffers: Buffers,
    lanes: LanesOption = None,
    objective: ObjectivesOption = "balanced",
    slack: SlacksOption = None,
    order: OrderOption = "best",
    cluster: ClusterOption = None,
    tcdm: TcdmOption = None,
    hardware: ClusterHardware = None,
    per_layer: PerLayer = False,
    partial: Partial = False,
    hwce: Hwce = False,
    synthesise: Synth = False,
    synthesis_seconds: SynthLimit = 1200.0,
    simulate: Simulate = True,
    scale: Scale = 1,
    output: Output = Path("results/sweep"),
    seed: Seed = 0,
    jobs: Jobs = PROCESSORS,
    scheduler: Scheduler = None,
    farm: FarmOption = None,
    queue: Queue = None,
    walltime: Walltime = "12:00",
    memory: Memory = "4GiB",
    time_limit: TimeLimit = 3600.0,
    attempts: Attempts = 3,
    as_json: Json = False,
) -> int:
    """Schedules, RTL, cosimulation and synthesis over buffers, lanes and orders; goes on where it stopped.

    Hardware and schedules are those of the fewest cycles within 1 % of the least traffic, as in schedule and cosim.
    """
    require_folder(output)
    if scheduler is not None and farm is not None:
        raise InputError("--farm: expected without --scheduler")
    sizes = buffer_sizes(buffers)
    shapes, orders = _shapes(lanes, in_cluster=cluster is not None), [_order(one) for one in order.split(",")]
    slacks = _slacks(objective, slack)
    if cluster is not None and 0.0 in slacks:
        raise InputError("--traffic-slack: expected above 0 on a cluster, got 0 (--objective traffic: fewest bytes)")
    kinds: list[Kind] = ["per-layer" if per_layer or cluster is not None else "shared"]
    hwcs = [
        Configuration(kind, size, lanes=shape, order=wanted, room=True, slack=one)
        for size in sizes
        for kind in kinds
        for shape in shapes
        for wanted in dict.fromkeys(orders)
        for one in slacks
    ]
    configurations: list[Configuration | ClusterConfiguration] = [*hwcs]
    if cluster is not None:
        if per_layer or synthesise:
            raise InputError(f"--{'synth' if synthesise else 'per-layer'}: expected without --cluster")
        configurations = [
            ClusterConfiguration(hwc, one) for one in _clusters(cluster, tcdm, hardware) for hwc in hwcs
        ]
    elif tcdm is not None or hardware is not None:
        raise InputError(f"--{'tcdm' if tcdm is not None else 'hardware'}: expected with --cluster")
    if hwce:
        configurations += [Configuration("hwce", size, room=True) for size in sizes]
    if simulate:
        require_tools("verilator", waves=False)
    require_parquet()
    coverage = _covered(layer_set, partial=partial)
    question = Question(
        layers=coverage.layers,
        layer_set=_set_name(layer_set),
        configurations=tuple(configurations),
        scale=scale,
        simulate=simulate,
        synthesise=synthesise,
        synthesis_seconds=synthesis_seconds,
        seed=seed,
        curve_sizes=_between(sizes) if cluster is None else (),
    )
    place = Place("local", fitting_jobs(jobs) if scheduler is None and farm is None else jobs)
    if scheduler is not None:
        place = Place("scheduler", address=scheduler)
    elif farm is not None:
        place = Place(farm, jobs, queue=queue, walltime=walltime, memory=memory, logs=output.resolve() / "logs")
    known_tables(output)  # refused before anything is done if it is no folder of sweeps

    def keep(outcome: Outcome) -> Tables:
        return write_results(output, outcome, question)

    lines = Lines()
    with terminated_like_interrupted():
        try:
            outcome = Sweep(question, output, place, time_limit, attempts, lines.tell, lines.look, keep=keep).run()
        finally:
            lines.clear()
    tables = keep(outcome)
    if as_json:
        document = {
            "results": outcome.rows,
            "curves": outcome.curves,
            "provenance": question.provenance(),
            "attempts": dict(outcome.attempts),
            "attempts_after_failures": outcome.again,
            "left_out": coverage.as_json(),
        }
        print_json(document)
    else:
        print_sweep(outcome.rows, scale)
        for row in outcome.wrong:
            typer.echo(printable(f"{row['configuration']} {row['buffer_bytes']} {row['layer']}: {row['status']}: "
                                 f"{row['reason']}"))  # fmt: skip
        earlier = len(tables.rows) - len(outcome.rows)
        rows = f"{len(tables.rows)} rows{f', {earlier} of them from earlier sweeps' if earlier else ''}"
        typer.echo(f"{output / 'results.csv'} ({rows}), results.parquet, schema.json, provenance.json, schedules")
    return 1 if outcome.wrong else 0


@contextmanager
def terminated_like_interrupted() -> Iterator[None]:
    """A SIGTERM ends the sweep as Ctrl-C does: finished results are written first.

    Also where a shell has begun it in the background, and with that told it to ignore Ctrl-C.
    """

    def interrupt(*_: object) -> None:
        handler = signal.getsignal(signal.SIGINT)
        if not callable(handler):
            raise KeyboardInterrupt
        handler(signal.SIGINT, None)

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _covered(name: str, *, partial: bool) -> Coverage:
    coverage = covered(name, partial=partial)
    names = [layer.name for layer in coverage.layers]
    if len(set(names)) != len(names):
        twice = next(one for one in names if names.count(one) > 1)
        raise InputError(f"{name}: {twice}: expected layers with names of their own")
    return coverage


def _set_name(name: str) -> str:
    """A built-in name, or that of a file, with the prefix of its layers."""
    return re.sub(r"\.(ya?ml|onnx)(?=:|$)", "", Path(name).name, flags=re.IGNORECASE)


def _clusters(numbers: str, sizes: str | None, document: str | None) -> list[Cluster]:
    """Clusters of some numbers of HWCs and sizes of the shared memory; the rest is that of a hardware file."""
    hardware = read_hardware(document)
    if hardware is not None and hardware.cluster is None:
        raise InputError(f"--hardware: {document}: expected hardware with a cluster")
    base = Cluster() if hardware is None or hardware.cluster is None else hardware.cluster
    tcdms = [base.tcdm] if sizes is None else buffer_sizes(sizes, "--tcdm")
    wanted = [part.strip() for part in numbers.split(",")]
    if not all(re.fullmatch("[0-9]{1,3}", one) for one in wanted):
        raise InputError(f"--cluster: expected numbers of HWCs such as 1,2,4, got {numbers[:40]!r}")
    return [
        validated(Cluster, {**base.model_dump(), "hwcs": number, "tcdm": size}, "--cluster")
        for number in sorted({int(one) for one in wanted})
        for size in tcdms
    ]


def _shapes(text: str | None, *, in_cluster: bool) -> list[Lanes | None]:
    """Shapes of the lanes, each once; None stands for any."""
    if text is None:
        return [ALONG_X] if in_cluster else [None]
    shapes = [lanes_of(one.strip()) for one in text.split(",")]
    if in_cluster and None in shapes:
        raise InputError("--lanes: auto: not in a cluster: expected shapes such as x16,m8x2")
    return list(dict.fromkeys(shapes))


def _slacks(objectives: str, shares: str | None) -> list[float | None]:
    """The slack of each search, each once; None stands for the least traffic."""
    wanted = [one.strip() for one in objectives.split(",")]
    for one in wanted:
        if one not in ("balanced", "traffic"):
            raise InputError(f"--objective: expected balanced, traffic or both, got {one[:40]!r}")
    if shares is not None and "balanced" not in wanted:
        raise InputError("--traffic-slack: expected with --objective balanced")
    slacks = [TRAFFIC_SLACK] if shares is None else [_share(one.strip()) for one in shares.split(",")]
    return list(dict.fromkeys(slack for one in wanted for slack in (slacks if one == "balanced" else [None])))


def _share(text: str) -> float:
    try:
        share = float(text)
    except ValueError:
        share = -1.0
    if not 0 <= share <= MOST_SLACK:
        raise InputError(f"--traffic-slack: expected 0 to {MOST_SLACK:g}, such as 0.01,0.05, got {text[:40]!r}")
    return share


def _order(text: str) -> str | None:
    text = text.strip()
    if text == "best":
        return None
    arrays = "".join(re.findall(r"\[([IWO]+)\]", text))
    loops = re.sub(r"\[[IWO]+\]", "", text)
    dims = "".join(DIMS)
    whole = re.fullmatch(f"[{dims}{dims.upper()}]+", loops) and not text.endswith("]")
    if not whole or len(set(arrays)) != len(arrays):
        raise InputError(f"--order: expected best or an order such as MYX[O]C[I]k[W]lmyx, got {text[:60]!r}")
    return text


def _between(sizes: list[int]) -> tuple[int, ...]:
    """Sizes of the curves: those of the points, and two for each power of two around them."""
    found = set(sizes)
    size = max(64, 1 << (min(sizes).bit_length() - 2))
    while size <= 2 * max(sizes):
        found |= {size, size * 3 // 2}
        size *= 2
    return tuple(sorted(found))
