"""The count of lines by room: every file once, in its group."""

from pathlib import Path

import pytest

from tests.house import size


def test_every_line_is_counted_once_in_its_group(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(size, "ROOT", tmp_path)
    files = ("hwgen/__init__.py", "hwgen/ir/layer.py", "hwgen/ir/memory/energy.py", "hwgen/papers/yang/rows.py",
             "cosim/hwc/run.py", "benchmarks/bench.py", "manual/pages.py", "tests/ir/test_layer.py")  # fmt: skip
    for number, name in enumerate(files):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("line\n" * 10**number if number < 2 else "line\n" * (number + 1))
    (tmp_path / "hwgen" / "ir" / "data.yaml").write_text("no Python\n")
    assert size.lines_by_room() == {
        "core": {"hwgen": 1, "hwgen/ir": 13, "cosim/hwc": 5},
        "annexes": {"hwgen/papers": 4, "benchmarks": 6},
        "docs' builders": {"manual": 7},
        "tests": {"tests/ir": 8},
    }


def test_the_rooms_of_the_project_are_found() -> None:
    found = size.lines_by_room()
    assert {"hwgen/ir", "cosim/hwc"} <= set(found["core"])
    assert set(found["annexes"]) >= {"hwgen/papers", "hwgen/studies"}
