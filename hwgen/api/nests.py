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
from hwgen.ir.layer import LOOP_DIMS, Layer
from hwgen.ir.level import LOCAL
from hwgen.ir.memory.hierarchy import Hierarchy
from hwgen.ir.schedule import ARRAYS, Loop, Schedule, load_schedule, save_schedule
from hwgen.model.nest import one_level
from hwgen.report.nest import nest_drawing, nest_text

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
        self,
        layer: Layer,
        nest: str | Iterable[Mapping[str, Any]] | None = None,
        *,
        hold: Mapping[str, str] | None = None,
        lanes: Mapping[str, int] | None = None,
        **steps: int,
    ) -> None:
        """Make a nest: ``Nest(layer, m=6, y=2, c=1, hold={"O": "c", "I": "c", "W": "c"})``, or of items.

        Parameters
        ----------
        layer : what it computes.
        steps : the loops, outermost first: how much of its dimension one iteration covers. What is left of an
            iteration of the innermost is done by loops of single steps, or of as many as the lanes do.
        hold : the loop across whose iterations an operand is buffered; one that is not named is not buffered.
        nest : in place of both, its items, outermost first, as a schedule file has them, ``[{"m": 6}, {"buffer":
            ["O"]}, {"c": 1}]``, or the same as text, ``"[m: 6, buffer: O, c: 1]"``: a dimension may come again.
        lanes : what the datapath does in one cycle, such as ``{"x": 16}``.
        """
        where = f"nest of {layer.name}"
        if (nest is None) == (not steps) or (nest is not None and hold is not None):
            raise InputError(f"{where}: expected loops such as m=6, with hold, or items")
        if nest is None:
            items: Any = _items(layer, steps, hold or {}, lanes or {}, where)
        else:
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

    @property
    def bytes(self) -> int:
        """Bytes of I, W and O at the outermost memory; `hwgen.predict` has counts, cycles and energy, too."""
        from hwgen.api.predictions import predict  # which reads nests

        return predict(self).bytes

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
        local = all(
            item.over is None if isinstance(item, Loop) else item.level == LOCAL for item in self.schedule.nest
        )
        need = one_level.predict(self.schedule).need_bytes if local else None
        return f"<b>{escape(self.layer.name)}</b>{nest_drawing(self.schedule, need)}"


def _items(
    layer: Layer, steps: Mapping[str, int], hold: Mapping[str, str], lanes: Mapping[str, int], where: str
) -> list[dict[str, Any]]:
    """The items of loops by name, outermost first, and of what is held across them; then of what is left."""
    for name in steps:
        if name not in LOOP_DIMS:
            raise InputError(f"{where}: loop {name}: expected one of {', '.join(LOOP_DIMS)}")
    for operand, across in hold.items():
        if operand not in ARRAYS or across not in steps:
            raise InputError(
                f"{where}: hold: expected I, W or O and one of the loops {', '.join(steps)}, got {operand}: {across}"
            )
    items: list[dict[str, Any]] = []
    for name, step in steps.items():
        held = [operand for operand, across in hold.items() if across == name]
        items += [{"buffer": held}, {name: step}] if held else [{name: step}]
    for name, left in (
        {**steps} | {dim: extent for dim, extent in layer.loop_extents.items() if dim not in steps}
    ).items():
        at_once = lanes.get(name, 1)
        if isinstance(left, int) and left > at_once:
            items.append({name: at_once})
    return items


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
