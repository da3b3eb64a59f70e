"""Processes and locks: starting programs that end with this process, the time that they take, and a shared lock."""

import atexit
import fcntl
import os
import signal
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import psutil

import hwgen.tools.watcher
from hwgen.tools.scratch import outside, own_scratch

__all__ = [
    "age",
    "completed",
    "detached_variables",
    "locked",
    "processor_seconds",
    "started",
    "stop",
    "stop_all",
    "watched",
]

MARK = "HWGEN_STARTED_BY"
"""The variable that names the process that has started another one: its number, and what no other process has."""

_END_SECONDS = 5.0

_running: list[tuple[int | None, "subprocess.Popen[bytes]"]] = []
"""What this process has started, and by which thread."""


class _Starts:
    """What `started` and `stop_all` tell each other: a program may be started just when all are stopped.

    Members
    -------
    lock : held while the running ones are noted; not by `stop_all`, which a signal calls at any place.
    stops : the number of times that all were stopped.
    """

    lock = threading.Lock()
    stops = 0


class _Watch:
    """What ends all that this process has started, when it has ended: see `hwgen.tools.watcher`."""

    process: "subprocess.Popen[bytes] | None" = None
    lock = threading.Lock()

    @classmethod
    def forget(cls) -> None:
        """Forget, in a copy of the process, all processes: what the original started is not the copy's, nor is its
        end."""
        if cls.process is not None and cls.process.stdin is not None:
            cls.process.stdin.close()
            cls.process.returncode = 0  # not the copy's child
        cls.process, cls.lock = None, threading.Lock()
        _Starts.lock = threading.Lock()
        _running.clear()

    @classmethod
    def end(cls) -> None:
        """Have it end what is left now."""
        if cls.process is not None and cls.process.stdin is not None:
            cls.process.stdin.close()
            with suppress(subprocess.TimeoutExpired):
                cls.process.wait(_END_SECONDS)


os.register_at_fork(after_in_child=_Watch.forget)
atexit.register(_Watch.end)


def watched() -> None:
    """Have all that this process starts from now on end with it, however it ends."""
    with _Watch.lock:
        if _Watch.process is not None and _Watch.process.poll() is None:
            return
        os.environ[MARK] = f"{os.getpid()}-{uuid.uuid4().hex}"
        scratch = own_scratch()
        command = [sys.executable, "-I", "-S", hwgen.tools.watcher.__file__, f"{MARK}={os.environ[MARK]}"]
        _Watch.process = subprocess.Popen(
            command if scratch is None else [*command, str(scratch)],
            env={},
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )


def detached_variables() -> dict[str, str]:
    """Variables of the environment for what does not end with this process: jobs of a queueing system."""
    return {name: value for name, value in outside(os.environ).items() if name != MARK}


def started(
    command: Sequence[str],
    environment: Mapping[str, str],
    *,
    output: Any = subprocess.DEVNULL,
    folder: Path | None = None,
) -> "subprocess.Popen[bytes]":
    """A program, as the leader of a process group; it and what it starts end with this process.

    Parameters
    ----------
    environment : its variables.
    output : where what it prints and its errors go.
    folder : where it runs.
    """
    watched()
    stops = _Starts.stops
    process = subprocess.Popen(
        command,
        env={**environment, MARK: os.environ[MARK]},
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=subprocess.STDOUT,
        cwd=folder,
        start_new_session=True,
    )
    with _Starts.lock:
        _running[:] = [*(one for one in _running if one[1].returncode is None), (threading.get_ident(), process)]
    if _Starts.stops != stops:
        _kill(process)
    return process


def completed(command: Sequence[str], environment: Mapping[str, str]) -> tuple[int, str]:
    """The status of a program that is waited for, and what it printed, errors too; see `started`."""
    process = started(command, environment, output=subprocess.PIPE)
    try:
        printed, _ = process.communicate()
    finally:
        stop(process)
    return process.returncode, printed.decode(errors="replace")


def stop(process: "subprocess.Popen[bytes]") -> None:
    """Kill a process that leads its group, with the processes that it started; does nothing if it has ended."""
    if process.poll() is None:
        _kill(process)
        process.wait()


def stop_all(thread: int | None = None) -> None:
    """Kill all that `started` has started, or is starting, and that still runs; who waits for it goes on.

    ``thread`` : the identity of one, of whose programs alone those are killed that run.
    """
    if thread is None:
        _Starts.stops += 1
    for starter, process in list(_running):
        if thread in (None, starter) and process.poll() is None:
            _kill(process)


def _kill(process: "subprocess.Popen[bytes]") -> None:
    with suppress(ProcessLookupError):  # another thread has waited for it meanwhile
        os.killpg(process.pid, signal.SIGKILL)


def age() -> float:
    """Seconds for which this process has run."""
    begun: float = psutil.Process().create_time()
    return max(0.0, time.time() - begun)


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
