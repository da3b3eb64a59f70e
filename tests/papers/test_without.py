"""The core without the room of the papers: its commands work, and ``paper`` is no command."""

import subprocess
import sys
from pathlib import Path

import hwgen

WITHOUT = "import hwgen, sys; hwgen.__path__[:] = [sys.argv.pop(1)]; from hwgen.cli import main; main()"


def without_papers(rooms: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """The program, where the folder of the package has every room but the papers."""
    command = [sys.executable, "-c", WITHOUT, str(rooms), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)


def test_hwgen_works_without_the_papers(tmp_path: Path) -> None:
    rooms = tmp_path / "hwgen"
    rooms.mkdir()
    for room in Path(hwgen.__path__[0]).iterdir():
        if room.name != "papers":
            (rooms / room.name).symlink_to(room)
    table = tmp_path / "set.yaml"
    table.write_text(
        "format: 1\nkind: layer_list\nnetwork: small\nlayers:\n- {name: a, op: conv, input_channels: 4, "
        "output_channels: 4, input_height: 6, input_width: 6, output_height: 4, output_width: 4, kernel: [3, 3]}\n"
    )
    found = without_papers(rooms, "schedule", str(table), "--buffer", "256", "-o", str(tmp_path / "found"))
    assert (found.returncode, found.stderr) == (0, "")
    asked = without_papers(rooms, "paper", "yang-2016", "-o", str(tmp_path / "paper"))
    assert asked.returncode == 2
    assert "No such command 'paper'" in asked.stderr
    assert "Traceback" not in asked.stderr
    assert " paper " not in without_papers(rooms, "--help").stdout
