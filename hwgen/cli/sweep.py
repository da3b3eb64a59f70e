"""``hwgen sweep``: buffer sizes, lanes and loop orders in hardware, on one machine or on a farm."""

import os
import re
import sys
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from cosim.plans import Configuration, Kind
from cosim.toolchain import require_tools
from hwgen.cli.console import Json, buffer_sizes, print_json, print_table, printable, size_text
from hwgen.cli.plans import lanes_of
from hwgen.ir.document import InputError
from hwgen.ir.layer import DIMS, Dim, Layer
from hwgen.ir.network import load_layer_set
from hwgen.sweep.farm import Place
from hwgen.sweep.run import Outcome, Question, Sweep
from hwgen.sweep.table import require_parquet, write_results

__all__ = ["sweep"]

PROCESSORS = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
Lanes = tuple[tuple[Dim, int], ...]

LayerSet = Annotated[str, typer.Argument(metavar="SET", help="A layer set: a file, or a built-in name.")]
Buffers = Annotated[str, typer.Option("--buffers", metavar="SIZE[,SIZE...]", help="Local buffers of the HWC.")]
LanesOption = Annotated[
    str, typer.Option("--lanes", metavar="SHAPE[,SHAPE...]", help="Shapes of the 16 lanes: x16, m8x2, m16, ...")
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
PerLayer = Annotated[bool, typer.Option("--per-layer", help="An HWC for each layer instead of one for all.")]
Hwce = Annotated[bool, typer.Option("--hwce", help="The HWCE's nest besides.")]
Synth = Annotated[bool, typer.Option("--synth", help="Synthesise each HWC: area and clock.")]
Simulate = Annotated[bool, typer.Option("--sim/--no-sim", help="Simulate; or leave it at the model's figures.")]
Scale = Annotated[
    int, typer.Option("--scale", min=1, max=64, help="A quick look: channels, rows and columns divided by this.")
]
Output = Annotated[
    Path, typer.Option("-o", "--output", metavar="DIR", help="Results; finished points are kept here.")
]
Seed = Annotated[int, typer.Option("--seed", min=0, max=(1 << 31) - 1, help="Of the operands.")]
Jobs = Annotated[int, typer.Option("--jobs", "-j", min=1, max=4096, help="Worker processes, or jobs of the farm.")]
Scheduler = Annotated[
    str | None, typer.Option("--scheduler", metavar="ADDRESS", help="A running Dask scheduler: tcp://host:8786.")
]
FarmOption = Annotated[
    Literal["slurm", "lsf"] | None, typer.Option("--farm", help="Workers are jobs of this queueing system.")
]
Queue = Annotated[str | None, typer.Option("--queue", metavar="NAME", help="With --farm: the queue or partition.")]
Walltime = Annotated[str, typer.Option("--walltime", metavar="TIME", help="With --farm: of each job.")]
Memory = Annotated[str, typer.Option("--memory", metavar="SIZE", help="With --farm: of each job.")]
TimeLimit = Annotated[float, typer.Option("--time-limit", min=1, metavar="SECONDS", help="Of one attempt at a step.")]
Attempts = Annotated[
    int, typer.Option("--attempts", min=1, max=100, help="At a step that fails or whose worker dies.")
]


def sweep(
    layer_set: LayerSet,
    *,
    buffers: Buffers,
    lanes: LanesOption = "x16",
    order: OrderOption = "best",
    per_layer: PerLayer = False,
    hwce: Hwce = False,
    synthesise: Synth = False,
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
    """Best schedules, RTL, cosimulation and synthesis over buffers, lanes and orders; goes on where it stopped."""
    if output.exists() and not output.is_dir():
        raise InputError(f"-o: expected a folder, got the file {output}")
    if scheduler is not None and farm is not None:
        raise InputError("--farm: expected without --scheduler")
    sizes = buffer_sizes(buffers, "--buffers")
    kinds: list[Kind] = ["per-layer" if per_layer else "shared"]
    shapes, orders = [_lanes(text.strip()) for text in lanes.split(",")], [_order(one) for one in order.split(",")]
    configurations = [
        Configuration(kind, size, lanes=shape, order=wanted)
        for size in sizes
        for kind in kinds
        for shape in dict.fromkeys(shapes)
        for wanted in dict.fromkeys(orders)
    ]
    if hwce:
        configurations += [Configuration("hwce", size) for size in sizes]
    if simulate:
        require_tools("verilator", waves=False)
    require_parquet()
    question = Question(
        layers=_layers(layer_set),
        configurations=tuple(configurations),
        scale=scale,
        simulate=simulate,
        synthesise=synthesise,
        seed=seed,
        curve_sizes=_between(sizes),
    )
    place = Place("local", jobs)
    if scheduler is not None:
        place = Place("scheduler", address=scheduler)
    elif farm is not None:
        place = Place(farm, jobs, queue=queue, walltime=walltime, memory=memory, logs=output.resolve() / "logs")
    outcome = Sweep(question, output, place, time_limit, attempts, _tell).run()
    provenance = question.provenance()
    write_results(output, outcome.rows, outcome.curves, provenance)
    if as_json:
        document = {
            "results": outcome.rows,
            "curves": outcome.curves,
            "provenance": provenance,
            "attempts": dict(outcome.attempts),
            "attempts_after_failures": outcome.again,
        }
        print_json(document)
    else:
        _print(outcome, scale)
        for row in outcome.wrong:
            typer.echo(printable(f"{row['configuration']} {row['buffer_bytes']} {row['layer']}: {row['status']}: "
                                 f"{row['reason']}"))  # fmt: skip
        typer.echo(f"{output / 'results.csv'}, results.parquet, schema.json, provenance.json")
    return 1 if outcome.wrong else 0


def _layers(name: str) -> tuple[Layer, ...]:
    layers = load_layer_set(name).convolutions()
    names = [layer.name for layer in layers]
    if len(set(names)) != len(names):
        twice = next(one for one in names if names.count(one) > 1)
        raise InputError(f"{name}: {twice}: expected layers with names of their own")
    return layers


def _lanes(text: str) -> Lanes:
    shape = lanes_of(text)
    if shape is None:
        raise InputError(f"--lanes: expected shapes such as x16,m8x2, got {text}")
    return tuple(shape.items())


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


def _tell(line: str, done: int, known: int) -> None:
    """One line of progress on standard error."""
    sys.stderr.write(printable(f"[{done}/{known}] {line}") + "\n")
    sys.stderr.flush()


def _print(outcome: Outcome, scale: int) -> None:
    columns = ["HWC", "buffers", "lanes", "layer", "status", "I+W+O predicted", "measured", "of optimum", "of bound",
               "cycles", "utilisation", "LUT4", "clock, MHz"]  # fmt: skip
    rows: list[list[Any]] = [
        [
            row["configuration"], size_text(row["buffer_bytes"]), row["lanes"], row["layer"], row["status"],
            row["total_bytes_predicted"], row["total_bytes_measured"], row["optimum_ratio"], row["bound_ratio"],
            row["cycles_predicted"] if row["cycles_measured"] is None else row["cycles_measured"],
            row["utilisation"], row["luts"], row["clock_mhz"],
        ]
        for row in outcome.rows
    ]  # fmt: skip
    size = "at full size" if scale == 1 else f"SCALED: channels, rows and columns divided by {scale}"
    print_table(f"Sweep, layers {size}", columns, rows)
