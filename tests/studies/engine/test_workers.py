"""Workers of a farm that are of no use, that leave, that die, and that do not come: Dask's own, in this process."""

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import distributed
import pytest

from hwgen.studies.engine import farm
from hwgen.studies.engine.attempt import Order, Step
from hwgen.studies.engine.farm import Farm, Place
from hwgen.tools.toolchain import ToolError

GOOD = {"sources": "ours", "package": "/here", "life": None, "left": None}


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(farm, "MUSTER_SECONDS", 0.02)
    monkeypatch.setattr(farm, "sources", lambda: "ours")
    monkeypatch.setattr(farm, "_report", lambda: GOOD)
    monkeypatch.setattr(farm, "attempt", lambda step, order: {"status": "done", "value": worker_name()})


def worker_name() -> str:
    return str(distributed.get_worker().name)


@contextmanager
def opened(
    workers: int, *, processes: bool = False, **place: Any
) -> Iterator[tuple[Farm, distributed.LocalCluster, list[str]]]:
    """A farm whose workers are threads, the scheduler that it is on, and what it says."""
    told: list[str] = []
    with (
        farm._quiet(),
        distributed.LocalCluster(
            n_workers=workers, threads_per_worker=1, processes=processes, dashboard_address=None, memory_limit=0
        ) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        yield Farm(client, Order("none", 60.0, ""), Place("scheduler", **place), told.append), cluster, told


def steps(number: int) -> list[Step]:
    return [Step("plan", f"key{index}", f"step {index}", ()) for index in range(number)]


def done(some: Farm, then: Callable[[Step, dict[str, Any]], None] = lambda step, record: None) -> list[Any]:
    """The steps and records of a farm, until all are done."""
    found = []
    for arrived in some.records(0.02):
        if arrived is not None:
            found.append(arrived)
            then(*arrived)
    return found


def test_a_worker_of_other_sources_gets_no_step_and_is_named_once(monkeypatch: pytest.MonkeyPatch) -> None:
    def report() -> dict[str, Any]:
        if worker_name() == "1":
            raise ModuleNotFoundError("No module named 'hwgen'")
        return GOOD if worker_name() == "2" else {**GOOD, "sources": "others", "package": "/there"}

    monkeypatch.setattr(farm, "_report", report)
    with opened(3) as (some, _, told):

        def attempted(step: Step, order: Order) -> dict[str, Any]:
            while len(told) < 2:
                time.sleep(0.01)
            return {"status": "done", "value": worker_name()}

        monkeypatch.setattr(farm, "attempt", attempted)
        for step in steps(6):
            some.submit(step)
        assert [record for _, record in done(some)] == [{"status": "done", "value": "2"}] * 6
        assert sorted(line.partition(" on ")[0] for line in told) == ["worker 0", "worker 1"]
        reasons = {line.partition(" is not used: ")[2] for line in told}
        assert reasons == {
            "its hwgen in /there is not the sweep's: other sources or versions of tools",
            "ModuleNotFoundError: No module named 'hwgen'",
        }


def test_a_worker_without_hwgen_is_named_and_lives(tmp_path: Path) -> None:
    (tmp_path / "hwgen.py").write_text("raise ModuleNotFoundError('No module named hwgen')\n", encoding="utf-8")
    with opened(0, processes=True, patience=20) as (some, cluster, told):
        command = [sys.executable, "-m", "distributed.cli.dask_worker", cluster.scheduler_address, "--no-nanny",
                   "--name", "bare", "--local-directory", str(tmp_path), "--no-dashboard"]  # fmt: skip
        environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
        with subprocess.Popen(command, cwd=tmp_path, env=environment, stderr=subprocess.DEVNULL) as worker:
            try:
                some.submit(steps(1)[0])
                for _ in some.records(0.02):
                    if told:
                        break
                assert told[0].startswith("worker bare on ")
                assert told[0].endswith(" is not used: ModuleNotFoundError: No module named hwgen")
                assert worker.poll() is None
            finally:
                worker.terminate()


def test_a_death_costs_the_step_that_had_begun_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    running, forever = threading.Event(), threading.Event()

    def attempted(step: Step, order: Order) -> dict[str, Any]:
        if worker_name() == "0":
            running.set()
            forever.wait(60)
        return {"status": "done"}

    monkeypatch.setattr(farm, "attempt", attempted)
    with opened(1) as (some, cluster, _):
        for step in steps(5):
            some.submit(step)
        records: list[Any] = []
        for arrived in some.records(0.02):
            records += [] if arrived is None else [arrived]
            if running.is_set() and not forever.is_set() and not records:
                (address,) = cluster.scheduler.workers
                cluster.sync(cluster.scheduler.remove_worker, address, stimulus_id="death", close=False)
                cluster.scale(2)
                forever.set()
    assert [record for _, record in records] == [
        {"status": "failed", "reason": "its worker died"}, *[{"status": "done"}] * 4
    ]  # fmt: skip
    assert records[0][0].title == "step 0"


def test_a_step_that_outlasts_its_worker_is_told_so(monkeypatch: pytest.MonkeyPatch) -> None:
    begun, over = threading.Event(), threading.Event()

    def attempted(step: Step, order: Order) -> dict[str, Any]:
        begun.set()
        over.wait(60)
        return {"status": "done"}

    monkeypatch.setattr(farm, "attempt", attempted)
    monkeypatch.setattr(farm, "_report", lambda: {**GOOD, "life": 1.0, "left": 1.0})
    with opened(1) as (some, cluster, _):
        some.submit(steps(1)[0])
        for arrived in some.records(0.02):
            if arrived is not None:
                break
            if begun.is_set() and not over.is_set():
                time.sleep(1.0)
                (address,) = cluster.scheduler.workers
                cluster.sync(cluster.scheduler.remove_worker, address, stimulus_id="end", expected=True, close=False)
                over.set()
        assert arrived is not None
        assert arrived[1]["reason"] == "its worker's time was over before it was done (--walltime)"


def test_the_most_urgent_step_is_begun_first() -> None:
    with opened(1) as (some, _, _told):
        for urgency in (1.0, 3.0, 2.0):
            some.submit(Step("plan", f"key{urgency}", str(urgency), (), urgency))
        assert [step.title for step, _ in done(some)] == ["3.0", "2.0", "1.0"]


def test_a_worker_that_ends_soon_gets_no_step(monkeypatch: pytest.MonkeyPatch) -> None:
    dying = {"life": 100.0, "left": 20.0}
    monkeypatch.setattr(farm, "_report", lambda: {**GOOD, **dying} if worker_name() == "0" else GOOD)
    with opened(2) as (some, _, told):
        for step in steps(4):
            some.submit(step)
        assert {record["value"] for _, record in done(some)} == {"1"}
        assert told == []


def test_a_scheduler_that_is_killed_ends_the_sweep(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(farm, "ANSWER_SECONDS", 1.0)
    with opened(1) as (some, cluster, _):
        for step in steps(3):
            some.submit(step)
        with pytest.raises(ToolError, match=r"^the scheduler is gone$"):
            done(some, lambda *_: cluster.close())


def test_without_a_worker_that_is_told_and_the_sweep_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(farm, "ALONE_SECONDS", 0.1)
    with opened(0, address="tcp://h:1", patience=0.3) as (some, _, told):
        some.submit(steps(1)[0])
        with pytest.raises(ToolError, match=r"^no worker for 0 s: tcp://h:1 has none$"):
            done(some)
        assert told == ["no worker for 0 s: tcp://h:1 has none"]
