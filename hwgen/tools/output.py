"""Folders that commands write into: one process at a time, and the files of a command appear together."""

import fcntl
import os
import shutil
import signal
import stat
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from hwgen.ir.document import InputError, write_atomically

__all__ = ["claim", "command", "keep_unless_refused", "write_together", "writing_into"]

WAIT_SECONDS = 10.0
LOOK_SECONDS = 0.05
STAGED = ".hwgen.part"
"""The folder, in the one that is written into, in which files wait until all are written."""

_held: dict[Path, int] = {}
"""Folders that this process writes into, and how many times it has begun to."""


@contextmanager
def writing_into(folder: Path) -> Iterator[None]:
    """Be the only process that writes into a folder, which is made unless it is there.

    Another one is waited for, for a while; then `InputError`. The lock is on the folder itself and leaves nothing
    there. Folders that were made here, and that are still empty in the end, are removed.
    """
    place = folder.resolve()
    if place in _held:
        _held[place] += 1
        try:
            yield
        finally:
            _held[place] -= 1
        return
    made = [one for one in (folder, *folder.parents) if not one.exists()]
    handle = _locked(folder)
    _held[place] = 1
    try:
        yield
    finally:
        del _held[place]
        with suppress(OSError):  # something is in it
            for one in made:
                one.rmdir()
        os.close(handle)


_claims = ExitStack()


@contextmanager
def command() -> Iterator[None]:
    """A command of the program, or a call from a script: what it claims is its own until the end.

    Within another one it is a part of that.
    """
    if _Command.begun:
        yield
        return
    _Command.begun = True
    try:
        with _claims:
            yield
    finally:
        _Command.begun = False


class _Command:
    """Whether a command has begun."""

    begun = False


def claim(folder: Path) -> None:
    """Be the only process that writes into a folder until the command's end, as in `writing_into`."""
    _claims.enter_context(writing_into(folder))


def keep_unless_refused(store: Path) -> None:
    """Remove what the command puts into a folder of kept results, should it end in `InputError`.

    An interrupt leaves it: the same command goes on from there.
    """
    _claims.enter_context(_kept_unless_refused(store))


@contextmanager
def _kept_unless_refused(store: Path) -> Iterator[None]:
    before = set(store.glob("*"))
    try:
        yield
    except InputError:
        for file in set(store.glob("*")) - before:
            file.unlink(missing_ok=True)
        with suppress(OSError):  # results of earlier commands are in it, or it was never made
            store.rmdir()
        raise


def _locked(folder: Path) -> int:
    """The folder, open and locked."""
    deadline = time.monotonic() + WAIT_SECONDS
    while True:
        folder.mkdir(parents=True, exist_ok=True)
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.path.samestat(os.fstat(handle), folder.stat()):
                return handle
        except (BlockingIOError, FileNotFoundError):
            pass
        except OSError:  # a file system without locks
            return handle
        os.close(handle)
        if time.monotonic() > deadline:
            raise InputError(f"{folder}: another process is writing into this folder")
        time.sleep(LOOK_SECONDS)


def write_together(folder: Path, files: Mapping[str, str | bytes]) -> None:
    """Write files, by path inside a folder: all are on the disk before the first one takes its place.

    A full disk, or a process that is killed, changes none of them, unless that comes within the moment in which they
    get their names. What a killed process has left goes first. An `OSError` names the file.
    """
    with writing_into(folder):
        staged = folder / STAGED
        shutil.rmtree(staged, ignore_errors=True)
        places: dict[Path, Path] = {}
        try:
            staged.mkdir()
            for name, text in files.items():
                content, target = text.encode() if isinstance(text, str) else text, folder / name
                if not _is_plain(target):
                    write_atomically(target, content)
                elif not (target.is_file() and target.read_bytes() == content):
                    places[staged / str(len(places))] = target
                    _write(staged / str(len(places) - 1), content, target)
            with _uninterrupted():
                for part, target in places.items():
                    target.parent.mkdir(parents=True, exist_ok=True)
                    part.replace(target)
        finally:
            shutil.rmtree(staged, ignore_errors=True)


def _write(part: Path, content: bytes, target: Path) -> None:
    try:
        part.write_bytes(content)
        part.chmod(0o644)
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(target)) from None


def _is_plain(path: Path) -> bool:
    """Whether there is a file, or nothing: no link, and nothing that a file must not replace."""
    try:
        return stat.S_ISREG(path.lstat().st_mode)
    except FileNotFoundError:
        return True


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """Signals wait until the end of the context; in another thread they come to the main one."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM, signal.SIGHUP})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
