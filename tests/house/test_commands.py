"""Commands turn arguments into a request, call the API, and print what comes back: they compute nothing."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CLI = ROOT / "hwgen" / "cli"
MAY = ("hwgen.api", "hwgen.cli")
"""What the command line may import of ours."""
PRINTERS = "printers"
"""The room that reads what was found, and may know its types."""

NOT_YET = {
    "commands/builtin.py",
    "commands/cache.py",
    "commands/calibrate.py",
    "commands/demo.py",
    "commands/depth_first.py",
    "commands/design.py",
    "commands/design_clusters.py",
    "commands/pack.py",
    "console.py",
    "coverage.py",
    "jobs.py",
    "program/program.py",
}
"""Modules that import more. The list only ever becomes shorter: what no longer does has to leave it."""


def imported(source: str) -> Iterator[str]:
    """What a source imports of hwgen and cosim, wherever it does."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Import():
                names = [alias.name for alias in node.names]
            case ast.ImportFrom():
                names = [node.module or ""]
            case _:
                continue
        yield from (name for name in names if name.partition(".")[0] in ("hwgen", "cosim"))


def beyond(source: str) -> list[str]:
    """What it imports that is neither the API nor the command line; ``hwgen`` itself has names of the API alone."""
    return [
        name
        for name in imported(source)
        if name != "hwgen" and not any(name == room or name.startswith(f"{room}.") for room in MAY)
    ]


def test_commands_import_the_api_and_printers_alone() -> None:
    files = {path.relative_to(CLI).as_posix(): path for path in CLI.rglob("*.py")}
    found = {
        name: beyond(path.read_text(encoding="utf-8"))
        for name, path in files.items()
        if not name.startswith(f"{PRINTERS}/")
    }
    assert {name: more for name, more in found.items() if more and name not in NOT_YET} == {}
    assert {name for name in NOT_YET if not found.get(name)} == set(), "these import the API alone: take them out"


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("from hwgen.api.predictions import predict\nfrom hwgen.cli.console import note\nimport hwgen", []),
        ("from hwgen.model.energy import Energy", ["hwgen.model.energy"]),
        ("def f():\n    import cosim.device.result", ["cosim.device.result"]),
        ("from hwgen.apiary import bees", ["hwgen.apiary"]),
    ],
)
def test_the_check_can_fail(source: str, found: list[str]) -> None:
    assert beyond(source) == found
