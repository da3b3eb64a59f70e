"""What long work is at, for those who do not watch a terminal: a line on standard error every ten seconds."""

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TextIO

from rich.console import Console

__all__ = ["Stage", "interrupted_at", "is_quiet", "now", "stage", "telling"]

SECONDS = 10.0
"""Seconds from one line to the next."""


@dataclass(eq=False)
class Stage:
    """A part of the work: of ``total`` steps ``done`` are done, parts of a step included."""

    what: str
    total: float
    done: float = 0.0

    def __str__(self) -> str:
        return f"{self.what}, {int(self.done + 1e-9)} of {self.total:g}"


@dataclass(eq=False)
class _Doing:
    """The last note, and the stages that are open, the innermost last."""

    note: str = ""
    stages: list[Stage] = field(default_factory=list)
    quiet: bool = False
    interrupted_at: str = ""

    def __str__(self) -> str:
        return "; ".join(filter(None, (self.note, *map(str, self.stages)))) or "working"


_doing = _Doing()


def now(note: str) -> None:
    """The work is at what the note says, until the next one."""
    _doing.note = note


def interrupted_at() -> str:
    """What the work was at when Ctrl-C came: the last stages that were open, or the last note."""
    return _doing.interrupted_at or str(_doing)


def is_quiet() -> bool:
    """Whether the command is to tell no progress."""
    return _doing.quiet


@contextmanager
def stage(what: str, total: float) -> Iterator[Stage]:
    """The work is at this stage."""
    one = Stage(what, total)
    _doing.stages.append(one)
    try:
        yield one
    except KeyboardInterrupt:
        _doing.interrupted_at = _doing.interrupted_at or "; ".join(map(str, _doing.stages))
        raise
    finally:
        _doing.stages.remove(one)


@contextmanager
def telling(*, quiet: bool) -> Iterator[None]:
    """Within it a line every ten seconds says what the work is at: none on a terminal, which has bars; if ``quiet``
    neither lines nor bars."""
    now("")
    _doing.quiet, _doing.interrupted_at = quiet, ""
    if quiet or sys.stderr is None or Console(stderr=True).is_terminal:
        yield
        return
    ended = threading.Event()
    teller = threading.Thread(target=_tell, args=(ended, SECONDS, sys.stderr), name="heartbeat", daemon=True)
    teller.start()
    try:
        yield
    finally:
        ended.set()
        teller.join()


def _tell(ended: threading.Event, seconds: float, stream: TextIO) -> None:
    """Write to the stream that the command began with: another one in its place is not the command's."""
    begun = time.monotonic()
    while not ended.wait(seconds):
        try:
            stream.write(f"hwgen: {time.monotonic() - begun:.0f} s: {_doing}\n")
            stream.flush()
        except (OSError, ValueError, AttributeError):  # closed, or its file gone; nobody reads it any more
            return
