"""One attempt at a step, in a process of its own: it may take too long or crash, and only the step suffers.

`attempt` runs in a worker of the farm and starts this module as a program, which does the step and leaves its answer
in a file.
"""

import ctypes
import importlib
import json
import os
import pickle
import resource
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import hwgen
from hwgen.ir.document import InputError
from hwgen.sweep.steps import Step, Tell, code_digest
from hwgen.sweep.store import Store
from hwgen.tools.toolchain import ToolError

__all__ = ["PERFORM", "Order", "attempt", "environment"]

PERFORM = "hwgen.sweep.steps:perform"
PR_SET_PDEATHSIG = 1  # Linux: a signal for this process when the one that started it ends
GRACE_SECONDS = 5.0
START_SECONDS = 300.0


@dataclass(frozen=True)
class Order:
    """Settings of a worker besides the step.

    Members
    -------
    store : folder of the results; where the worker has no such folder it only answers.
    seconds : after which an attempt is given up.
    code : what the sources' digest has to be.
    perform : function that does a step, as ``module:name``; it is called with the step, and a function that it calls
        with the name of each stage.
    """

    store: str
    seconds: float
    code: str
    perform: str = PERFORM


def attempt(step: Step, order: Order) -> dict[str, Any]:
    """Do a step and keep its result.

    The record's ``status`` is ``done``, with a ``value``; ``refused``, if it cannot be done however often one tries,
    or ``failed``, with a ``reason``; ``final`` if it would fail again at once. Only the first two are kept.
    """
    if order.code != code_digest():
        reason = f"worker {socket.gethostname()}: its hwgen is not the sweep's: other sources or versions of tools"
        return {"status": "failed", "reason": reason}
    store = Store(Path(order.store))
    known = store.get(step.key)
    if known is not None:
        return known
    here = store.folder.is_dir()
    if here:
        store.begin(step.key)
    try:
        record = _answer(step, order)
    finally:
        if here:
            store.end(step.key)
    if record["status"] != "failed" and here:
        store.put(step.key, record)
    return record


def environment() -> dict[str, str]:
    """Variables under which another Python finds this very package."""
    paths = [str(Path(hwgen.__file__).resolve().parents[1]), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(dict.fromkeys(paths))}


def _answer(step: Step, order: Order) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(prefix="hwgen-step-") as name:
        question, answer, log = (Path(name) / part for part in ("question", "answer", "log"))
        question.write_bytes(pickle.dumps((step, order.perform)))
        with log.open("wb") as file:
            process = subprocess.Popen(
                [sys.executable, "-m", "hwgen.sweep.attempt", question, answer, order.store, str(os.getpid())],
                env=environment(),
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=subprocess.STDOUT,
            )
            try:
                status = _wait(process, question, order.seconds)
            except subprocess.TimeoutExpired:
                return {"status": "failed", "reason": f"not done after {order.seconds:g} s"}
            finally:
                _end(process)
        try:
            record: dict[str, Any] = json.loads(answer.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            last = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()[-1:]
            return {"status": "failed", "reason": ": ".join([f"its process ended with status {status}", *last])}
        return record


def _wait(process: "subprocess.Popen[bytes]", question: Path, seconds: float) -> int:
    """Its status when it has ended; the time counts from when it has read the request."""
    end = time.monotonic() + START_SECONDS
    while question.exists() and process.poll() is None and time.monotonic() < end:
        time.sleep(0.05)
    return process.wait(seconds)


def _end(process: "subprocess.Popen[bytes]") -> None:
    """First so that it can end what it has started itself."""
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(GRACE_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


# --- the process itself ---


def main(question: str, answer: str, store: str, parent: str) -> None:
    """Do the step in one file, write the answer to another; ends with the process that started it."""
    signal.signal(signal.SIGTERM, _leave)
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() != int(parent):
        return
    step, perform = pickle.loads(Path(question).read_bytes())
    Path(question).unlink()
    module, _, name = perform.partition(":")
    function: Callable[[Step, Tell], dict[str, Any]] = getattr(importlib.import_module(module), name)

    def tell(stage: str) -> None:
        if Path(store).is_dir():
            Store(Path(store)).begin(step.key, stage)

    began = time.perf_counter()
    record: dict[str, Any]
    try:
        record = {"status": "done", "value": function(step, tell)}
    except InputError as error:
        record = {"status": "refused", "reason": str(error)}
    except ToolError as error:
        # A design that does not fit the device or takes too long will fail again: no further attempt.
        record = {"status": "failed", "reason": str(error), "final": step.kind == "synthesise"}
    record |= {
        "title": step.title,
        "seconds": round(time.perf_counter() - began, 3),
        "cpu_seconds": round(_cpu_seconds(), 3),
        "host": socket.gethostname(),
    }
    part = Path(f"{answer}.part")
    part.write_text(json.dumps(record), encoding="utf-8")
    part.rename(answer)


def _leave(*_: object) -> None:
    raise SystemExit(1)  # through the context managers: simulators and tools end, temporary folders go


def _cpu_seconds() -> float:
    usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


if __name__ == "__main__":
    main(*sys.argv[1:])
