"""What the machine has, and ``-j``, which asks for no more."""

import os
from pathlib import Path

import pytest

from hwgen.cli import jobs
from hwgen.cli.jobs import fitting_jobs
from hwgen.ir.document import InputError
from hwgen.studies.engine.farm import Place
from hwgen.tools.machine import free_memory, processors
from tests.cli.command_line import Run


@pytest.mark.parametrize(
    ("asked", "free", "given", "told"),
    [
        (8, None, 8, ""),
        (3, 64 << 30, 3, ""),
        (100, 64 << 30, 8, "-j 100: this machine has 8 processors: 8 at a time\n"),
        (8, 5 << 29, 2, "-j 8: this machine has 2.5 GiB of free memory: 2 at a time\n"),
        (8, 1 << 20, 1, "-j 8: this machine has 0.0 GiB of free memory: 1 at a time\n"),
        (1, 1 << 20, 1, ""),
    ],
)
def test_jobs_are_cut_to_the_machine(
    asked: int,
    free: int | None,
    given: int,
    told: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(jobs, "processors", lambda: 8)
    monkeypatch.setattr(jobs, "free_memory", lambda: free)
    assert fitting_jobs(asked, 1 << 30) == given
    assert capsys.readouterr().err == told


def test_memory_is_the_machine_s_or_the_group_s(tmp_path: Path) -> None:
    assert free_memory(tmp_path) is None
    for name, text in {
        "proc/meminfo": "MemTotal: 9 kB\nMemAvailable:    4096 kB\n",
        "sys/fs/cgroup/memory.max": "max\n",
        "sys/fs/cgroup/memory.current": "1048576\n",
        "sys/fs/cgroup/memory.stat": "anon 5\ninactive_file 1000\n",
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="ascii")
    assert free_memory(tmp_path) == 4096 << 10
    (tmp_path / "sys/fs/cgroup/memory.max").write_text("2097152\n", encoding="ascii")
    assert free_memory(tmp_path) == 1048576 + 1000
    assert processors() >= 1


@pytest.mark.parametrize(
    "command",
    [
        ("cosim", "nonet"), ("schedule", "nonet", "--buffer", "512"), ("regress", "nonet"),
        ("paper", "stoutchinin-2019", "--networks", "nonet"),
    ],
)  # fmt: skip
def test_every_command_with_workers_asks(
    run: Run, command: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    answer = run(*command, "-j", 1000)
    assert answer.status == 2
    assert answer.err.startswith("-j 1000: this machine has ")


def test_a_sweep_starts_as_many_workers_as_fit(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    places = []

    class Started:
        def __init__(self, question: object, output: Path, place: Place, *more: object, **rest: object) -> None:
            places.append(place)

        def run(self) -> None:
            raise InputError("no more of this")

    monkeypatch.setattr("hwgen.studies.sweep.study.Sweep", Started)
    monkeypatch.setattr(jobs, "processors", lambda: 3)
    monkeypatch.setattr(jobs, "free_memory", lambda: None)
    sweep = ("sweep", "lenet:C1", "--buffer", "512", "--no-sim", "-o", tmp_path / "out", "-j", 100)
    assert run(*sweep).err == "-j 100: this machine has 3 processors: 3 at a time\nhwgen: no more of this\n"
    for command in ("sbatch", "scancel"):
        (tmp_path / command).write_text("", encoding="utf-8")
        (tmp_path / command).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    assert run(*sweep, "--farm", "slurm").err == "hwgen: no more of this\n"  # the queueing system knows
    assert [(place.kind, place.workers) for place in places] == [("local", 3), ("slurm", 100)]
