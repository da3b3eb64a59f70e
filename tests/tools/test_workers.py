"""Tasks in processes: the most urgent first, and no failure is anybody else's."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from multiprocessing.connection import wait
from pathlib import Path
from typing import Any

import pytest

from hwgen.ir.document import InputError
from hwgen.tools.toolchain import ToolError
from hwgen.tools.workers import Event, Failed, Finished, Task, Told, Workers


def echo(value: int, *, tell: Callable[[Any], None]) -> int:
    tell(value + 1)
    return value


def refuse(error: type[Exception], *, tell: Callable[[Any], None]) -> None:
    raise error("no such thing")


def identity(*, tell: Callable[[Any], None]) -> int:
    return os.getpid()


def end(*, tell: Callable[[Any], None]) -> None:
    tell("going")
    os._exit(7)


def burn(seconds: float, *, tell: Callable[[Any], None]) -> None:
    code = f"import time\nwhile time.process_time() < {seconds}: pass"
    subprocess.run([sys.executable, "-c", code], check=True)


def linger(file: Path, *, tell: Callable[[Any], None]) -> None:
    file.write_text(str(os.getpid()), encoding="utf-8")
    tell("there")
    time.sleep(600)


def events_of(*tasks: tuple[float, Task], count: int = 1) -> list[Event]:
    with Workers(count) as workers:
        for urgency, task in tasks:
            workers.submit(urgency, task)
        return list(workers.events())


def test_the_most_urgent_comes_first_and_is_heard_meanwhile() -> None:
    tasks = [(float(urgency), Task("echo", echo, (urgency,))) for urgency in (2, 9, 5)]
    events = events_of(*tasks)
    assert [event.what for event in events if isinstance(event, Told)] == [10, 6, 3]
    assert [event.value for event in events if isinstance(event, Finished)] == [9, 5, 2]
    assert isinstance(events[0], Told)


def test_tasks_may_bring_more_tasks() -> None:
    seen = []
    with Workers(2) as workers:
        workers.submit(0, Task("echo", echo, (3,)))
        for event in workers.events():
            if isinstance(event, Finished):
                seen.append(event.value)
                if event.value:
                    workers.submit(0, Task("echo", echo, (event.value - 1,)))
    assert seen == [3, 2, 1, 0]


@pytest.mark.parametrize("error", [ToolError, InputError])
def test_a_failure_is_told_and_the_others_go_on(error: type[Exception]) -> None:
    bad, good = Task("bad", refuse, (error,)), Task("good", echo, (1,))
    events = events_of((2, bad), (1, good))
    assert events[0] == Failed(bad, "no such thing")
    assert [event.value for event in events if isinstance(event, Finished)] == [1]


def test_a_process_that_ends_is_replaced() -> None:
    bad, good = Task("bad", end, ()), Task("good", echo, (1,))
    events = events_of((2, bad), (1, good))
    assert events[:2] == [Told(bad, "going"), Failed(bad, "its process ended with status 7")]
    assert [event.value for event in events if isinstance(event, Finished)] == [1]


def test_a_process_that_is_killed_while_it_waits_is_replaced() -> None:
    found = []
    with Workers(1) as workers:
        workers.submit(0, Task("one", identity, ()))
        for event in workers.events():
            assert isinstance(event, Finished)
            found.append(event.value)
            if len(found) < 3:
                os.kill(event.value, signal.SIGKILL)
                assert wait(workers._idle, 60)  # its end of the pipe is closed
                workers.submit(0, Task("more", identity, ()))
    assert len(set(found)) == 3


def test_processor_time_is_that_of_what_a_task_started_too() -> None:
    (event,) = events_of((0, Task("burn", burn, (0.4,))))
    assert isinstance(event, Finished)
    assert 0.4 <= event.cpu_seconds < 4


def test_processes_end_with_the_one_that_waits_for_them(tmp_path: Path) -> None:
    file = tmp_path / "pid"
    with Workers(2) as workers:
        workers.submit(0, Task("linger", linger, (file,)))
        assert next(workers.events()) == Told(Task("linger", linger, (file,)), "there")
    assert not Path(f"/proc/{file.read_text(encoding='utf-8')}").exists()
