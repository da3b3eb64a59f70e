"""A simulator that is built by a thread, while what it will run is still searched."""

from collections.abc import Callable
from concurrent.futures import CancelledError
from contextlib import suppress
from threading import Thread
from types import TracebackType
from typing import Self

from hwgen.ir.document import InputError
from hwgen.ir.hardware import Hardware
from hwgen.tools.processes import stop_all
from hwgen.tools.toolchain import ToolError

__all__ = ["TIMES_LEAST", "Ahead"]

POLL_SECONDS = 0.05
TIMES_LEAST = (1.0, 1.5)
"""Multiples of the cycles that a run takes at least. Where they ask for different builds, none is made ahead."""


class Ahead:
    """A context in which a build goes on that will be wanted.

    Who wants it finds it in the cache, or waits until it is there. What fails here fails there again, and is told
    there. Who leaves the context by an error stops the build.
    """

    def __init__(self, *, wanted: bool = True) -> None:
        """``wanted`` : whether anything is built ahead."""
        self.wanted = wanted
        self._thread: Thread | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.give_up()
        while self._thread is not None and self._thread.is_alive():
            if kind is not None:
                stop_all(self._thread.ident)
            self._thread.join(POLL_SECONDS)

    def may_build(self, hardware: Hardware) -> bool:
        """Whether anything is built ahead, and hardware says all of its HWC, whatever the schedules will be."""
        return self.wanted and None not in (hardware.lanes, hardware.buffers, hardware.order)

    @property
    def begun(self) -> bool:
        """Whether there is a build, under way or not any more."""
        return self._thread is not None

    def give_up(self) -> None:
        """Wait for nothing any more; called when the context is left."""

    def start(self, build: Callable[[], None]) -> None:
        """Build in a thread."""

        def quietly() -> None:
            with suppress(InputError, ToolError, OSError, CancelledError):
                build()

        self._thread = Thread(target=quietly)
        self._thread.start()
