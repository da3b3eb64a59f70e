"""The program: its commands, and the one place that turns errors into a line and an exit status."""

import inspect
import os
import sys
import tempfile
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Annotated, Any

import typer

from hwgen import __version__
from hwgen.cli.commands.builtin import hardware, sets
from hwgen.cli.commands.cache import cache
from hwgen.cli.commands.calibrate import calibrate
from hwgen.cli.commands.cosim import cosim
from hwgen.cli.commands.demo import demo
from hwgen.cli.commands.depth_first import depth_first
from hwgen.cli.commands.generate.generate import generate
from hwgen.cli.commands.layers import layers
from hwgen.cli.commands.pack import pack
from hwgen.cli.commands.paper.paper import paper
from hwgen.cli.commands.predict import predict
from hwgen.cli.commands.regress.clusters import regress_clusters
from hwgen.cli.commands.regress.depth_first_gain import regress_ways
from hwgen.cli.commands.regress.hwc import regress
from hwgen.cli.commands.regress.pipelines import regress_stacks
from hwgen.cli.commands.report import report
from hwgen.cli.commands.schedule.schedule import schedule
from hwgen.cli.commands.sweep import sweep
from hwgen.cli.commands.synth import synth
from hwgen.cli.console import printable, show_wide
from hwgen.ir.document import InputError
from hwgen.tools.toolchain import ToolError, cache_folder

__all__ = ["app", "main"]

DONE, CHECK_FAILED, BAD_INPUT, INTERRUPTED = 0, 1, 2, 130

_ALSO_CALLED = {"buffers": "buffer"}
"""Names of options that are taken, too."""

app = typer.Typer(
    name="hwgen",
    help="Convolution schedules with proven memory traffic, and hardware that runs them with exactly that traffic.",
    epilog="Exit status: 0 done and all checks hold, 1 a check failed, 2 bad input.",
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


Wide = Annotated[bool, typer.Option("--wide", help="Show all columns of a table, however narrow the terminal.")]


def _command(function: Callable[..., Any], name: str | None = None) -> None:
    """A command of the program; each one has the option ``--wide``."""

    @wraps(function)
    def run(*arguments: Any, wide: bool, **options: Any) -> Any:
        show_wide(wide)
        return function(*arguments, **options)

    signature = inspect.signature(function)
    more = inspect.Parameter("wide", inspect.Parameter.KEYWORD_ONLY, default=False, annotation=Wide)
    run.__signature__ = signature.replace(parameters=[*signature.parameters.values(), more])  # type: ignore[attr-defined]
    run.__annotations__ = {**function.__annotations__, "wide": Wide}
    app.command(name)(run)


_command(layers)
_command(sets)
_command(hardware)
_command(schedule)
_command(predict)
_command(generate)
_command(pack)
_command(cosim)
_command(demo)
_command(paper)
_command(depth_first, "depth-first")
_command(regress)
_command(regress_stacks, "regress-stacks")
_command(regress_ways, "regress-ways")
_command(regress_clusters, "regress-clusters")
_command(synth)
_command(calibrate)
_command(sweep)
_command(report)
_command(cache)


def main() -> None:
    """Run the command line; exits with 0 (done, all checks hold), 1 (a check failed) or 2 (bad input, one line)."""
    try:
        status = app(prog_name="hwgen", standalone_mode=False)
        sys.stdout.flush()
    except InputError as error:
        status = _refuse(str(error))
    except _UsageError as error:
        status = _refuse(error.format_message())  # type: ignore[attr-defined]
    except ToolError as error:
        _refuse(str(error))
        status = CHECK_FAILED
    except BrokenPipeError:
        # The reader closed the pipe (`hwgen ... | head`). The work is not done, so the status is not 0; typer's is 1.
        _close_output()
        status = CHECK_FAILED
    except OSError as error:
        status = _refuse(f"{_place(error)}: {error.strerror or error}")
    except (KeyboardInterrupt, typer.Abort):
        status = INTERRUPTED
    sys.exit(status if isinstance(status, int) else DONE)


def _place(error: OSError) -> str:
    """The file that an error is about; where it names none, the places that the program writes to."""
    if error.filename is not None:
        return os.fsdecode(error.filename) if isinstance(error.filename, str | bytes) else str(error.filename)
    try:
        sys.stdout.flush()
    except OSError:
        _close_output()
    return f"standard output, or a file in {Path.cwd()}, {cache_folder()} or {tempfile.gettempdir()}"


def _close_output() -> None:
    """What is still to be written to standard output goes nowhere."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _refuse(line: str) -> int:
    """Print bad input as one line on standard error, whatever characters the message has."""
    if line:
        sys.stderr.write(f"hwgen: {printable(line)}\n")
    return BAD_INPUT
