"""FuseSoC takes a generated folder as it is: the targets ``lint`` and ``sim``, which looks at the example."""

import subprocess
import sys
from pathlib import Path

import pytest

from hwgen.export.hwc import files_of
from hwgen.export.package import CORE_VERSION
from hwgen.tools.toolchain import environment
from tests.export.test_hwc import PARAMETERS


def fusesoc(folder: Path, target: str) -> str:
    """Run a target of the HWC's core; what it printed."""
    design = folder / "rtl"
    for name, text in files_of(PARAMETERS).items():
        (design / name).parent.mkdir(parents=True, exist_ok=True)
        (design / name).write_text(text, encoding="utf-8")
    program = Path(sys.executable).with_name("fusesoc")
    command = [program, "--cores-root", design, "run", f"--target={target}", f"hwgen:hwc:hwc:{CORE_VERSION}"]
    done = subprocess.run(
        command, cwd=folder, check=False, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        timeout=120, env=environment("verilator") | {"XDG_CONFIG_HOME": str(folder)},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
    return done.stdout


def test_lint(tmp_path: Path) -> None:
    assert "%Warning" not in fusesoc(tmp_path, "lint")


@pytest.mark.icarus
@pytest.mark.usefixtures("icarus")
def test_simulation(tmp_path: Path) -> None:
    printed = fusesoc(tmp_path, "sim")
    assert "PASS: hwc answers" in printed
    assert "FAIL" not in printed
