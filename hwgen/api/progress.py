"""What long work is at. Nothing is printed unless somebody listens: a command does, a script may (`progress`)."""

import logging
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Protocol, TextIO

__all__ = ["GOES_ON", "Listener", "Progress", "Step", "listening", "note", "progress", "remark", "steps"]

GOES_ON = "the same command goes on from there"
"""The end of a line that says what is kept of work that was interrupted."""

Step = Callable[..., None]
"""Called at each step, with the part of it that is done if it is not a whole one."""


class Listener(Protocol):
    """Who hears what work is at."""

    def note(self, line: str) -> None:
        """Work begins that may take long; an empty line: it has ended."""

    def remark(self, line: str) -> None:
        """What was found, or left out, which who asked has to know."""

    def steps(self, total: int, what: str) -> AbstractContextManager[Step]:
        """A part of the work, of ``total`` steps; yields what is called at each of them."""


@dataclass(frozen=True)
class Progress:
    """How far a part of the work is: ``done`` of ``total`` steps; parts of a step count."""

    what: str
    done: float
    total: float


class _Silent:
    """Hears nothing."""

    def note(self, line: str) -> None:
        pass

    def remark(self, line: str) -> None:
        pass

    @contextmanager
    def steps(self, total: int, what: str) -> Iterator[Step]:
        yield lambda steps=1: None


@dataclass(frozen=True)
class _Calls(_Silent):
    """Calls a function at every step."""

    function: Callable[[Progress], object]

    @contextmanager
    def steps(self, total: int, what: str) -> Iterator[Step]:
        done = 0.0

        def step(steps: float = 1) -> None:
            nonlocal done
            done += steps
            self.function(Progress(what, done, total))

        self.function(Progress(what, 0, total))
        yield step


_listener: ContextVar[Listener | None] = ContextVar("listener", default=None)
_silent = _Silent()


def _heard() -> Listener:
    return _listener.get() or _silent


class _Kernels(logging.Handler):
    """Takes what `hwgen.model.compiled` says to who listens."""

    def emit(self, record: logging.LogRecord) -> None:
        _heard().note(record.getMessage())


logging.getLogger("hwgen.kernels").addHandler(_Kernels())


def note(line: str) -> None:
    """Work begins that may take long; an empty line: it has ended."""
    _heard().note(line)


def remark(line: str) -> None:
    """What was found, or left out, which who asked has to know."""
    _heard().remark(line)


def steps(total: int, what: str) -> AbstractContextManager[Step]:
    """A part of the work, of ``total`` steps; yields what is to be called at each of them."""
    return _heard().steps(total, what)


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Within it, this listener hears what work is at."""
    before = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(before)


@contextmanager
def progress(call: Callable[[Progress], object] | None = None) -> Iterator[None]:
    """Within it, long work is told as it goes on.

    Parameters
    ----------
    call : called with a `Progress` at each step; None: a line on standard error that changes.
    """
    if call is not None:
        with listening(_Calls(call)):
            yield
        return
    stream = sys.stderr
    with listening(_Calls(lambda one: _tell(one, stream))):
        yield
    _write(stream, "\r\x1b[2K")


def _tell(one: Progress, stream: TextIO) -> None:
    _write(stream, f"\r\x1b[2K{one.what}: {int(one.done + 1e-9)} of {one.total:g}")


def _write(stream: TextIO, text: str) -> None:
    stream.write(text)
    stream.flush()
