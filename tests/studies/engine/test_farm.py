"""Sweeps on workers that die, hang and crash, and on farms: what is finished stays finished."""

import csv
import json
import os
import random
import signal
import stat
import subprocess
import sys
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path

import pytest

from hwgen.studies.engine.farm import Place
from hwgen.studies.sweep.request import Question
from hwgen.studies.sweep.run import Sweep
from hwgen.studies.sweep.steps import LEDGER
from hwgen.tools.ledger import Ledger
from tests.studies.engine.points import configurations, layers_named

ROOT = Path(__file__).resolve().parents[3]
PROGRAM = """
import json, sys
from pathlib import Path
from hwgen.cli.program.interrupts import interruptible
from hwgen.ir.document import InputError
from hwgen.studies.engine import farm, work
from hwgen.studies.engine.farm import Place
from hwgen.studies.sweep.request import Question
from hwgen.studies.sweep.run import Sweep
from hwgen.studies.sweep.tables.files import write_results
from hwgen.studies.sweep.steps import LEDGER
from hwgen.tools.ledger import Ledger
from tests.studies.engine.points import configurations, layers_named
from hwgen.tools.toolchain import ToolError
folder, names, budgets, kind, workers, address, seconds, attempts, options = sys.argv[1:]
names = names.split(",")
question = Question(
    layers_named(*names), configurations(*map(int, budgets.split(","))), synthesise="synthesised" in names
)
options = json.loads(options)
farm.ALONE_SECONDS = options.pop("alone", farm.ALONE_SECONDS)
logs = Path(folder).resolve() / "logs"
tell = lambda line, done, known: print(line, flush=True)
keep = lambda outcome: write_results(Path(folder), outcome, question)
work.KEEP_SECONDS = 0.1
limits = (float(seconds), int(attempts))
perform = "tests.studies.engine.points:perform"
try:
    with interruptible():
        place = Place(kind, int(workers), address=address, logs=logs, **options)
        sweep = Sweep(question, Path(folder), place, *limits, tell, perform=perform, keep=keep)
        outcome = sweep.run()
except KeyboardInterrupt:
    sys.exit(130)
except (InputError, ToolError) as error:
    print(error)
    sys.exit(2 if isinstance(error, InputError) else 1)
keep(outcome)
print("attempts", sum(outcome.attempts.values()), "again", outcome.again)
"""


def started(
    folder: Path,
    names: str = "a,b,c,d,e,f,g,h",
    budgets: str = "1024,2048",
    *,
    kind: str = "local",
    workers: int = 2,
    address: str = "",
    seconds: float = 60,
    attempts: int = 3,
    path: str = "",
    **options: object,
) -> "subprocess.Popen[str]":
    """A sweep of cheap points, the leader of a process group of its own; ``options`` are those of its `Place`."""
    folder.mkdir(exist_ok=True)
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "HWGEN_TEST_JOURNAL": str(folder / "journal"),
        "HWGEN_CACHE": str(folder / "cache"),
        "PATH": os.pathsep.join(filter(None, [path, os.environ["PATH"]])),
        "OMP_NUM_THREADS": "1",
    }
    arguments = [str(folder), names, budgets, kind, str(workers), address, str(seconds), str(attempts)]
    arguments.append(json.dumps({"walltime": "00:10", **options}))
    script = folder.with_name(f"{folder.name}.py")  # without a main guard
    script.write_text(PROGRAM, encoding="utf-8")
    return subprocess.Popen(
        [sys.executable, str(script), *arguments],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )


def finished(process: "subprocess.Popen[str]", seconds: float = 300) -> str:
    """What it printed, once it has ended as it should."""
    out, _ = process.communicate(timeout=seconds)
    assert process.returncode == 0, out
    return out


def rows(folder: Path) -> list[dict[str, str]]:
    with (folder / "results.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def journal(folder: Path) -> list[str]:
    file = folder / "journal"
    return file.read_text(encoding="utf-8").splitlines() if file.exists() else []


def kept(folder: Path) -> set[str]:
    return set(Ledger(folder / LEDGER).load())


def alive(folder: Path) -> list[str]:
    """Processes that belong to a sweep: its journal is in their environment."""
    mark = f"HWGEN_TEST_JOURNAL={folder / 'journal'}".encode()
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if mark in (process / "environ").read_bytes().split(b"\0") and (process / "cmdline").read_bytes():
                found.append(process.name)
        except OSError:
            continue
    return found


def gone(folder: Path, seconds: float = 60) -> bool:
    """Whether no process of a sweep is left, after a while."""
    end = time.monotonic() + seconds
    while alive(folder):
        if time.monotonic() > end:
            return False
        time.sleep(0.1)
    return True


@pytest.mark.nightly
@pytest.mark.parametrize("times", [1, 10])
def test_killed_again_and_again_it_ends_as_if_undisturbed(tmp_path: Path, times: int) -> None:
    undisturbed, disturbed = tmp_path / "undisturbed", tmp_path / "disturbed"
    finished(started(undisturbed, workers=1))
    assert Counter(line.split()[0] for line in journal(undisturbed)) == {"plan": 2, "build": 1, "simulate": 8}
    moments = random.Random(7)
    in_the_middle = 0
    for _ in range(times):
        process = started(disturbed)
        before, done = kept(disturbed), len(journal(disturbed))
        # Some time after none or one more of the steps is finished: between steps, in them, while all of it starts.
        more = moments.randrange(2)
        while process.poll() is None and len(kept(disturbed)) < len(before) + more:
            time.sleep(0.02)
        time.sleep(moments.uniform(0, 1.5))
        in_the_middle += process.poll() is None
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        assert gone(disturbed), "a process has outlived its sweep"
        assert not before & {line.split()[1] for line in journal(disturbed)[done:]}, "done again"
    assert in_the_middle >= 0.6 * times
    before, done = kept(disturbed), len(journal(disturbed))
    finished(started(disturbed))
    assert not before & {line.split()[1] for line in journal(disturbed)[done:]}, "done again"
    for name in ("results.csv", "curves.csv", "schema.json", "provenance.json"):
        assert (disturbed / name).read_bytes() == (undisturbed / name).read_bytes()
    assert {row["status"] for row in rows(disturbed)} == {"ok"}
    # What is complete needs no worker at all.
    out = finished(started(disturbed))
    assert out == "attempts 0 again 0\n"


@pytest.mark.nightly
def test_interrupted_it_leaves_the_rows_that_are_there(tmp_path: Path) -> None:
    disturbed = tmp_path / "disturbed"
    process = started(disturbed, "a,b,c,slow", "1024")
    assert process.stdout is not None
    end = time.monotonic() + 120
    while not (disturbed / "results.csv").exists() or "ok" not in {row["status"] for row in rows(disturbed)}:
        assert time.monotonic() < end, "no table while it runs"
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGINT)
    out, _ = process.communicate(timeout=120)
    assert process.returncode == 130
    found = {row["layer"]: row["status"] for row in rows(disturbed)}
    assert set(found.values()) == {"ok", "pending"}
    assert found["slow"] == "pending"
    known = sum(status == "ok" for status in found.values())
    assert f"interrupted: {known} of 4 rows are there; the same command goes on from there\n" in out
    assert "Traceback" not in out  # the workers say nothing of their own
    assert out.startswith("1 configuration, 4 layers: starting 2 workers\n")
    assert gone(disturbed)
    # What is there is kept.
    before, done = kept(disturbed), len(journal(disturbed))
    finished(started(disturbed, "a,b,c", "1024"))
    assert not before & {line.split()[1] for line in journal(disturbed)[done:]}, "done again"
    assert [(row["layer"], row["status"]) for row in rows(disturbed)] == [
        ("a", "ok"), ("b", "ok"), ("c", "ok"), ("slow", "pending")
    ]  # fmt: skip


def test_an_interruption_where_errors_are_swallowed_is_not_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HWGEN_TEST_JOURNAL", str(tmp_path / "journal"))

    def tell(line: str, done: int, known: int) -> None:
        with suppress(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)

    before = signal.getsignal(signal.SIGINT)
    question = Question(layers_named("a", "b"), configurations(1024))
    sweep = Sweep(question, tmp_path, Place(), 60, 1, tell, perform="tests.studies.engine.points:perform")
    with pytest.raises(KeyboardInterrupt):
        sweep.run()
    assert signal.getsignal(signal.SIGINT) is before


@pytest.mark.nightly
def test_what_hangs_or_crashes_or_differs_is_one_row_and_a_worker_that_dies_costs_an_attempt(tmp_path: Path) -> None:
    names = ("a", "slow", "crash", "differs", "killer")
    out = finished(started(tmp_path, ",".join(names), "32,1024", seconds=6, attempts=2))
    found = {(row["buffer_bytes"], row["layer"]): (row["status"], row["reason"]) for row in rows(tmp_path)}
    assert found == {
        **{("32", name): ("infeasible", "nothing fits 32 bytes") for name in names},
        ("1024", "a"): ("ok", ""),
        ("1024", "slow"): ("failed", "simulation: not done after 6 s"),
        ("1024", "crash"): ("failed", "simulation: its process ended with status 3: out of luck"),
        ("1024", "differs"): ("differs", "I read at tcdm: 4 bytes more"),
        ("1024", "killer"): ("ok", ""),
    }
    assert out.count("its process ended with status -9; once more") >= 1
    # The hang, the crash and the death, once more each; what differs is not tried again.
    again = int(out.split()[-1])
    assert again == 3
    begun = Counter(line for line in journal(tmp_path) if line.startswith("simulate"))
    assert len(begun) == 5
    assert sum(begun.values()) == 5 + again
    assert max(begun.values()) == 2
    assert gone(tmp_path)


@pytest.mark.nightly
def test_a_synthesis_that_fails_takes_nothing_else_along(tmp_path: Path) -> None:
    out = finished(started(tmp_path, "a,synthesised", "1024"))
    assert [(row["layer"], row["status"], row["reason"], row["cycles_measured"]) for row in rows(tmp_path)] == [
        (name, "failed", "synthesis: synthesis: nextpnr failed: no room", "1000") for name in ("a", "synthesised")
    ]
    assert sum(line.startswith("synthesise ") for line in journal(tmp_path)) == 1  # not tried in vain again
    assert "again 0" in out


CLUSTER = """
import distributed, sys, time
if __name__ == "__main__":
    cluster = distributed.LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=None, memory_limit=0)
    print(cluster.scheduler_address, flush=True)
    sys.stdin.read()
"""


@pytest.mark.nightly
def test_a_running_scheduler_is_used_and_left_running(tmp_path: Path) -> None:
    script = tmp_path / "cluster.py"
    script.write_text(CLUSTER, encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "HWGEN_TEST_JOURNAL": str(tmp_path / "out" / "journal")}
    with subprocess.Popen(
        [sys.executable, str(script)], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as cluster:
        assert cluster.stdout is not None
        address = cluster.stdout.readline().strip()
        finished(started(tmp_path / "out", "a,b", "1024", kind="scheduler", address=address))
        assert {row["status"] for row in rows(tmp_path / "out")} == {"ok"}
        assert cluster.poll() is None
        cluster.communicate("")


SUBMIT = """#!{python}
import os, subprocess, sys
text = open(sys.argv[-1]).read() if len(sys.argv) > 1 and os.path.exists(sys.argv[-1]) else sys.stdin.read()
with open("{folder}/submitted", "a") as log:
    log.write("\\n".join(line for line in text.splitlines() if line.startswith("#")) + "\\n")
script = "{folder}/script-%d.sh" % os.getpid()
open(script, "w").write(text)
output = open(script + ".out", "w")
files = dict(stdin=subprocess.DEVNULL, stdout=output, stderr=output)
with_number = "export SLURM_JOB_ID=$$ LSB_JOBID=$$; . " + script
process = subprocess.Popen(["/bin/bash", "-c", with_number], start_new_session=True, **files)
open("{folder}/job-%d.sh" % process.pid, "w").close()
print("{answer}" % process.pid)
"""
CANCEL = """#!{python}
import os, signal, sys
for job in sys.argv[1:]:
    try:
        os.killpg(int(job), signal.SIGTERM)
    except ProcessLookupError:
        pass
"""


LOOK = """#!{python}
import os
for file in os.listdir("{folder}"):
    number = file.removeprefix("job-").removesuffix(".sh")
    if number.isdigit():
        alive = os.path.exists("/proc/" + number)
        print(number, "{running}" if alive else "{ended}", "-", sep="|")
"""


@pytest.mark.parametrize(
    ("kind", "submit", "cancel", "look", "answer", "states", "asked"),
    [
        ("slurm", "sbatch", "scancel", "squeue", "Submitted batch job %d", ("RUNNING", "COMPLETED"),
         "#SBATCH -t 00:10:00\n"),
        pytest.param(
            *("lsf", "bsub", "bkill", "bjobs", "Job <%d> is submitted to default queue <normal>.", ("RUN", "DONE"),
              "#BSUB -W 00:10\n"),
            marks=pytest.mark.nightly,
        ),
    ],
)  # fmt: skip
def test_jobs_of_queueing_systems(
    tmp_path: Path, kind: str, submit: str, cancel: str, look: str, answer: str, states: tuple[str, str], asked: str
) -> None:
    programs = tmp_path / "bin"
    programs.mkdir()
    words = {"python": sys.executable, "folder": programs, "answer": answer, "running": states[0], "ended": states[1]}
    for name, text in ((submit, SUBMIT), (cancel, CANCEL), (look, LOOK)):
        file = programs / name
        file.write_text(text.format(**words), encoding="utf-8")
        file.chmod(file.stat().st_mode | stat.S_IXUSR)
    out = tmp_path / "out"
    told = finished(started(out, "a,b,c", "1024", kind=kind, workers=2, path=str(programs)))
    assert f"asking {kind.upper()} for 2 jobs; dashboard http://" in told
    assert {row["status"] for row in rows(out)} == {"ok"}
    submitted = (programs / "submitted").read_text(encoding="utf-8")
    assert submitted.count(asked) == 2
    assert len(list(programs.glob("job-*.sh"))) == 2
    assert gone(out), "a job has outlived its sweep"


def test_layers_of_points_differ() -> None:
    assert len({layer.input_channels for layer in layers_named("a", "b")}) == 2
    assert [one.name for one in configurations(32)] == ["hwce 32"]
