"""Jobs of a queueing system, SLURM or LSF, with one worker each: submitted, looked after, replaced, cancelled."""

import re
import shlex
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hwgen.ir.document import InputError
from hwgen.tools.processes import detached_variables
from hwgen.tools.toolchain import ToolError

__all__ = ["SYSTEMS", "JobLimits", "Jobs", "System", "job_script"]

LEAST_WALLTIME, MOST_WALLTIME = 60, 366 * 86400
LEAST_MEMORY = 256 << 20
LOOK_SECONDS = 5.0
ANSWER_SECONDS = 60.0
FUTILE_JOBS = 3
"""Jobs in a row that may end before a worker of use joins; where more are wanted at a time, as many as these."""
SHOWN_JOBS = 4
LOG = "hwgen-%J.out"
SUBMITTED = re.compile(r"[0-9]+")


@dataclass(frozen=True)
class JobLimits:
    """What a job may take.

    Members
    -------
    seconds : its time limit.
    memory : in bytes.
    """

    seconds: int
    memory: int

    @classmethod
    def of(cls, walltime: str, memory: str) -> "JobLimits":
        """The limits from the command line, in one spelling for all queueing systems; `InputError` if they are none.

        ``12:00`` are hours and minutes, ``0:30:00`` has seconds, ``1-12:00`` days; a number alone is minutes.
        """
        match = re.fullmatch(r"(?:([0-9]{1,3})-)?([0-9]{1,5}(?::[0-5]?[0-9]){0,2})", walltime.strip())
        seconds = 0
        if match:
            hours, minutes, rest = [*map(int, match[2].split(":")), 0, 0][:3]
            seconds = int(match[1] or 0) * 86400 + hours * 3600 + minutes * 60 + rest
            if match[0].isdigit():
                seconds = int(match[0]) * 60
        if not LEAST_WALLTIME <= seconds <= MOST_WALLTIME:
            raise InputError(
                "--walltime: expected hours and minutes such as 12:00, 0:30:00 or 1-12:00, from a minute to a year, "
                f"got {walltime[:40]!r}"
            )
        match = re.fullmatch(r"([0-9]{1,12})\s*([KMGT]?)(i?)B?", memory.strip())
        size = int(match[1]) << 10 * " KMGT".index(match[2] or " ") if match else 0
        if size < LEAST_MEMORY or size >= 1 << 60:
            raise InputError(f"--job-memory: expected 256MiB or more, such as 4GiB, got {memory[:40]!r}")
        return cls(seconds, size)

    @property
    def life(self) -> float:
        """Seconds after which a worker ends by itself, in the mean: before its job is ended."""
        return self.seconds - min(60.0, self.seconds / 10) - self.stagger

    @property
    def stagger(self) -> float:
        """The seconds by which workers that began together end apart, at most."""
        return min(300.0, self.seconds / 20)


@dataclass(frozen=True)
class Found:
    """A job as the queue has it."""

    state: str
    reason: str = ""
    ended: bool = False

    def __str__(self) -> str:
        return f"{self.state} ({self.reason})" if self.reason else self.state


@dataclass(frozen=True)
class System:
    """A queueing system: its programs, and how it writes what it is told.

    Members
    -------
    name : for the reader.
    submit, cancel : programs, with their options; the script is their input, numbers of jobs are their arguments.
    look : prints a line for each of the user's jobs: number, state, reasons, with bars between them.
    number : the variable in which a job has its number.
    ended : states of jobs that have ended.
    never : reasons for which a job that waits will not begin, however long it waits.
    walltime : a time limit in seconds as it is written: SLURM reads two numbers as minutes and seconds, LSF as hours
        and minutes.
    """

    name: str
    submit: tuple[str, ...]
    cancel: tuple[str, ...]
    look: tuple[str, ...]
    number: str
    ended: frozenset[str]
    never: frozenset[str]
    walltime: Callable[[int], str]

    def require(self) -> None:
        """`InputError` where its programs are not on this machine."""
        missing = [one for one in (self.submit[0], self.cancel[0]) if shutil.which(one) is None]
        if missing:
            raise InputError(f"--farm: {self.name}: expected {' and '.join(missing)} on this machine")

    def jobs(self) -> dict[str, Found] | None:
        """The user's jobs by number, those that have ended just now among them; None if the queue does not answer."""
        try:
            done = _called(self.look)
        except ToolError:
            return None
        if done.returncode and not done.stderr.startswith("No "):  # LSF: "No job found"
            return None
        found = {}
        for line in done.stdout.splitlines():
            number, *rest = (part.strip() for part in line.split("|"))
            state, *reasons = [one for one in rest if one not in ("", "-", "None")] or ["unknown"]
            found[number] = Found(state, "; ".join(reasons), state in self.ended)
        return found


def _with_seconds(seconds: int) -> str:
    return f"{seconds // 3600:02d}:{seconds % 3600 // 60:02d}:{seconds % 60:02d}"


def _in_minutes(seconds: int) -> str:
    minutes = -(-seconds // 60)
    return f"{minutes // 60:02d}:{minutes % 60:02d}"


SLURM_ENDED = frozenset(
    ("BOOT_FAIL", "CANCELLED", "COMPLETED", "DEADLINE", "FAILED", "NODE_FAIL", "OUT_OF_MEMORY", "PREEMPTED",
     "TIMEOUT")
)  # fmt: skip
SLURM_NEVER = frozenset(
    ("AccountNotAllowed", "AssocMaxWallDurationPerJobLimit", "BadConstraints", "InvalidAccount", "InvalidQOS",
     "PartitionNodeLimit", "PartitionTimeLimit", "QOSMaxWallDurationPerJobLimit", "QOSNotAllowed")
)  # fmt: skip
SYSTEMS = {
    "slurm": System(
        "SLURM", ("sbatch",), ("scancel",), ("squeue", "--me", "-h", "-t", "all", "-o", "%A|%T|%r"),
        "SLURM_JOB_ID", SLURM_ENDED, SLURM_NEVER, _with_seconds,
    ),
    "lsf": System(
        "LSF", ("bsub",), ("bkill",),
        ("bjobs", "-a", "-noheader", "-o", "jobid stat pend_reason exit_reason delimiter='|'"),
        "LSB_JOBID", frozenset(("DONE", "EXIT")), frozenset(), _in_minutes,
    ),
}  # fmt: skip


def job_script(
    kind: str, address: str, limits: JobLimits, *, queue: str | None, logs: Path | None, python_path: str
) -> str:
    """What a job runs: one worker for the scheduler at ``address``, named by the job, which ends before the job does.

    What Dask is configured with for such jobs (an account, further directives, a prologue) stays.
    """
    with _handlers_kept():
        import dask
        from dask_jobqueue import lsf, slurm
    system = SYSTEMS[kind]
    known = dask.config.get(f"jobqueue.{kind}")
    name = f"hwgen-${system.number}"
    log = [] if logs is None else ['-o "{}"'.format(str(logs / LOG).replace("%", "%%").replace("%%J", "%J"))]
    options: dict[str, Any] = {
        "name": "hwgen",
        "job_name": "hwgen",
        "cores": 1,
        "processes": 1,
        "memory": f"{limits.memory}B",
        "queue": queue,
        "walltime": system.walltime(limits.seconds),
        "local_directory": "$TMPDIR",
        "job_extra_directives": [*(known.get("job-extra-directives") or []), *log],
        "job_script_prologue": [
            *(known.get("job-script-prologue") or []),
            f"export PYTHONPATH={shlex.quote(python_path)} DASK_LOGGING__DISTRIBUTED=warning",
            "export TMPDIR=$(mktemp -d -t hwgen-job-XXXXXXXX) && trap 'rm -rf \"$TMPDIR\"' EXIT",
        ],
        "worker_extra_args": [
            *(known.get("worker-extra-args") or []),
            *("--name", name, "--lifetime", f"{limits.life:.0f}s", "--lifetime-stagger", f"{limits.stagger:.0f}s"),
        ],
    }
    made = {"slurm": slurm.SLURMJob, "lsf": lsf.LSFJob}[kind](address, **options)
    script: str = made.job_script()
    return script


class Jobs:
    """A farm's jobs: as many as are wanted, of one script; ended ones are replaced.

    Parameters
    ----------
    number : of jobs at a time, at most.
    say : called with a line on what happens to them.
    """

    def __init__(
        self, system: System, script: str, number: int, logs: Path | None, say: Callable[[str], None]
    ) -> None:
        self._system, self._script, self._number, self._logs, self._say = system, script, number, logs, say
        self._under_way: dict[str, Found] = {}
        self._joined: set[str] = set()
        self._reasons: dict[str, str] = {}
        self._futile = 0
        self._looked = 0.0
        self._refusal = ""
        self._new: list[Path] = []

    def begin(self) -> None:
        """Submit all; `InputError` with the system's own words if it does not take the first one."""
        if self._logs is not None:
            self._new = [folder for folder in (self._logs, *self._logs.parents) if not folder.exists()]
            self._logs.mkdir(parents=True, exist_ok=True)
        done = _called(self._system.submit, self._script)
        if done.returncode:
            raise InputError(f"--farm: {self._system.name}: {_reason(done)}")
        self._note(done.stdout)
        self._submit(self._number - 1)

    def joined(self, worker: str) -> None:
        """A worker of use has this name."""
        self._joined.add(_number_of(worker))
        self._futile = 0

    def useless(self, worker: str, reason: str) -> None:
        """The worker of this name is sent away."""
        self._reasons[_number_of(worker)] = reason

    def tend(self, needed: int, there: int) -> None:
        """Tell of jobs that have ended, and replace them as far as there is work for ``needed`` workers.

        Looks now and then, while fewer workers are ``there`` than there should be.

        `ToolError` where no job is left, since all ended before a worker of use joined; `InputError` where none has
        begun and none ever will.
        """
        enough = there >= max(min(self._number, needed), len(self._under_way))
        if enough or time.monotonic() - self._looked < LOOK_SECONDS:
            return
        self._looked = time.monotonic()
        found = self._system.jobs()
        if found is None:
            return
        gone = Found("gone", ended=True)
        now = {number: found.get(number, gone) for number in self._under_way}
        self._under_way = {number: job for number, job in now.items() if not job.ended}
        ended = {number: job for number, job in now.items() if job.ended}
        if self._under_way and not self._joined and all(self._hopeless(job) for job in now.values()):
            raise InputError(f"--farm: {self._system.name}: it would never begin: {self.told()}")
        self._futile += len(ended.keys() - self._joined)
        lacking = min(self._number, needed) - len(self._under_way)
        futile = self._futile >= max(FUTILE_JOBS, self._number)
        if ended:
            told = self._told_end(ended)
            if futile and not self._under_way:
                raise ToolError(f"no worker: {told}")
            if lacking > 0:
                more = f"asking {self._system.name} for {'another' if lacking == 1 else f'{lacking} more'}"
                told += "; " + ("no more are asked for" if futile else more)
            self._say(told)
        if lacking > 0 and not futile:
            self._submit(lacking)

    def told(self) -> str:
        """The jobs by state, with the queue's reasons."""
        states: dict[str, list[str]] = {}
        for number, job in self._under_way.items():
            states.setdefault(str(job), []).append(number)
        found = [f"{_names(numbers)} {state}" for state, numbers in states.items()]
        return "; ".join([*found, *filter(None, [self._refusal])]) or "no job is under way"

    def close(self) -> None:
        """Cancel what is left; folders for logs that were not there before go, if nothing is in them."""
        if self._under_way:
            try:
                _called((*self._system.cancel, *self._under_way))
            except ToolError as error:
                self._say(f"{_names(self._under_way)} may be left: {error}")
        self._under_way = {}
        with suppress(OSError):
            for folder in self._new:
                folder.rmdir()

    def _hopeless(self, job: Found) -> bool:
        return job.reason in self._system.never

    def _submit(self, number: int) -> None:
        """Submit some; what the system refuses is told once, and tried again at the next look."""
        for _ in range(number):
            try:
                done = _called(self._system.submit, self._script)
                refusal = _reason(done) if done.returncode else ""
            except ToolError as error:
                refusal = str(error)
            if refusal:
                if refusal != self._refusal:
                    self._say(f"{self._system.name} takes no further job: {refusal}")
                self._refusal = refusal
                return
            self._refusal = ""
            self._note(done.stdout)

    def _note(self, answer: str) -> None:
        match = SUBMITTED.search(answer)
        if match is None:
            raise ToolError(f"{self._system.submit[0]}: expected the number of a job, got {answer.strip()[:80]!r}")
        self._under_way[match[0]] = Found("submitted")

    def _told_end(self, ended: dict[str, Found]) -> str:
        """The line on jobs that have ended; of those that brought no worker what their logs say last."""
        states = ", ".join(dict.fromkeys(str(job) for job in ended.values()))
        futile = [number for number in ended if number not in self._joined]
        before = " before a worker of use joined" if futile else ""
        last = [self._last_words(number) for number in futile]
        return f"{_names(ended)} ended{before}: {': '.join([states, *filter(None, last[-1:])])}"

    def _last_words(self, number: str) -> str:
        if number in self._reasons or self._logs is None:
            return self._reasons.get(number, "")
        try:
            text = (self._logs / LOG.replace("%J", number)).read_text(encoding="utf-8", errors="replace")
        except OSError:
            return ""
        lines = [line.strip() for line in text.splitlines() if line.strip()]
        return lines[-1][:200] if lines else ""


def _number_of(worker: str) -> str:
    return worker.rpartition("-")[2]


def _names(numbers: Iterable[str]) -> str:
    found = list(numbers)
    if len(found) > SHOWN_JOBS:
        return f"{len(found)} jobs"
    return f"job{'' if len(found) == 1 else 's'} {', '.join(found)}"


def _called(program: tuple[str, ...], text: str = "") -> "subprocess.CompletedProcess[str]":
    try:
        return subprocess.run(
            program, input=text, capture_output=True, text=True, errors="replace", check=False,
            timeout=ANSWER_SECONDS, env=detached_variables(),
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        raise ToolError(f"{program[0]}: no answer in {ANSWER_SECONDS:g} s") from None
    except OSError as error:
        raise ToolError(f"{program[0]}: {error.strerror or error}") from None


def _reason(done: "subprocess.CompletedProcess[str]") -> str:
    """The last line that a program wrote, without its own name."""
    lines = [line.strip() for line in (done.stderr + "\n" + done.stdout).splitlines() if line.strip()]
    if not lines:
        return f"{Path(done.args[0]).name} ended with status {done.returncode}"
    return lines[-1][:200]


@contextmanager
def _handlers_kept() -> Iterator[None]:
    """What handles Ctrl-C stays as it is: importing `dask_jobqueue` puts `sys.exit` there."""
    if threading.current_thread() is not threading.main_thread():
        raise ToolError("--farm: expected in the main thread: elsewhere dask_jobqueue cannot be imported")
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
