"""The core without the annexes, studies and papers: its commands work, and those of the annexes are no commands."""

import subprocess
import sys
from pathlib import Path

import pytest

import hwgen
from hwgen.arch.hardware_file import load_hardware
from hwgen.ir.builtin import named_file
from hwgen.ir.hardware import save_hardware

ANNEXES = {"papers": ["paper"], "studies": ["sweep", "report", "regress", "regress-stacks", "regress-ways"]}
"""Rooms that may be missing, with commands that are in them."""
WITHOUT = "import hwgen, sys; hwgen.__path__[:] = [sys.argv.pop(1)]; from hwgen.cli import main; main()"
MODEL = Path(__file__).parents[1] / "cli" / "networks" / "cases" / "3x3_s5.onnx"


NAME = "import hwgen, sys; hwgen.__path__[:] = [sys.argv.pop(1)]; print(hasattr(hwgen, 'sweep')); hwgen.sweep"


def without_annexes(rooms: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """The program, where the folder of the package has every room of the core and no other."""
    command = [sys.executable, "-c", WITHOUT, str(rooms), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=900)


def works(rooms: Path, *arguments: str) -> None:
    """The command ends with 0."""
    found = without_annexes(rooms, *arguments)
    assert (found.returncode, "Traceback" in found.stderr) == (0, False), found.stderr


@pytest.fixture
def rooms(tmp_path: Path) -> Path:
    """The package without the annexes."""
    rooms = tmp_path / "hwgen"
    rooms.mkdir()
    for room in Path(hwgen.__path__[0]).iterdir():
        if room.name not in ANNEXES:
            (rooms / room.name).symlink_to(room)
    return rooms


def test_a_call_of_an_annex_says_what_is_missing(rooms: Path) -> None:
    asked = subprocess.run([sys.executable, "-c", NAME, str(rooms)], capture_output=True, text=True, check=False)
    assert asked.stdout == "False\n"
    assert asked.stderr.endswith("AttributeError: hwgen.sweep: needs hwgen.studies, which is not installed\n")


def test_hwgen_works_without_studies_and_papers(rooms: Path, tmp_path: Path) -> None:
    table, found, made, scaled = (tmp_path / name for name in ("set.yaml", "found", "made", "scaled.yaml"))
    machine = load_hardware(named_file("hardware", "m4c4_1KiB")).model_copy(update={"requantisation": "scaled"})
    save_hardware(machine, scaled)
    table.write_text(
        "format: 1\nkind: layer_list\nnetwork: small\nlayers:\n- {name: a, op: conv, input_channels: 4, "
        "output_channels: 4, input_height: 6, input_width: 6, output_height: 4, output_width: 4, kernel: [3, 3]}\n"
    )
    works(rooms, "schedule", str(table), "--buffer", "1KiB", "--shared", "-o", str(found))
    works(rooms, "predict", str(found / "a.yaml"))
    works(rooms, "generate", str(found / "a.yaml"), "-o", str(made))
    works(rooms, "generate", str(MODEL), "--hardware", "cluster_64_vector", "-o", str(made / "network"))
    works(rooms, "cosim", str(found / "a.yaml"))
    works(rooms, "run", str(MODEL), "--hardware", str(scaled), "--seed", "1", "-o", str(tmp_path / "ran"))
    shown = without_annexes(rooms, "--help").stdout
    assert " schedule " in shown
    for command in [name for names in ANNEXES.values() for name in names]:
        asked = without_annexes(rooms, command)
        assert asked.returncode == 2
        assert f"No such command '{command}'" in asked.stderr
        assert f" {command} " not in shown
