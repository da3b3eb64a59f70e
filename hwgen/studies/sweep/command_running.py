"""What sweeps of all kinds share: where they run, how they are interrupted, the files that they leave."""

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import typer

from hwgen.cli.console import print_json, printable
from hwgen.cli.jobs import fitting_jobs
from hwgen.cli.stages import Lines
from hwgen.ir.builtin import how_to_install
from hwgen.ir.document import InputError
from hwgen.studies.engine.farm import Place
from hwgen.studies.sweep.request import Outcome
from hwgen.studies.sweep.rows import Cells
from hwgen.studies.sweep.tables.files import Asked, write_results
from hwgen.studies.sweep.tables.merge import Tables, known_tables, writes_parquet
from hwgen.tools.machine import processors
from hwgen.tools.toolchain import require_tools

__all__ = ["Running", "place_of"]

LOCAL_PATIENCE = 600.0
"""Seconds within which a worker of this machine is there, however busy the machine is."""


@dataclass(frozen=True)
class Running:
    """How a sweep runs.

    Members
    -------
    folder : of the results.
    place : where steps are done.
    seconds, attempts : of a step.
    """

    folder: Path
    place: Place
    seconds: float
    attempts: int

    def prepare(self, *, simulate: bool) -> None:
        """Refuse before anything is done: a tool is missing, or the folder has other results."""
        if simulate:
            require_tools("verilator", waves=False)
        known_tables(self.folder, lambda line: sys.stderr.write(printable(line) + "\n"))
        if not writes_parquet():
            sys.stderr.write(f"tables as CSV alone: Parquet needs pyarrow ({how_to_install('sweep')})\n")

    def run(self, sweep: Callable[..., Any], question: Asked) -> tuple[Outcome, Tables]:
        """The outcome of a sweep of this kind, and all tables that the folder has then."""

        def keep(outcome: Outcome) -> Tables:
            return write_results(self.folder, outcome, question)

        others = known_tables(self.folder).of_others(question.provenance())
        if others:
            what = f"{self.folder}: rows of another set of this name, with other {', '.join(others)}"
            sys.stderr.write(printable(f"{what}: those that this sweep has, too, are replaced") + "\n")
        lines = Lines()
        try:
            made = sweep(
                question, self.folder, self.place, self.seconds, self.attempts, lines.tell, lines.look, keep=keep
            )
            outcome: Outcome = made.run()
        finally:
            lines.clear()
        return outcome, keep(outcome)

    def print_files(self, name: str, outcome: Sequence[Cells], table: Sequence[Cells], more: str) -> None:
        """Name the table and the files beside it, and the rows that were there before."""
        earlier = len(table) - len(outcome)
        rows = f"{len(table)} rows{f', {earlier} of them from earlier sweeps' if earlier else ''}"
        parquet = f"{name}.parquet, " if writes_parquet() else ""
        files = f"{parquet}schema.json, provenance.json, {more}"
        typer.echo(f"{self.folder / f'{name}.csv'} ({rows}), {files}")

    @staticmethod
    def print_document(outcome: Outcome, question: Asked, tables: Mapping[str, object]) -> None:
        """The outcome as JSON."""
        print_json(
            {
                **tables,
                "provenance": question.provenance(),
                "attempts": dict(outcome.attempts),
                "attempts_after_failures": outcome.again,
            }
        )


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
