"""Ctrl-C while modules are being imported."""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from threading import current_thread, main_thread
from types import FrameType

__all__ = ["INTERRUPTED", "importing"]

INTERRUPTED = 130
"""Exit status after Ctrl-C."""


@contextmanager
def importing() -> Iterator[None]:
    """Within it, Ctrl-C ends the process at once and without a message: there is nothing yet to be cleaned up.

    An exception would not do: Python's import system and extension modules print it, or turn it into another one.
    Where Ctrl-C is ignored or has a handler already, and outside the main thread, nothing is changed.
    """
    if signal.getsignal(signal.SIGINT) is not signal.default_int_handler or current_thread() is not main_thread():
        yield
        return
    signal.signal(signal.SIGINT, _leave)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _leave(_number: int, _frame: FrameType | None) -> None:
    os._exit(INTERRUPTED)
