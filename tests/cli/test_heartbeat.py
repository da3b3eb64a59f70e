"""Lines on standard error while a command works."""

import io
import re
import sys
import threading
import time
from typing import Any

import pytest

import hwgen.api.networks
from hwgen.cli import heartbeat
from hwgen.cli.console import note, progress
from tests.cli.command_line import Run


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch, run: Run) -> Run:
    """The command line, whose ``layers`` searches for a while first."""
    real = hwgen.api.networks.load_layer_set

    def load(name: str) -> Any:
        note("a folder\nof 3 layers")
        with progress(3, "searching") as step:
            step(0.5)
            step(0.5)
            time.sleep(0.3)
            with progress(2, "timing"):
                time.sleep(0.3)
        return real(name)

    monkeypatch.setattr(heartbeat, "SECONDS", 0.02)
    monkeypatch.setattr(hwgen.api.networks, "load_layer_set", load)
    return run


def test_a_line_now_and_then_says_what_the_work_is_at(slow: Run) -> None:
    answer = slow("layers", "lenet", "--json")
    assert answer.status == 0
    assert answer.json["layers"]
    lines = answer.err.splitlines()
    told = {re.sub("[0-9]+ s", "9 s", line) for line in lines}
    on_a_slow_machine = {
        "hwgen: 9 s: working",
        "hwgen: 9 s: a folder of 3 layers",
        "hwgen: 9 s: a folder of 3 layers; searching, 0 of 3",
    }
    assert told - on_a_slow_machine == {
        "hwgen: 9 s: a folder of 3 layers; searching, 1 of 3",
        "hwgen: 9 s: a folder of 3 layers; searching, 1 of 3; timing, 0 of 2",
    }
    assert 4 <= len(lines) <= 31


@pytest.mark.parametrize("option", ["-q", "--quiet"])
def test_quiet(slow: Run, option: str) -> None:
    assert slow("layers", "lenet", option).err == ""


def test_a_terminal_has_bars_instead(slow: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    assert not re.search(r"hwgen: [0-9]+ s", slow("layers", "lenet").err)


def test_a_terminal_has_a_line_once(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    for line in ("compiling", "", "compiling", "searching", ""):
        note(line)
    assert re.sub(r"\x1b\[[0-9;]*m", "", capsys.readouterr().err).split() == ["compiling", "searching"]


def test_the_lines_end_with_the_command(slow: Run, capfd: pytest.CaptureFixture[str]) -> None:
    slow("layers", "nothing-of-this-name")
    time.sleep(0.1)
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("how", ["closed", "another", "none"])
def test_standard_error_that_goes_while_lines_are_written(monkeypatch: pytest.MonkeyPatch, how: str) -> None:
    """A line goes to the stream that the command began with, or nowhere; no thread ends in an error."""
    errors: list[threading.ExceptHookArgs] = []
    monkeypatch.setattr(threading, "excepthook", errors.append)
    monkeypatch.setattr(heartbeat, "SECONDS", 0.01)
    stream, other = io.StringIO(), io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    with heartbeat.telling(quiet=False):
        if how == "closed":
            stream.close()
        else:
            monkeypatch.setattr(sys, "stderr", other if how == "another" else None)
        time.sleep(0.2)
    assert errors == []
    assert other.getvalue() == ""
    assert how == "closed" or "hwgen: 0 s: working" in stream.getvalue()
