"""Steps in processes of this machine: the most urgent first, and no failure is anybody else's."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hwgen.ir.document import InputError
from hwgen.studies.engine.attempt import Order, Record, Step, Tell
from hwgen.studies.engine.local import Local
from hwgen.studies.engine.work import results_of
from hwgen.tools.ledger import Ledger
from hwgen.tools.toolchain import ToolError

PERFORM = f"{__name__}:perform"


def perform(step: Step, tell: Tell) -> dict[str, Any]:
    """What the tests' steps do, by their kind."""
    (argument,) = step.arguments
    match step.kind:
        case "echo":
            return {"value": argument, "process": os.getpid()}
        case "refuse":
            raise InputError("no such thing")
        case "fail":
            raise ToolError("no such tool")
        case "end":
            os._exit(7)
        case "kill":
            os.kill(os.getppid(), signal.SIGKILL)
            time.sleep(600)
        case "burn":
            code = f"import time\nwhile time.process_time() < {argument}: pass"
            subprocess.run([sys.executable, "-c", code], check=True)
        case "linger":
            Path(argument).with_suffix(".part").write_text(str(os.getpid()), encoding="utf-8")
            Path(argument).with_suffix(".part").rename(argument)
            time.sleep(600)
    return {}


def step_of(kind: str, argument: object = None, urgency: float = 0.0) -> Step:
    return Step(kind, f"{kind}{argument}", kind, (argument,), urgency)


def records_of(
    folder: Path, *steps: Step, workers: int = 1, then: Callable[[Local, Record], None] = lambda local, record: None
) -> list[tuple[str, Record]]:
    """Kind and record of each, in the order in which they arrive."""
    found = []
    with Local(Order(str(folder), 60.0, PERFORM), workers) as local:
        for step in steps:
            local.submit(step)
        for arrived in local.records(0.1):
            if arrived is not None:
                found.append((arrived[0].kind, arrived[1]))
                then(local, arrived[1])
    return found


def test_the_most_urgent_comes_first(tmp_path: Path) -> None:
    with Local(Order(str(tmp_path), 60.0, PERFORM), 1) as local:
        local._news.acquire()  # none begins before all are there
        try:
            for urgency in (2.0, 9.0, 5.0):
                local._number += 1
                local._waiting.append((-urgency, local._number, step_of("echo", urgency, urgency)))
                local._open += 1
            local._waiting.sort()
            local._news.notify()
        finally:
            local._news.release()
        assert [one[1]["value"]["value"] for one in local.records(60.0) if one is not None] == [9.0, 5.0, 2.0]


def test_steps_may_bring_more_steps(tmp_path: Path) -> None:
    def more(local: Local, record: Record) -> None:
        if record["value"]["value"]:
            local.submit(step_of("echo", record["value"]["value"] - 1))

    found = records_of(tmp_path, step_of("echo", 3), workers=2, then=more)
    assert [record["value"]["value"] for _, record in found] == [3, 2, 1, 0]


def test_a_failure_is_told_and_the_others_go_on(tmp_path: Path) -> None:
    kinds = ("refuse", "fail", "end", "kill", "echo")
    found = dict(records_of(tmp_path, *map(step_of, kinds)))
    assert {kind: record.get("reason") for kind, record in found.items()} == {
        "refuse": "no such thing",
        "fail": "no such tool",
        "end": "its process ended with status 7",
        "kill": "its process ended with status -9",
        "echo": None,
    }
    assert [found[kind]["status"] for kind in kinds] == ["refused", "failed", "failed", "failed", "done"]


def test_processor_time_is_that_of_what_a_step_started_too(tmp_path: Path) -> None:
    ((_, record),) = records_of(tmp_path, step_of("burn", 0.4))
    assert 0.4 <= record["cpu_seconds"] < 4


def test_processes_end_with_the_one_that_waits_for_them(tmp_path: Path) -> None:
    file = tmp_path / "pid"
    with Local(Order(str(tmp_path), 600.0, PERFORM), 2) as local:
        local.submit(step_of("linger", str(file)))
        while not file.exists():
            time.sleep(0.01)
        starters = [one._process.pid for one in local._starters if one._process is not None]
        assert len(starters) == 1
    for process in (file.read_text(encoding="utf-8"), *map(str, starters)):
        end = time.monotonic() + 10  # what it leaves is reaped by the first process of the machine, in its own time
        while Path(f"/proc/{process}").exists() and time.monotonic() < end:
            time.sleep(0.01)
        assert not Path(f"/proc/{process}").exists()


def test_what_takes_too_long_is_given_up(tmp_path: Path) -> None:
    with Local(Order(str(tmp_path), 1.0, PERFORM), 1) as local:
        local.submit(step_of("linger", str(tmp_path / "pid")))
        ((_, record),) = [one for one in local.records(60.0) if one is not None]
    assert record == {"status": "failed", "reason": "not done after 1 s"}


def test_results_are_kept_one_by_one_and_a_failure_ends_it(tmp_path: Path) -> None:
    ledger = tmp_path / "results.jsonl"
    good = [step_of("echo", number) for number in range(3)]
    arrived: list[Any] = []
    values = results_of(good, ledger, 2, perform=PERFORM, arrived=arrived.append)
    assert [value["value"] for value in values] == [0, 1, 2]
    assert sorted(arrived, key=lambda value: value["value"]) == values
    assert results_of(good, ledger, 2, perform="no module at all:perform") == values
    with pytest.raises(InputError, match=r"^no such thing$"):
        results_of([*good, step_of("refuse")], ledger, 1, perform=PERFORM)
    with pytest.raises(ToolError, match=r"^no such tool; 3 of 4 rows are there"):
        results_of([*good, step_of("fail")], ledger, 1, perform=PERFORM)
    assert {record["status"] for record in Ledger(ledger).load().values()} == {"done", "refused"}


def test_lines_of_an_earlier_version_are_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ledger = tmp_path / "results.jsonl"
    Ledger(ledger).add("echo1", {"layer": "a", "equal": True})
    (value,) = results_of([step_of("echo", 1)], ledger, 1, perform=PERFORM)
    assert value["value"] == 1
    assert f"{ledger}: 1 lines of an earlier version" in capsys.readouterr().err
