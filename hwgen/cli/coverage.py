"""The layers of a set that a command schedules: work that is lost is refused, or said with its share."""

import sys
from dataclasses import replace
from typing import Annotated

import typer

from hwgen.cli.console import note, printable
from hwgen.ir.coverage import Coverage
from hwgen.readers.layer_sets import load_layer_set

__all__ = ["Partial", "covered", "tell_activations"]

Partial = Annotated[
    bool,
    typer.Option(
        "--partial", help="Of a SET: leave out layers that no schedule can be made for, and say what share is lost."
    ),
]


def covered(name: str, *, partial: bool, batches: bool = False) -> Coverage:
    """What becomes of the layers of a set.

    Raises `InputError` if work is lost, unless ``partial``: then its share is said on standard error, always; and for
    batches of several images, unless ``batches``.
    Rows without work are named in a note.
    """
    coverage = replace(load_layer_set(name).coverage(), where=name)
    coverage.require(partial=partial, batches=batches)
    if coverage.left_out:
        sys.stderr.write(printable(f"{coverage.where}: left out: {coverage.lost}") + "\n")
    if coverage.idle:
        note(f"not scheduled: {coverage.idle} (no multiply-accumulates)")
    return coverage


def tell_activations(coverage: Coverage) -> None:
    """Print which layers have an activation that runs as another one, below what was found for them."""
    for line in coverage.other_activations:
        typer.echo(printable(f"{coverage.where}: {line}"))
