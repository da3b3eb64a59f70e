"""Lines of Python by room: the core, what is beside it, and the tests. ``python -m tests.house.size`` prints them."""

import sys
from pathlib import Path

__all__ = ["GROUPS", "lines_by_room"]

ROOT = Path(__file__).resolve().parents[2]
TOPS = ("hwgen", "cosim", "benchmarks", "examples", "manual", "tests")
BESIDE = {"hwgen/papers": "annexes", "hwgen/studies": "annexes", "benchmarks": "annexes", "examples": "annexes",
          "manual": "docs' builders", "tests": "tests"}  # fmt: skip
"""Rooms that are no part of the core."""
GROUPS = ("core", "annexes", "docs' builders", "tests")


def lines_by_room() -> dict[str, dict[str, int]]:
    """Lines of each room, such as ``hwgen/ir``, ``cosim/hwc`` or ``tests/cli``, by group."""
    found: dict[str, dict[str, int]] = {group: {} for group in GROUPS}
    for top in TOPS:
        for file in sorted((ROOT / top).rglob("*.py")):
            room = "/".join(file.relative_to(ROOT).parts[:-1][:2])
            group = BESIDE.get(room, BESIDE.get(top, "core"))
            found[group][room] = found[group].get(room, 0) + file.read_bytes().count(b"\n")
    return found


def main() -> None:
    """Print them."""
    sizes = lines_by_room()
    for group, rooms in sizes.items():
        sys.stdout.write(f"{sum(rooms.values()):7,}  {group}\n")
        for room, lines in sorted(rooms.items(), key=lambda item: -item[1]):
            sys.stdout.write(f"{lines:15,}  {room}\n")
    code = sum(sum(rooms.values()) for group, rooms in sizes.items() if group != "tests")
    sys.stdout.write(f"{code:7,}  all but tests\n")


if __name__ == "__main__":
    main()
