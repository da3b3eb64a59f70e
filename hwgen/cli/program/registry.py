"""The commands by name: a command's module is imported when the command is called, not before."""

import ast
import inspect
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, wraps
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from hwgen.api.names import InputError
from hwgen.api.progress import GOES_ON, listening
from hwgen.cli.console import Listening, printable, show_wide
from hwgen.cli.heartbeat import interrupted_at, telling
from hwgen.cli.program.interrupts import importing

__all__ = ["COMMANDS", "Commands", "Entry", "callback_of"]

Wide = Annotated[bool, typer.Option("--wide", help="Show all columns of a table, however narrow the terminal.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress on standard error.")]


@dataclass(frozen=True)
class Entry:
    """A command: what the user types, and the module that has it, which may be in a room that is not installed.

    ``heading`` is the one in ``hwgen --help`` that it stands below. ``kept`` is what is kept of it after Ctrl-C,
    which is told then; empty: nothing is, or the command itself tells it.
    """

    name: str
    module: str
    heading: str
    room: str = "hwgen.cli.commands"
    kept: str = ""

    @property
    def installed(self) -> bool:
        """Whether its room is there: the core works without the annexes, papers and studies."""
        return find_spec(self.room) is not None

    @property
    def function(self) -> Callable[..., Any]:
        """The command itself, which has the name of the command; its module is imported."""
        with importing():
            found: Callable[..., Any] = getattr(import_module(self._module), self._function)
        return found

    @cached_property
    def summary(self) -> str:
        """The first paragraph of the docstring, as it is in the source."""
        spec = find_spec(self._module)
        assert spec is not None
        assert spec.origin is not None
        for node in ast.parse(Path(spec.origin).read_text(encoding="utf-8")).body:
            if isinstance(node, ast.FunctionDef) and node.name == self._function:
                return (ast.get_docstring(node) or "").partition("\n\n")[0]
        raise AssertionError(f"{self._module} has no function {self._function}")

    @property
    def _module(self) -> str:
        return f"{self.room}.{self.module}"

    @property
    def _function(self) -> str:
        return self.name.replace("-", "_")


EVERYDAY, INSPECT, HARDWARE, STUDY, UPKEEP = "Every day", "Inspect", "Hardware", "Study", "Housekeeping"
STUDIES = "hwgen.studies"
SIMULATORS = "simulators that were built are kept in the cache"
COMMANDS = {
    entry.name: entry
    for entry in (
        Entry("schedule", "schedule.schedule", EVERYDAY, kept="with -o layers that are finished are kept there"),
        Entry("predict", "predict.predict", EVERYDAY),
        Entry("cosim", "cosim", EVERYDAY, kept=SIMULATORS),
        Entry("generate", "generate.generate", EVERYDAY),
        Entry("run", "run.run", EVERYDAY, kept=SIMULATORS),
        Entry("choose", "choose", EVERYDAY, kept="with -o drafts and plans are kept there"),
        Entry("sweep", "sweep.command", EVERYDAY, STUDIES),
        Entry("report", "sweep.report.command", EVERYDAY, STUDIES),
        Entry("layers", "layers", INSPECT),
        Entry("network", "network.network", INSPECT),
        Entry("import-mapping", "import_mapping", INSPECT),
        Entry("sets", "builtin", INSPECT),
        Entry("hardware", "builtin", INSPECT),
        Entry("build", "build", HARDWARE),
        Entry("synth", "synth", HARDWARE),
        Entry("design", "design", HARDWARE, kept="with -o layers that are finished are kept there"),
        Entry("calibrate", "calibrate", HARDWARE),
        Entry("pack", "pack", HARDWARE),
        Entry("depth-first", "depth_first", STUDY),
        Entry("demo", "demo", STUDY),
        Entry("paper", "command", STUDY, "hwgen.papers"),
        Entry("regress", "regress.command", STUDY, STUDIES),
        Entry("regress-stacks", "regress.command_pipelines", STUDY, STUDIES),
        Entry("regress-ways", "regress.command_depth_first_gain", STUDY, STUDIES),
        Entry("regress-clusters", "regress.command_clusters", STUDY, STUDIES),
        Entry("fuzz", "fuzz.command", STUDY, STUDIES),
        Entry("doctor", "doctor", UPKEEP),
        Entry("cache", "cache", UPKEEP),
    )
}
"""Commands in the order of ``hwgen --help``, those of a heading together."""


class Commands(TyperGroup):
    """All commands; of those that are not called, only what ``hwgen --help`` shows is read."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.commands = {name: _Uncalled(entry) for name, entry in COMMANDS.items() if entry.installed}

    def list_commands(self, ctx: Any) -> list[str]:
        """The names, for those who show them with what the commands do."""
        for name, command in self.commands.items():
            command.help = COMMANDS[name].summary
        return super().list_commands(ctx)


class _Called(TyperCommand):
    """A command that refuses an option which is given twice and takes one value: else the last one would win."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        _, _, given = self.make_parser(ctx).parse_args([*args])
        for option in () if ctx.resilient_parsing else self.params:
            if _takes_one_value(option) and (times := given.count(option)) > 1:
                raise InputError(f"{max(option.opts, key=len)}: {_once(option.metavar or '')}, got it {times} times")
        return super().parse_args(ctx, args)


def _takes_one_value(option: Any) -> bool:
    """Whether it is an option with a value, and no list of them."""
    return option.param_type_name == "option" and not (option.is_flag or option.multiple or option.count)


def _once(metavar: str) -> str:
    """What was expected of an option that was given more than once."""
    return f"expected once, with commas between values, {metavar}" if "," in metavar else "expected once"


class _Uncalled(TyperCommand):
    """A command in place of the one that it becomes when its arguments are read."""

    def __init__(self, entry: Entry) -> None:
        super().__init__(entry.name, rich_help_panel=entry.heading)
        self._entry = entry

    def make_context(self, info_name: str | None, args: list[str], parent: Any = None, **extra: Any) -> Any:
        return _called(self._entry).make_context(info_name, args, parent, **extra)


def callback_of(entry: Entry) -> Callable[..., Any]:
    """The command with the options that every command has, ``--wide`` and ``--quiet``."""
    function = entry.function

    @wraps(function)
    def run(*arguments: Any, wide: bool, quiet: bool, **options: Any) -> Any:
        show_wide(wide)
        with telling(quiet=quiet), listening(Listening()):
            try:
                return function(*arguments, **options)
            except KeyboardInterrupt as interrupt:
                if entry.kept:
                    at = printable(str(interrupt) or interrupted_at())
                    sys.stderr.write(f"hwgen: interrupted: {at}; {entry.kept}; {GOES_ON}\n")
                raise

    signature, ours = inspect.signature(function), {"wide": Wide, "quiet": Quiet}
    more = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=False, annotation=kind)
        for name, kind in ours.items()
    ]
    run.__signature__ = signature.replace(parameters=[*signature.parameters.values(), *more])  # type: ignore[attr-defined]
    run.__annotations__ = {**function.__annotations__, **ours}
    run.__doc__ = _unwrapped(function.__doc__ or "")
    return run


def _unwrapped(text: str) -> str:
    """A docstring with a line for each paragraph, which a terminal of any width wraps by itself."""
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in inspect.cleandoc(text).split("\n\n"))


def _called(entry: Entry) -> TyperCommand:
    """The command with its options."""
    program = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
    program.command(entry.name, cls=_Called)(callback_of(entry))
    command = typer.main.get_command(program)
    assert isinstance(command, TyperCommand)
    return command
