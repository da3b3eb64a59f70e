"""A folder of the program's own for temporary files, its own and those of the tools that it starts.

Compilers, WebAssembly runtimes and Dask put files into the temporary folder and leave them there when they are
killed. Here they are all in one folder, which goes with the program. A lock on it tells those of programs that run
from those that killed ones have left.
"""

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

__all__ = ["outside", "own_scratch", "remove_own_scratch", "remove_stale", "scratch"]

PREFIX = "hwgen-run-"


class _Own:
    """The folder of this process, the process, which a copy of it is not, and ``TMPDIR`` before."""

    folder: Path | None = None
    process = 0
    outside: str | None = None


def own_scratch() -> Path | None:
    """The folder, within `scratch`."""
    return _Own.folder if _Own.process == os.getpid() else None


def outside(variables: Mapping[str, str]) -> dict[str, str]:
    """The variables for what outlives this process or runs elsewhere: ``TMPDIR`` is not the folder."""
    found = dict(variables)
    if own_scratch() is not None:
        found.pop("TMPDIR", None)
        if _Own.outside is not None:
            found["TMPDIR"] = _Own.outside
    return found


def remove_own_scratch() -> None:
    """Remove the folder where the process ends at once."""
    folder = own_scratch()
    if folder is not None:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def scratch() -> Iterator[None]:
    """Within it temporary files go to a folder of their own, which is removed at the end.

    What killed programs have left is removed first. Where no folder can be made nothing changes: what needs a
    temporary file will say so.
    """
    before, variable = tempfile.gettempdir(), os.environ.get("TMPDIR")
    remove_stale(Path(before))
    try:
        folder, handle = _locked_folder(before)
    except OSError:
        yield
        return
    try:
        _Own.folder, _Own.process, _Own.outside = folder, os.getpid(), variable
        tempfile.tempdir = os.environ["TMPDIR"] = str(folder)
        yield
    finally:
        tempfile.tempdir = before
        if variable is None:
            os.environ.pop("TMPDIR", None)
        else:
            os.environ["TMPDIR"] = variable
        _Own.folder = None
        shutil.rmtree(folder, ignore_errors=True)
        os.close(handle)


def _locked_folder(room: str) -> tuple[Path, int]:
    """A new folder and the lock on it, which no other program has removed before it was locked."""
    while True:
        folder = Path(tempfile.mkdtemp(prefix=PREFIX, dir=room))
        with suppress(FileNotFoundError):
            handle = os.open(folder, os.O_RDONLY)
            fcntl.flock(handle, fcntl.LOCK_EX)
            if folder.exists():
                return folder, handle
            os.close(handle)


def remove_stale(room: Path) -> None:
    """Remove the folders of programs that have ended without doing so themselves."""
    with suppress(OSError), os.scandir(room) as entries:
        for entry in entries:
            if entry.name.startswith(PREFIX) and entry.is_dir(follow_symlinks=False):
                _remove_if_left(Path(entry.path))


def _remove_if_left(folder: Path) -> None:
    with suppress(OSError):  # another user's, or another process is faster
        handle = os.open(folder, os.O_RDONLY | os.O_NOFOLLOW)
        try:
            if os.fstat(handle).st_uid == os.geteuid():
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(folder, ignore_errors=True)
        finally:
            os.close(handle)
