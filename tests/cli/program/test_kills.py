"""Commands that are killed at random moments: nothing is left behind, and once more they give what they always give.

Each kill has a cache and a temporary folder of its own; Verilator's runtime is shared, since compiling it takes
longer than all the rest.
"""

import csv
import io
import json
import os
import random
import re
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
import yaml

from hwgen.arch.hardware_file import load_hardware
from hwgen.ir.builtin import named_file
from hwgen.ir.document import SEAL, unsealed
from hwgen.ir.hardware import Hardware, save_hardware
from hwgen.tools.toolchain import cache_room
from tests.readers.integers.models import small

BLOWS = (signal.SIGINT, signal.SIGTERM, signal.SIGKILL)
LAYERS = [
    {"name": f"layer{index}", "op": "conv", "input_channels": 4 + index, "output_channels": 6, "input_height": 9,
     "input_width": 9, "output_height": 7, "output_width": 7, "kernel": [3, 3]}
    for index in range(2)
]  # fmt: skip
COMMANDS = {
    "schedule": "schedule set.yaml --buffer 512,768,1KiB --hardware hwc.yaml -o out",
    "generate": "generate set.yaml --buffer 1KiB -o out",
    "cosim": "cosim set.yaml --buffer 1KiB --dump out -o out.json",
    "run": "run model.onnx --hardware hwc.yaml --seed 1 -o out",
    "sweep": "sweep set.yaml --buffers 512,1KiB --per-layer --objective traffic --lanes x16 -j 1 --no-sim -o out",
    "regress": "regress set.yaml --per-layer --buffer 1KiB -j 1 -o out",
    "design": "design set.yaml --sram 2KiB --sizes 256,1KiB -o out",
}
VARIES = re.compile(r"seconds|host|_use$|attempts|again|speed|Mcycles", re.I)
"""What two undisturbed runs differ in, by the names of keys and columns."""
MARK = "HWGEN_TEST_KILLS"


@dataclass(frozen=True)
class Place:
    """A folder to run in, with a cache, a temporary folder, and a mark on all processes of it."""

    folder: Path
    mark: str

    def start(self, command: str) -> "subprocess.Popen[bytes]":
        variables = {"HWGEN_CACHE": self.folder / "cache", "TMPDIR": self.folder / "tmp", MARK: self.mark}
        return subprocess.Popen(
            [sys.executable, "-c", "from hwgen.cli import main; main()", *command.split()],
            cwd=self.folder,
            env={**os.environ, **{name: str(value) for name, value in variables.items()}},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )

    def runs(self) -> list[str]:
        """Processes that are still there."""
        found = []
        for process in Path("/proc").iterdir():
            try:
                if process.name.isdigit() and f"{MARK}={self.mark}".encode() in (process / "environ").read_bytes():
                    found.append((process / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace"))
            except OSError:
                continue
        return found

    def left(self) -> list[str]:
        """Temporary files and folders, and what is unfinished, in the cache and among the results."""
        temporary = [path.name for path in (self.folder / "tmp").iterdir()]
        unfinished = [path for path in (self.folder / "cache").glob("*/*.*") if path.is_dir() or path.name[0] == "."]
        parts = [path for path in (self.folder / "out").rglob("*") if ".part" in path.name]
        return [*temporary, *map(str, (*unfinished, *parts))]

    def results(self) -> dict[str, Any]:
        """What the files of the results say, but for what differs from run to run."""
        files = [path for path in (self.folder / "out").rglob("*") if path.is_file()]
        files += list(self.folder.glob("out.json"))
        return {
            path.relative_to(self.folder).as_posix(): content
            for path in files
            if (content := _content(path)) is not None
        }


def _content(path: Path) -> Any:
    if path.parent.name == "under-way" or path.suffix in (".parquet", ".lock", ".html", ".png", ".svg"):
        return None
    data = path.read_bytes()
    if path.suffix == ".json" and data.startswith(b"{"):
        return _steady(_document(data))
    if path.suffix == ".jsonl":
        return sorted(json.dumps(_steady(_document(line)), sort_keys=True) for line in data.splitlines())
    if path.suffix == ".csv":
        rows = csv.DictReader(io.StringIO(data.decode()))
        return [{name: cell for name, cell in _steady(row).items() if name != SEAL} for row in rows]
    return data


def _document(data: bytes) -> Any:
    """A document without the digest of what it says, which covers the seconds too."""
    try:
        return unsealed(data)
    except ValueError:
        return json.loads(data)


def _steady(data: Any) -> Any:
    if isinstance(data, dict):
        return {key: _steady(value) for key, value in data.items() if not VARIES.search(str(key))}
    return [_steady(value) for value in data] if isinstance(data, list) else data


def place(folder: Path) -> Place:
    for name in ("cache", "tmp"):
        (folder / name).mkdir(parents=True)
    (folder / "cache" / "runtime").symlink_to(cache_room("runtime"))
    for name, layers in (("set", LAYERS), ("one", LAYERS[:1])):
        table = {"format": 1, "kind": "layer_list", "network": "small", "layers": layers}
        (folder / f"{name}.yaml").write_text(yaml.safe_dump(table), encoding="utf-8")
    machine = load_hardware(named_file("hardware", "m4c4_1KiB")).model_copy(update={"requantisation": "scaled"})
    save_hardware(Hardware.from_data(machine.as_data()), folder / "hwc.yaml")
    small(folder / "model.onnx")
    return Place(folder, uuid4().hex)


def undisturbed(folder: Path, command: str) -> tuple[Place, float]:
    """Where a command has run to its end, and the seconds that it took."""
    where, began = place(folder), time.monotonic()
    _, errors = (process := where.start(command)).communicate()
    assert process.returncode == 0, errors.decode()
    assert (where.runs(), where.left()) == ([], [])
    return where, time.monotonic() - began


def killed_and_again(folder: Path, command: str, blow: signal.Signals, seconds: float) -> Place:
    """Where a command was killed after some seconds, and has then run once more to its end."""
    where = place(folder)
    process = where.start(command)
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        process.send_signal(blow)
    _, errors = process.communicate()
    assert process.returncode in (0, 130, -signal.SIGKILL, -signal.SIGTERM, -signal.SIGINT), errors.decode()
    assert b"Traceback" not in errors, errors.decode()
    deadline = time.monotonic() + 10
    while where.runs() and time.monotonic() < deadline:
        time.sleep(0.1)
    assert where.runs() == []
    if blow != signal.SIGKILL:
        assert list((folder / "tmp").iterdir()) == []
    _, errors = (again := where.start(command)).communicate()
    assert again.returncode == 0, errors.decode()
    assert (where.runs(), where.left()) == ([], [])
    return where


def test_a_killed_command_gives_what_it_always_gives(tmp_path: Path) -> None:
    """The shortest one; all of them at night."""
    whole, seconds = undisturbed(tmp_path / "whole", COMMANDS["schedule"])
    where = killed_and_again(tmp_path / "killed", COMMANDS["schedule"], signal.SIGKILL, 0.8 * seconds)
    assert where.results() == whole.results() != {}


@pytest.mark.nightly
@pytest.mark.parametrize("name", COMMANDS)
def test_it_does_so_at_random_moments(tmp_path: Path, name: str) -> None:
    rng, kills = random.Random(), int(os.environ.get("HWGEN_KILLS", "9"))
    whole, seconds = undisturbed(tmp_path / "whole", COMMANDS[name])
    for number in range(kills):
        blow, after = BLOWS[number % len(BLOWS)], rng.uniform(0, seconds)
        print(f"{name}: {blow.name} after {after:.1f} of {seconds:.1f} s")
        where = killed_and_again(tmp_path / str(number), COMMANDS[name], blow, after)
        assert where.results() == whole.results() != {}


@pytest.mark.nightly
@pytest.mark.parametrize("blow", BLOWS)
def test_finished_rows_of_a_sweep_are_kept(tmp_path: Path, blow: signal.Signals) -> None:
    """A sweep of one size has finished, one of two sizes is killed: no row of the first is lost, or done again."""
    both = COMMANDS["sweep"].replace("set.yaml", "one.yaml").replace("--no-sim ", "")
    whole, _ = undisturbed(tmp_path / "whole", both)
    where, seconds = undisturbed(tmp_path / "killed", both.replace("512,1KiB", "512"))
    rows, stored = finished(where), steps(where)
    assert len(rows) == 1
    process = where.start(both)
    try:
        process.wait(random.Random().uniform(0.3, 0.9) * seconds)
    except subprocess.TimeoutExpired:
        process.send_signal(blow)
    process.communicate()
    assert stored.items() <= steps(where).items()
    assert [row for row in finished(where) if row in rows] == rows
    _, errors = (again := where.start(both)).communicate()
    assert again.returncode == 0, errors.decode()
    assert stored.items() <= steps(where).items()
    assert sorted(map(str, finished(where))) == sorted(map(str, finished(whole)))
    assert (where.runs(), where.left()) == ([], [])


def finished(where: Place) -> list[Any]:
    """The rows of a sweep that have been simulated."""
    content = _content(where.folder / "out" / "results.csv")
    return [{key: cell for key, cell in row.items() if key != "question"} for row in content if row["status"] == "ok"]


def steps(where: Place) -> dict[str, bytes]:
    """The records of finished steps."""
    store = where.folder / "out" / "store"
    return {path.name: path.read_bytes() for path in store.glob("??/*.json")}
