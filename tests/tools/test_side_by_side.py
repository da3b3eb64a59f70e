"""Processes side by side: for a script without a main guard, and one of which is killed."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from hwgen.tools.side_by_side import as_they_come, side_by_side
from hwgen.tools.toolchain import ToolError

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = """
print("begun")
from hwgen.ir.layer import Layer
from hwgen.search.core import batch
batch.ALONE_SECONDS = -1.0
layers = [
    Layer(name="l", input_channels=2 + index, output_channels=3, input_height=6, input_width=6, output_height=4,
          output_width=4, kernel=(3, 3))
    for index in range(3)
]
for results in batch.search_layers(layers, batch.Request((512,)), jobs=2):
    print(results[0].schedule.layer.input_channels)
"""


def test_a_script_without_a_main_guard_searches_side_by_side(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT, encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, env=environment, check=False)
    assert (done.stdout, done.stderr, done.returncode) == ("begun\n2\n3\n4\n", "", 0)


def killed(number: int) -> int:
    if number == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    return number


def test_a_process_that_is_killed_is_one_line() -> None:
    with pytest.raises(ToolError, match=r"^one of 2 processes was killed, perhaps for want of memory"):
        list(side_by_side(killed, [(1,), (2,)], 2))
    assert sorted(side_by_side(killed, [(2,), (3,)], 2)) == [(0, 2), (1, 3)]


def waiting(seconds: float, file: Path) -> float:
    file.write_text(str(os.getpid()), encoding="utf-8")
    time.sleep(seconds)
    return seconds


def test_what_takes_longer_than_it_may_is_ended(tmp_path: Path) -> None:
    calls = iter([(0.0, tmp_path / "short"), (600.0, tmp_path / "long")])
    found: list[float] = []

    for _, made in as_they_come(waiting, lambda: next(calls, None), 2, lambda: 0.1 if found else None):
        found.append(made)
        while not (tmp_path / "long").exists() or not (tmp_path / "long").read_text(encoding="utf-8"):
            time.sleep(0.01)
    assert found == [0.0]
    process = int((tmp_path / "long").read_text(encoding="utf-8"))
    for _ in range(1000):
        if not is_running(process):
            break
        time.sleep(0.01)
    assert not is_running(process)


def is_running(process: int) -> bool:
    """Whether it is there and has not ended."""
    try:
        state = Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"
