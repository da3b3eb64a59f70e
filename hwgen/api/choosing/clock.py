"""The time that a choice has: what drafts, plans and runs take, and whether there is as much left."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic

from hwgen.api.progress import steps
from hwgen.tools.processes import stop_all

__all__ = ["Clock"]

RUN_SECONDS, RUN_CYCLES_A_SECOND = 60.0, 40_000.0
"""About what a run in the RTL takes before there is one: to build the simulation, and cycles that it simulates."""
WRITING_SECONDS, WRITING = 10.0, 0.1
"""What is kept for the files and their pictures at the end, and the part of the time that this is at most."""


class Clock:
    """The time of a choice: what plans and runs take, as those before say, and whether there is as much left."""

    def __init__(self, minutes: float) -> None:
        self.seconds = 60 * minutes
        self._end = monotonic() + self.seconds - min(WRITING_SECONDS, WRITING * self.seconds)
        self._begun: dict[str, tuple[float, bool]] = {}
        self._plans: list[float] = []
        self._drafts: list[float] = []
        self._slower = 1.0
        self._told = 0.0
        self._step: Callable[..., None] = lambda _: None

    @contextmanager
    def told(self) -> Iterator[None]:
        """Within it the seconds that have passed are told, of those that there are."""
        with steps(max(1, round(self.seconds)), "choosing, seconds") as self._step:
            self._tell()
            yield

    def _tell(self) -> None:
        passed = min(self.seconds, self.seconds - self.left)
        self._step(passed - self._told)
        self._told = passed

    @property
    def left(self) -> float:
        """Seconds."""
        return self._end - monotonic()

    def has(self, seconds: float) -> bool:
        """Whether at least this many seconds are left."""
        self._tell()
        return self.left >= max(seconds, 0.0) and self.left > 0

    @property
    def under_way(self) -> int:
        """Drafts and plans that were begun and have not ended."""
        return len(self._begun)

    def begins(self, name: str, *, draft: bool) -> None:
        """A draft, or a plan, is begun."""
        self._begun[name] = monotonic(), draft

    def ended(self, name: str) -> None:
        """It has ended."""
        begun, draft = self._begun.pop(name)
        (self._drafts if draft else self._plans).append(monotonic() - begun)

    def dropped(self, name: str) -> None:
        """It has not ended, and will not."""
        self._begun.pop(name)

    @property
    def part_of_plans(self) -> float:
        """The part of the time that plans took, of that of drafts and plans."""
        now = monotonic()
        drafts, plans = (
            sum(ended) + sum(now - begun for begun, draft in self._begun.values() if draft == is_draft)
            for ended, is_draft in ((self._drafts, True), (self._plans, False))
        )
        return plans / (drafts + plans) if plans else 0.0

    @property
    def of_a_draft(self) -> float:
        """Seconds of a draft: what the longest of the last few took."""
        return max(self._drafts[-4:], default=0.0)

    @property
    def of_a_quick_draft(self) -> float:
        """Seconds of the shortest draft: the first one loads what the others have."""
        return min(self._drafts, default=0.0)

    @property
    def of_a_plan(self) -> float:
        """Seconds of a plan: what the longest of the last few took."""
        return max(self._plans[-4:], default=0.0)

    def of_a_run(self, cycles: int) -> float:
        """Seconds of a run that takes this number of cycles."""
        return self._slower * (RUN_SECONDS + cycles / RUN_CYCLES_A_SECOND)

    @contextmanager
    def running(self, cycles: int) -> Iterator[threading.Event]:
        """A run, whose tools are ended when the time is over: the event is set then."""
        begun, over = monotonic(), threading.Event()

        def end() -> None:
            over.set()
            stop_all()

        timer = threading.Timer(self.left, end)
        timer.daemon = True
        timer.start()
        try:
            yield over
            self._slower *= (monotonic() - begun) / self.of_a_run(cycles)
        finally:
            timer.cancel()
            self._tell()
