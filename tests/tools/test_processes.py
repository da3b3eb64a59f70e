"""Programs that are started: with what they start they end when this process does, however that comes about."""

import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import pytest

from hwgen.tools.processes import completed, started, stop_all
from hwgen.tools.scratch import own_scratch, scratch
from tests.left_behind import ended

PATH = {"PATH": os.environ["PATH"]}


def test_it_is_waited_for_and_heard() -> None:
    assert completed(["sh", "-c", "echo out; echo err >&2; exit 3"], PATH) == (3, "out\nerr\n")


def test_all_that_run_are_stopped_with_what_they_have_started(tmp_path: Path) -> None:
    file = tmp_path / "started"
    process = started(["sh", "-c", f"sleep 600 & echo $! > {file}; wait"], PATH)
    while not (file.exists() and file.read_text(encoding="utf-8")):
        time.sleep(0.01)
    stop_all()
    assert process.wait(10) == -signal.SIGKILL
    assert ended(int(file.read_text(encoding="utf-8")))


def test_what_is_being_started_is_stopped_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """An interrupt comes when the program runs, and is not yet known to."""

    class Interrupted(subprocess.Popen[bytes]):
        def __init__(self, command: list[str], **more: Any) -> None:
            super().__init__(command, **more)
            if command[0] == "sleep":
                stop_all()

    monkeypatch.setattr(subprocess, "Popen", Interrupted)
    assert started(["sleep", "600"], PATH).wait(10) == -signal.SIGKILL


FORK = """
import os, sys, time
from hwgen.tools.processes import started
started(["sleep", "600"], dict(os.environ))
if os.fork() == 0:  # its copy has no part in what it has started
    os.close(1)
    time.sleep(20)
    os._exit(0)
process = started(["sleep", "600"], dict(os.environ))
print(process.pid, flush=True)
time.sleep(60)
"""


def test_a_copy_that_lives_on_keeps_nothing_alive() -> None:
    with subprocess.Popen([sys.executable, "-c", FORK], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        tool = int(process.stdout.readline())
        process.kill()
    assert ended(tool)


def test_temporary_files_are_in_a_folder_of_their_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.delenv("TMPDIR", raising=False)
    left, others = tmp_path / "hwgen-run-left", tmp_path / "hwgen-other"
    for folder in (left, others):
        (folder / "inside").mkdir(parents=True)
    with scratch():
        (folder,) = tmp_path.glob("hwgen-run-*")
        assert own_scratch() == folder
        assert Path(tempfile.mkdtemp()).parent == folder
        assert os.environ["TMPDIR"] == str(folder)
        with scratch():  # as another program beside it
            assert folder.exists()
            assert os.environ["TMPDIR"] == tempfile.gettempdir() != str(folder)
    assert list(tmp_path.iterdir()) == [others]
    assert (tempfile.gettempdir(), os.environ.get("TMPDIR")) == (str(tmp_path), None)


def test_where_no_folder_can_be_made_nothing_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", "/none")
    with scratch():
        assert tempfile.gettempdir() == "/none"
        assert own_scratch() is None
