"""A step, and one attempt at it in a process of its own: it may take too long or crash, and only the step suffers.

`attempt` runs in a worker of the farm and starts this module as a program, whose copies do the steps and leave their
answers in files.
"""

import contextlib
import ctypes
import gc
import importlib
import json
import os
import pickle
import resource
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import hwgen
from hwgen.ir.document import InputError, json_text
from hwgen.tools.toolchain import ToolError

__all__ = ["Notes", "Order", "Record", "Starter", "Step", "Tell", "attempt", "environment"]


Tell = Callable[[str], None]
Record = dict[str, Any]
"""The outcome of a step: ``status`` done, refused or failed; a ``value`` in plain data, or a ``reason``."""


@dataclass(frozen=True)
class Step:
    """One step.

    Members
    -------
    kind : what.
    key : names everything that the result depends on.
    title : for the reader.
    arguments : of the function that does it; they can be pickled.
    urgency : among steps that wait the one with the largest comes first.
    keep : whether its record goes into the ledger; not of what is quickly found again in the cache.
    """

    kind: str
    key: str
    title: str
    arguments: tuple[Any, ...]
    urgency: float = 0.0
    keep: bool = True


# --- notes on what is under way ---


class Notes:
    """A folder of notes that processes may use at the same time; they are lost without harm."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def begin(self, key: str, stage: str = "") -> None:
        """Note that a step is under way, and how far it is."""
        try:
            part = self.folder / f"{key}.{os.getpid()}"
            part.write_text(f"{time.time()} {stage}", encoding="utf-8")
            part.replace(self.folder / key)
        except OSError:
            pass

    def end(self, key: str) -> None:
        """Note that a step is not under way any more."""
        (self.folder / key).unlink(missing_ok=True)

    def under_way(self, key: str) -> tuple[float, str] | None:
        """Seconds for which a step is at its stage, and that stage; None if it is not under way."""
        try:
            since, _, stage = (self.folder / key).read_text(encoding="utf-8").partition(" ")
            return max(0.0, time.time() - float(since)), stage
        except (OSError, ValueError):
            return None


# --- attempts ---

PR_SET_PDEATHSIG = 1  # Linux: a signal for this process when the one that started it ends
GRACE_SECONDS = 5.0
START_SECONDS = 300.0


@dataclass(frozen=True)
class Order:
    """Settings of a worker besides the step.

    Members
    -------
    notes : folder of notes on what is under way; a worker that has no such folder writes none.
    seconds : after which an attempt is given up.
    perform : function that does a step, as ``module:name``; it is called with the step, and a function that it calls
        with the name of each stage.
    """

    notes: str
    seconds: float
    perform: str


def attempt(step: Step, order: Order, starter: "Starter | None" = None) -> Record:
    """Do a step.

    The record's ``status`` is ``done``, with a ``value``; ``refused``, if it cannot be done however often one tries,
    or ``failed``, with a ``reason``; ``final`` if it would fail again at once. ``starter`` : None: that of this
    thread.
    """
    notes = Notes(Path(order.notes))
    notes.begin(step.key)
    try:
        return _answer(step, order, starter or _own_starter(order.perform))
    finally:
        notes.end(step.key)


def environment() -> dict[str, str]:
    """Variables under which another Python finds this very package, and no modules in the folder that it runs in."""
    paths = [str(Path(hwgen.__file__).resolve().parents[1]), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(dict.fromkeys(paths)), "PYTHONSAFEPATH": "1"}


def _answer(step: Step, order: Order, starter: "Starter") -> Record:
    with tempfile.TemporaryDirectory(prefix="hwgen-step-") as name:
        question, answer, log = (Path(name) / part for part in ("question", "answer", "log"))
        question.write_bytes(pickle.dumps((step, order.perform)))
        try:
            starter.start([str(path) for path in (question, answer, log)] + [order.notes], log)
            status = starter.wait(order.seconds)
        except TimeoutError:
            return {"status": "failed", "reason": f"not done after {order.seconds:g} s"}
        finally:
            starter.end()
        try:
            record: Record = json.loads(answer.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            last = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()[-1:]
            return {"status": "failed", "reason": ": ".join([f"its process ended with status {status}", *last])}
        lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
        return {**record, "damaged": [line for line in lines if ": damaged" in line]}


class Starter:
    """A process that has imported what steps need. For each attempt it starts a copy of itself.

    Imports take a second, a copy some milliseconds. Both end when the worker ends. One attempt at a time.

    Parameters
    ----------
    perform : function that does a step, as ``module:name``.
    """

    def __init__(self, perform: str) -> None:
        self._module = perform.partition(":")[0]
        self._process: subprocess.Popen[bytes] | None = None
        self._attempt: int | None = None

    def start(self, arguments: list[str], log: Path) -> None:
        """Start an attempt, under this process's variables and in its folder; ``log`` gets what stops it."""
        if self._process is None or self._process.poll() is not None:
            self.close()
            with log.open("wb") as file:
                self._process = subprocess.Popen(
                    [sys.executable, "-m", "hwgen.studies.engine.attempt", str(os.getpid()), self._module],
                    env=environment(),
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=file,
                    bufsize=0,
                )
        assert self._process.stdin is not None
        request = {"arguments": arguments, "environment": environment(), "folder": str(Path.cwd())}
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.write(json.dumps(request).encode() + b"\n")
        self._attempt = self._told(START_SECONDS)

    def wait(self, seconds: float) -> int:
        """The attempt's status when it has ended; `TimeoutError` after some seconds."""
        assert self._process is not None
        status = self._process.wait() if self._attempt is None else self._told(seconds)
        self._attempt = None
        return self._process.wait() if status is None else status

    def end(self) -> None:
        """End an attempt that still runs: first so that it can end what it has started itself."""
        for blow in (signal.SIGTERM, signal.SIGKILL):
            if self._attempt is None:
                return
            os.kill(self._attempt, blow)
            with contextlib.suppress(TimeoutError):
                self.wait(GRACE_SECONDS)
        self.close()

    def strike(self, blow: signal.Signals) -> None:
        """Send a signal to an attempt that runs; without one this process ends. Called by any thread."""
        if self._attempt is None:
            if self._process is not None:
                self._process.terminate()
            return
        with contextlib.suppress(ProcessLookupError):
            os.kill(self._attempt, blow)

    def close(self) -> None:
        """End the process."""
        if self._process is not None:
            with self._process:
                self._process.kill()

    def _told(self, seconds: float) -> int | None:
        """The next number that it writes; None if it has ended."""
        assert self._process is not None
        assert self._process.stdout is not None
        if not select.select([self._process.stdout], [], [], seconds)[0]:
            raise TimeoutError
        line = self._process.stdout.readline()
        return int(line) if line else None


_starters = threading.local()


def _own_starter(perform: str) -> Starter:
    """The starter of this thread; it is there from the first attempt on."""
    if not hasattr(_starters, "one"):
        _starters.one = Starter(perform)
    one: Starter = _starters.one
    return one


# --- the process itself ---


def main(parent: str, module: str) -> None:
    """Import what does the steps; fork for each request on standard input.

    The fork's number, then its status, are written to standard output.

    In the fork: do the step that the request names, and return.
    """
    _end_with(int(parent), signal.SIGTERM)
    importlib.import_module(module)
    gc.freeze()  # what the copies share is left alone
    for line in sys.stdin:
        request = json.loads(line)
        this = os.getpid()
        fork = os.fork()
        if not fork:
            _end_with(this, signal.SIGTERM, _leave)
            os.environ.clear()
            os.environ.update(request["environment"])
            os.chdir(request["folder"])
            _do(*request["arguments"])
            return
        os.write(1, f"{fork}\n".encode())
        _, status = os.waitpid(fork, 0)
        os.write(1, f"{os.waitstatus_to_exitcode(status)}\n".encode())


def _end_with(parent: int, blow: signal.Signals, handler: Any = signal.SIG_DFL) -> None:
    """This process gets a signal when its parent ends."""
    signal.signal(blow, handler)
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, blow)
    if os.getppid() != parent:
        raise SystemExit(1)


def _do(question: str, answer: str, log: str, notes: str) -> None:
    """Do the step in one file, write the answer to another, and what is printed to a third."""
    for stream, file, mode in ((0, os.devnull, os.O_RDONLY), (1, log, os.O_WRONLY), (2, log, os.O_WRONLY)):
        os.dup2(os.open(file, mode | (os.O_CREAT | os.O_APPEND if stream else 0)), stream)
    step, perform = pickle.loads(Path(question).read_bytes())
    module, _, name = perform.partition(":")
    function: Callable[[Step, Tell], dict[str, Any]] = getattr(importlib.import_module(module), name)

    def tell(stage: str) -> None:
        Notes(Path(notes)).begin(step.key, stage)

    began = time.perf_counter()
    record: dict[str, Any]
    try:
        record = {"status": "done", "value": function(step, tell)}
    except InputError as error:
        record = {"status": "refused", "reason": str(error)}
    except ToolError as error:
        # A design that does not fit the device or takes too long will fail again: no further attempt.
        record = {"status": "failed", "reason": str(error), "final": step.kind == "synthesise"}
    except OSError as error:  # a full disk, a folder that cannot be written to
        record = {"status": "failed", "reason": f"{error.filename or step.title}: {error.strerror or error}"}
    record |= {
        "title": step.title,
        "seconds": round(time.perf_counter() - began, 3),
        "cpu_seconds": round(_cpu_seconds(), 3),
        "host": socket.gethostname(),
    }
    part = Path(f"{answer}.part")
    part.write_text(json_text(record), encoding="utf-8")
    part.rename(answer)


def _leave(*_: object) -> None:
    raise SystemExit(1)  # through the context managers: simulators and tools end, temporary folders go


def _cpu_seconds() -> float:
    usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


if __name__ == "__main__":
    main(*sys.argv[1:])
