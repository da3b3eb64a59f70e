"""What HWCs and clusters have in common as generated files: one folder for each, programs and schedules in it."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, ClassVar, Generic, Literal, Protocol, TypeVar

from hwgen.api.progress import note
from hwgen.api.work import Work
from hwgen.arch.cluster import ClusterParameters, SystemParameters
from hwgen.arch.hwc import HwcParameters
from hwgen.export.manifest import MANIFEST, Design, GeneratedLayer, write_generated
from hwgen.ir.document import InputError, dump_yaml
from hwgen.ir.hardware import Hardware
from hwgen.ir.names import file_names
from hwgen.ir.schedule import Schedule

__all__ = ["Compiled", "Contents", "Made", "grouped", "write_made"]

HARDWARE = "hardware.yaml"
BESIDE = (MANIFEST, HARDWARE)
"""Files beside the folders of designs."""
Contents = dict[str, str | bytes]
"""Files by path inside a folder."""


class Compiled(Protocol):
    """A program of one layer."""

    @property
    def schedule(self) -> Schedule:
        """What it runs."""


Program = TypeVar("Program", bound=Compiled)
Parameters = TypeVar("Parameters", HwcParameters, ClusterParameters, SystemParameters)
One = TypeVar("One")


@dataclass(frozen=True)
class Made(ABC, Generic[Parameters, Program]):
    """One design that is generated whole before any of it is written: its folder, its files by name, its programs."""

    folder: Path
    parameters: Parameters
    files: Mapping[str, str]
    programs: tuple[Program, ...]
    top: ClassVar[Literal["hwc", "cluster", "system"]]
    """Its top module."""

    @property
    @abstractmethod
    def digest(self) -> str:
        """Names the state of its Verilog."""

    @abstractmethod
    def program_files(self, name: str, number: int) -> Mapping[str, str | bytes]:
        """The files of the program of this number; they are called ``name``, before their suffix."""

    @property
    @abstractmethod
    def layers(self) -> list[Any]:
        """What ``hwgen generate --json`` prints of each program."""

    @property
    def sizes(self) -> dict[str, object]:
        """What ``hwgen generate --json`` prints of the memories."""
        return {}

    def contents(self) -> Contents:
        """All of its files; schedules are among them, which ``predict`` and ``cosim`` can read again."""
        contents: Contents = dict(self.files)
        schedules = [program.schedule for program in self.programs]
        for number, name in enumerate(file_names([schedule.layer.name for schedule in schedules])):
            contents |= {f"programs/{file}": text for file, text in self.program_files(name, number).items()}
            contents[f"schedules/{name}.yaml"] = dump_yaml(schedules[number].as_data())
        return contents

    def as_json(self) -> dict[str, object]:
        """What was generated: bytes of its memories, parameters, files, layers."""
        return {
            "folder": str(self.folder),
            **self.sizes,
            "parameters": asdict(self.parameters),
            "files": sorted(self.files),
            "layers": self.layers,
        }


def grouped(
    works: Sequence[Work],
    folder: Path,
    compiled: Callable[[Schedule, Hardware | None], Program],
    parameters_of: Callable[[Program], Parameters],
    make: Callable[[Path, Parameters, tuple[Program, ...]], One],
) -> list[One]:
    """What is made of the programs of a work that have the same parameters, for the work's folder inside ``folder``.

    Several get a folder inside it each.
    """
    generated: list[One] = []
    for work in works:
        _require_names(work)
        groups: dict[Parameters, list[Program]] = {}
        for schedule in work.schedules:
            program = compiled(schedule, work.hardware)
            groups.setdefault(parameters_of(program), []).append(program)
        inside = folder / work.folder
        names = file_names([members[0].schedule.layer.name for members in groups.values()], taken=BESIDE)
        generated += [
            make(inside if len(groups) == 1 else inside / name, parameters, tuple(members))
            for name, (parameters, members) in zip(names, groups.items(), strict=True)
        ]
    return generated


def write_made(works: Sequence[Work], folder: Path, made: Sequence[Made[Any, Any]]) -> None:
    """Write all designs of some works, their hardware and the manifest; remove what an earlier call left."""
    contents: Contents = {}
    for one in made:
        inside = one.folder.relative_to(folder)
        contents |= {(inside / name).as_posix(): content for name, content in one.contents().items()}
    for work in works:
        if work.hardware is not None:
            contents[(work.folder / HARDWARE).as_posix()] = dump_yaml(work.hardware.as_data())
    numbers = {id(schedule.layer): number for work in works for number, schedule in enumerate(work.schedules)}
    designs = [
        Design(
            folder=one.folder.relative_to(folder).as_posix(),
            top=one.top,
            digest=one.digest,
            layers=tuple(
                GeneratedLayer(name=layer.name, number=numbers[id(layer)])
                for layer in (program.schedule.layer for program in one.programs)
            ),
        )
        for one in made
    ]
    stale = write_generated(folder, designs, contents)
    if stale:
        note(f"{folder}: removed {len(stale)} files of an earlier run, such as {stale[0]}")


def _require_names(work: Work) -> None:
    """Refuse two schedules for layers of the same name: their files would be the same."""
    names = [schedule.layer.name for schedule in work.schedules]
    if len(set(names)) != len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise InputError(f"{twice}: two schedules for a layer of this name")
