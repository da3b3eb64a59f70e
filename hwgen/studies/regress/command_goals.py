"""What a regression's configurations reach, beside their goals, and ``--model``: the same without simulation."""

import sys
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import typer

from hwgen.api.arguments import size_text
from hwgen.cli.console import print_json, print_table, printable
from hwgen.ir.document import write_atomically
from hwgen.ir.layer import Layer
from hwgen.studies.regress.by_model import Modelled, by_model, modelled_csv
from hwgen.studies.regress.goals import KINDS, verdict
from hwgen.studies.regress.plans import Configuration

__all__ = ["goal_cells", "goal_columns", "goal_data", "missed", "regress_by_model"]

MODELLED = "model.csv"
"""The file with a line for each configuration."""
NOTE = (
    "nearest: the goal of its size is out of reach of one loop order with fixed markers, on lanes of any shape; "
    "shown is what holds in its place"
)


def goal_columns() -> list[str]:
    """Headers of the columns that `goal_cells` fills."""
    return ["goal", "verdict"]


def goal_cells(configuration: Configuration, utilisation: float, ratio: float) -> list[object]:
    """The goal of a configuration and whether it is met; nothing for those without."""
    goal = configuration.goal
    if goal is None:
        return [None, None]
    least = f", >= {goal[0].utilisation:g}" if goal[0].utilisation else ""
    return [f"<= {goal[0].ratio:g}{least}", verdict(goal, utilisation, ratio)]


def goal_data(configuration: Configuration, utilisation: float, ratio: float) -> dict[str, Any] | None:
    """The same as plain data."""
    goal = configuration.goal
    if goal is None:
        return None
    return {**goal[0]._asdict(), "verdict": verdict(goal, utilisation, ratio)}


def missed(configuration: Configuration, utilisation: float, ratio: float) -> str | None:
    """One line where a goal is missed."""
    goal = configuration.goal
    if goal is None or verdict(goal, utilisation, ratio) != "MISSED":
        return None
    (least, most), _ = goal
    return (
        f"{configuration.name}: expected a mean utilisation of at least {least:g} and at most {most:g} of the "
        f"optima, got {utilisation:.3f} and {ratio:.3f}"
    )


def regress_by_model(
    layers: Sequence[Layer], configurations: Sequence[Configuration], folder: Path, jobs: int, *, as_json: bool
) -> int:
    """Plan and predict all rows, print a line for each configuration; 1 if a goal is missed or a plan fails."""
    began = time.perf_counter()
    found, wrong = by_model(layers, configurations, folder, jobs, _tell)
    write_atomically(folder / MODELLED, modelled_csv(found))
    seconds = time.perf_counter() - began
    wrong += [line for one in found if (line := missed(one.configuration, one.mean_utilisation, one.ratio))]
    if as_json:
        rows = [_data(one) for one in found]
        print_json({"configurations": rows, "failures": wrong, "seconds": round(seconds, 1)})
    else:
        _print(found)
        for line in wrong:
            typer.echo(printable(line))
    return 1 if wrong else 0


def _tell(configuration: str, layer: str, cycles: int) -> None:
    sys.stderr.write(printable(f"{configuration} {layer}: {cycles / 1e6:.2f} Mcycles predicted") + "\n")
    sys.stderr.flush()


def _data(one: Modelled) -> dict[str, Any]:
    data = asdict(one)
    del data["configuration"]
    goal = goal_data(one.configuration, one.mean_utilisation, one.ratio)
    return {"name": one.configuration.name, **one.configuration.asked, **data, "goal": goal}


def _print(found: Sequence[Modelled]) -> None:
    columns = ["HWC", "multipliers", "buffers", "rows", "HWCs", "lanes", "I+W+O bytes", "of optimum", "mean util.",
               "least util.", "cycles", *goal_columns()]  # fmt: skip
    cells = [
        [
            one.configuration.kind,
            one.configuration.multipliers,
            size_text(one.configuration.budget),
            one.rows,
            one.hwcs,
            one.lanes[0] if len(one.lanes) == 1 else f"{len(one.lanes)} shapes",
            one.total_bytes,
            one.ratio,
            one.mean_utilisation,
            one.least_utilisation,
            one.cycles,
            *goal_cells(one.configuration, one.mean_utilisation, one.ratio),
        ]
        for one in found
    ]
    print_table("By the model alone, without simulation", columns, cells, wide=("least util.", "cycles", "HWCs"))
    for kind in dict.fromkeys(one.configuration.kind for one in found):
        typer.echo(f"{kind}: {KINDS[kind]}")
    if any(row[-1] == "nearest" for row in cells):
        typer.echo(NOTE)
