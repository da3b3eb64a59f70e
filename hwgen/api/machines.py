"""Hardware and hierarchies: by the name of what is built in, by a file, or from code."""

from collections.abc import Iterable, Mapping
from os import PathLike, fspath
from typing import Any

from hwgen.arch.hardware_file import load_hardware, possible_hardware, read_hardware_data
from hwgen.ir.builtin import named_file
from hwgen.ir.document import InputError, written
from hwgen.ir.hardware import Hardware
from hwgen.ir.memory.hierarchy import Hierarchy, load_hierarchy

__all__ = ["HardwareLike", "HierarchyLike", "called", "each_hardware", "hardware", "read_hardware", "read_hierarchy"]

HardwareLike = str | PathLike[str] | Mapping[str, Any] | Hardware
"""What calls take as hardware: what `hardware` takes."""
HierarchyLike = str | PathLike[str] | Hierarchy
"""What calls take as a hierarchy: a file, a built-in name, or what was read of them."""


def hardware(source: HardwareLike) -> Hardware:
    """Hardware that schedules run on: one HWC, or a cluster of them.

    Parameters
    ----------
    source : a built-in name, as ``hwgen hardware`` prints them; a hardware file; or the keys of one as a mapping,
        such as ``{"lanes": {"m": 4, "x": 4}, "budget": 2048}``; or ``hwgen.Hardware`` of them.
    """
    match source:
        case Hardware():
            return possible_hardware(source, _where(source.name))
        case str() | PathLike():
            return load_hardware(named_file("hardware", fspath(source)))
        case Mapping():
            data = {"format": 1, "kind": "hardware", **source}
            return read_hardware_data(data, _where(data.get("name")))
    raise InputError(f"hardware: expected a built-in name, a file or its keys, got {written(source)}")


def _where(name: object) -> str:
    """Hardware from code, for messages; without a name of its own it is just that."""
    return "hardware" if name in (None, "hardware") else f"hardware {name}"


def read_hardware(source: HardwareLike | None) -> Hardware | None:
    """The same where there may be none."""
    return None if source is None else hardware(source)


def each_hardware(sources: HardwareLike | Iterable[HardwareLike]) -> list[HardwareLike]:
    """One, or several, as a list; raises `InputError` for what is none."""
    if isinstance(sources, str | PathLike | Mapping | Hardware):
        return [sources]
    if isinstance(sources, Iterable):
        return list(sources)
    raise InputError(f"hardware: expected a built-in name, a file, its keys, or several, got {written(sources)}")


def called(source: HardwareLike) -> str:
    """What it was given as, for messages."""
    match source:
        case Hardware():
            return source.name
        case Mapping():
            return str(source.get("name", "hardware"))
    return fspath(source)


def read_hierarchy(source: HierarchyLike) -> Hierarchy:
    """The hierarchy of a file or a built-in name."""
    return source if isinstance(source, Hierarchy) else load_hierarchy(named_file("hierarchies", fspath(source)))
