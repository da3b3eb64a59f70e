"""A hierarchy of memories: levels from the outermost inward, their sizes, and what their accesses cost."""

from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import Field, field_validator, model_validator

from hwgen.ir.document import (
    InputError,
    Name,
    Value,
    check_header,
    dump_yaml,
    load_yaml,
    validated,
    write_atomically,
    written,
)
from hwgen.ir.lanes import LanesField
from hwgen.ir.level import level_named
from hwgen.ir.memory.energy import TABLES
from hwgen.ir.memory.yang_2016 import Width
from hwgen.ir.schedule import ARRAYS, ArrayName, Bits, Marker, Schedule

__all__ = ["MAC", "Hierarchy", "MemoryLevel", "load_hierarchy", "save_hierarchy"]

MAC = "mac"
"""The key of a multiply-accumulate in a table of energies, and so no level's name."""
_RESERVED = (MAC, "double")
_MOST_BYTES = 1 << 40
_MOST_ENERGY = 1e9

Size = Annotated[int, Field(strict=True, ge=1, le=_MOST_BYTES)]


class MemoryLevel(Value):
    """One level. ``bytes`` is its size: of all operands together, or of a memory for each operand that it holds.

    The outermost level has none; it holds everything.
    """

    called = "level"

    name: Name
    bytes: Size | dict[ArrayName, Size] | None = None

    @field_validator("name")
    @classmethod
    def _free(cls, name: str) -> str:
        if name in _RESERVED:
            raise ValueError(f"expected another name than {name}, which has a meaning of its own")
        return name

    @field_validator("bytes", mode="before")
    @classmethod
    def _sizes(cls, given: Any) -> Any:
        if isinstance(given, Mapping):
            unknown = [key for key in given if key not in ARRAYS]
            if unknown or not given:
                what = f"got {written(unknown[0])}" if unknown else "got none"
                raise ValueError(f"expected a number of bytes, or one for each of I, W, O, {what}")
            for key, size in given.items():
                _check_size(size, f"{key}: ")
        elif given is not None:
            _check_size(given, "")
        return given

    @property
    def total(self) -> int | None:
        """Bytes of all its memories; None for the outermost level."""
        return sum(self.bytes.values()) if isinstance(self.bytes, dict) else self.bytes

    @property
    def shared(self) -> bool:
        """Whether its bytes are for all operands together."""
        return not isinstance(self.bytes, dict)

    def size_for(self, operand: ArrayName) -> int | None:
        """Bytes of the memory in which an operand is held; 0 if the level has none for it, None without a limit."""
        return self.bytes.get(operand, 0) if isinstance(self.bytes, dict) else self.bytes


def _check_size(size: object, where: str) -> None:
    if isinstance(size, bool) or not isinstance(size, int) or not 1 <= size <= _MOST_BYTES:
        raise ValueError(f"{where}expected a number of bytes of at least 1, got {written(size)}")


class Hierarchy(Value):
    """The memories between a datapath and its outermost memory, which no marker names.

    ``lanes`` and ``bits`` take the place of the schedule's where they are given. ``energy`` is a table's name in
    `TABLES`, or pJ per byte that each level serves and pJ per multiply-accumulate (``mac``). ``width`` is the bits
    of an access, which a built-in table asks for.
    """

    called = "hierarchy"

    name: Name
    levels: tuple[MemoryLevel, ...] = Field(min_length=1, max_length=16)
    lanes: LanesField | None = None
    bits: Bits | None = None
    energy: str | dict[str, float] = "yang_2016"
    width: Width = 64

    @field_validator("energy", mode="before")
    @classmethod
    def _known(cls, energy: Any) -> Any:
        if isinstance(energy, str) and energy not in TABLES:
            raise ValueError(f"expected {' or '.join(TABLES)}, or a table of pJ, got {written(energy)}")
        if not isinstance(energy, str | Mapping):
            raise ValueError(f"expected {' or '.join(TABLES)}, or a table of pJ, got {written(energy)}")
        if isinstance(energy, Mapping):
            for name, cost in energy.items():
                if isinstance(cost, bool) or not isinstance(cost, int | float) or not 0 <= cost < _MOST_ENERGY:
                    raise ValueError(f"{name}: expected pJ, a number of at least 0, got {written(cost)}")
        return energy

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        names = [level.name for level in self.levels]
        for index, name in enumerate(names):
            if name in names[:index]:
                raise ValueError(f"levels: {name}: the name is used twice")
        first, *inner = self.levels
        if first.bytes is not None:
            raise ValueError(f"levels: {first.name}: bytes: expected none: the outermost level holds everything")
        outside: int | None = None
        for level in inner:
            if level.total is None:
                raise ValueError(f"levels: {level.name}: bytes: missing key (only the outermost level has no size)")
            if outside is not None and level.total >= outside:
                raise ValueError(
                    f"levels: {level.name}: bytes: expected less than the {outside} of the level around it, "
                    f"got {level.total}"
                )
            outside = level.total
        if isinstance(self.energy, dict):
            for name in (*names, MAC):
                if name not in self.energy:
                    raise ValueError(f"energy: {name}: missing key")
            for name in self.energy:
                if name not in (*names, MAC):
                    raise ValueError(f"energy: {name}: expected a level ({', '.join(names)}) or {MAC}")
        return self

    @property
    def outermost(self) -> MemoryLevel:
        """The memory in which all operands begin and end."""
        return self.levels[0]

    @property
    def inner(self) -> tuple[MemoryLevel, ...]:
        """The levels that markers may name, from the outside inward."""
        return self.levels[1:]

    @property
    def mac_energy(self) -> float:
        """pJ of a multiply-accumulate."""
        return self.energy[MAC] if isinstance(self.energy, dict) else TABLES[self.energy].mac

    def energy_per_byte(self, level: MemoryLevel, operand: ArrayName) -> float:
        """pJ of a byte of an operand that a level serves: by the size of the memory in which the operand is held."""
        if isinstance(self.energy, dict):
            return self.energy[level.name]
        return TABLES[self.energy].per_byte(level.size_for(operand), self.width)

    def read_schedule(self, data: object, where: str = "schedule") -> Schedule:
        """The schedule of a file on this hierarchy; raises `InputError` with one line.

        The hierarchy's lanes and widths take the place of the file's, and its markers have to be of these levels.
        """
        if isinstance(data, dict):
            lanes = {} if self.lanes is None else {"lanes": self.lanes.as_data()}
            bits = {} if self.bits is None else {"bits": self.bits.model_dump()}
            data = {**data, **lanes, **bits}
        schedule = Schedule.from_data(data, where)
        self.check_markers(schedule, where)
        return schedule

    def check_markers(self, schedule: Schedule, where: str = "schedule") -> None:
        """Raise `InputError` unless the markers name levels of this hierarchy, and go inward as these do."""
        inner = [level.name for level in self.inner]
        for item in schedule.nest:
            if not isinstance(item, Marker):
                if item.over is not None:
                    raise InputError(f"{where}: nest: {item.dim}: over: {item.over}: expected no spread loop")
                continue
            if item.double is not None:
                raise InputError(f"{where}: nest: buffer: double: expected none: a hierarchy doubles nothing")
            if item.level.name not in inner:
                known = f"expected {' or '.join(inner)}" if inner else "expected no marker"
                reason = (
                    f" ({self.outermost.name} holds everything)" if item.level.name == self.outermost.name else ""
                )
                raise InputError(
                    f"{where}: nest: buffer: {known}, the levels of {self.name}, got {item.level}{reason}"
                )
        for operand in ARRAYS:
            held = self.held(schedule, operand)
            for (outer, outer_loop), (level, loop) in pairwise(held):
                if loop < outer_loop:
                    raise InputError(
                        f"{where}: nest: buffer: {operand}: expected the marker of {outer.name} at or outside "
                        f"that of {level.name}"
                    )

    def held(self, schedule: Schedule, operand: ArrayName) -> tuple[tuple[MemoryLevel, int], ...]:
        """The levels that hold an operand, from the outside inward, each with the index of its marker's loop."""
        places = ((level, schedule.marked_loop(operand, level_named(level.name))) for level in self.inner)
        return tuple((level, place) for level, place in places if place is not None)

    def as_data(self) -> dict[str, Any]:
        """Plain data in the file format."""
        return {"format": 1, "kind": "hierarchy", **self.model_dump(mode="json", exclude_none=True)}

    @classmethod
    def from_data(cls, data: object, where: str = "hierarchy") -> "Hierarchy":
        """Validate plain data; raises `InputError` with one line."""
        return validated(cls, check_header(data, ("hierarchy",), where, cls.called), where)


def load_hierarchy(path: Path) -> Hierarchy:
    """Read one hierarchy file."""
    return Hierarchy.from_data(load_yaml(path), str(path))


def save_hierarchy(hierarchy: Hierarchy, path: Path) -> bool:
    """Write one hierarchy file atomically; False if it was already there and equal."""
    return write_atomically(path, dump_yaml(hierarchy.as_data()))
