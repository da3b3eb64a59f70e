"""Calls in processes of their own, side by side; the processes do not import the program's main module again."""

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, as_completed, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing import parent_process
from multiprocessing.context import SpawnContext, SpawnProcess
from multiprocessing.process import BaseProcess
from types import ModuleType
from typing import Any, TypeVar

from hwgen.tools.garbage import collect_rarely
from hwgen.tools.toolchain import ToolError

__all__ = ["SPAWN", "as_they_come", "follow_the_parent", "side_by_side", "without_main"]

T = TypeVar("T")


class _Process(SpawnProcess):
    """A new Python that imports what it is sent, and nothing else.

    Python's own would run the program's file again, to find what is sent there. What is sent here is hwgen's, and a
    script that searches without ``if __name__ == "__main__"`` would start over in each process. A fork would need no
    such file, but it copies a process whose other threads may hold locks at that moment.
    """

    def start(self) -> None:
        """Start it."""
        with without_main():
            super().start()


class _Context(SpawnContext):
    """Starts such processes."""

    Process = _Process


SPAWN = _Context()
"""The context in place of ``multiprocessing.get_context("spawn")``."""


class _Hidden:
    """The main module while it is hidden, and how many `without_main` are under way."""

    lock = threading.Lock()
    number = 0
    main: ModuleType


@contextmanager
def without_main() -> Iterator[None]:
    """Within it the program's main module is one without a file, of which nothing is told to a new process."""
    with _Hidden.lock:
        if not _Hidden.number:
            _Hidden.main, sys.modules["__main__"] = sys.modules["__main__"], ModuleType("__main__")
        _Hidden.number += 1
    try:
        yield
    finally:
        with _Hidden.lock:
            _Hidden.number -= 1
            if not _Hidden.number:
                sys.modules["__main__"] = _Hidden.main


def side_by_side(
    function: Callable[..., T], tasks: Sequence[tuple[Any, ...]], workers: int
) -> Iterator[tuple[int, T]]:
    """What a function of a module makes of each of some arguments, with the number of the task, as it is finished.

    The first tasks are begun first. `ToolError` if a process is killed. An interrupt, or who takes no further result,
    ends what is not finished.
    """
    pool = ProcessPoolExecutor(workers, mp_context=SPAWN, initializer=follow_the_parent)
    done = False
    try:
        waiting = {pool.submit(function, *arguments): number for number, arguments in enumerate(tasks)}
        for future in as_completed(waiting):
            yield waiting[future], future.result()
        done = True
    except BrokenProcessPool:
        raise ToolError(
            f"one of {workers} processes was killed, perhaps for want of memory: fewer side by side (-j) need less"
        ) from None
    finally:
        _end(pool, done=done)


def as_they_come(
    function: Callable[..., T],
    draw: Callable[[], tuple[Any, ...] | None],
    workers: int,
    seconds: Callable[[], float | None] = lambda: None,
) -> Iterator[tuple[tuple[Any, ...], T]]:
    """What a function of a module makes of arguments that are drawn when a process is free, with these arguments.

    What is drawn may depend on the answers so far. It ends when nothing is drawn and nothing is under way. One worker
    is this process. Errors are those of `side_by_side`.

    ``seconds`` : says before each wait how long it may be, after which what is under way is ended; None: as long as
    it takes.
    """
    if workers == 1:
        while (arguments := draw()) is not None:
            yield arguments, function(*arguments)
        return
    pool = ProcessPoolExecutor(workers, mp_context=SPAWN, initializer=follow_the_parent)
    running: dict[Future[T], tuple[Any, ...]] = {}
    done = False
    try:
        while True:
            while len(running) < workers and (drawn := draw()) is not None:
                running[pool.submit(function, *drawn)] = drawn
            if not running:
                break
            ended = wait(running, seconds(), return_when=FIRST_COMPLETED).done
            if not ended:
                return
            for future in ended:
                yield running.pop(future), future.result()
        done = True
    except BrokenProcessPool:
        raise ToolError(f"one of {workers} processes was killed, perhaps for want of memory") from None
    finally:
        _end(pool, done=done)


def _end(pool: ProcessPoolExecutor, *, done: bool) -> None:
    """End the processes of a pool: when they are done, or now."""
    processes = [] if done else list((pool._processes or {}).values())  # no name for it before Python 3.14
    pool.shutdown(wait=done, cancel_futures=True)
    for process in processes:
        process.kill()


def follow_the_parent() -> None:
    """Prepare a process of a pool: leave interrupts to the parent, collect garbage rarely, and do not
    outlive the parent, however it ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    collect_rarely()
    parent = parent_process()
    if parent is not None:
        threading.Thread(target=_end_with, args=(parent,), daemon=True).start()


def _end_with(parent: BaseProcess) -> None:
    parent.join()
    os._exit(1)
