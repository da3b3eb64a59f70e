"""Ctrl-C while modules are imported ends the program at once, and says nothing."""

import signal
import subprocess
import sys

import pytest

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
def test_it_ends_without_a_word(module: str) -> None:
    answer = interrupted_at(module, "predict", "none.yaml")
    assert (answer.returncode, answer.stdout, answer.stderr) == (130, "", "")


def test_ignored_it_stays_ignored() -> None:
    """As under ``nohup``, or in the background of a script."""
    answer = interrupted_at("hwgen.cli.commands.layers", "layers", "lenet", ignored=True)
    assert (answer.returncode, answer.stderr) == (0, "")
    assert "layers" in answer.stdout
