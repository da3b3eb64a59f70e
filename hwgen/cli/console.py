"""What all commands share: where output goes, how numbers are printed, how sizes and names are read."""

import json
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from hwgen.ir.document import InputError
from hwgen.ir.schedule import Schedule, load_schedule

__all__ = [
    "CYCLES_NOTE",
    "Json",
    "buffer_sizes",
    "chosen_names",
    "load_schedules",
    "note",
    "print_cycles_note",
    "print_json",
    "print_table",
    "printable",
    "progress",
    "size_text",
]

Json = Annotated[bool, typer.Option("--json", help="Print one JSON document and nothing else.")]

CYCLES_NOTE = (
    "Predicted cycles come from a cycle model that uses the latencies of this RTL: agreement shows that the model is "
    "complete, it is no independent estimate of the speed."
)

_UNITS = {"": 1, "B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}
_LARGEST_BUFFER = 1 << 24


def chosen_names(option: str, names: str | None, known: Sequence[str]) -> list[str]:
    """The known names that an option lists, separated by commas, in the order of ``known``; all if not given."""
    if names is None:
        return list(known)
    wanted = [name.strip() for name in names.split(",")]
    for name in wanted:
        if name not in known:
            raise InputError(f"{option}: expected some of {', '.join(known)}, got {name[:40]!r}")
    return [name for name in known if name in wanted]


def print_json(data: object) -> None:
    """One JSON document on standard output."""
    sys.stdout.write(json.dumps(data, indent=1) + "\n")


def note(line: str) -> None:
    """One line of progress: on standard error, and only on a terminal."""
    console = Console(stderr=True)
    if console.is_terminal:
        console.print(line, style="dim", markup=False, highlight=False, soft_wrap=True)


@contextmanager
def progress(total: int, what: str) -> Iterator[Any]:
    """A progress bar on standard error, silent when that is no terminal; yields the function to call at each step."""
    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task(what, total=total)
        yield lambda: bar.advance(task)


def print_table(title: str, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """A table on standard output: text left, numbers right with separators; wide tables are not cut in a pipe."""
    table = Table(title=printable(title), title_justify="left", header_style="bold")
    cells = [list(row) for row in rows]
    for index, column in enumerate(columns):
        numeric = any(isinstance(row[index], int | float) for row in cells)
        table.add_column(column, justify="right" if numeric else "left", overflow="fold")
    for row in cells:
        table.add_row(*map(_cell, row))
    console = Console(markup=False, emoji=False)
    if not console.is_terminal:
        console.width = max(console.width, 200)
    console.print(table)


def print_cycles_note() -> None:
    """What predicted cycles are, below a table that has them beside measured ones."""
    typer.echo(CYCLES_NOTE)


def _cell(value: object) -> str:
    match value:
        case None:
            return ""
        case bool():
            return "yes" if value else "NO"
        case int():
            return f"{value:,}"
        case float():
            return f"{value:.3f}"
    return printable(str(value))


def printable(text: str) -> str:
    """Text from files and arguments made safe for a terminal: no line breaks, no escape sequences."""
    return "".join(character if character.isprintable() else "?" for character in " ".join(text.split()))


def buffer_sizes(text: str, option: str = "--buffer") -> list[int]:
    """Bytes of each size in a list such as ``512,1KiB,4KiB``: distinct, ascending."""
    return sorted({_bytes(part.strip(), option) for part in text.split(",")})


def _bytes(text: str, option: str) -> int:
    match = re.fullmatch(r"([0-9]{1,12})\s*(KiB|MiB|GiB|B|)", text)
    if not match:
        raise InputError(f"{option}: expected sizes such as 512 or 1KiB,4KiB, got {text[:40]!r}")
    size = int(match[1]) * _UNITS[match[2]]
    if not 1 <= size <= _LARGEST_BUFFER:
        raise InputError(f"{option}: expected 1 byte to {_LARGEST_BUFFER >> 20} MiB, got {text!r}")
    return size


def size_text(size: int) -> str:
    """Bytes as they are written on the command line."""
    for unit in ("GiB", "MiB", "KiB"):
        if size and size % _UNITS[unit] == 0:
            return f"{size // _UNITS[unit]}{unit}"
    return f"{size}B"


def load_schedules(names: Iterable[str]) -> list[tuple[Path, Schedule]]:
    """Schedules by file, or all ``*.yaml`` of a folder; each file is read once."""
    files: dict[Path, None] = {}
    for name in names:
        path = Path(name)
        found = sorted(path.glob("*.yaml")) if path.is_dir() else [path]
        if not found:
            raise InputError(f"{path}: expected a folder with schedules (*.yaml)")
        files.update(dict.fromkeys(found))
    return [(path, load_schedule(path)) for path in files]
