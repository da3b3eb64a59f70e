"""Rooms and files stay small enough to be read, and no path has a name that the project has given up."""

from collections import Counter
from collections.abc import Iterable
from pathlib import Path, PurePosixPath

import pytest

ROOT = Path(__file__).resolve().parents[2]
TREES = ("hwgen", "cosim", "tests", "benchmarks", "manual", "examples")
SOURCES = {".py", ".js", ".sv", ".svh", ".v", ".cpp", ".h", ".css", ".vlt"}
MOST_FILES, MOST_LINES = 40, 800
GIVEN_UP = ("fused", "fusion", "stacks", "two_level")


def files() -> list[PurePosixPath]:
    """Files of the trees, relative to the root; not what Python and other tools leave there."""
    found = [path for tree in TREES for path in (ROOT / tree).rglob("*") if path.is_file()]
    relative = [PurePosixPath(path.relative_to(ROOT).as_posix()) for path in found]
    return [path for path in relative if not any(part.startswith((".", "__pycache__")) for part in path.parts)]


def too_full(paths: Iterable[PurePosixPath]) -> list[str]:
    """Rooms with more files than one may have; rooms within them count for themselves."""
    rooms = Counter(path.parent for path in paths)
    return [f"{room}: {count} files" for room, count in sorted(rooms.items()) if count > MOST_FILES]


def too_long(lines: Iterable[tuple[PurePosixPath, int]]) -> list[str]:
    """Sources with more lines than one may have."""
    return [f"{path}: {count} lines" for path, count in lines if path.suffix in SOURCES and count > MOST_LINES]


def given_up(paths: Iterable[PurePosixPath]) -> list[str]:
    """Paths with a name that stands for nothing any more."""
    return [str(path) for path in paths if any(name in str(path) for name in GIVEN_UP)]


def lines_of(path: PurePosixPath) -> int:
    return (ROOT / path).read_bytes().count(b"\n")


def test_no_room_has_more_files_than_can_be_overlooked() -> None:
    assert too_full(files()) == []


def test_no_source_is_longer_than_can_be_read_at_once() -> None:
    sources = [path for path in files() if path.suffix in SOURCES]
    assert len(sources) > 300
    assert too_long((path, lines_of(path)) for path in sources) == []


def test_no_path_has_a_name_that_was_given_up() -> None:
    assert given_up(files()) == []


@pytest.mark.parametrize(("count", "found"), [(40, []), (41, ["hwgen/room: 41 files"])])
def test_a_room_that_is_too_full_is_found(count: int, found: list[str]) -> None:
    here = [PurePosixPath(f"hwgen/room/{number}.py") for number in range(count)]
    within = [PurePosixPath(f"hwgen/room/inner/{number}.py") for number in range(40)]
    assert too_full([*here, *within]) == found


@pytest.mark.parametrize("name", ["a.py", "page.js", "harness.sv", "main.cpp", "page.css"])
def test_a_source_that_is_too_long_is_found(name: str) -> None:
    path = PurePosixPath("hwgen") / name
    assert too_long([(path, 800)]) == []
    assert too_long([(path, 801)]) == [f"hwgen/{name}: 801 lines"]
    assert too_long([(PurePosixPath("tests/table.yaml"), 5000)]) == []


@pytest.mark.parametrize("path", ["hwgen/search/stacks/a.py", "tests/test_fused.py", "hwgen/two_level.py"])
def test_a_name_that_was_given_up_is_found(path: str) -> None:
    assert given_up([PurePosixPath(path), PurePosixPath("hwgen/pipeline.py")]) == [path]
