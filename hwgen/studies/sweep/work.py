"""The steps of a sweep at work: each one done once, wherever there are workers, and what follows from it then."""

import signal
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hwgen.ir.document import InputError
from hwgen.studies.sweep.attempt import PERFORM, Order
from hwgen.studies.sweep.farm import Farm, Place, open_farm
from hwgen.studies.sweep.progress import LOOK_SECONDS, Progress, told
from hwgen.studies.sweep.steps import Step
from hwgen.studies.sweep.store import Store
from hwgen.tools.toolchain import ToolError

__all__ = ["Limits", "Record", "Work", "nothing"]

KEEP_SECONDS, KEEP_SHARE = 5.0, 20
"""Seconds between two tables that are written: at least this, and this multiple of the time that the last took."""
Record = dict[str, Any]
Say = Callable[[str, int, int], None]


def nothing(record: Record) -> None:
    """What follows from a step that nothing follows from."""


@dataclass(frozen=True)
class Limits:
    """Of the attempts at one step.

    Members
    -------
    seconds : after which an attempt is given up.
    attempts : that a step may take.
    """

    seconds: float = 3600.0
    attempts: int = 3


class Work:
    """Steps that are wanted, and their records.

    Parameters
    ----------
    folder : finished steps are kept in its folder ``store``, and are not done again.
    place, limits : where steps are done, and how often a step is tried.
    perform : the function that does a step.
    tell : called with a line of progress, how many rows are settled, and how many there are.
    look : called twice a second with what is under way, and the same numbers.
    share : says how many rows are settled, and how many there are.
    keep : called now and then, and at an interruption: writes what is known; returns how many rows are there, of how
        many.
    what : what the sweep is of, for the reader.

    Members
    -------
    records : of the steps so far, by key.
    tried : steps that were attempted, by kind; what was kept is not among them.
    again : how many of them were further attempts, after a failure.
    """

    def __init__(
        self,
        folder: Path,
        place: Place,
        limits: Limits,
        *,
        perform: str = PERFORM,
        tell: Say,
        look: Say,
        share: Callable[[], tuple[int, int]],
        keep: Callable[[], tuple[int, int]],
        what: str,
    ) -> None:
        self._store = Store((folder / "store").resolve())
        self._progress = Progress(self._store, tell, look)
        self._place, self._limits, self._perform = place, limits, perform
        self._share, self._keep, self._what = share, keep, what
        self.records: dict[str, Record] = {}
        self.tried: dict[str, int] = defaultdict(int)
        self.again = 0
        self._tries: dict[str, int] = defaultdict(int)
        self._waiting: dict[str, list[Callable[[Record], None]]] = {}
        self._titles: dict[str, str] = {}
        self._syntheses: set[str] = set()
        self._farm: Farm | None = None
        self._interrupted = False
        self._kept, self._keep_seconds = time.monotonic(), 0.0

    def run(self, begin: Callable[[], None]) -> None:
        """Call ``begin``, which wants the first steps, and do all of them that are not done yet.

        An interruption goes on to the caller once what is known is kept and the workers have ended.
        """
        with self._interruptible(), ExitStack() as self._stack:
            try:
                begin()
                self._do()
            except KeyboardInterrupt:
                self.say(f"interrupted: {self._kept_so_far()}")
                raise
            except InputError:
                with suppress(OSError):  # nothing is left of what could not begin
                    self._store.folder.rmdir()
                raise
            except ToolError as error:
                if self._farm is None:
                    raise
                raise ToolError(f"{error}; {self._kept_so_far()}") from None

    def _kept_so_far(self) -> str:
        """Write what is known; for the reader, how much that is."""
        there, rows = self._keep()
        return f"{there} of {rows} rows are there; the same command goes on from there"

    def want(self, step: Step, then: Callable[[Record], None] = nothing) -> None:
        """Submit a step unless its record is kept; then do what follows from it."""
        if step.kind == "synthesise":
            self._syntheses.add(step.key)
        known = self.records.get(step.key) or self._store.get(step.key)
        if known is not None:
            self.records[step.key] = known
            then(known)
        elif step.key in self._waiting:
            self._waiting[step.key].append(then)
        else:
            self._waiting[step.key] = [then]
            file = self._store.file(step.key)
            if file.exists():
                self.say(f"{step.title}: {file} is not as it was written: made anew")
            self._submit(step)

    def has(self, step: Step) -> bool:
        """Whether a step's record is kept."""
        return self._store.get(step.key) is not None

    def say(self, line: str) -> None:
        """A line of progress."""
        self._progress.say(line, *self._share())

    @contextmanager
    def _interruptible(self) -> Iterator[None]:
        """Ctrl-C ends the sweep between two records; a second one at once.

        Raised wherever the program happens to be, it would at times be lost: in a callback, whose errors count for
        nothing.
        """
        if threading.current_thread() is not threading.main_thread():
            yield
            return

        def notice(*_: object) -> None:
            signal.signal(signal.SIGINT, signal.default_int_handler)
            self._interrupted = True
            if self._farm is not None:
                self._farm.wake()

        before = signal.signal(signal.SIGINT, notice)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, before)

    def _do(self) -> None:
        if self._farm is None:
            return
        news = False
        for arrived in self._farm.records(LOOK_SECONDS):
            if arrived is not None:
                self._arrived(*arrived)
                news = True
            titles = {key: self._titles[key] for key in self._waiting}
            self._progress.look(titles, self._share, self._synthesised())
            if self._interrupted:
                raise KeyboardInterrupt
            if news and time.monotonic() - self._kept > max(KEEP_SECONDS, KEEP_SHARE * self._keep_seconds):
                began = time.monotonic()
                self._keep()
                self._kept = time.monotonic()
                self._keep_seconds = self._kept - began
                news = False

    def _synthesised(self) -> str:
        """How many designs are synthesised, of those that are wanted: each once, however many rows have it."""
        done = sum(key in self.records for key in self._syntheses)
        return f"{done} of {len(self._syntheses)} designs synthesised" if self._syntheses else ""

    def _submit(self, step: Step) -> None:
        if self._farm is None:
            local = self._place.kind == "local"
            if local:
                self._say_what()
            order = Order(str(self._store.folder), self._limits.seconds, self._perform)
            self._farm = self._stack.enter_context(open_farm(self._place, order, self.say))
            self._store.folder.mkdir(parents=True, exist_ok=True)
            if not local:  # told once the scheduler has answered, or the queue taken a job
                self._say_what(f"; dashboard {self._farm.dashboard}")
        self._tries[step.key] += 1
        self._titles[step.key] = step.title
        self.tried[step.kind] += 1
        self._farm.submit(step)

    def _arrived(self, step: Step, record: Record) -> None:
        failed = record["status"] == "failed"
        if failed and not record.get("final") and self._tries[step.key] < self._limits.attempts:
            self.again += 1
            self.say(f"{step.title}: {record['reason']}; once more")
            self._submit(step)
            return
        self.records[step.key] = record
        if not failed and self._store.get(step.key) is None:
            self._store.put(step.key, record)  # the worker does not share our file system
        for then in self._waiting.pop(step.key):
            then(record)
        self.say(told(step, record))

    def _say_what(self, more: str = "") -> None:
        self.say(f"{self._what}: {self._place.told}{more}")
