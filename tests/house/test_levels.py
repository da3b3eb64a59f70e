"""Memory levels are values: no code asks for one by its name."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
NAMES = {"dram", "tcdm", "local"}


def asked(source: str) -> Iterator[int]:
    """Lines that compare something called a level with a level's name."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
            called = {part.attr if isinstance(part, ast.Attribute) else getattr(part, "id", "") for part in sides}
            texts = {part.value for side in sides for part in ast.walk(side) if isinstance(part, ast.Constant)}
            if "level" in called and NAMES & texts:
                yield node.lineno


def test_no_level_is_asked_for_by_name() -> None:
    files = [path for room in ("hwgen", "cosim") for path in (ROOT / room).rglob("*.py")]
    found = [f"{path.relative_to(ROOT)}:{line}" for path in files for line in asked(path.read_text(encoding="utf-8"))]
    assert len(files) > 100
    assert found == []


@pytest.mark.parametrize("source", ['item.level == "tcdm"', '"dram" != level', 'level in ("local", "tcdm")'])
def test_such_questions_are_seen(source: str) -> None:
    assert list(asked(source)) == [1]
