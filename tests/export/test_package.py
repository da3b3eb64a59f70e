"""FuseSoC takes a generated folder as it is: the targets ``lint`` and ``sim``, as the page of integration says."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from hwgen import __version__
from hwgen.export.hwc import files_of
from tests.export.generated_files import written
from tests.export.test_hwc import PARAMETERS

PAGE = Path(__file__).resolve().parents[2] / "docs" / "integration.md"


def typed(word: str) -> str:
    """The line with this word that the page says to type, under "Simulation and lint"."""
    section = PAGE.read_text(encoding="utf-8").partition("## Simulation and lint\n")[2]
    (line,) = re.findall(rf"^\$ (.*{re.escape(word)}.*)$", section, re.MULTILINE)
    return str(line)


def fusesoc(folder: Path, *lines: str) -> str:
    """Type these lines in the generated folder of an HWC, in a shell that knows no Verilator; what they print."""
    written(folder, files_of(PARAMETERS))
    path = os.pathsep.join((str(Path(sys.executable).parent), os.defpath))
    done = subprocess.run(
        ["sh", "-e", "-c", "\n".join(lines)], cwd=folder, check=False, text=True, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, timeout=120,
        env={"PATH": path, "HOME": str(folder), "XDG_CONFIG_HOME": str(folder), "XDG_CACHE_HOME": str(folder)},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
    return done.stdout


def test_lint(tmp_path: Path) -> None:
    printed = fusesoc(tmp_path, typed("verilator"), typed("--target=lint"))
    assert __version__ in printed
    assert "%Warning" not in printed


@pytest.mark.icarus
@pytest.mark.usefixtures("icarus")
def test_simulation(tmp_path: Path) -> None:
    printed = fusesoc(tmp_path, typed("--target=sim"))
    assert "PASS: hwc answers" in printed
    assert "FAIL" not in printed
