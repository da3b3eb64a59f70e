"""Ctrl-C, and what means the same: SIGTERM, and SIGHUP of a terminal that is closed."""

import os
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Timer, current_thread, main_thread
from types import FrameType
from typing import Any

__all__ = ["INTERRUPTED", "importing", "interruptible"]

INTERRUPTED = 130
"""Exit status after Ctrl-C."""

PATIENCE_SECONDS = 2.0
"""The time after an interrupt in which a further one changes nothing; a later one ends the process at once."""

LOST_SECONDS = 0.01
"""The time after which an interrupt that was lost comes again."""


@contextmanager
def importing() -> Iterator[None]:
    """Within it, Ctrl-C ends the process at once and without a message: nothing is at work yet.

    An exception would not do: Python's import system and extension modules print it, or turn it into another one.
    Where Ctrl-C is ignored or has another handler already, and outside the main thread, nothing is changed.
    """
    before = signal.getsignal(signal.SIGINT)
    ours = before is signal.default_int_handler or isinstance(getattr(before, "__self__", None), _Interrupts)
    if not ours or current_thread() is not main_thread():
        yield
        return
    signal.signal(signal.SIGINT, _leave)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def interruptible() -> Iterator[None]:
    """Within it, the tools that run end at Ctrl-C, and `KeyboardInterrupt` is raised; SIGTERM and SIGHUP do the same.

    A thread that waits for a tool would else keep the program until the tool is done. Where Ctrl-C is ignored, as in
    the background of a script, it stays ignored, and so does SIGHUP, as under ``nohup``. Outside the main thread
    nothing is changed.
    """
    if current_thread() is not main_thread():
        yield
        return
    interrupts = _Interrupts()
    handlers: dict[signal.Signals, Any] = {signal.SIGTERM: interrupts.terminate}
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        handlers[signal.SIGINT] = interrupts.interrupt
    if signal.getsignal(signal.SIGHUP) is signal.SIG_DFL:
        handlers[signal.SIGHUP] = interrupts.terminate
    before = {number: signal.signal(number, handler) for number, handler in handlers.items()}
    hook, sys.unraisablehook = sys.unraisablehook, interrupts.lost
    try:
        yield
    finally:
        sys.unraisablehook = hook
        for number, handler in before.items():
            signal.signal(number, handler)


class _Interrupts:
    """The handlers of one run of the program, and when the first interrupt came."""

    def __init__(self) -> None:
        self._first: float | None = None
        self._hook = sys.unraisablehook

    def lost(self, unraisable: Any) -> None:
        """What was raised where it counts for nothing, in a destructor: an interrupt comes once more."""
        if not isinstance(unraisable.exc_value, KeyboardInterrupt):
            self._hook(unraisable)
            return
        self._first = None
        Timer(LOST_SECONDS, os.kill, (os.getpid(), signal.SIGTERM)).start()

    def interrupt(self, _number: int, _frame: FrameType | None) -> None:
        """Ctrl-C."""
        _call("processes", "stop_all")
        if self._first is None:
            self._first = time.monotonic()
            raise KeyboardInterrupt
        if time.monotonic() - self._first > PATIENCE_SECONDS:
            _call("scratch", "remove_own_scratch")
            os._exit(INTERRUPTED)

    def terminate(self, number: int, frame: FrameType | None) -> None:
        """Do as Ctrl-C does, whatever that does now; also where a shell had it ignored."""
        handler = signal.getsignal(signal.SIGINT)
        if callable(handler):
            handler(signal.SIGINT, frame)
        else:
            self.interrupt(number, frame)


def _leave(_number: int, _frame: FrameType | None) -> None:
    _call("scratch", "remove_own_scratch")
    os._exit(INTERRUPTED)


def _call(module: str, name: str) -> None:
    """Call a function of a module of `hwgen.tools`; where it has not been imported there is nothing to be done."""
    function = getattr(sys.modules.get(f"hwgen.tools.{module}"), name, None)
    if function is not None:
        function()
