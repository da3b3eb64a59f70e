"""Processes and locks: ending a process with all that it started, and a lock that processes share."""

import fcntl
import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

__all__ = ["locked", "stop"]


def stop(process: "subprocess.Popen[bytes]") -> None:
    """Kill a process that leads its group, with the processes that it started; does nothing if it has ended."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


@contextmanager
def locked(file: Path) -> Iterator[None]:
    """Hold a lock that processes share by the name of a file."""
    with file.open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
