"""A command's modules are imported when it is called: what others need costs it no time."""

import subprocess
import sys

import pytest

from hwgen.cli.program.registry import COMMANDS

HEAVY = ("altair", "amaranth", "cosim", "distributed", "matplotlib", "numba", "numpy", "onnx", "onnxruntime",
         "systemrdl", "vl_convert")  # fmt: skip
PROGRAM = """
import sys
from hwgen.cli import main
try:
    main()
finally:
    sys.stderr.write("\\n".join(sys.modules))
"""


@pytest.mark.parametrize(
    ("arguments", "needed"), [("--help", ()), ("layers lenet", ()), ("predict --help", ("numba", "numpy"))]
)
def test_nothing_heavy_is_imported_in_vain(arguments: str, needed: tuple[str, ...]) -> None:
    program = [sys.executable, "-c", PROGRAM, *arguments.split()]
    answer = subprocess.run(program, capture_output=True, text=True, check=False)
    assert answer.returncode == 0
    imported = answer.stderr.split()
    assert "hwgen.cli.console" in imported
    assert [name for name in HEAVY if name in imported and name not in needed] == []


@pytest.mark.parametrize("name", COMMANDS)
def test_what_the_help_says_of_a_command_is_its_docstring(name: str) -> None:
    entry = COMMANDS[name]
    assert entry.summary
    assert (entry.function.__doc__ or "").startswith(entry.summary.partition("\n")[0])
