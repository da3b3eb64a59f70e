"""What HWCs and clusters have in common as generated files: one folder for each, programs and schedules in it."""

import json
from collections.abc import Callable, Hashable, Mapping, Sequence
from pathlib import Path
from typing import Protocol, TypeVar

from hwgen.cli.workload import Work
from hwgen.ir.document import InputError, write_atomically
from hwgen.ir.hardware import Hardware, save_hardware
from hwgen.ir.schedule import Schedule, save_schedule

__all__ = ["Writable", "require_names", "write_files", "write_grouped", "write_program"]


class Writable(Protocol):
    """Something that is generated whole before any of it is written."""

    def write(self) -> None:
        """Write what has changed, each file whole or not at all."""


class Compiled(Protocol):
    """A program of one layer."""

    @property
    def schedule(self) -> Schedule:
        """What it runs."""


Program = TypeVar("Program", bound=Compiled)
Parameters = TypeVar("Parameters", bound=Hashable)
Made = TypeVar("Made", bound=Writable)


def require_names(work: Work) -> None:
    """Refuse two schedules for layers of the same name: their files would be the same."""
    names = [schedule.layer.name for schedule in work.schedules]
    if len(set(names)) != len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise InputError(f"{twice}: two schedules for a layer of this name")


def write_grouped(
    works: Sequence[Work],
    folder: Path,
    compiled: Callable[[Schedule, Hardware | None], Program],
    parameters_of: Callable[[Program], Parameters],
    make: Callable[[Path, Parameters, tuple[Program, ...]], Made],
) -> list[Made]:
    """What is made of the programs of a work that have the same parameters, written into the work's folder.

    Several get a folder inside it each. Everything is made before anything is written.
    """
    generated: list[Made] = []
    for work in works:
        require_names(work)
        groups: dict[Parameters, list[Program]] = {}
        for schedule in work.schedules:
            program = compiled(schedule, work.hardware)
            groups.setdefault(parameters_of(program), []).append(program)
        inside = folder / work.folder
        generated += [
            make(inside if len(groups) == 1 else inside / members[0].schedule.layer.name, parameters, tuple(members))
            for parameters, members in groups.items()
        ]
    for one in generated:
        one.write()
    for work in works:
        if work.hardware is not None:
            save_hardware(work.hardware, folder / work.folder / "hardware.yaml")
    return generated


def write_files(folder: Path, files: Mapping[str, str]) -> None:
    """Write texts by name, each whole or not at all."""
    for name, text in files.items():
        write_atomically(folder / name, text)


def write_program(folder: Path, schedule: Schedule, document: object) -> None:
    """What software does to run a layer, and the schedule that this is."""
    layer = schedule.layer.name
    write_atomically(folder / "programs" / f"{layer}.json", json.dumps(document, indent=1) + "\n")
    save_schedule(schedule, folder / "schedules" / f"{layer}.yaml")
