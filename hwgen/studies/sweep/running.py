"""What sweeps of all kinds share: where they run, what they tell, the files that they leave."""

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hwgen.api.progress import Step, note, remark, steps
from hwgen.ir.builtin import how_to_install
from hwgen.ir.document import InputError
from hwgen.studies.engine.farm import Place
from hwgen.studies.sweep.request import Outcome
from hwgen.studies.sweep.tables.files import Asked, write_results
from hwgen.studies.sweep.tables.merge import Tables, known_tables, writes_parquet
from hwgen.tools.machine import free_memory, processors
from hwgen.tools.toolchain import require_tools

__all__ = ["LOCAL_PATIENCE", "Running", "local_place"]

LOCAL_PATIENCE = 600.0
"""Seconds within which a worker of this machine is there, however busy the machine is."""
MEMORY_OF_A_WORKER = 1 << 30
"""Bytes that a worker takes, about."""
Say = Callable[[str, int, int], None]
"""Called with a line of progress, how many rows are settled, and how many there are."""


@dataclass(frozen=True, kw_only=True)
class Running:
    """How a sweep runs.

    Members
    -------
    output : folder for the results; None: nothing of it is kept.
    place : where steps are done.
    seconds, attempts : of a step.
    tell, look : hear lines of progress, and what is under way; None: who listens to the calls of the API hears both.
    """

    output: Path | None = None
    place: Place
    seconds: float = 3600.0
    attempts: int = 3
    tell: Say | None = None
    look: Say | None = None

    def outcome(
        self, sweep: Callable[..., Any], question: Asked, points: int, *, simulate: bool
    ) -> tuple[Outcome, Tables]:
        """The outcome of a sweep of this kind, and all tables that the folder has then.

        ``points`` : about how many rows there will be. A missing tool, and a folder with other results, is refused
        before anything is done.
        """
        if simulate:
            require_tools("verilator", waves=False)
        if self.output is not None:
            known_tables(self.output, remark)
            if not writes_parquet():
                remark(f"tables as CSV alone: Parquet needs pyarrow ({how_to_install('sweep')})")
            others = known_tables(self.output).of_others(question.provenance())
            if others:
                what = f"{self.output}: rows of another set of this name, with other {', '.join(others)}"
                remark(f"{what}: those that this sweep has, too, are replaced")
        with self._folder() as folder, self._heard(points) as (tell, look):

            def keep(outcome: Outcome) -> Tables:
                return write_results(folder, outcome, question)

            made = sweep(question, folder, self.place, self.seconds, self.attempts, tell, look, keep=keep)
            outcome: Outcome = made.run()
            return outcome, keep(outcome)

    @contextmanager
    def _folder(self) -> Iterator[Path]:
        if self.output is not None:
            yield self.output
            return
        with tempfile.TemporaryDirectory(prefix="hwgen-sweep-") as name:
            yield Path(name)

    @contextmanager
    def _heard(self, points: int) -> Iterator[tuple[Say, Say]]:
        if self.tell is not None and self.look is not None:
            yield self.tell, self.look
            return
        with steps(points, "sweeping") as step:
            heard = _Heard(step)
            yield heard.tell, heard.look


@dataclass
class _Heard:
    """Progress as the calls of the API tell it; ``done`` : rows that were told."""

    step: Step
    done: int = 0

    def tell(self, line: str, done: int, known: int) -> None:
        """A line, and the rows that are settled since the last one."""
        note(line)
        self.look(line, done, known)

    def look(self, line: str, done: int, known: int) -> None:
        """The rows that are settled since the last look."""
        if done > self.done:
            self.step(done - self.done)
            self.done = done


def local_place(jobs: int | None) -> Place:
    """Processes of this machine; None: as many as it has processors and memory for."""
    if jobs is None:
        free = free_memory()
        jobs = processors() if free is None else max(1, min(processors(), free // MEMORY_OF_A_WORKER))
    if jobs < 1:
        raise InputError(f"--jobs: expected 1 or more, got {jobs}")
    return Place("local", jobs, patience=LOCAL_PATIENCE)
