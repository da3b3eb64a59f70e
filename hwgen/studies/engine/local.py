"""Steps in processes of this machine: a thread for each that is under way, which waits for its process."""

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from heapq import heappop, heappush
from queue import Empty, SimpleQueue

from hwgen.studies.engine.attempt import Order, Record, Starter, Step, attempt

__all__ = ["Local"]

GRACE_SECONDS = 5.0
LOOK_SECONDS = 0.05


class Local:
    """The local pool: as many steps at a time as there are workers; the same members as
    `hwgen.studies.engine.farm.Farm`.

    A context manager: at its end, however it comes, the processes end, and so does what they have started.
    They end with this process too, even if it is killed.
    """

    dashboard = ""

    def __init__(self, order: Order, workers: int) -> None:
        self._order = order
        self._arrived: SimpleQueue[tuple[Step, Record] | None] = SimpleQueue()
        self._news = threading.Condition()
        self._waiting: list[tuple[float, int, Step]] = []
        self._number = self._open = 0
        self._closed = False
        self._starters = [Starter(order.perform) for _ in range(workers)]
        self._threads = [threading.Thread(target=self._serve, args=(one,), daemon=True) for one in self._starters]

    def __enter__(self) -> "Local":
        with _interrupts_masked():
            for thread in self._threads:
                thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        with self._news:
            self._closed = True
            self._news.notify_all()
        began = time.monotonic()
        blow = signal.SIGTERM
        for starter in self._starters:
            starter.strike(blow)
        while any(thread.is_alive() for thread in self._threads):
            if time.monotonic() > began + GRACE_SECONDS:
                for starter in self._starters:
                    starter.strike(signal.SIGKILL)
            time.sleep(LOOK_SECONDS)

    def submit(self, step: Step) -> None:
        """Submit a step; of those that wait the most urgent one comes first."""
        with self._news:
            self._number += 1
            self._open += 1
            heappush(self._waiting, (-step.urgency, self._number, step))
            self._news.notify()

    def records(self, patience: float) -> Iterator[tuple[Step, Record] | None]:
        """Each step that was attempted, until none is left; steps may be submitted meanwhile.

        None after ``patience`` seconds without a result, and after `wake`.
        """
        while self._open:
            try:
                arrived = self._arrived.get(timeout=patience)
            except Empty:
                arrived = None
            self._open -= arrived is not None
            yield arrived

    def wake(self) -> None:
        """`records` goes on at once; may be called by a signal handler."""
        self._arrived.put(None)

    def _serve(self, starter: Starter) -> None:
        try:
            while (step := self._next()) is not None:
                try:
                    record = attempt(step, self._order, starter)
                except Exception as error:
                    record = {"status": "failed", "reason": f"{type(error).__name__}: {error}".splitlines()[0]}
                self._arrived.put((step, record))
        finally:
            starter.close()

    def _next(self) -> Step | None:
        with self._news:
            while not (self._waiting or self._closed):
                self._news.wait()
            return None if self._closed else heappop(self._waiting)[2]


@contextmanager
def _interrupts_masked() -> Iterator[None]:
    """Threads and processes that begin in it never see Ctrl-C, which reaches all processes of a terminal."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
