"""Processes of Python that hwgen starts: they find its modules, and none of the user's folder."""

import subprocess
import sys
from pathlib import Path

import pytest

from hwgen.studies.engine import attempt
from hwgen.tools import toolchain

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
