"""A full disk below the results: one line that names a file there, and no half file."""

import json
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from hwgen.ir.schedule import save_schedule
from tests.cli.command_line import Run
from tests.cli.test_cosim import small
from tests.studies.engine.inline import open_inline
from tests.studies.regress.test_hwc import ROWS
from tests.studies.sweep.report.swept import results

PAGE, PAGES = 4096, 16
SWEEP = "sweep set.yaml --buffers 512 --no-sim --per-layer --objective traffic --lanes x16 -j 1 -o DISK/out"
COMMANDS = {
    "report": ("report swept -o DISK/out", 3),
    "sweep, its store": (SWEEP, 1),
    "sweep, its tables": (SWEEP, 7),
    "cosim": ("cosim small.yaml -o DISK/out.json", 0),
    "cosim, its operands": ("cosim small.yaml --dump DISK/out", 2),
    "generate": ("generate set.yaml --buffer 512 -o DISK/out", 3),
    "schedule, its search": ("schedule set.yaml --buffer 512 -o DISK/out", 0),
    "schedule": ("schedule set.yaml --buffer 512 -o DISK/out", 1),
    "regress, its plan": ("regress set.yaml --buffer 512 --per-layer -j 1 -o DISK/out", 0),
    "regress, its ledger": ("regress set.yaml --buffer 512 --per-layer -j 1 -o DISK/out", 1),
}
"""Commands, and the pages that are free when they begin."""


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Callable[[int], Path]]:
    """A small disk with so many pages free."""
    place = tmp_path / "disk"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={PAGE * PAGES}", "tmpfs", str(place)]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("mounting a small disk is not allowed")

    def leave(pages: int) -> Path:
        (place / "filler").write_bytes(bytes(PAGE * (PAGES - pages)))
        return place

    yield leave
    subprocess.run(["umount", place], check=True)


@pytest.mark.parametrize("name", COMMANDS)
def test_a_full_disk(
    run: Run, tmp_path: Path, disk: Callable[[int], Path], name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("hwgen.studies.engine.work.open_farm", open_inline)
    table = {"format": 1, "kind": "layer_list", "network": "small", "layers": ROWS[1:2]}
    (tmp_path / "set.yaml").write_text(yaml.safe_dump(table), encoding="utf-8")
    save_schedule(small(), tmp_path / "small.yaml")  # whose HWC is simulated in that module, too
    command, pages = COMMANDS[name]
    if command.startswith("report"):
        results(tmp_path / "swept")
    place = disk(pages)
    answer = run(*command.replace("DISK", str(place)).split())
    assert answer.status == (1 if name == "regress, its plan" else 2)
    (line,) = [one for one in (answer.out + answer.err).splitlines() if "No space left" in one]
    assert line.removeprefix("hwgen: ").startswith(f"{place}/out")
    assert "Traceback" not in answer.out + answer.err
    for file in place.rglob("*"):
        assert ".part" not in file.name
        if file.suffix in READERS:
            READERS[file.suffix](file.read_text(encoding="utf-8").removeprefix("// hwgen "))


def _documents(text: str) -> None:
    """Whole JSON documents, one after the other: what is kept in a folder of plans has a line in front."""
    while text := text.lstrip():
        _, end = json.JSONDecoder().raw_decode(text)
        text = text[end:]


READERS: dict[str, Callable[[str], Any]] = {".json": _documents, ".yaml": yaml.safe_load}
