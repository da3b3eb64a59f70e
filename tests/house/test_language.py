"""The glossary's words in names and docstrings, and docstrings that begin with what they name."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).resolve().parents[2]
ROOMS = ("hwgen", "cosim", "benchmarks", "examples")
INSTEAD = {"box": "tile", "boxes": "tiles", "behind": "after", "claims": "reserves", "announced": "pushed"}
"""Words that are not used in names, and what is written; see the glossary."""
ONLY_IN = {"claims": "hwgen/gateware", "announced": "hwgen/gateware"}
"""Words that mean something else in other rooms: papers claim something, and so do commands."""
IN_PROSE = {"box": "tile", "boxes": "tiles", "behind": "after", "in front of": "before", "two-level": "cluster"}
"""Words that are not used in docstrings, and what is written."""
KEPT = {"output_box_vectors"}
"""Names that programs of users know: a register."""
OTHER_MEANING = {"examples/face": ("box", "boxes")}
"""Bounding boxes."""
FRAGMENT = frozenset(
    ("Of", "For", "By", "As", "At", "From", "With", "While", "That", "Whose", "In", "To", "If", "Before",
     "After", "Beside", "Between", "Out", "Under", "Into", "Over", "Without", "So", "Than", "Then", "Though", "Until",
     "Since", "And", "But", "Or")
)  # fmt: skip
"""First words after which no subject comes: what is named is missing."""


class Docstring(NamedTuple):
    line: int
    text: str


def docstrings(tree: ast.AST) -> Iterator[Docstring]:
    """Those of modules, classes and functions, and of the names that a module or class assigns."""
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if not isinstance(body, list):
            continue
        named = isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        for before, one in zip([None, *body], body, strict=False):
            told = named if before is None else isinstance(before, ast.Assign | ast.AnnAssign)
            match one:
                case ast.Expr(value=ast.Constant(value=str(text))) if told:
                    yield Docstring(one.lineno, text)


def names(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Names that code gives: of functions, classes, arguments, variables, attributes and keywords."""
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield node.lineno, name
            case ast.arg(arg=name) | ast.Name(id=name) | ast.Attribute(attr=name):
                yield node.lineno, name


def words(name: str) -> list[str]:
    """The words of a name in lower case."""
    return [word.lower() for word in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", name)]


def unwanted(source: str, place: str) -> list[str]:
    """What the glossary forbids, and docstrings that name nothing: a line for each."""
    tree, found = ast.parse(source), []
    other = {word for room, several in OTHER_MEANING.items() if place.startswith(room) for word in several}
    for line, name in names(tree):
        if name not in KEPT:
            for word in {*words(name)} & {*INSTEAD} - other:
                if place.startswith(ONLY_IN.get(word, "")):
                    found.append(f"{place}:{line}: {name}: expected {INSTEAD[word]} in place of {word}")
    for line, text in docstrings(tree):
        told = re.sub("|".join(KEPT), "", text)
        for word, better in IN_PROSE.items():
            if word not in other and re.search(rf"(?<![\w]){word}(?![\w])", told, re.IGNORECASE):
                found.append(f"{place}:{line}: expected {better} in place of {word}")
        first = re.match(r"\w+", text.strip())
        if first and first[0] in FRAGMENT:
            found.append(f"{place}:{line}: expected a docstring that begins with what it names, got {first[0]} ...")
    return found


def test_the_glossary_is_kept() -> None:
    found = []
    for room in ROOMS:
        for path in sorted((ROOT / room).rglob("*.py")):
            found += unwanted(path.read_text(encoding="utf-8"), path.relative_to(ROOT).as_posix())
    assert found == []


def test_the_documents_keep_to_it() -> None:
    """All but the table of the glossary that says so, and the page on bounding boxes."""
    found = []
    for path in sorted((ROOT / "docs").glob("*.md")):
        if path.name == "examples.md":
            continue
        text = path.read_text(encoding="utf-8").partition("## Words that are not used")[0]
        for word in ("two-level", "in front of"):
            found += [f"{path.name}: {word}"] * text.count(word)
    assert found == []


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("class BoxQueue:\n    pass", "a.py:1: BoxQueue: expected tile in place of box"),
        ("def f(last_box):\n    pass", "a.py:1: last_box: expected tile in place of box"),
        ("self.claims = 1", "hwgen/gateware/a.py:1: claims: expected reserves in place of claims"),
        ('"""A tile behind another."""', "a.py:1: expected after in place of behind"),
        ('N = 1\n"""Of the next word."""', "a.py:2: expected a docstring that begins with what it names, got Of ..."),
        ('def f():\n    """As `g`."""', "a.py:2: expected a docstring that begins with what it names, got As ..."),
    ],
)
def test_what_is_planted_is_found(source: str, message: str) -> None:
    assert unwanted(source, message.partition(":")[0]) == [message]


def test_names_are_split_into_words() -> None:
    assert words("BoxQueue") == ["box", "queue"]
    assert words("_o_boxes2") == ["o", "boxes"]
    assert unwanted('"""Vectors: ``output_box_vectors``."""\nx = output_box_vectors', "a.py") == []
