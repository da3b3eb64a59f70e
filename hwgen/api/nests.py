"""Nests from code, and the schedules that calls are given: nests, files, folders, plans."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from os import PathLike, fspath
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from hwgen.api.schedule_files import load_schedules
from hwgen.ir.document import InputError, parse_yaml, written
from hwgen.ir.hardware import Hardware
from hwgen.ir.layer import Layer
from hwgen.ir.memory.hierarchy import Hierarchy
from hwgen.ir.schedule import Schedule, load_schedule, save_schedule
from hwgen.report.nest import nest_text

__all__ = ["Given", "Nest", "Planned", "ScheduleLike", "given_schedules", "is_schedules"]


@dataclass(frozen=True, repr=False, init=False)
class Nest:
    """A loop nest with its buffer markers: the schedule of one layer.

    Members
    -------
    schedule : the layer, the loops, the lanes, widths of operands.
    """

    schedule: Schedule

    def __init__(
        self, layer: Layer, nest: str | Iterable[Mapping[str, Any]], *, lanes: Mapping[str, int] | None = None
    ) -> None:
        """Make a nest.

        Parameters
        ----------
        layer : what it computes.
        nest : its items, outermost first, as a schedule file has them: ``[{"m": 6}, {"buffer": ["O"]}, {"c": 1}]``,
            or the same as text, ``"[m: 6, buffer: O, c: 1]"``.
        lanes : what the datapath does in one cycle, such as ``{"x": 16}``.
        """
        where = f"nest of {layer.name}"
        items = parse_yaml(nest, where) if isinstance(nest, str) else list(nest)
        data = {"format": 1, "kind": "schedule", "layer": layer.model_dump(mode="json"), "nest": items}
        found = Schedule.from_data(data | ({} if lanes is None else {"lanes": dict(lanes)}), where)
        object.__setattr__(self, "schedule", found)

    @classmethod
    def of(cls, schedule: Schedule) -> "Nest":
        """The nest of a schedule."""
        made = cls.__new__(cls)
        object.__setattr__(made, "schedule", schedule)
        return made

    @classmethod
    def load(cls, path: str | PathLike[str]) -> "Nest":
        """The nest of a schedule file."""
        return cls.of(load_schedule(Path(path)))

    @property
    def layer(self) -> Layer:
        """The layer that it computes."""
        return self.schedule.layer

    @property
    def text(self) -> str:
        """The nest as loops, with a line above those at which an operand is held."""
        return nest_text(self.schedule)

    def to_dict(self) -> dict[str, Any]:
        """The data of its schedule file."""
        return self.schedule.as_data()

    def save(self, path: str | PathLike[str]) -> Path:
        """Write the schedule file, which every command takes."""
        save_schedule(self.schedule, Path(path))
        return Path(path)

    def __repr__(self) -> str:
        loops = " ".join(f"{loop.dim}:{loop.step}" for loop in self.schedule.loops)
        return f"<Nest of {self.layer.name}: {loops}, lanes {self.schedule.lanes}>"

    def _repr_html_(self) -> str:
        return f"<pre>{escape(self.layer.name)}\n{escape(self.text)}</pre>"


@dataclass(frozen=True)
class Given:
    """A schedule that a call is about.

    Members
    -------
    file : where it was read; None: it is from code.
    hardware : what it runs on; None: nothing says so.
    """

    schedule: Schedule
    hardware: Hardware | None = None
    file: Path | None = None
    folder: Path = Path()

    @property
    def where(self) -> str:
        """Its place, for messages."""
        return self.schedule.layer.name if self.file is None else str(self.file)

    @property
    def title(self) -> str:
        """Its layer, and its place if it has one."""
        name = self.schedule.layer.name
        return name if self.file is None else f"{name} ({self.file})"


@runtime_checkable
class Planned(Protocol):
    """A plan: it has schedules, each with what it runs on."""

    def given(self) -> Sequence[Given]:
        """The schedules."""

    def works(self) -> Sequence[Any]:
        """The schedules by the hardware that they run on, as `hwgen.api.work.Work`."""


ScheduleLike = str | PathLike[str] | Nest | Schedule | Planned
"""What calls take as schedules: nests, a plan, files or folders of schedules."""


def is_schedules(source: object) -> bool:
    """Whether it is schedules from code: nests, or a plan."""
    if isinstance(source, list | tuple) and source:
        return all(isinstance(one, Nest | Schedule | Planned) for one in source)
    return isinstance(source, Nest | Schedule | Planned)


def given_schedules(
    sources: ScheduleLike | Iterable[ScheduleLike],
    hardware: Hardware | None = None,
    hierarchy: Hierarchy | None = None,
) -> list[Given]:
    """The schedules; with ``hardware`` all of them on this one. ``hierarchy`` : what the levels in files mean."""
    single = isinstance(sources, str | PathLike | Nest | Schedule | Planned)
    if not single and not isinstance(sources, Iterable):
        raise InputError(f"schedules: expected nests, a plan or files, got {written(sources)}")
    found: list[Given] = []
    names: list[str] = []
    for one in [sources] if single else sources:  # type: ignore[union-attr]
        match one:
            case Nest():
                found.append(Given(one.schedule, hardware))
            case Schedule():
                found.append(Given(one, hardware))
            case Planned():
                found += [Given(each.schedule, hardware or each.hardware, each.file) for each in one.given()]
            case str() | PathLike():
                names.append(fspath(one))
            case _:
                raise InputError(f"schedules: expected nests, a plan or files, got {written(one)}")
    if names:
        read = Schedule.from_data if hierarchy is None else hierarchy.read_schedule
        found += [Given(file.schedule, file.hardware, file.path) for file in load_schedules(names, hardware, read)]
    return found
