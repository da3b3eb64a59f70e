"""Progress of what takes minutes: its stages, and on a terminal for how long the present one has been running."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import typer
from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from hwgen.cli.console import printable
from hwgen.cli.heartbeat import now

__all__ = ["Lines", "stages"]


@contextmanager
def stages(what: str) -> Iterator[Callable[[str], None]]:
    """Yields what to call with the name of each stage: a line on standard error, on a terminal with its seconds."""
    console = Console(stderr=True)
    if not console.is_terminal:

        def tell(stage: str) -> None:
            now(f"{what}: {stage}")
            typer.echo(printable(f"{what}: {stage}"), err=True)

        yield tell
        return
    columns = (SpinnerColumn(), TextColumn("{task.description}", markup=False), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task(printable(what), total=None)
        yield lambda stage: bar.reset(task, description=printable(f"{what}: {stage}"))


class Lines:
    """Lines of progress on standard error, each with the share done; on a terminal a last one that changes."""

    def __init__(self) -> None:
        self._console = Console(stderr=True)
        self._shown = ""

    def tell(self, line: str, done: int, known: int) -> None:
        """A line that stays."""
        self.clear()
        sys.stderr.write(printable(f"[{done}/{known}] {line}") + "\n")
        sys.stderr.flush()

    def look(self, line: str, done: int, known: int) -> None:
        """What is under way; elsewhere than on a terminal it is told now and then."""
        now(f"[{done}/{known}] {line}")
        if self._console.is_terminal and line:
            self.clear()
            self._shown = printable(f"[{done}/{known}] {line}")[: self._console.width - 1]
            sys.stderr.write(self._shown)
            sys.stderr.flush()

    def clear(self) -> None:
        """Take away the line that changes."""
        if self._shown:
            sys.stderr.write("\r\x1b[2K")
            self._shown = ""
