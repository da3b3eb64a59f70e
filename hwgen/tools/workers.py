"""Worker processes for tasks of very different lengths: the most urgent first, partial results as they arrive."""

import os
import resource
import signal
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from heapq import heappop, heappush
from multiprocessing import parent_process
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from threading import Thread
from typing import Any

from hwgen.ir.document import InputError
from hwgen.tools.side_by_side import SPAWN
from hwgen.tools.toolchain import ToolError

__all__ = ["Event", "Failed", "Finished", "Task", "Told", "Workers"]

Tell = Callable[[Any], None]
_GRACE_SECONDS = 5.0


@dataclass(frozen=True)
class Task:
    """A function of a module, with arguments that can be pickled; called with ``tell`` besides."""

    name: str
    function: Callable[..., Any]
    arguments: tuple[Any, ...]


@dataclass(frozen=True)
class Told:
    """A partial result that a task sent through ``tell``."""

    task: Task
    what: Any


@dataclass(frozen=True)
class Finished:
    """What a task returned, and the processor time that it and whatever it started took."""

    task: Task
    value: Any
    cpu_seconds: float


@dataclass(frozen=True)
class Failed:
    """A task raised `ToolError` or `InputError`, or its process ended."""

    task: Task
    reason: str


Event = Told | Finished | Failed


class Workers:
    """``count`` processes, each with one task at a time.

    A context manager: at its end, however it comes, the processes end, and so do the simulators that they started.
    They end with this process too, even if it is killed.
    """

    def __init__(self, count: int) -> None:
        self._count = count
        self._waiting: list[tuple[float, int, Task]] = []
        self._number = 0
        self._idle: list[Connection] = []
        self._busy: dict[Connection, Task] = {}
        self._processes: dict[Connection, BaseProcess] = {}

    def __enter__(self) -> "Workers":
        for _ in range(self._count):
            self._start()
        return self

    def __exit__(self, *_: object) -> None:
        for process in self._processes.values():
            process.terminate()
        for process in self._processes.values():
            process.join(_GRACE_SECONDS)
            process.kill()

    def submit(self, urgency: float, task: Task) -> None:
        """Submit a task; of the waiting tasks, the one with the largest urgency starts first."""
        heappush(self._waiting, (-urgency, self._number, task))
        self._number += 1

    def events(self) -> Iterator[Event]:
        """Events, until no task is left; tasks may be submitted meanwhile."""
        while self._waiting or self._busy:
            while self._waiting and self._idle:
                connection = self._idle.pop()
                task = self._waiting[0][2]
                try:
                    connection.send((task.function, task.arguments))
                except OSError:  # it was killed while it waited
                    self._replace(connection)
                    continue
                heappop(self._waiting)
                self._busy[connection] = task
            ready = wait(list(self._busy))
            for connection in [connection for connection in self._busy if connection in ready]:
                yield self._received(connection)

    def _received(self, connection: Connection) -> Event:
        task = self._busy[connection]
        try:
            kind, value, cpu_seconds = connection.recv()
        except (EOFError, ConnectionResetError):
            del self._busy[connection]
            return Failed(task, f"its process ended with status {self._replace(connection)}")
        if kind == "told":
            return Told(task, value)
        del self._busy[connection]
        self._idle.append(connection)
        return Finished(task, value, cpu_seconds) if kind == "finished" else Failed(task, value)

    def _replace(self, connection: Connection) -> int | None:
        """Start another process in place of one that has ended; its exit status."""
        process = self._processes.pop(connection)
        process.join()
        self._start()
        return process.exitcode

    def _start(self) -> None:
        ours, theirs = SPAWN.Pipe()
        process = SPAWN.Process(target=_serve, args=(theirs,))
        process.start()
        theirs.close()
        self._idle.append(ours)
        self._processes[ours] = process


def _serve(connection: Connection) -> None:
    """Do tasks, in a process of its own, until there are no more."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, _leave)
    parent = parent_process()
    if parent is not None:
        Thread(target=_end_with, args=(parent,), daemon=True).start()
    while True:
        try:
            function, arguments = connection.recv()
        except (EOFError, ConnectionResetError):
            return
        began = _cpu_seconds()
        try:
            value = function(*arguments, tell=lambda what: connection.send(("told", what, 0.0)))
        except (ToolError, InputError) as error:
            connection.send(("failed", str(error), 0.0))
            continue
        except OSError as error:  # a full disk, a folder that cannot be written to
            connection.send(("failed", f"{error.filename or function.__name__}: {error.strerror or error}", 0.0))
            continue
        connection.send(("finished", value, _cpu_seconds() - began))


def _leave(*_: object) -> None:
    raise SystemExit(1)  # through the context managers: simulators end, temporary folders go


def _end_with(parent: BaseProcess) -> None:
    parent.join()
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(_GRACE_SECONDS)
    os._exit(1)


def _cpu_seconds() -> float:
    """Processor time of this process and of those that it started and waited for."""
    usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)
