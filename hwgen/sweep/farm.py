"""Where steps are done: processes of this machine, a running Dask scheduler, or jobs of SLURM or LSF."""

import logging
import signal
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from multiprocessing import resource_tracker
from pathlib import Path
from queue import Empty, SimpleQueue
from tempfile import TemporaryDirectory
from typing import Any, Literal

from hwgen.ir.document import InputError
from hwgen.sweep.attempt import Order, attempt, environment
from hwgen.sweep.steps import Step
from hwgen.tools.toolchain import ToolError

__all__ = ["Farm", "Place", "open_farm"]

MISSING = "the sweep runs on Dask, which is missing (in the checkout: pip install '.[sweep]')"
ANSWER_SECONDS = 10.0


@dataclass(frozen=True)
class Place:
    """Where a sweep's steps are done.

    Members
    -------
    kind : ``local`` processes; a running ``scheduler``; jobs of ``slurm`` or ``lsf``, one worker each.
    workers : processes or jobs.
    address : of the running scheduler.
    queue, walltime, memory : of the jobs; walltime as the queueing system writes it.
    logs : folder for the jobs' logs.
    """

    kind: Literal["local", "scheduler", "slurm", "lsf"] = "local"
    workers: int = 1
    address: str = ""
    queue: str | None = None
    walltime: str = "12:00"
    memory: str = "4GiB"
    logs: Path | None = None

    @property
    def told(self) -> str:
        """For the reader."""
        match self.kind:
            case "local":
                return f"starting {self.workers} worker{'s' if self.workers > 1 else ''}"
            case "scheduler":
                return f"on the workers of {self.address}"
        return f"asking {self.kind.upper()} for {self.workers} job{'s' if self.workers > 1 else ''}"


class Farm:
    """Workers that take steps; yield their results in the order in which they arrive."""

    def __init__(self, client: Any, order: Order) -> None:
        self._client, self._order = client, order
        self._arrived: SimpleQueue[Any] = SimpleQueue()
        self._under_way: dict[Any, Step] = {}
        self._number = 0

    def submit(self, step: Step) -> None:
        """Submit a step."""
        self._number += 1
        future = self._client.submit(
            attempt,
            step,
            self._order,
            key=f"{step.kind}-{step.key}-{self._number}",
            pure=False,
            priority=step.urgency,
        )
        self._under_way[future] = step
        future.add_done_callback(self._arrived.put)

    def records(self, patience: float) -> Iterator[tuple[Step, dict[str, Any]] | None]:
        """Each step that was attempted, until none is left; steps may be submitted meanwhile.

        None after ``patience`` seconds without a result, and after `wake`.
        """
        while self._under_way:
            try:
                future = self._arrived.get(timeout=patience)
            except Empty:
                future = None
            if future is None:
                yield None
                continue
            step = self._under_way.pop(future)
            yield step, self._record(future)
            future.release()

    def wake(self) -> None:
        """`records` goes on at once; may be called by a signal handler."""
        self._arrived.put(None)

    @staticmethod
    def _record(future: Any) -> dict[str, Any]:
        if future.status == "finished":
            record: dict[str, Any] = future.result()
            return record
        if future.status == "cancelled":
            raise ToolError("the scheduler is gone; what is finished is kept, the same command goes on from there")
        error = future.exception()
        what = "its worker died" if type(error).__name__ == "KilledWorker" else f"{type(error).__name__}: {error}"
        return {"status": "failed", "reason": what}


@contextmanager
def open_farm(place: Place, order: Order) -> Iterator[Farm]:
    """Workers for as long as the context lasts; `InputError` if the scheduler does not answer."""
    try:
        import dask
        import distributed
    except ImportError:
        raise ToolError(MISSING) from None
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    settings = {
        # A worker that dies costs an attempt; the sweep counts it and tries again.
        "distributed.scheduler.allowed-failures": 0,
        "distributed.scheduler.work-stealing": False,
        "distributed.scheduler.worker-saturation": 1.0,
        "distributed.worker.daemon": False,
        "distributed.comm.timeouts.connect": f"{ANSWER_SECONDS:g}s",
        "distributed.admin.tick.limit": "1h",
        "logging": {"distributed": "critical"},
    }
    with ExitStack() as stack:
        stack.enter_context(dask.config.set(settings))
        folder = stack.enter_context(TemporaryDirectory(prefix="hwgen-dask-", ignore_cleanup_errors=True))
        if place.kind == "scheduler":
            target: Any = place.address
        else:
            target = stack.enter_context(_cluster(distributed, place, folder))
        try:
            client = stack.enter_context(distributed.Client(target, timeout=ANSWER_SECONDS, set_as_default=False))
        except (OSError, TimeoutError, ValueError) as error:
            reason = str(error).partition("\n")[0] or type(error).__name__
            raise InputError(f"--scheduler: {place.address}: no Dask scheduler answers ({reason})") from None
        yield Farm(client, order)


def _cluster(distributed: Any, place: Place, folder: str) -> Any:
    if place.kind == "local":
        with _interrupts_wait():
            return distributed.LocalCluster(
                n_workers=place.workers,
                threads_per_worker=1,
                processes=True,
                memory_limit=0,
                dashboard_address="127.0.0.1:0",
                local_directory=folder,
                silence_logs=logging.CRITICAL,
            )
    try:
        import dask_jobqueue
    except ImportError:
        raise ToolError(MISSING) from None
    variables = environment()
    options: dict[str, Any] = {
        "cores": 1,
        "processes": 1,
        "memory": place.memory,
        "queue": place.queue,
        "walltime": place.walltime,
        "log_directory": None if place.logs is None else str(place.logs),
        "local_directory": folder,
        "job_script_prologue": [f"export PYTHONPATH='{variables['PYTHONPATH']}'"],
        "scheduler_options": {"dashboard_address": ":0"},
        "silence_logs": logging.CRITICAL,
    }
    kinds = {"slurm": dask_jobqueue.SLURMCluster, "lsf": dask_jobqueue.LSFCluster}
    cluster = kinds[place.kind](**options)
    cluster.scale(jobs=place.workers)
    return cluster


@contextmanager
def _interrupts_wait() -> Iterator[None]:
    """Ctrl-C is noticed at the end of the context; threads and processes that begin in it never see one.

    It reaches all processes of a terminal, but it is the sweep that ends its workers: nothing is to wait for one that
    was gone before it had begun.
    """
    resource_tracker.ensure_running()  # which clears the mask of the thread that is the first to need it
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
