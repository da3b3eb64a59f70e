"""Sweeps on a real SLURM of one node, which is installed and started where that can be."""

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.studies.engine.slurm import slurm
from tests.studies.engine.test_farm import gone, rows, started

pytestmark = pytest.mark.nightly


@pytest.fixture(scope="module")
def queue(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """The variables of its programs."""
    with slurm(tmp_path_factory.mktemp("slurm")) as variables:
        os.environ.update(variables)
        yield variables
        for name in variables:
            del os.environ[name]


def jobs() -> list[str]:
    """The numbers of the jobs that wait or run."""
    done = subprocess.run(["squeue", "--me", "-h", "-o", "%A"], capture_output=True, text=True, check=True)
    return sorted(done.stdout.split(), key=int)


def awaited(process: "subprocess.Popen[str]", text: str, lines: list[str]) -> None:
    """Read what a sweep prints until a line has some text."""
    assert process.stdout is not None
    for line in process.stdout:
        lines.append(line)
        if text in line:
            return
    raise AssertionError(f"no {text!r} in {lines}")


def ended(process: "subprocess.Popen[str]", lines: list[str]) -> tuple[int, str]:
    out, _ = process.communicate(timeout=300)
    return process.returncode, "".join(lines) + out


def none_left(seconds: float = 60) -> bool:
    end = time.monotonic() + seconds
    while jobs():
        if time.monotonic() > end:
            return False
        time.sleep(0.5)
    return True


def test_a_job_that_is_cancelled_is_replaced(queue: dict[str, str], tmp_path: Path) -> None:
    lines: list[str] = []
    process = started(tmp_path, "a,long1,long2,long3,long4,long5", "1024", kind="slurm", workers=2)
    awaited(process, "long5 ...", lines)
    _, second = jobs()
    subprocess.run(["scancel", second], check=True)
    status, out = ended(process, lines)
    assert status == 0, out
    assert f"job {second} ended: CANCELLED; asking SLURM for another\n" in out, out
    assert {row["status"] for row in rows(tmp_path)} == {"ok"}
    assert none_left()
    assert gone(tmp_path)


def test_jobs_end_in_time_and_are_replaced(queue: dict[str, str], tmp_path: Path) -> None:
    """Work for two minutes on jobs of one: no step is lost with its job."""
    lines: list[str] = []
    names = ",".join(f"long{number}" for number in range(24))
    status, out = ended(started(tmp_path, names, "1024", kind="slurm", workers=2, walltime="0:01:00"), lines)
    assert status == 0, out
    assert "ended: COMPLETED; asking SLURM for another" in out, out
    assert "its worker died" not in out, out
    assert out.rstrip().endswith("again 0"), out
    assert {row["status"] for row in rows(tmp_path)} == {"ok"}
    assert none_left()


@pytest.mark.parametrize("blow", [signal.SIGINT, signal.SIGTERM])
def test_it_is_interrupted_as_on_one_machine(queue: dict[str, str], tmp_path: Path, blow: signal.Signals) -> None:
    lines: list[str] = []
    process = started(tmp_path, "a,b,slow", "1024", kind="slurm", workers=2)
    awaited(process, "a: as predicted", lines)
    process.send_signal(blow)
    status, out = ended(process, lines)
    assert status == 130, out
    assert "interrupted: 2 of 3 rows are there; the same command goes on from there\n" in out
    assert [row["status"] for row in rows(tmp_path)] == ["ok", "ok", "pending"]
    assert none_left()
    assert gone(tmp_path)


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"queue": "nosuch"}, "--farm: SLURM: sbatch: error: Batch job submission failed: Invalid partition name"),
        ({"memory": "900GiB"}, "--farm: SLURM: sbatch: error: Batch job submission failed: Requested node"),
        ({"queue": "short", "walltime": "1:00"}, "--farm: SLURM: it would never begin: job"),
    ],
)
def test_what_slurm_does_not_take_is_one_line(
    queue: dict[str, str], tmp_path: Path, options: dict[str, str], reason: str
) -> None:
    folder = tmp_path / "out"
    status, out = ended(started(folder, "a", "1024", kind="slurm", workers=2, **options), [])
    assert status == 2, out
    assert out.splitlines()[-1].startswith(reason), out
    assert "Traceback" not in out
    assert not (folder / "store").exists()
    assert not (folder / "logs").exists()
    assert jobs() == []


def test_without_a_worker_the_queue_s_reason_is_told(queue: dict[str, str], tmp_path: Path) -> None:
    subprocess.run(["sbatch", "-c", "2", "-o", "/dev/null", "--wrap", "sleep 60"], check=True, capture_output=True)
    status, out = ended(started(tmp_path, "a", "1024", kind="slurm", workers=1, patience=8, alone=2), [])
    subprocess.run(["scancel", "--me"], check=True)
    assert status == 1, out
    assert "PENDING (Resources)\n" in out, out
    assert "no worker for " in out.splitlines()[-1]
    assert out.splitlines()[-1].endswith("0 of 1 rows are there; the same command goes on from there"), out
