"""The cache: builds, Verilog, plans and syntheses that are made once and kept, in bounded space.

An entry is a folder or a file in a room of the cache. It says what it is, and has the length and the digest of what
it holds: whenever it is used these are compared, and what is damaged, or is not what its name says, is made anew. In
one process a folder that was found whole is read again only when the times of its files have changed.

Using an entry marks it with the time. When something new is made and the whole exceeds the limit, the entries that
were not used for the longest time are removed. What was used within the last hour stays, since a process may be about
to start it: an hour's work may exceed the limit for an hour.
"""

import fcntl
import hashlib
import json
import os
import re
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hwgen.ir.document import InputError, unsealed, write_atomically
from hwgen.tools.processes import locked
from hwgen.tools.toolchain import cache_folder, damaged

__all__ = [
    "ROOMS",
    "Entry",
    "cache_limit",
    "clear",
    "entries",
    "kept_folder",
    "kept_folders",
    "kept_text",
    "locked_entry",
    "sealed_document",
    "trim",
]

ROOMS = {
    "builds": "simulators of HWCs, DMAs, clusters and pipelines",
    "verilog": "generated Verilog, its memories and files of its registers",
    "plans": "schedules of sweeps",
    "synthesis": "areas and clocks",
    "runtime": "Verilator's runtime, compiled",
    "logs": "what tools said when they failed",
    "kernels": "locks of kernels that are being compiled",
    "scripts": "what draws the charts of pages",
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
    """Everything that is kept, longest unused first; locks and what is not finished are not part of it."""
    found = []
    for room in ROOMS:
        for path in (cache_folder() / room).glob("*"):
            if path.suffix == ".lock" or path.name.startswith(".") or _is_unfinished(path):
                continue
            with suppress(OSError):  # another process has just removed it
                found.append(Entry(path, _size(path), _stamp(path).stat().st_mtime))
    return sorted(found, key=lambda entry: (entry.used, entry.path))


def kept_folder(folder: Path, make: Callable[[Path], None]) -> Path:
    """The folder, made unless it is there and whole; a lock keeps two processes from making the same one.

    ``make`` fills an empty folder that has another name, so that the rest of a killed process is never taken for what
    it should have become. The name of the folder has no dot.
    """
    kept_folders([folder], lambda fresh: make(fresh[folder]))
    return folder


def kept_folders(folders: Sequence[Path], make: Callable[[Mapping[Path, Path]], None]) -> None:
    """Have several folders of one room; ``make`` fills those that are missing. See `kept_folder`."""
    with ExitStack() as stack:
        for folder in sorted(folders):  # in one order, so that no two processes wait for each other
            stack.enter_context(locked_entry(folder))
        missing = [folder for folder in folders if not _is_whole(folder)]
        if missing:
            unfinished = {folder: _unfinished(folder, stack) for folder in missing}
            make(unfinished)
            for folder, fresh in unfinished.items():
                seal = {"entry": _entry_name(folder), "files": _contents(fresh)}
                (fresh / SEAL).write_text(json.dumps(seal), encoding="utf-8")
                _discard(folder)
                fresh.rename(folder)
        for folder in folders:
            _mark_used(folder)
    if missing:
        trim()


def kept_text(file: Path, make: Callable[[], str]) -> str:
    """The text of the file, made unless it is there and whole. Its first line says what it is."""
    text = _whole_text(file)
    if text is None:
        text = make()
        content = text.encode()
        seal = {"entry": _entry_name(file), "bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
        write_atomically(file, f"{_HEADER}{json.dumps(seal)}\n".encode() + content)
        trim()
    _mark_used(file)
    return text


def sealed_document(file: Path) -> Any:
    """The document in a file, as it was `sealed`; None if there is none, or it is damaged, which is said."""
    try:
        return unsealed(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, RecursionError) as error:
        damaged(file, str(error) if type(error) is ValueError else "no JSON document that can be read")
        return None


@contextmanager
def locked_entry(entry: Path) -> Iterator[None]:
    """Hold the lock of an entry, which processes share."""
    lock = _lock_of(entry)
    if lock.is_dir() and not lock.is_symlink():
        damaged(lock, "a folder where a lock belongs")
        _discard(lock)
    with locked(lock):
        yield


# --- what makes an entry whole ---


SEAL = "complete"
"""The file in a folder that is finished: which entry it is, and the length and digest of every other file."""
_HEADER = "// hwgen "
"""How the first line of a text that is kept begins."""

_Signature = tuple[tuple[str, int, int, int], ...]
_found_whole: dict[Path, _Signature] = {}
"""Folders that this process has read and found whole, with inode, size and time of each file."""


def _entry_name(path: Path) -> str:
    """What an entry says that it is: its name is a digest of all that it was made of."""
    return f"{path.parent.name}/{path.name}"


def _contents(folder: Path) -> dict[str, list[int | str]]:
    """Length and digest of the files in a folder, by path inside it."""
    found: dict[str, list[int | str]] = {}
    for file in sorted(folder.rglob("*")):
        if file.is_file():
            content = file.read_bytes()
            found[file.relative_to(folder).as_posix()] = [len(content), hashlib.sha256(content).hexdigest()]
    return found


def _is_whole(folder: Path) -> bool:
    """Whether a folder is there and has all that it had when it was finished; what is wrong is said."""
    if not folder.is_dir():
        if folder.is_symlink() or folder.exists():
            damaged(folder, "a file where a folder belongs")
        return False
    try:
        signature = _signature(folder)
        if _found_whole.get(folder) == signature:
            return True
        seal = json.loads((folder / SEAL).read_text(encoding="utf-8"))
        if seal["entry"] != _entry_name(folder):
            raise ValueError("another entry in its place")
        now = _contents(folder)
        for name, content in seal["files"].items():
            if now.get(name) != content:
                raise ValueError(f"{name} is not as it was left")
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        told = type(error) is ValueError and str(error)
        damaged(folder, told or f"no list of what it holds in {SEAL}")
        return False
    _found_whole[folder] = signature
    return True


def _signature(folder: Path) -> _Signature:
    """What changes when a file is written to; raises `ValueError` if one is another user's."""
    found = []
    for file in (folder, *sorted(folder.rglob("*"))):
        state = file.lstat()
        if state.st_uid != os.geteuid():
            raise ValueError(f"{file.name} is user {state.st_uid}'s")
        if not file.is_dir():
            changed = 0 if file == folder / SEAL else state.st_ctime_ns  # its time says when the entry was used
            found.append((str(file), state.st_ino, state.st_size, changed))
    return tuple(found)


def _whole_text(file: Path) -> str | None:
    """The text that a file was left with; None if it is not there, or damaged, which is said."""
    try:
        if file.lstat().st_uid != os.geteuid():
            raise ValueError("another user's")
        header, _, content = file.read_bytes().partition(b"\n")
        seal = json.loads(header.decode().removeprefix(_HEADER))
        if seal["entry"] != _entry_name(file):
            raise ValueError("another entry in its place")
        if (seal["bytes"], seal["sha256"]) != (len(content), hashlib.sha256(content).hexdigest()):
            raise ValueError("not as it was left")
        return content.decode()
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        told = type(error) is ValueError and str(error)
        damaged(file, told or "no line that says what it is")
        _discard(file)
        return None


def _unfinished(folder: Path, stack: ExitStack) -> Path:
    """An empty folder to be filled; it goes with the stack unless it is renamed. The caller holds the lock."""
    for left in folder.parent.glob(f"{folder.name}.*"):
        if _is_unfinished(left):
            _discard(left)
    name = stack.enter_context(tempfile.TemporaryDirectory(dir=folder.parent, prefix=f"{folder.name}."))
    fresh = Path(name) / "build"
    fresh.mkdir()
    return fresh


def _is_unfinished(path: Path) -> bool:
    """Whether a folder is what a process makes, or has left of it when it was killed."""
    return "." in path.name and path.suffix != ".lock" and path.is_dir()


def _lock_of(path: Path) -> Path:
    """The lock of an entry, and of a folder that is to become one."""
    return path.with_name(f"{path.name.partition('.')[0]}.lock")


def _discard(path: Path) -> None:
    """Remove whatever is there."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def _mark_used(path: Path) -> None:
    """Note that an entry is used now."""
    with suppress(OSError):  # a cache that cannot be written to can still be read
        os.utime(_stamp(path))


# --- what goes ---


def trim(limit: int | None = None) -> None:
    """Remove what killed processes left, then what was not used for the longest time, down to the limit."""
    _remove_stale()
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
                        _discard(lock)
    _remove_stale()
    return len(removed), sum(entry.size for entry in removed)


def _remove(path: Path) -> bool:
    """Remove one entry unless another process is making it; whether it is gone."""
    with _lock_if_free(_lock_of(path)) as free:
        if not free:
            return False
        with suppress(FileNotFoundError):
            if path.is_dir() and not _is_unfinished(path):
                doomed = path.with_name(f"{path.name}.removed-{os.getpid()}")
                path.rename(doomed)  # gone at once, so that nobody finds half of it
                path = doomed
            _discard(path)
    return True


def _remove_stale() -> None:
    """Remove what processes that were killed were making: nobody holds the lock that they held."""
    for room in ROOMS:
        for path in (cache_folder() / room).glob("*.*"):
            if _is_unfinished(path):
                _remove(path)


@contextmanager
def _lock_if_free(lock: Path) -> Iterator[bool]:
    """Hold the lock if nobody else does; whether that is so."""
    if not lock.is_file():
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
    complete = path / SEAL
    return complete if complete.exists() else path


def _size(path: Path) -> int:
    if not path.is_dir():
        return path.stat().st_size
    return sum(file.stat().st_size for file in path.rglob("*") if file.is_file())
