"""What arguments mean, on the command line and in scripts: sizes of memories, numbers of multipliers, folders."""

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from hwgen.ir.document import InputError, nearest
from hwgen.ir.hardware import MULTIPLIER_NUMBERS, MULTIPLIERS
from hwgen.tools.output import claim

__all__ = [
    "Sizes",
    "buffer_sizes",
    "checked_multipliers",
    "chosen_names",
    "claim_folder",
    "is_given",
    "refuse",
    "require_folder",
    "size_text",
    "sizes_text",
]

Sizes = str | int | Iterable[str | int]
"""A number of bytes, text such as ``1KiB`` or ``512,1KiB``, or several of them."""

_UNITS = {"": 1, "B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}
_LARGEST_BUFFER = 1 << 24


def sizes_text(sizes: Sizes) -> str:
    """Sizes as one text, as the command line has them."""
    if isinstance(sizes, str) or not isinstance(sizes, Iterable):
        return str(sizes)
    return ",".join(map(str, sizes))


def buffer_sizes(text: str, option: str = "--buffer", *, largest: int = _LARGEST_BUFFER) -> list[int]:
    """Bytes of each size in a list such as ``512,1KiB,4KiB``: distinct, ascending."""
    return sorted({_bytes(part.strip(), option, largest) for part in text.split(",")})


def _bytes(text: str, option: str, largest: int) -> int:
    match = re.fullmatch(r"([0-9]{1,12})\s*(KiB|MiB|GiB|B|)", text)
    size = int(match[1]) * _UNITS[match[2]] if match else 0
    if not 1 <= size <= largest:
        limits = f"from 1 byte to {size_text(largest)}"
        raise InputError(
            f"{option}: expected sizes such as 512 or 1KiB,4KiB, {limits}, got {text[:40]!r}{_meant(text)}"
        )
    return size


def _meant(text: str) -> str:
    """The size that was meant where the unit has another spelling, such as 1KB or 4k."""
    match = re.fullmatch(r"([0-9]{1,12})\s*([kmg])i?b?", text, re.IGNORECASE)
    return f" (did you mean {match[1]}{match[2].upper()}iB?)" if match else ""


def checked_multipliers(number: int | None) -> int:
    """The multipliers asked for, or as many as an HWC has by default."""
    if number is not None and number not in MULTIPLIER_NUMBERS:
        raise InputError(f"--multipliers: expected a power of two from 4 to 256, got {number}")
    return number or MULTIPLIERS


def chosen_names(option: str, names: str | None, known: Sequence[str]) -> list[str]:
    """The known names that an option lists, separated by commas, in the order of ``known``; all if not given."""
    if names is None:
        return list(known)
    wanted = [name.strip() for name in names.split(",")]
    for name in wanted:
        if name not in known:
            raise InputError(
                f"{option}: expected some of {', '.join(known)}, got {name[:40]!r}{nearest(name, known)}"
            )
    return [name for name in known if name in wanted]


def size_text(size: int) -> str:
    """Bytes as they are written on the command line."""
    for unit in ("GiB", "MiB", "KiB"):
        if size and size % _UNITS[unit] == 0:
            return f"{size // _UNITS[unit]}{unit}"
    return f"{size}B"


def is_given(value: object) -> bool:
    """Whether an option was given: 0 is a value, a switch that is off is none, nor is an empty list of arguments."""
    return not (value is None or value is False or (isinstance(value, list) and not value))


def refuse(options: Mapping[str, object], why: str) -> None:
    """Raise `InputError` for the first of some options, by name, that was given."""
    for name, value in options.items():
        if is_given(value):
            raise InputError(f"{name}: {why}")


def require_folder(folder: Path | None, option: str = "-o") -> None:
    """Refuse what is there already and is no folder, before any work is done."""
    if folder is None or folder.is_dir():
        return
    if folder.is_symlink() and not folder.exists():
        raise InputError(f"{option}: expected a folder, got {folder}, a link to the missing {folder.readlink()}")
    if folder.exists():
        raise InputError(f"{option}: expected a folder, got the file {folder}")


def claim_folder(folder: Path | None, option: str = "-o") -> None:
    """Require a folder as `require_folder` does; it is made, and until the command has ended no other process writes
    into it."""
    require_folder(folder, option)
    if folder is not None:
        claim(folder)
