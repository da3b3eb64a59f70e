"""Ctrl-C, and what means the same: SIGTERM, and SIGHUP of a terminal that is closed."""

import os
import signal
import sys
import time
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from threading import Lock, Thread, Timer, current_thread, main_thread
from types import FrameType
from typing import Any

__all__ = ["INTERRUPTED", "importing", "interruptible"]

INTERRUPTED = 130
"""Exit status after Ctrl-C."""

PATIENCE_SECONDS = 2.0
"""The time after an interrupt in which a further one changes nothing; a later one ends the process at once."""

LOST_SECONDS = 0.01
"""The time after which an interrupt that was lost comes again."""

UNHEARD_SECONDS = 0.1
"""The time after which an interrupt that the main thread has not heard of comes again."""


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
    wakes = _Wakes(interrupts, [int(number) for number in handlers])
    try:
        yield
    finally:
        wakes.end()
        sys.unraisablehook = hook
        for number, handler in before.items():
            signal.signal(number, handler)


class _Interrupts:
    """The handlers of one run of the program, and when the first interrupt came."""

    def __init__(self) -> None:
        self._first: float | None = None
        self._hook = sys.unraisablehook
        self.heard = False

    def lost(self, unraisable: Any) -> None:
        """What was raised where it counts for nothing, in a destructor: an interrupt comes once more."""
        if not isinstance(unraisable.exc_value, KeyboardInterrupt):
            self._hook(unraisable)
            return
        self._first = None
        Timer(LOST_SECONDS, os.kill, (os.getpid(), signal.SIGTERM)).start()

    def interrupt(self, _number: int, _frame: FrameType | None) -> None:
        """Ctrl-C."""
        self.heard = True
        _call("processes", "stop_all")
        if self._first is None:
            self._first = time.monotonic()
            raise KeyboardInterrupt
        if time.monotonic() - self._first > PATIENCE_SECONDS:
            _call("scratch", "remove_own_scratch")
            os._exit(INTERRUPTED)

    def terminate(self, number: int, frame: FrameType | None) -> None:
        """Do as Ctrl-C does, whatever that does now; also where a shell had it ignored."""
        self.heard = True
        handler = signal.getsignal(signal.SIGINT)
        if callable(handler):
            handler(signal.SIGINT, frame)
        else:
            self.interrupt(number, frame)


class _Wakes:
    """Sends the first interrupt to the main thread again until that has heard of it.

    Python runs handlers in the main thread, between two instructions. An interrupt that comes after the last of these
    and before the main thread sleeps, waiting for another thread, does not wake it.
    """

    def __init__(self, interrupts: _Interrupts, numbers: Collection[int]) -> None:
        self._interrupts, self._numbers = interrupts, numbers
        self._lock, self._ended = Lock(), False
        self._read, self._write = os.pipe()
        os.set_blocking(self._write, False)
        self._before = signal.set_wakeup_fd(self._write, warn_on_full_buffer=False)
        self._process = os.getpid()
        self._thread = Thread(target=self._watch, daemon=True)
        self._thread.start()

    def end(self) -> None:
        """Send nothing any more."""
        with self._lock:
            self._ended = True
        if os.getpid() != self._process:
            return  # a copy of the process, which has no such thread
        signal.set_wakeup_fd(self._before)
        os.close(self._write)
        self._thread.join()
        os.close(self._read)

    def _watch(self) -> None:
        """Python writes the number of each signal as soon as it comes."""
        while came := os.read(self._read, 64):
            for number in {*came} & {*self._numbers}:
                while self._sent_again(number):
                    pass

    def _sent_again(self, number: int) -> bool:
        time.sleep(UNHEARD_SECONDS)
        with self._lock:
            if self._ended or self._interrupts.heard:
                return False
            signal.pthread_kill(main_thread().ident or 0, number)
            return True


def _forget_wakes() -> None:
    """A copy of the process tells the original nothing of its own signals."""
    with suppress(ValueError):
        signal.set_wakeup_fd(-1)


os.register_at_fork(after_in_child=_forget_wakes)


def _leave(_number: int, _frame: FrameType | None) -> None:
    _call("scratch", "remove_own_scratch")
    os._exit(INTERRUPTED)


def _call(module: str, name: str) -> None:
    """Call a function of a module of `hwgen.tools`; where it has not been imported there is nothing to be done."""
    function = getattr(sys.modules.get(f"hwgen.tools.{module}"), name, None)
    if function is not None:
        function()
