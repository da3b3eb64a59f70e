"""The layers of a set that a command schedules: work that is lost is refused, or said with its share."""

from typing import Annotated

import typer

from hwgen.cli.console import printable
from hwgen.ir.coverage import Coverage

__all__ = ["Partial", "tell_activations"]

Partial = Annotated[
    bool,
    typer.Option(
        "--partial", help="Of a SET: leave out layers that no schedule can be made for, and say what share is lost."
    ),
]


def tell_activations(coverage: Coverage) -> None:
    """Print which layers have an activation that runs as another one, below what was found for them."""
    for line in coverage.other_activations:
        typer.echo(printable(f"{coverage.where}: {line}"))
