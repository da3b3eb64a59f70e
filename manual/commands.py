"""The manual page of the commands, from the command line program itself."""

import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import groupby
from types import NoneType, UnionType
from typing import Literal, Union, get_args, get_origin, get_type_hints

from typer.models import ArgumentInfo, OptionInfo

from hwgen.cli.program.program import app
from hwgen.cli.program.registry import COMMANDS, callback_of
from manual.markdown import anchored, cell, table

__all__ = ["Command", "Parameter", "commands", "commands_page"]


@dataclass(frozen=True)
class Parameter:
    """An argument or an option of a command."""

    spellings: tuple[str, ...]
    """What the user types, the long form first; empty for an argument."""
    value: str
    """What stands for its value; empty for a flag."""
    meaning: str
    default: str
    """Empty if there is none."""
    required: bool


@dataclass(frozen=True)
class Command:
    """One command of ``hwgen``."""

    name: str
    heading: str
    meaning: str
    arguments: tuple[Parameter, ...]
    options: tuple[Parameter, ...]


@cache
def commands() -> tuple[Command, ...]:
    """Every command, in the order of ``hwgen --help``."""
    found = []
    for entry in COMMANDS.values():
        parameters = list(_parameters(callback_of(entry)))
        found.append(
            Command(
                entry.name,
                entry.heading,
                entry.summary,
                tuple(one for one in parameters if not one.spellings),
                tuple(one for one in parameters if one.spellings),
            )
        )
    return tuple(found)


def commands_page() -> str:
    """Every command with its arguments and options, as Markdown."""
    lines = [
        "# Commands",
        "",
        "Here you look up what a command does, and every argument and option that you may give it.",
        "",
    ]
    for heading, several in groupby(commands(), key=lambda one: one.heading):
        rows = [[f"[`hwgen {one.name}`](#{one.name})", cell(one.meaning)] for one in several]
        lines += [f"**{heading}**", "", *table(["Command", "What it does"], rows), ""]
    lines += [
        cell(str(app.info.epilog)),
        "",
        "With `--json`, where a command has it, standard output holds one [JSON document](json.md) and nothing else.",
        "Progress and messages go to standard error. Bad input ends with one line that names the file, the key and",
        "what was expected.",
        "",
    ]
    for one in commands():
        lines += _section(one)
    return "\n".join(lines)


def _section(command: Command) -> Iterator[str]:
    needed = [one.value for one in command.arguments]
    needed += [f"{one.spellings[0]} {one.value}" for one in command.options if one.required]
    usage = " ".join(["hwgen", command.name, *needed, "[OPTIONS]"])
    yield from (anchored(2, f"hwgen {command.name}", command.name), "", cell(command.meaning), "")
    yield from ("```", usage, "```", "")
    if command.arguments:
        rows = [[f"`{one.value}`", _meaning(one)] for one in command.arguments]
        yield from (*table(["Argument", "Meaning"], rows), "")
    rows = [[_spelling(one), _meaning(one)] for one in command.options]
    yield from (*table(["Option", "Meaning"], rows), "")


def _spelling(option: Parameter) -> str:
    forms = ", ".join(f"`{spelling}`" for spelling in option.spellings)
    return f"{forms} `{option.value}`".replace("|", "\\|") if option.value else forms


def _meaning(parameter: Parameter) -> str:
    notes = [cell(parameter.meaning)]
    if parameter.default:
        notes.append(f"Default: `{parameter.default}`.")
    if parameter.required:
        notes.append("Required.")
    return " ".join(notes)


def _parameters(function: Callable[..., object]) -> Iterator[Parameter]:
    hints = get_type_hints(function, include_extras=True)
    for name, parameter in inspect.signature(function).parameters.items():
        type_, *extras = get_args(hints[name])
        info = next(extra for extra in extras if isinstance(extra, ArgumentInfo | OptionInfo))
        required = parameter.default is inspect.Parameter.empty
        spellings: tuple[str, ...] = ()
        if isinstance(info, OptionInfo):
            # In an annotation the first spelling stands where the default would be.
            texts = [info.default, *(info.param_decls or ())]
            given = [form for text in texts if isinstance(text, str) for form in text.split("/") if form[:1] == "-"]
            word = name.replace("_", "-")
            implied = [f"--{word}", f"--no-{word}"] if type_ is bool else [f"--{word}"]
            forms = sorted(given or implied, key=lambda form: not form.startswith("--"))
            spellings = tuple(forms)
        flag = type_ is bool and bool(spellings)
        value = "" if flag else info.metavar or _value(type_, name)
        shown = not required and parameter.default not in (None, False, ())
        yield Parameter(spellings, value, info.help or "", str(parameter.default) if shown else "", required)


def _value(type_: object, name: str) -> str:
    """What stands for a value in the usage: the choices, or the kind of value."""
    if get_origin(type_) in (Union, UnionType):
        type_ = next(one for one in get_args(type_) if one is not NoneType)
    if get_origin(type_) is Literal:
        return "|".join(map(str, get_args(type_)))
    if type_ in (int, float):
        return "N" if type_ is int else "X"
    return name.upper()
