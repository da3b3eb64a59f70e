"""The core without the annexes, studies and papers: its commands work, and those of the annexes are no commands."""

import json
import subprocess
import sys
from pathlib import Path

from hwgen.arch.hardware_file import load_hardware
from hwgen.ir.builtin import named_file
from hwgen.ir.hardware import save_hardware
from hwgen.ir.schedule import save_schedule
from tests.cli.test_cosim import small

ANNEXES = {"papers": ["paper"], "studies": ["sweep", "report", "regress", "regress-stacks", "regress-ways"]}
"""Rooms that may be missing, with commands that are in them."""
CORE = """
import sys
from importlib.machinery import PathFinder
import hwgen
annexes, rooms = sys.argv.pop(1).split(), list(hwgen.__path__)
class Core:
    def find_spec(name, path=None, target=None):
        package, _, room = name.rpartition(".")
        return PathFinder.find_spec(name, rooms) if package == "hwgen" and room not in annexes else None
hwgen.__path__[:] = []
sys.meta_path.append(Core)
"""
"""The package has every room of the core and no other one. Its files are the core's own, as are its kernels."""
WITHOUT = """
import json, os
printed, answers, commands = sys.argv[1:]
from hwgen.cli import main
for arguments in json.loads(commands):
    with open(printed, "wb") as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
    sys.argv = ["hwgen", *arguments]
    try:
        main()
    except SystemExit as ended:
        status = ended.code
    sys.stdout.flush()
    with open(answers, "a") as file:
        file.write(json.dumps([status, open(printed).read()]) + "\\n")
"""
"""The program, command by command."""
MODEL = Path(__file__).parents[1] / "cli" / "networks" / "cases" / "3x3_s5.onnx"
NAME = """
print(hasattr(hwgen, 'sweep'))
hwgen.sweep
"""


def without_annexes(program: str, *arguments: str) -> list[str]:
    """A command that runs a program where there is the core alone."""
    return [sys.executable, "-c", CORE + program, " ".join(ANNEXES), *arguments]


def test_a_call_of_an_annex_says_what_is_missing() -> None:
    asked = subprocess.run(without_annexes(NAME), capture_output=True, text=True, check=False)
    assert asked.stdout == "False\n"
    assert asked.stderr.endswith("AttributeError: hwgen.sweep: needs hwgen.studies, which is not installed\n")


def test_hwgen_works_without_studies_and_papers(tmp_path: Path) -> None:
    table, found, made, scaled = (tmp_path / name for name in ("set.yaml", "found", "made", "scaled.yaml"))
    machine = load_hardware(named_file("hardware", "m4c4_1KiB")).model_copy(update={"requantisation": "scaled"})
    save_hardware(machine, scaled)
    # Other tests simulate the HWC of this one, too, as that of the network.
    save_schedule(small(), tmp_path / "one" / "small.yaml")
    table.write_text(
        "format: 1\nkind: layer_list\nnetwork: small\nlayers:\n- {name: a, op: conv, input_channels: 4, "
        "output_channels: 4, input_height: 6, input_width: 6, output_height: 4, output_width: 4, kernel: [3, 3]}\n"
    )
    working = [
        ("schedule", table, "--buffer", "1KiB", "--shared", "-o", found),
        ("predict", found / "a.yaml"),
        ("generate", found / "a.yaml", "-o", made),
        ("generate", MODEL, "--hardware", "cluster_64_vector", "-o", made / "network"),
        ("cosim", tmp_path / "one" / "small.yaml"),
        ("run", MODEL, "--hardware", scaled, "--seed", "1", "-o", tmp_path / "ran"),
        ("--help",),
    ]
    gone = [name for names in ANNEXES.values() for name in names]
    commands = [list(map(str, command)) for command in [*working, *((command,) for command in gone)]]
    files = [str(tmp_path / "printed"), str(tmp_path / "answers")]
    program = without_annexes(WITHOUT, *files, json.dumps(commands))
    assert subprocess.run(program, check=False, timeout=900).returncode == 0, (tmp_path / "printed").read_text()
    answers = [json.loads(line) for line in (tmp_path / "answers").read_text(encoding="utf-8").splitlines()]
    assert len(answers) == len(commands)
    for status, printed in answers[: len(working)]:
        assert (status, "Traceback" in printed) == (0, False), printed
    shown = answers[len(working) - 1][1]
    assert " schedule " in shown
    for command, (status, printed) in zip(gone, answers[len(working) :], strict=True):
        assert status == 2
        assert f"No such command '{command}'" in printed
        assert f" {command} " not in shown
