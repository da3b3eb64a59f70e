"""``hwgen regress``: a layer set at full size in the simulator, on one HWC and on many, kept line by line."""

import sys
import time
from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated, Any

import typer

from hwgen.api.arguments import buffer_sizes, checked_multipliers, require_folder, size_text
from hwgen.api.networks import covered
from hwgen.cli.commands.cosim import Seed
from hwgen.cli.commands.layers import LayerSet
from hwgen.cli.console import Json, print_cycles_note, print_json, print_table, printable
from hwgen.cli.coverage import Partial
from hwgen.cli.jobs import jobs_option
from hwgen.ir.coverage import Coverage
from hwgen.ir.document import InputError, write_atomically
from hwgen.studies.regress.command_goals import goal_cells, goal_columns, goal_data, missed, regress_by_model
from hwgen.studies.regress.goals import BUSY, GOALS, KINDS, Kind
from hwgen.studies.regress.hwc import Outcome, Regression
from hwgen.studies.regress.plans import Configuration
from hwgen.studies.regress.published_nests import PRINTED
from hwgen.studies.regress.summary import Summary, failures, rows_csv, summaries, summary_csv
from hwgen.tools.machine import processors
from hwgen.tools.toolchain import require_tools

__all__ = ["regress"]

Buffers = Annotated[str, typer.Option("--buffer", metavar="SIZE[,SIZE...]", help="Local buffers of the HWC.")]
Folder = Annotated[
    Path,
    typer.Option("-o", "--output", metavar="DIR", help="Where results go; what is there is not simulated again."),
]
Shared = Annotated[bool, typer.Option("--shared", help="On one HWC for all layers.")]
PerLayer = Annotated[bool, typer.Option("--per-layer", help="On an HWC for each layer. Without a choice: both.")]
Published = Annotated[
    bool,
    typer.Option("--published", help="On an HWC for each layer in loops near the paper's Fig. 8, lanes along x."),
]
Printed = Annotated[
    bool,
    typer.Option(
        "--printed",
        help="With --shared and --per-layer (without a choice: both): in the loops of the paper's Fig. 8 as printed, "
        "W above LOF, lanes along x; twice, as the place of I cannot be read.",
    ),
]
Hwce = Annotated[
    bool, typer.Option("--hwce", help="With the nest of the HWCE, in stripes where its line buffer is small.")
]
MinUtilisation = Annotated[
    float | None,
    typer.Option(min=0, max=1, help="Lanes of any shape, this busy in the mean, for --shared and --per-layer."),
]
Busy = Annotated[
    bool,
    typer.Option(
        "--busy",
        help="Lanes of any shape that are always busy: "
        + ", ".join(f"{kind} {BUSY[16][kind]:g} within {goal.ratio:g}" for kind, goal in GOALS[16].items())
        + ".",
    ),
]
MaxRatio = Annotated[float, typer.Option(min=1, help="With --min-utilisation: traffic by that of the optima.")]
Multipliers = Annotated[
    int | None, typer.Option("--multipliers", metavar="N", help="With --busy or --min-utilisation: 4 to 256 (16).")
]
Model = Annotated[
    bool, typer.Option("--model", help="By the cycle model alone: no Verilog is made, nothing is simulated.")
]
Jobs = Annotated[int, jobs_option("Processes.")]

PROCESSORS = processors()
ROWS = "rows.csv"
"""The file with the rows of the last call, those that it took over from earlier ones too."""
SUMMARY = "summary.csv"
"""The file with a line for each configuration of it."""


def regress(
    layer_set: LayerSet,
    *,
    output: Folder,
    buffer: Buffers = "1KiB",
    shared: Shared = False,
    per_layer: PerLayer = False,
    published: Published = False,
    printed: Printed = False,
    hwce: Hwce = False,
    min_utilisation: MinUtilisation = None,
    max_ratio: MaxRatio = 1.2,
    busy: Busy = False,
    multipliers: Multipliers = None,
    model: Model = False,
    partial: Partial = False,
    seed: Seed = 0,
    jobs: Jobs = PROCESSORS,
    as_json: Json = False,
) -> int:
    """Simulate a layer set at full size, compare every row, and sum up; an interrupted run goes on where it was."""
    require_folder(output)
    wanted: dict[Kind, bool] = {"per-layer": per_layer, "shared": shared, "published": published, "hwce": hwce}
    kinds = [kind for kind, chosen in wanted.items() if chosen] or ["per-layer", "shared"]
    if printed and (busy or min_utilisation is not None or published or hwce):
        raise InputError("--printed: expected with no choice but --shared and --per-layer")
    if busy and min_utilisation is not None:
        raise InputError("--busy: expected without --min-utilisation")

    number = checked_multipliers(multipliers)
    if multipliers is not None and not busy and min_utilisation is None:
        raise InputError("--multipliers: expected with --busy or --min-utilisation")

    def configuration(kind: Kind, size: int) -> Configuration:
        if busy:
            return Configuration.busy(kind, size, number)
        if min_utilisation is not None and kind in GOALS[16]:
            return Configuration(kind, size, min_utilisation, max_ratio, multipliers=number)
        return Configuration(kind, size)

    configurations = [configuration(kind, size) for size in buffer_sizes(buffer) for kind in kinds]
    if printed:
        configurations = [replace(one, order=order) for order in PRINTED.values() for one in configurations]
    coverage = _covered(layer_set, partial=partial)
    if model:
        return regress_by_model(coverage.layers, configurations, output, jobs, as_json=as_json)
    require_tools("verilator", waves=False)
    began = time.perf_counter()
    outcome = Regression(coverage.layers, configurations, output, seed, jobs, _tell).run()
    seconds = time.perf_counter() - began
    wrong, rows = failures(outcome), summaries(outcome)
    if outcome.results:
        write_atomically(output / ROWS, rows_csv(outcome))
        write_atomically(output / SUMMARY, summary_csv(rows))
    wrong += [line for row in rows if (line := missed(row.configuration, row.mean_utilisation, row.ratio))]
    document = {
        "configurations": [_summary_data(row) for row in rows],
        "left_out": {
            **{plan.configuration.name: plan.left_out for plan in outcome.plans},
            layer_set: {one.name: one.reason for one in coverage.left_out},
        },
        "share_left_out": coverage.share,
        "failures": wrong,
        "simulated": outcome.simulated,
        "seconds": round(seconds, 1),
        "cpu_seconds": {kind: round(spent, 1) for kind, spent in outcome.spent.by_kind.items()},
        "results": list(outcome.results.values()),
    }
    if as_json:
        print_json(document)
    else:
        _print(rows, outcome, seconds, jobs)
        for line in wrong:
            typer.echo(printable(line))
    return 1 if wrong else 0


def _covered(name: str, *, partial: bool) -> Coverage:
    coverage = covered(name, partial=partial)
    seen: set[str] = set()
    for layer in coverage.layers:
        if layer.name in seen:
            raise InputError(f"{name}: {layer.name}: expected layers with names of their own")
        seen.add(layer.name)
    return coverage


def _tell(result: dict[str, Any], done: int, known: int) -> None:
    """One line of progress on standard error."""
    verdict = "as predicted" if result["passed"] else "DIFFERS: " + "; ".join(result["failures"])
    cycles = result["cycles"]["measured"]
    sys.stderr.write(
        printable(
            f"[{done}/{known}] {result['configuration']} {result['layer']}: {verdict}, {cycles / 1e6:.2f} Mcycles, "
            f"utilisation {result['utilisation']:.3f}, {result['seconds']:.1f} s"
        )
        + "\n"
    )
    sys.stderr.flush()


def _summary_data(row: Summary) -> dict[str, Any]:
    data = asdict(row)
    del data["configuration"]
    numbers = {key: round(value, 6) if isinstance(value, float) else value for key, value in data.items()}
    goal = goal_data(row.configuration, row.mean_utilisation, row.ratio)
    return {"name": row.configuration.name, **row.configuration.asked, **numbers, "goal": goal}


def _print(rows: list[Summary], outcome: Outcome, seconds: float, jobs: int) -> None:
    columns = ["HWC", "buffers", "rows", "missing", "differ", "wrong", "bytes measured", "of optimum", "mean util.",
               "least util.", "cycles off by", "cycles", "seconds", "Mcycles/CPU s", *goal_columns()]  # fmt: skip
    cells = [
        [
            row.configuration.kind,
            size_text(row.configuration.budget),
            row.rows,
            row.missing,
            row.differences,
            row.wrong,
            row.total_bytes,
            row.ratio,
            row.mean_utilisation,
            row.least_utilisation,
            row.prediction_error,
            row.cycles,
            row.seconds,
            row.cycles / row.cpu_seconds / 1e6 if row.cpu_seconds else 0.0,
            *goal_cells(row.configuration, row.mean_utilisation, row.ratio),
        ]
        for row in rows
    ]
    print_table("Measured in the RTL, against the model", columns, cells)
    print_cycles_note()
    for kind in dict.fromkeys(row.configuration.kind for row in rows):
        typer.echo(f"{kind}: {KINDS[kind]}")
    for plan in outcome.plans:
        if plan.left_out:
            reasons = ", ".join(f"{layer} ({reason})" for layer, reason in plan.left_out.items())
            typer.echo(printable(f"{plan.configuration.name}: left out: {reasons}"))
    spent = outcome.spent
    busy = spent.total / (jobs * seconds) if seconds else 0.0
    parts = ", ".join(f"{kind} {value:.0f}" for kind, value in spent.by_kind.items())
    typer.echo(
        f"{outcome.simulated} rows simulated now in {seconds:.0f} s on {jobs} processes, busy for {busy:.0%}; "
        f"generating and building took {spent.builds_share:.0%} of {spent.total:.0f} CPU seconds ({parts})"
    )
