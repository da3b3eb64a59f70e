"""The program: its own options, and the one place that turns errors into a line and an exit status."""

import os
import sys
import tempfile
from pathlib import Path
from typing import Annotated

import typer

from hwgen import __version__
from hwgen.cli.console import begin, json_was_printed, print_json, printable
from hwgen.cli.program.interrupts import INTERRUPTED, interruptible
from hwgen.cli.program.registry import Commands
from hwgen.ir.document import InputError
from hwgen.tools.output import command
from hwgen.tools.scratch import scratch
from hwgen.tools.toolchain import ToolError, cache_folder

__all__ = ["app", "run"]

DONE, CHECK_FAILED, BAD_INPUT = 0, 1, 2

_ALSO_CALLED = {"buffers": "buffer"}
"""Names of options that are taken, too."""

app = typer.Typer(
    name="hwgen",
    cls=Commands,
    help="Convolution schedules with proven memory traffic, and hardware that runs them with exactly that traffic.",
    epilog="Exit status: 0 done and all checks hold, 1 a check or a tool failed, 2 bad input, 130 interrupted.",
    no_args_is_help=True,
    context_settings={
        "help_option_names": ["-h", "--help"],
        "token_normalize_func": lambda token: _ALSO_CALLED.get(token, token),
    },
    pretty_exceptions_enable=False,
)

_UsageError: type[Exception] = typer.BadParameter.__bases__[0]  # click's; typer exports it under no name of its own


def _print_version(wanted: bool) -> None:
    if wanted:
        sys.stdout.write(f"hwgen {__version__}\n")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", is_eager=True, callback=_print_version)
    ] = False,
) -> None:
    pass


def run() -> None:
    """Run the command line; exits with 0 (done), 1 (a check failed), 2 (bad input, one line), 130 (Ctrl-C)."""
    begin()
    try:
        _require_streams()
        with interruptible(), scratch(), command():
            status = app(prog_name="hwgen", standalone_mode=False)
            sys.stdout.flush()
    except InputError as error:
        status = _refuse(str(error))
    except _UsageError as error:
        status = _refuse(_usage(error))
    except ToolError as error:
        status = _refuse(str(error), CHECK_FAILED)
    except BrokenPipeError:
        # The reader closed the pipe (`hwgen ... | head`). The work is not done, so the status is not 0; typer's is 1.
        _close_output()
        status = CHECK_FAILED
    except OSError as error:
        status = _refuse(f"{_place(error)}: {error.strerror or error}")
    except (KeyboardInterrupt, typer.Abort):
        status = INTERRUPTED
    sys.exit(status if isinstance(status, int) else DONE)


PARSERS_WORDS = {
    "Value error, ": "",
    "Input should be a valid integer, unable to parse string as an integer": "expected a whole number",
    "Input should be a valid number, unable to parse string as a number": "expected a number",
    "Input should be greater than or equal to": "expected at least",
    "Input should be less than or equal to": "expected at most",
}
"""What the parser of the command line says of a value, and what is said in its place."""


def _usage(error: Exception) -> str:
    """What is wrong with the command line; of what is missing, what it is, too."""
    line: str = error.format_message()  # type: ignore[attr-defined]
    for theirs, ours in PARSERS_WORDS.items():
        line = line.replace(theirs, ours)
    what = getattr(getattr(error, "param", None), "help", None)
    return f"{line.removesuffix('.')}: {what}" if what and line.startswith("Missing ") else line


def _place(error: OSError) -> str:
    """The file that an error is about; where it names none, the places that the program writes to."""
    if error.filename is not None:
        return os.fsdecode(error.filename) if isinstance(error.filename, str | bytes) else str(error.filename)
    try:
        sys.stdout.flush()
    except OSError:
        _close_output()
    try:
        return f"standard output, or a file in {Path.cwd()}, {cache_folder()} or {tempfile.gettempdir()}"
    except OSError:
        return "the current folder, which was removed"


def _close_output() -> None:
    """What is still to be written to standard output goes nowhere."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _refuse(line: str, status: int = BAD_INPUT) -> int:
    """Print what is wrong as one line on standard error, whatever characters it has; with ``--json`` as JSON, too."""
    if line:
        sys.stderr.write(f"hwgen: {printable(line)}\n")
        if "--json" in sys.argv[1:] and not json_was_printed():
            _answer({"error": {"message": printable(line), "status": status}})
    return status


def _answer(document: object) -> None:
    """One JSON document on standard output, if that can be written to."""
    try:
        print_json(document)
        sys.stdout.flush()
    except OSError:
        _close_output()


def _require_streams() -> None:
    """Raise `InputError` where standard output is closed; standard input and error may be.

    A closed one is opened to nowhere, or the next file to be opened would be taken for it.
    """
    closed = sys.stdout is None
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)
    sys.stdout = sys.stdout or os.fdopen(1, "w")
    sys.stderr = sys.stderr or os.fdopen(2, "w")
    if closed:
        raise InputError("standard output: expected to be open, got a closed one (> /dev/null is an open one)")
