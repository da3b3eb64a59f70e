"""Processes and locks: ending a process with all that it started, the time that these take, and a shared lock."""

import fcntl
import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil

__all__ = ["locked", "processor_seconds", "stop"]


def stop(process: "subprocess.Popen[bytes]") -> None:
    """Kill a process that leads its group, with the processes that it started; does nothing if it has ended."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def processor_seconds(process: "subprocess.Popen[bytes]") -> float:
    """Seconds of a processor that a process and those that it started, and that still run, have taken so far."""
    seconds = 0.0
    with suppress(psutil.NoSuchProcess):
        leader = psutil.Process(process.pid)
        for one in (leader, *leader.children(recursive=True)):
            with suppress(psutil.NoSuchProcess):
                times = one.cpu_times()
                seconds += times.user + times.system
    return seconds


@contextmanager
def locked(file: Path) -> Iterator[None]:
    """Hold a lock that processes share by the name of a file."""
    with file.open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
