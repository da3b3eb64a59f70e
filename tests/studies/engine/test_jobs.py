"""Jobs of a queueing system that is a table: what they are asked with, who is replaced, what is told."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from hwgen.ir.document import InputError
from hwgen.studies.engine import jobs
from hwgen.studies.engine.jobs import SYSTEMS, JobLimits, Jobs, job_script
from hwgen.tools.toolchain import ToolError


@pytest.mark.parametrize(
    ("text", "seconds", "slurm", "lsf"),
    [
        ("12:00", 43200, "12:00:00", "12:00"),
        ("0:30:10", 1810, "00:30:10", "00:31"),
        ("1-12:00", 129600, "36:00:00", "36:00"),
        ("2-0", 172800, "48:00:00", "48:00"),
        ("90", 5400, "01:30:00", "01:30"),
        ("100:00", 360000, "100:00:00", "100:00"),
    ],
)
def test_a_time_limit_means_the_same_to_every_system(text: str, seconds: int, slurm: str, lsf: str) -> None:
    limits = JobLimits.of(text, "4GiB")
    assert (limits.seconds, limits.memory) == (seconds, 4 << 30)
    for kind, expected in (("slurm", f"#SBATCH -t {slurm}\n"), ("lsf", f"#BSUB -W {lsf}\n")):
        script = job_script(kind, "tcp://h:1", limits, queue="q", logs=None, python_path="/a b")
        assert expected in script


@pytest.mark.parametrize("text", ["", "never", "0:00:59", "1:60", "12:00:00:00", "-1:00", "1:2:3:4", "367-0", "1d"])
def test_a_time_limit_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(InputError, match=r"^--walltime: expected hours and minutes such as 12:00"):
        JobLimits.of(text, "4GiB")


@pytest.mark.parametrize("text", ["", "some", "4", "255MiB", "-4GiB", "1PiB", "4 pounds"])
def test_a_memory_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(InputError, match=r"^--job-memory: expected 256MiB or more, such as 4GiB, got "):
        JobLimits.of("12:00", text)


@pytest.mark.parametrize("walltime", ["0:01:00", "0:10:00", "12:00"])
def test_workers_end_before_their_jobs(walltime: str) -> None:
    limits = JobLimits.of(walltime, "4GiB")
    assert limits.life + limits.stagger < limits.seconds
    assert limits.life - limits.stagger > 0.7 * limits.seconds
    script = job_script("slurm", "tcp://h:1", limits, queue=None, logs=Path("/o/a b"), python_path="/p")
    assert f" --lifetime {limits.life:.0f}s --lifetime-stagger {limits.stagger:.0f}s" in script
    assert " --name hwgen-$SLURM_JOB_ID " in script
    assert '#SBATCH -o "/o/a b/hwgen-%J.out"' in script


def test_ctrl_c_is_what_it_was_after_the_import(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == "dask_jobqueue"]:
        monkeypatch.delitem(sys.modules, name)
    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    job_script("slurm", "tcp://h:1", JobLimits.of("1:00", "4GiB"), queue=None, logs=None, python_path="/p")
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)] == before


class Queue:
    """In place of a queueing system's programs."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.states: dict[str, str] = {}
        self.cancelled: list[str] = []
        self.refusal = ""
        monkeypatch.setattr(jobs, "_called", self.called)
        monkeypatch.setattr(jobs, "LOOK_SECONDS", 0.0)

    def called(self, program: tuple[str, ...], text: str = "") -> "subprocess.CompletedProcess[str]":
        answer = ""
        match program[0]:
            case "sbatch" if self.refusal:
                return subprocess.CompletedProcess(program, 1, "", f"a word\nsbatch: error: {self.refusal}\n")
            case "sbatch":
                number = str(len(self.states) + 1)
                self.states[number] = "PENDING|Priority"
                answer = f"Submitted batch job {number}\n"
            case "squeue":
                answer = "".join(f"{number}|{state}\n" for number, state in self.states.items())
            case "scancel":
                self.cancelled += program[1:]
        return subprocess.CompletedProcess(program, 0, answer, "")


@pytest.fixture
def queue(monkeypatch: pytest.MonkeyPatch) -> Queue:
    return Queue(monkeypatch)


def begun(number: int, logs: Path | None = None) -> tuple[Jobs, list[str]]:
    told: list[str] = []
    found = Jobs(SYSTEMS["slurm"], "script", number, logs, told.append)
    found.begin()
    return found, told


def test_ended_jobs_are_replaced_as_far_as_there_is_work(queue: Queue) -> None:
    found, told = begun(3)
    found.tend(9, 0)
    assert told == []
    assert found.told() == "jobs 1, 2, 3 PENDING (Priority)"
    for number in "123":
        found.joined(f"hwgen-{number}")
    queue.states |= {"1": "CANCELLED|None", "2": "TIMEOUT|TimeLimit", "3": "RUNNING|None"}
    found.tend(9, 3)
    assert told == []  # all workers are there: nothing to look for
    found.tend(9, 1)
    assert told == ["jobs 1, 2 ended: CANCELLED, TIMEOUT (TimeLimit); asking SLURM for 2 more"]
    assert found.told() == "job 3 RUNNING; jobs 4, 5 submitted"
    queue.states["3"] = "COMPLETED|None"
    found.tend(2, 1)
    assert told[1:] == ["job 3 ended: COMPLETED"]
    assert len(queue.states) == 5
    found.close()
    assert queue.cancelled == ["4", "5"]


def test_jobs_that_bring_no_worker_are_not_asked_for_without_end(queue: Queue, tmp_path: Path) -> None:
    found, told = begun(2, tmp_path)
    (tmp_path / "hwgen-2.out").write_text("a\npython: No module named 'distributed'\n\n", encoding="utf-8")
    found.useless("hwgen-4", "other sources")
    queue.states |= dict.fromkeys("12", "FAILED|NonZeroExitCode")
    found.tend(9, 0)
    reason = "FAILED (NonZeroExitCode): python: No module named 'distributed'"
    assert told == [f"jobs 1, 2 ended before a worker of use joined: {reason}; asking SLURM for 2 more"]
    queue.states |= dict.fromkeys("34", "COMPLETED|None")
    with pytest.raises(ToolError, match=r"^no worker: jobs 3, 4 ended before .* joined: COMPLETED: other sources$"):
        found.tend(9, 0)


def test_what_the_system_does_not_take_is_told(queue: Queue, tmp_path: Path) -> None:
    queue.refusal = "invalid partition specified: nosuch"
    folder = tmp_path / "out" / "logs"
    refused = Jobs(SYSTEMS["slurm"], "script", 2, folder, print)
    with pytest.raises(InputError, match=r"^--farm: SLURM: sbatch: error: invalid partition specified: nosuch$"):
        refused.begin()
    refused.close()
    assert list(tmp_path.iterdir()) == []
    queue.refusal = ""
    found, told = begun(2)
    found.joined("hwgen-1")
    queue.states["1"], queue.refusal = "CANCELLED|None", "Unable to contact slurm controller"
    for _ in range(3):
        found.tend(9, 0)
    assert told == [
        "job 1 ended: CANCELLED; asking SLURM for another",
        "SLURM takes no further job: sbatch: error: Unable to contact slurm controller",
    ]
    queue.refusal = ""
    found.tend(9, 0)
    assert found.told() == "job 2 PENDING (Priority); job 3 submitted"


def test_jobs_that_will_never_begin_are_bad_input(queue: Queue) -> None:
    found, _ = begun(2)
    queue.states |= {"1": "PENDING|PartitionTimeLimit", "2": "PENDING|Priority"}
    found.tend(9, 0)
    queue.states["2"] = "PENDING|PartitionTimeLimit"
    with pytest.raises(InputError, match=r"it would never begin: jobs 1, 2 PENDING \(PartitionTimeLimit\)$"):
        found.tend(9, 0)


def test_a_queue_that_does_not_answer_changes_nothing(queue: Queue, monkeypatch: pytest.MonkeyPatch) -> None:
    found, told = begun(1)

    def silent(program: tuple[str, ...], text: str = "") -> "subprocess.CompletedProcess[str]":
        return subprocess.CompletedProcess(program, 1, "", "slurm_load_jobs error: Unable to contact\n")

    monkeypatch.setattr(jobs, "_called", silent)
    found.tend(9, 0)
    assert (told, found.told()) == ([], "job 1 submitted")


def test_a_machine_without_the_system_s_programs_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(InputError, match=r"^--farm: LSF: expected bsub and bkill on this machine$"):
        SYSTEMS["lsf"].require()
