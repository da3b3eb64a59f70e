"""Processes that hwgen starts: those of Python find its modules, and none of the user's; simulators tell failures."""

import subprocess
import sys
from pathlib import Path

import pytest

from cosim.simulator import steps
from hwgen.studies.engine import attempt
from hwgen.tools import toolchain
from hwgen.tools.toolchain import ToolError

ENDS = {"cosim.simulator.launch": "No such file or directory: 'no.json'", "hwgen.studies.engine.attempt": ""}
"""Modules, with how each ends where there is nothing to do."""


@pytest.mark.parametrize("module", ENDS)
def test_modules_of_the_users_folder_are_not_ours(module: str, tmp_path: Path) -> None:
    """A script there may be called ``py.py`` or ``random.py``, as modules are that numpy and cocotb import."""
    for name in ("py", "random", "numpy"):
        (tmp_path / f"{name}.py").write_text("raise ImportError('the user has this')", encoding="utf-8")
    found = toolchain.environment("verilator") if module.startswith("cosim") else attempt.environment()
    more = ["no.json"] if module.startswith("cosim") else ["1", "json"]
    done = subprocess.run(
        [sys.executable, "-m", module, *more], cwd=tmp_path, env=found, input=b"", capture_output=True, check=False
    )
    last = (done.stderr.decode().strip().splitlines() or [""])[-1]
    assert last.endswith(ENDS[module]) if ENDS[module] else last == ""


def simulate(folder: Path, results: str, *, executable: bool = True) -> None:
    """Run a program in place of a simulator: it writes its results, says what it was started with, and ends well."""
    program = folder / "harness"
    written = (
        f"echo '<testsuites><testsuite tests=\"1\" {results}/></testsuites>' > $COCOTB_RESULTS_FILE"
        if results
        else ""
    )
    told = 'echo "ERROR: $COCOTB_TEST_MODULES of $COCOTB_TOPLEVEL with $*"'
    program.write_text(f"#!/bin/sh\n{written}\n{told}\n", encoding="utf-8")
    program.chmod(0o755 if executable else 0o644)
    request = steps.test_request("verilator", folder, folder, "tests.some", "harness")
    steps.launch({**request, "plusargs": ["+few"]}, folder)


def test_a_simulation_passes(tmp_path: Path) -> None:
    simulate(tmp_path, 'failures="0" errors="0"')


@pytest.mark.parametrize("results", ['failures="1"', 'errors="1"', ""])
def test_a_simulation_that_fails_is_told_with_its_log(results: str, tmp_path: Path) -> None:
    """cocotb ends with status 0 all the same."""
    (tmp_path / "results.xml").write_text('<testsuites><testsuite tests="1"/></testsuites>', encoding="utf-8")
    with pytest.raises(ToolError, match=r"verilator: test failed: ERROR: tests\.some of harness with \+few"):
        simulate(tmp_path, results)


def test_a_simulator_that_cannot_be_started_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ToolError, match=r"verilator: test failed: .*Permission denied"):
        simulate(tmp_path, "", executable=False)
