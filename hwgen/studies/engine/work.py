"""The steps of a study at work: each one done once, wherever there are workers, and what follows from it then."""

import signal
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hwgen.api.progress import GOES_ON
from hwgen.ir.document import InputError
from hwgen.studies.engine.attempt import Notes, Order, Record, Step
from hwgen.studies.engine.farm import Farm, Place, open_farm
from hwgen.studies.engine.local import Local
from hwgen.studies.engine.progress import LOOK_SECONDS, Progress
from hwgen.tools.ledger import Ledger
from hwgen.tools.toolchain import ToolError

__all__ = ["Limits", "Work", "nothing", "results_of"]

KEEP_SECONDS, KEEP_SHARE = 5.0, 20
"""Seconds between two tables that are written: at least this, and this multiple of the time that the last took."""
Say = Callable[[str, int, int], None]


def nothing(record: Record) -> None:
    """What follows from a step that nothing follows from."""


@dataclass(frozen=True)
class Limits:
    """Limits of the attempts at one step.

    Members
    -------
    seconds : after which an attempt is given up.
    attempts : that a step may take.
    """

    seconds: float = 3600.0
    attempts: int = 3


UNLIMITED = Limits(seconds=1e7, attempts=1)
"""Limits that are as good as none: a step takes as long as it takes, once."""


class Work:
    """Steps that are wanted, and their records.

    Parameters
    ----------
    ledger : where finished steps are kept, which are not done again.
    notes : folder that workers share, for what is under way; None: those of this machine alone.
    place, limits : where steps are done, and how often a step is tried.
    perform : the function that does a step.
    tell : called with a line of progress, how many rows are settled, and how many there are.
    look : called twice a second with what is under way, and the same numbers.
    share : says how many rows are settled, and how many there are.
    keep : called now and then, and at an interruption: writes what is known; returns how many rows are there, of how
        many.
    told : makes the line of progress on a finished step.
    what : what the study is of, for the reader.

    Members
    -------
    records : of the steps so far, by key.
    tried : steps that were attempted, by kind; what was kept is not among them.
    again : how many of them were further attempts, after a failure.
    """

    def __init__(
        self,
        ledger: Path,
        place: Place,
        limits: Limits,
        *,
        perform: str,
        share: Callable[[], tuple[int, int]],
        keep: Callable[[], tuple[int, int]],
        notes: Path | None = None,
        tell: Say = lambda line, done, known: None,
        look: Say = lambda line, done, known: None,
        told: Callable[[Step, Record], str] = lambda step, record: step.title,
        what: str = "",
    ) -> None:
        self._ledger, self._notes = Ledger(ledger), notes
        self._tell, self._look = tell, look
        self._place, self._limits, self._perform = place, limits, perform
        self._share, self._keep, self._told, self._what = share, keep, told, what
        self.records: dict[str, Record] = {}
        self.tried: dict[str, int] = defaultdict(int)
        self.again = 0
        self._tries: dict[str, int] = defaultdict(int)
        self._waiting: dict[str, list[Callable[[Record], None]]] = {}
        self._titles: dict[str, str] = {}
        self._syntheses: set[str] = set()
        self._farm: Farm | Local | None = None
        self._progress = Progress(Notes(Path()), tell, look)
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
                    self._ledger.path.parent.rmdir()
                raise
            except ToolError as error:
                if self._farm is None:
                    raise
                raise ToolError(f"{error}; {self._kept_so_far()}") from None

    def _kept_so_far(self) -> str:
        """Write what is known; for the reader, how much that is."""
        there, rows = self._keep()
        return f"{there} of {rows} rows are there; {GOES_ON}"

    def want(self, step: Step, then: Callable[[Record], None] = nothing) -> None:
        """Submit a step unless its record is kept; then do what follows from it."""
        if step.kind == "synthesise":
            self._syntheses.add(step.key)
        known = self.kept(step)
        if known is not None:
            self.records[step.key] = known
            then(known)
        elif step.key in self._waiting:
            self._waiting[step.key].append(then)
        else:
            self._waiting[step.key] = [then]
            self._submit(step)

    def kept(self, step: Step) -> Record | None:
        """The record of a step, if it is known."""
        return self.records.get(step.key) or self._known.get(step.key)

    def forget(self, step: Step, why: str) -> None:
        """A kept record is not believed."""
        del self._known[step.key]
        self._ledger.tell(f"{step.title}: {why}")

    @cached_property
    def _known(self) -> dict[str, Record]:
        """What is kept; what an earlier version left is not read, and that is told."""
        lines = self._ledger.load()
        known = {key: record for key, record in lines.items() if "status" in record}
        if len(known) < len(lines):
            self._ledger.tell(f"{len(lines) - len(known)} lines of an earlier version")
        return known

    def say(self, line: str) -> None:
        """A line of progress."""
        self._progress.say(line, *self._share())

    @contextmanager
    def _interruptible(self) -> Iterator[None]:
        """Ctrl-C ends the study between two records; a second one at once.

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
            notes = self._notes or Path(self._stack.enter_context(TemporaryDirectory(prefix="hwgen-notes-")))
            self._progress = Progress(Notes(notes.resolve()), self._tell, self._look)
            order = Order(str(notes.resolve()), self._limits.seconds, self._perform)
            self._farm = self._stack.enter_context(open_farm(self._place, order, self.say))
            notes.mkdir(parents=True, exist_ok=True)
            if not local:  # told once the scheduler has answered, or the queue taken a job
                self._say_what(f"; dashboard {self._farm.dashboard}")
        self._tries[step.key] += 1
        self._titles[step.key] = step.title
        self.tried[step.kind] += 1
        self._farm.submit(step)

    def _arrived(self, step: Step, record: Record) -> None:
        for line in record.pop("damaged", ()):
            sys.stderr.write(f"{line}\n")
        failed = record["status"] == "failed"
        if failed and not record.get("final") and self._tries[step.key] < self._limits.attempts:
            self.again += 1
            self.say(f"{step.title}: {record['reason']}; once more")
            self._submit(step)
            return
        self.records[step.key] = record
        if not failed and step.keep:
            self._ledger.add(step.key, record)
        for then in self._waiting.pop(step.key):
            then(record)
        self.say(self._told(step, record))

    def _say_what(self, more: str = "") -> None:
        self.say(f"{self._what}: {self._place.told}{more}")


def results_of(
    steps: Sequence[Step],
    ledger: Path,
    jobs: int,
    *,
    perform: str,
    arrived: Callable[[dict[str, Any]], None] = lambda value: None,
) -> list[dict[str, Any]]:
    """The values of steps that do not depend on each other, in their order, by processes of this machine.

    ``arrived`` is called with each. The first step that is refused or fails ends it: `InputError`, `ToolError`.
    """
    found: dict[str, dict[str, Any]] = {}

    def settle(step: Step, record: Record) -> None:
        if record["status"] != "done":
            raise (InputError if record["status"] == "refused" else ToolError)(record["reason"])
        found[step.key] = record["value"]
        arrived(record["value"])

    def share() -> tuple[int, int]:
        return len(found), len(steps)

    def begin() -> None:
        for step in steps:
            work.want(step, partial(settle, step))

    work = Work(ledger, Place(workers=jobs), UNLIMITED, perform=perform, share=share, keep=share)
    work.run(begin)
    return [found[step.key] for step in steps]
