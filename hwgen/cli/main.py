"""The program: commands, and the one place where refusals become a line and an exit status."""

import os
import sys
from typing import Annotated

import typer

from cosim.toolchain import ToolError
from hwgen import __version__
from hwgen.cli.calibrate import calibrate
from hwgen.cli.console import printable
from hwgen.cli.cosim import cosim
from hwgen.cli.demo import demo
from hwgen.cli.depth_first import depth_first
from hwgen.cli.generate import generate
from hwgen.cli.layers import layers
from hwgen.cli.paper import paper
from hwgen.cli.predict import predict
from hwgen.cli.regress import regress
from hwgen.cli.regress_clusters import regress_clusters
from hwgen.cli.regress_stacks import regress_stacks
from hwgen.cli.regress_ways import regress_ways
from hwgen.cli.report import report
from hwgen.cli.schedule import schedule
from hwgen.cli.sweep import sweep
from hwgen.cli.synth import synth
from hwgen.ir.document import InputError

__all__ = ["app", "main"]

DONE, CHECK_FAILED, BAD_INPUT, INTERRUPTED = 0, 1, 2, 130

app = typer.Typer(
    name="hwgen",
    help="Convolution schedules with proven memory traffic, and hardware that runs them with exactly that traffic.",
    epilog="Exit status: 0 done and all checks hold, 1 a check failed, 2 bad input.",
    no_args_is_help=True,
    add_completion=False,
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


app.command()(layers)
app.command()(schedule)
app.command()(predict)
app.command()(generate)
app.command()(cosim)
app.command()(demo)
app.command()(paper)
app.command("depth-first")(depth_first)
app.command()(regress)
app.command("regress-stacks")(regress_stacks)
app.command("regress-ways")(regress_ways)
app.command("regress-clusters")(regress_clusters)
app.command()(synth)
app.command()(calibrate)
app.command()(sweep)
app.command()(report)


def main() -> None:
    """Run the command line; exits with 0 (done, all checks hold), 1 (a check failed) or 2 (bad input, one line)."""
    try:
        status = app(standalone_mode=False)
        sys.stdout.flush()
    except InputError as error:
        status = _refuse(str(error))
    except _UsageError as error:
        status = _refuse(error.format_message())  # type: ignore[attr-defined]
    except ToolError as error:
        _refuse(str(error))
        status = CHECK_FAILED
    except BrokenPipeError:
        # The reader went away (`hwgen ... | head`): nothing is left to say. Not done either; typer's own answer is 1.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        status = CHECK_FAILED
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        status = _refuse(f"{where}{error.strerror or error}")
    except (KeyboardInterrupt, typer.Abort):
        status = INTERRUPTED
    sys.exit(status if isinstance(status, int) else DONE)


def _refuse(line: str) -> int:
    """Bad input: one line on standard error, whatever the message had in it."""
    if line:
        sys.stderr.write(f"hwgen: {printable(line)}\n")
    return BAD_INPUT
