"""The choice of hardware for a network as a table."""

import typer

from hwgen.api.choosing.request import PAGE, Choice
from hwgen.cli.console import print_table
from hwgen.cli.printers.forecasts import rounded_rate

__all__ = ["print_choice"]


def print_choice(found: Choice) -> None:
    """Print what no other one undercuts, the choice, and what to do with it."""
    chosen = None if found.best is None else found.best.hardware.name
    marks = [" *" if row["hardware"] == chosen else "" for row in found.rows()]
    rows = [
        [
            f"{row['hardware']}{mark}",
            rounded_rate(float(str(row["fps"]))),
            row["luts"],
            row["cycles"],
            row["measured_cycles"] if row["measured_cycles"] is not None else "",
            row["multipliers"],
            row["dsps"],
            row["brams"],
            round(found.budget.mhz or float(str(row["mhz"]))),
            float(str(row["energy"])) / 1e6,
            row["bytes"],
        ]
        for row, mark in zip(found.rows(), marks, strict=True)
    ]
    moved = f"{'TCDM' if found.alone else 'DRAM'} bytes"
    columns = ["hardware", "a second", "LUT4, estimated", "cycles planned", "in the RTL", "multipliers", "DSPs",
               "BRAMs", "MHz", "uJ", moved]  # fmt: skip
    wide = ["uJ", moved, "BRAMs", "DSPs", "MHz"]
    if found.least and found.least[0].candidate.mm2 is not None:
        columns.insert(2, "mm2, estimated")
        for row, one in zip(rows, found.rows(), strict=True):
            row.insert(2, float(str(one["mm2"])))
    print_table(
        f"{found.network}: the front of time and {'LUT4' if 'mm2, estimated' not in columns else 'mm2'}, * chosen",
        columns,
        rows,
        wide=wide,
        short=[f"{at}{mark}" for at, mark in enumerate(marks, 1)],
    )
    if any(row["measured_cycles"] is None for row in found.rows()):
        typer.echo("Images a second of what did not run in the RTL: with about what waits take beyond the plan.")
    more = f"; {found.in_question:,} others may be better by their bounds" if found.in_question else ""
    typer.echo(f"{found.effort}, {found.refused} refused{more}")
    if found.stopped:
        typer.echo(f"Left undone: {found.stopped}")
    typer.echo(found.summary())
    if found.beyond is not None:
        typer.echo(found.beyond)
    if found.synthesised is not None:
        typer.echo(found.synthesised.summary())
    if found.in_cells is not None:
        typer.echo(found.in_cells.summary())
    for line in found.shortfalls:
        typer.echo(f"NOT as asked: {line}")
    if found.folder is not None:
        typer.echo(f"The page of the choice: {found.folder / PAGE}")
    if found.next is not None:
        typer.echo(f"Next: {found.next}")
