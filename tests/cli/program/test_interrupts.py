"""Ctrl-C while modules are imported ends the program at once, and says nothing; later it ends the tools, too."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from hwgen.cli.program.interrupts import interruptible
from tests.left_behind import ended

INTERRUPTED_AT = """
import os, signal, sys
from hwgen.cli import main

moment = sys.argv.pop(1)

class Interrupt:
    def find_spec(self, name, path=None, target=None):
        if name == moment:
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Interrupt())
main()
"""
"""Runs the program with a Ctrl-C at the moment when a module is looked for."""


def interrupted_at(module: str, *arguments: str, ignored: bool = False) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-c", INTERRUPTED_AT, module, *arguments],
        # What starts the tests may ignore Ctrl-C, too.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN if ignored else signal.SIG_DFL),
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("module", ["hwgen.cli.program.program", "hwgen.cli.commands.predict.predict", "numba"])
def test_it_ends_without_a_word(module: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    answer = interrupted_at(module, "predict", "none.yaml")
    assert (answer.returncode, answer.stdout, answer.stderr) == (130, "", "")
    assert list(tmp_path.iterdir()) == []


def test_ignored_it_stays_ignored() -> None:
    """As under ``nohup``, or in the background of a script."""
    answer = interrupted_at("hwgen.cli.commands.layers", "layers", "lenet", ignored=True)
    assert (answer.returncode, answer.stderr) == (0, "")
    assert "layers" in answer.stdout


@pytest.mark.parametrize("on_interrupt", [signal.default_int_handler, signal.SIG_IGN])
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_is_an_interrupt(number: signal.Signals, on_interrupt: Any) -> None:
    before, handler = signal.getsignal(number), signal.signal(signal.SIGINT, on_interrupt)
    hangup = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    try:
        with pytest.raises(KeyboardInterrupt), interruptible():
            signal.raise_signal(number)
    finally:
        signal.signal(signal.SIGINT, handler)
        signal.signal(signal.SIGHUP, hangup)
    assert signal.getsignal(number) is before


def test_a_second_one_does_not_disturb_what_the_first_one_ends() -> None:
    def interrupted_twice() -> None:
        try:
            signal.raise_signal(signal.SIGTERM)
        finally:
            signal.raise_signal(signal.SIGTERM)
            finished.append(True)

    finished: list[bool] = []
    with pytest.raises(KeyboardInterrupt), interruptible():
        interrupted_twice()
    assert finished


def test_one_that_comes_in_a_destructor_is_not_lost() -> None:
    class Interrupted:
        def __del__(self) -> None:
            signal.raise_signal(signal.SIGTERM)

    def interrupted_while_it_is_freed() -> None:
        Interrupted()
        time.sleep(10)
        finished.append(True)

    finished: list[bool] = []
    with pytest.raises(KeyboardInterrupt), interruptible():
        interrupted_while_it_is_freed()
    assert not finished


WAITS = """
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from hwgen.cli.program import program

def app(**_):
    from hwgen.tools.processes import completed
    script = f"sleep 600 & echo $! > {sys.argv[1]}.part; mv {sys.argv[1]}.part {sys.argv[1]}; wait"
    Path(sys.argv[2]).write_text(program.tempfile.gettempdir())
    with ThreadPoolExecutor(1) as pool:
        list(pool.map(lambda _: completed(["sh", "-c", script], {"PATH": "/usr/bin:/bin"}), [0]))

program.app = app
program.run()
"""
"""The program while a thread waits for a tool, which has started another one."""


@pytest.mark.parametrize("blow", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL])
def test_nothing_outlives_it(tmp_path: Path, blow: signal.Signals) -> None:
    started, scratch = tmp_path / "started", tmp_path / "scratch"
    with subprocess.Popen(
        [sys.executable, "-c", WAITS, str(started), str(scratch)],
        preexec_fn=lambda: [signal.signal(one, signal.SIG_DFL) for one in (signal.SIGINT, signal.SIGHUP)],
        env={**os.environ, "TMPDIR": str(tmp_path)},
    ) as process:
        deadline = time.monotonic() + 60
        while not started.exists() and process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.02)
        began = time.monotonic()
        process.send_signal(blow)
    assert process.returncode == (-9 if blow == signal.SIGKILL else 130)
    assert ended(int(started.read_text(encoding="utf-8")))
    assert time.monotonic() - began < 10
    folder = Path(scratch.read_text(encoding="utf-8"))
    assert folder.parent == tmp_path
    deadline = time.monotonic() + 10
    while folder.exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not folder.exists()


UNHEARD = """
import signal, time
from threading import Thread
from hwgen.cli.program.interrupts import interruptible

def comes():
    time.sleep(0.5)
    signal.pthread_kill(waits.ident, signal.SIGTERM)

with interruptible():
    try:
        waits = Thread(target=time.sleep, args=(30,), daemon=True)
        waits.start()
        Thread(target=comes).start()
        waits.join()
    except KeyboardInterrupt:
        print("heard")
"""
"""A signal comes in another thread, and the main thread sleeps on: as where it comes just before it sleeps."""


def test_one_that_does_not_wake_the_main_thread_comes_again() -> None:
    began = time.monotonic()
    answer = subprocess.run([sys.executable, "-c", UNHEARD], capture_output=True, text=True, check=False, timeout=60)
    assert (answer.stdout, answer.stderr) == ("heard\n", "")
    assert time.monotonic() - began < 20
