"""What all commands share: where output goes, how numbers are printed, how names are read."""

import sys
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from typing import Annotated, Any

import typer
from rich.cells import cell_len
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from hwgen.cli.heartbeat import is_quiet, now, stage
from hwgen.ir.document import json_text

__all__ = [
    "CYCLES_NOTE",
    "Json",
    "Listening",
    "begin",
    "json_was_printed",
    "note",
    "print_cycles_note",
    "print_json",
    "print_table",
    "print_wrapped",
    "printable",
    "progress",
    "show_wide",
]

Json = Annotated[bool, typer.Option("--json", help="Print one JSON document and nothing else.")]

LEAST_SAID = 0.001
"""The least part by which predicted and measured cycles differ that is printed as a figure."""
CYCLE_MODEL = "Predicted cycles come from a cycle model that uses the latencies of this RTL"
CYCLES_NOTE = (
    f"{CYCLE_MODEL}: agreement shows that the model is complete, it is no independent estimate of the speed."
)


def print_json(data: object) -> None:
    """One JSON document on standard output."""
    _display.document = True
    sys.stdout.write(json_text(data))


def json_was_printed() -> bool:
    """Whether the command has printed its JSON document: a second one would be no JSON."""
    return _display.document


def note(line: str) -> None:
    """One line of progress on standard error: at once on a terminal, where the last one is not said again; elsewhere
    if the work takes long, see `hwgen.cli.heartbeat`. An empty line: that work has ended."""
    now(printable(line))
    console = Console(stderr=True)
    if console.is_terminal and not is_quiet() and line not in ("", _display.noted):
        _display.noted = line
        console.print(line, style="dim", markup=False, highlight=False, soft_wrap=True)


@contextmanager
def progress(total: int, what: str) -> Iterator[Any]:
    """A progress bar on standard error, elsewhere than on a terminal a line now and then (`hwgen.cli.heartbeat`);
    yields the function to call at each step.

    The function takes the part of a step that is done, if it is not a whole one.
    """
    console = Console(stderr=True)
    share = TextColumn("{task.percentage:>3.0f} %")
    columns = (TextColumn("{task.description}"), BarColumn(), share, MofNCompleteColumn(), TimeElapsedColumn())
    bar = Progress(*columns, console=console, transient=True, disable=is_quiet() or not console.is_terminal)
    with bar, stage(printable(what), total) as one:
        task = bar.add_task(what, total=total)

        def step(steps: float = 1) -> None:
            one.done += steps
            bar.advance(task, steps)

        yield step


class Listening:
    """What work tells of itself goes to standard error."""

    def note(self, line: str) -> None:
        """The same as `note`."""
        note(line)

    def remark(self, line: str) -> None:
        """A line, always."""
        sys.stderr.write(printable(line) + "\n")

    def steps(self, total: int, what: str) -> AbstractContextManager[Any]:
        """The same as `progress`."""
        return progress(total, what)


def print_table(
    title: str,
    columns: Sequence[str],
    rows: Iterable[Sequence[object]],
    *,
    wide: Sequence[str | tuple[str, ...]] = (),
    short: Sequence[str] = (),
) -> None:
    """A table on standard output: text left, numbers right with separators.

    On a narrow terminal headers and text are wrapped, numbers never; then columns are left out, and named: first
    those in ``wide``, the last one first, those of a tuple together, then from the right. ``--wide``, and a pipe, get
    all of them.

    ``short`` : what the first column has in each row where its text would be wrapped, a number at first; the text is
    listed below then.
    """
    values = [list(row) for row in rows]
    table = [
        _Column(name, [_cell(row[at]) for row in values], any(isinstance(row[at], int | float) for row in values))
        for at, name in enumerate(columns)
    ]
    console = Console(markup=False, emoji=False)
    natural = sum(column.natural for column in table) + _borders(len(table))
    if not console.is_terminal or _display.wide:
        console.width = max(natural, 80)
    shown = _fitting(table, console.width, wide)
    names = table[0].cells
    if short and _widths(shown, console.width)[0] < table[0].natural:
        table[0] = replace(table[0], cells=[*short])
        shown = _fitting(table, console.width, wide)
    figure = Table(title=printable(title) or None, title_justify="left", header_style="bold")
    for column, width in zip(shown, _widths(shown, console.width), strict=True):
        figure.add_column(column.name, justify="right" if column.numeric else "left", overflow="fold", width=width)
    for row in zip(*(column.cells for column in shown), strict=True):
        figure.add_row(*row)
    console.print(figure)
    if table[0].cells is not names:
        for number, name in zip(short, names, strict=True):
            typer.echo(f"{number.split()[0]}: {name}")
    if left_out := [column.name.strip() for column in table if column not in shown]:
        console.print(f"Left out, the terminal being narrow: {', '.join(left_out)}. --wide shows all, --json too.")


def print_wrapped(text: str, first: str) -> None:
    """Print text after the beginning of its first line; further lines begin below it."""
    console = Console(markup=False, emoji=False)
    width = min(console.width, _LONGEST_LINE) if console.is_terminal else _LONGEST_LINE
    lines = textwrap.wrap(printable(text), max(width, 2 * len(first)), initial_indent=first,
                          subsequent_indent=" " * len(first))  # fmt: skip
    typer.echo("\n".join(lines))


@dataclass(frozen=True, eq=False)
class _Column:
    """A column of a table, its cells as they are printed."""

    name: str
    cells: list[str]
    numeric: bool

    @property
    def natural(self) -> int:
        """Characters that it takes if nothing is wrapped."""
        return max(map(cell_len, [self.name, *self.cells]))

    @property
    def least(self) -> int:
        """Characters that it takes at least: numbers and the words of headers are not broken, text is."""
        longest = max(map(cell_len, self.cells), default=0)
        words = max(map(cell_len, self.name.split()), default=0)
        return max(longest if self.numeric else min(longest, _LEAST_TEXT), words)


_LONGEST_WORD = 400
"""Characters of a word that are printed: more than paths have, fewer than a name from a file may have."""
_LONGEST_LINE = 100
"""Characters of a line of prose."""
_LEAST_TEXT = 16
"""Characters to a line of text that is wrapped."""


def _borders(columns: int) -> int:
    return 3 * columns + 1


def _fitting(table: list[_Column], width: int, wide: Sequence[str | tuple[str, ...]]) -> list[_Column]:
    """The columns that a terminal of this width has room for; the first one always."""
    by_name = {column.name: column for column in table}
    unwanted = [
        [by_name[name] for name in ([names] if isinstance(names, str) else names)] for names in reversed(wide)
    ]
    named = [column for columns in unwanted for column in columns]
    unwanted += [[column] for column in reversed(table[1:]) if column not in named]
    shown = list(table)
    while sum(column.least for column in shown) + _borders(len(shown)) > width and unwanted:
        for column in unwanted.pop(0):
            shown.remove(column)
    return shown


def _widths(shown: list[_Column], width: int) -> list[int]:
    """Characters of each column: the least, and then what the terminal has left, from the left on."""
    spare = max(0, width - _borders(len(shown)) - sum(column.least for column in shown))
    widths = []
    for column in shown:
        more = min(spare, column.natural - column.least)
        widths.append(column.least + more)
        spare -= more
    return widths


class _Display:
    """How tables are shown: set by the command line."""

    wide = False
    document = False
    """Whether a JSON document has been printed, which is the only one then."""
    noted = ""
    """The last line of progress on the terminal."""


_display = _Display()


def begin() -> None:
    """A command begins: nothing of it has been printed."""
    _display.document, _display.noted = False, ""


def show_wide(wanted: bool) -> None:
    """Whether tables have all their columns, however narrow the terminal."""
    _display.wide = wanted


def print_cycles_note(
    cycles: Iterable[tuple[float, float]] = (), *, clustered: bool = False, stalls: bool = False
) -> None:
    """What predicted cycles are, below a table that has them beside measured ones, and how far they differ.

    Parameters
    ----------
    cycles : predicted and measured ones.
    clustered : they are of clusters.
    stalls : grants and responses were withheld at random.
    """
    off = max((abs(predicted / measured - 1) for predicted, measured in cycles if measured), default=0.0)
    if not off:
        typer.echo(CYCLES_NOTE)
        return
    reasons = ["they are without the random stalls of --stalls"] if stalls else []
    reasons += ["what ports wait at the banks of a shared memory is estimated"] if clustered else []
    why = f": {', and '.join(reasons)}" if reasons else ""
    by = f"up to {off:.1%}" if off >= LEAST_SAID else f"less than {LEAST_SAID:.1%}"
    typer.echo(f"{CYCLE_MODEL}. Here they differ from the measured ones by {by}{why}.")


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
    """Text from files and arguments made safe for a terminal: one line, no escape sequences, no endless words."""
    words = (word if len(word) <= _LONGEST_WORD else f"{word[: _LONGEST_WORD // 2]}..." for word in text.split())
    return "".join(character if character.isprintable() else "?" for character in " ".join(words))
