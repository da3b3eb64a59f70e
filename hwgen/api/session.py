"""What every call of the API runs in: a folder for temporary files, folders that it alone writes into, Ctrl-C.

Garbage is collected rarely meanwhile."""

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from functools import wraps
from threading import current_thread, main_thread
from types import FrameType
from typing import ParamSpec, TypeVar

from hwgen.tools.garbage import collecting_rarely
from hwgen.tools.output import command
from hwgen.tools.processes import stop_all
from hwgen.tools.scratch import own_scratch, scratch

__all__ = ["call"]

P = ParamSpec("P")
R = TypeVar("R")


def call(function: Callable[P, R]) -> Callable[P, R]:
    """The function as a call of the API, which within a command, or another call, is as it was."""

    @wraps(function)
    def called(*arguments: P.args, **options: P.kwargs) -> R:
        own = nullcontext() if own_scratch() is not None else scratch()
        with _interruptible(), collecting_rarely(), own, command():
            return function(*arguments, **options)

    return called


@contextmanager
def _interruptible() -> Iterator[None]:
    """Within it Ctrl-C ends the tools that run, and `KeyboardInterrupt` is raised.

    A thread that waits for a tool would else keep the interpreter until the tool is done. Nothing is changed where
    Ctrl-C has a handler of somebody else's, and outside the main thread.
    """
    if current_thread() is not main_thread() or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return
    signal.signal(signal.SIGINT, _interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    stop_all()
    raise KeyboardInterrupt
