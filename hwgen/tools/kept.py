"""The cache: builds, Verilog, plans and syntheses that are made once and kept, in bounded space.

An entry is a folder or a file in a room of `cache_folder`. Using it marks it with the time. When something new is
made and the whole exceeds the limit, the entries that were not used for the longest time are removed. What was used
within the last hour stays, since a process may be about to start it: an hour's work may exceed the limit for an hour.
"""

import fcntl
import os
import re
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from hwgen.ir.document import InputError, write_atomically
from hwgen.tools.processes import locked
from hwgen.tools.toolchain import cache_folder

__all__ = ["ROOMS", "Entry", "cache_limit", "clear", "entries", "kept_folder", "kept_text", "mark_used", "trim"]

ROOMS = {
    "builds": "simulators of HWCs, DMAs and clusters",
    "pipeline": "simulators of pipelines",
    "verilog": "generated Verilog",
    "plans": "schedules of sweeps",
    "synthesis": "areas and clocks",
    "runtime": "Verilator's runtime, compiled",
    "kernels": "locks of kernels that are being compiled",
}
"""Folders in the cache, and what is in them."""
LIMIT = 1 << 30
IN_USE_SECONDS = 3600.0
_UNITS = {"": 1, "B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}


@dataclass(frozen=True)
class Entry:
    """Something that is kept.

    Members
    -------
    path : a folder or a file.
    size : bytes.
    used : when it was used for the last time, in seconds since 1970.
    """

    path: Path
    size: int
    used: float

    @property
    def room(self) -> str:
        """The folder in the cache that it is in."""
        return self.path.parent.name


def cache_limit() -> int:
    """Bytes that the cache may take: ``HWGEN_CACHE_LIMIT`` (such as 4GiB), else 1 GiB."""
    text = os.environ.get("HWGEN_CACHE_LIMIT", "").strip()
    if not text:
        return LIMIT
    match = re.fullmatch(r"([0-9]{1,15})\s*([KMG]iB|B|)", text)
    if not match:
        raise InputError(f"HWGEN_CACHE_LIMIT: expected a size such as 512MiB or 4GiB, got {text[:40]!r}")
    return int(match[1]) * _UNITS[match[2]]


def entries() -> list[Entry]:
    """Everything that is kept, longest unused first; locks are not part of it."""
    found = []
    for room in ROOMS:
        for path in (cache_folder() / room).glob("*"):
            if path.suffix == ".lock":
                continue
            with suppress(OSError):  # another process has just removed it
                found.append(Entry(path, _size(path), _stamp(path).stat().st_mtime))
    return sorted(found, key=lambda entry: (entry.used, entry.path))


def kept_folder(folder: Path, make: Callable[[Path], None]) -> Path:
    """The folder, made unless it is there; a lock keeps two processes from making the same one.

    ``make`` fills an empty folder that has another name, so that the rest of a killed process is never taken for what
    it should have become.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    fresh = False
    with locked(folder.with_suffix(".lock")):
        if not (folder / "complete").exists():
            with tempfile.TemporaryDirectory(dir=folder.parent, prefix=f"{folder.name}.") as name:
                unfinished = Path(name) / "build"
                unfinished.mkdir()
                make(unfinished)
                shutil.rmtree(folder, ignore_errors=True)
                (unfinished / "complete").touch()
                unfinished.rename(folder)
            fresh = True
        mark_used(folder)
    if fresh:
        trim()
    return folder


def kept_text(file: Path, make: Callable[[], str]) -> str:
    """The text of the file, made unless it is there."""
    with suppress(FileNotFoundError):
        text = file.read_text(encoding="utf-8")
        mark_used(file)
        return text
    text = make()
    write_atomically(file, text)
    trim()
    return text


def mark_used(path: Path) -> None:
    """Note that an entry is used now."""
    with suppress(OSError):  # a cache that cannot be written to can still be read
        os.utime(_stamp(path))


def trim(limit: int | None = None) -> None:
    """Remove what was not used for the longest time until the cache is within the limit."""
    limit = cache_limit() if limit is None else limit
    kept = entries()
    size = sum(entry.size for entry in kept)
    newest = time.time() - IN_USE_SECONDS
    for entry in kept:
        if size <= limit or entry.used > newest:
            return
        if _remove(entry.path):
            size -= entry.size


def clear() -> tuple[int, int]:
    """Remove everything that no other process holds a lock on; the entries and bytes that were removed."""
    removed = [entry for entry in entries() if _remove(entry.path)]
    for room in ROOMS:
        for lock in (cache_folder() / room).glob("*.lock"):
            if not lock.with_suffix("").exists():
                with _lock_if_free(lock) as free:
                    if free:
                        lock.unlink(missing_ok=True)
    return len(removed), sum(entry.size for entry in removed)


def _remove(path: Path) -> bool:
    """Remove one entry unless another process is making it; whether it is gone."""
    with _lock_if_free(path.with_suffix(".lock")) as free:
        if not free:
            return False
        with suppress(FileNotFoundError):
            if path.is_dir():
                doomed = path.with_name(f"{path.name}.removed-{os.getpid()}")
                path.rename(doomed)  # gone at once, so that nobody finds half of it
                shutil.rmtree(doomed, ignore_errors=True)
            else:
                path.unlink()
    return True


@contextmanager
def _lock_if_free(lock: Path) -> Iterator[bool]:
    """Hold the lock if nobody else does; whether that is so."""
    if not lock.exists():
        yield True
        return
    with lock.open("r") as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            yield False
            return
        yield True


def _stamp(path: Path) -> Path:
    """The file whose time says when an entry was used."""
    complete = path / "complete"
    return complete if complete.exists() else path


def _size(path: Path) -> int:
    if not path.is_dir():
        return path.stat().st_size
    return sum(file.stat().st_size for file in path.rglob("*") if file.is_file())
