"""A program that waits until the process that started it has ended, and then ends what that one had started.

Nothing else is told when a process is killed: a compiler that make has started would run on for half a minute. The
process keeps the other end of standard input open, and all that it starts has a variable in its environment, which
descendants inherit. Run as ``python watcher.py MARK [FOLDER]``: processes with ``MARK``, a ``NAME=VALUE``, get a
SIGTERM and, if they are still there after some time, a SIGKILL. The folder is removed. It imports nothing of ours,
since it starts with every build.
"""

import os
import shutil
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

__all__ = ["end_marked"]

GRACE_SECONDS = 3.0
LOOK_SECONDS = 0.05


def end_marked(mark: str) -> None:
    """End all processes whose environment has ``mark``, first so that they can end what they have started."""
    deadline = time.monotonic() + GRACE_SECONDS
    _signal(mark, signal.SIGTERM)
    while list(_marked(mark)):
        if time.monotonic() > deadline:
            _signal(mark, signal.SIGKILL)
        time.sleep(LOOK_SECONDS)


def _signal(mark: str, blow: signal.Signals) -> None:
    for process in _marked(mark):
        with suppress(OSError):
            os.kill(process, blow)


def _marked(mark: str) -> Iterator[int]:
    """The processes whose environment has the mark; those that have ended have none."""
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit() and int(folder.name) != os.getpid():
            with suppress(OSError):
                if mark.encode() in (folder / "environ").read_bytes().split(b"\0"):
                    yield int(folder.name)


def _main(mark: str, folder: str = "") -> None:
    for blow in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(blow, signal.SIG_IGN)
    os.chdir("/")
    while os.read(0, 1):
        pass
    end_marked(mark)
    if folder:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    _main(*sys.argv[1:])
