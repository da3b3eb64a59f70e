"""The contributing page: its map of rooms is the tree's and the import test's, its eleven changes stay small."""

import re
from pathlib import Path

from tests.house.test_imports import ROOMS

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "docs" / "contributing.md").read_text(encoding="utf-8")
LIMITS = {
    "An activation": 7,
    "A way of rounding": 5,
    "A lane dimension": 8,
    "A stage type": 6,
    "A DRAM page policy": 7,
    "A time that the DRAM takes": 8,
    "The width of an AXI ID, the depth of a queue": 4,
    "A command": 4,
    "A simulator": 4,
}
"""Files that a change may touch, at most, with its tests."""


def section(heading: str) -> str:
    found = re.search(rf"^{heading}\n(.*?)(?=^##|\Z)", TEXT, flags=re.DOTALL | re.MULTILINE)
    assert found, heading
    return found[1]


def rows(text: str) -> list[list[str]]:
    """Cells of the tables in a text, without their heads."""
    lines = [
        line for line in text.splitlines() if line.startswith("| ") and not line.startswith(("| room", "| file"))
    ]
    return [[cell.strip() for cell in line.strip("| ").split(" | ")] for line in lines]


def allowed(cell: str) -> set[str]:
    """The rooms that a cell of the map allows."""
    names = {name.replace("/", ".") for name in re.findall(r"`([\w/]+)`", cell)}
    if cell.startswith("everything"):
        return set(ROOMS) - {"hwgen", *(f"hwgen.{name}" for name in names)}
    rooms = {name if name == "cosim" else f"hwgen.{name}" for name in names}
    return rooms | ROOMS["cosim"] if cell.startswith("what `cosim` may") else rooms


def test_the_map_says_who_may_import_whom() -> None:
    said = {
        cells[0].strip("`").replace("/", "."): allowed(cells[2])
        for cells in rows(section("## The rooms"))
        if len(cells) == 3
    }
    expected = {room: may - {"hwgen"} for room, may in ROOMS.items() if room != "hwgen"}
    assert {room: may - {"hwgen"} - {room} for room, may in said.items()} == {
        r: may - {r} for r, may in expected.items()
    }


def test_every_room_is_on_the_map() -> None:
    packages = {
        path.parent.relative_to(ROOT) for top in ("hwgen", "cosim") for path in (ROOT / top).rglob("__init__.py")
    }
    text = section("## The rooms")
    missing = [
        str(package)
        for package in sorted(packages)
        if len(package.parts) in (2, 3) and f"`{package}`" not in text
    ]  # fmt: skip
    assert missing == []


def test_changes_touch_few_files() -> None:
    told = TEXT[TEXT.index("## Changes, and what they touch") :]
    changes = dict(re.findall(r"^### (.*?)\n(.*?)(?=^##|\Z)", told, flags=re.DOTALL | re.MULTILINE))
    assert len(changes) == 15
    for name, most in LIMITS.items():
        files = [file for cells in rows(changes[name]) for file in re.findall(r"`([\w./]+)`", cells[0])]
        assert 1 <= len(files) <= most, name
        assert all((ROOT / file).exists() for file in files), name


def test_what_a_change_names_is_in_its_files() -> None:
    missing = []
    for cells in rows(
        section("## Changes, and what they touch")
        + "".join(re.findall(r"^### .*?\n(.*?)(?=^##|\Z)", TEXT, re.S | re.M))
    ):
        files = [ROOT / file for file in re.findall(r"`([\w./]+)`", cells[0])]
        text = "".join(file.read_text(encoding="utf-8") for file in files if file.is_file())
        missing += [name for name in re.findall(r"`([A-Z]\w+)`", cells[1]) if text and name not in text]
    assert missing == []
