"""Notebooks as Python files, whose cells begin at ``# %%``. They run here without Jupyter, and are written for it."""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

__all__ = ["FOLDER", "NOTEBOOKS", "SHOWN", "Cell", "as_ipynb", "cells", "html_of", "lines_of_code", "shown"]

FOLDER = Path(__file__).resolve().parent
SHOWN = FOLDER / "shown.json"
"""What the cells of code showed when ``python -m examples.notebooks --shown`` was run last."""
NOTEBOOKS = ("first_schedule", "loop_order", "buffer_size", "choose_hardware", "picture", "other_tool")


@dataclass(frozen=True)
class Cell:
    """A part of a notebook: code, or text in Markdown."""

    text: str
    is_code: bool


def cells(name: str) -> Iterator[Cell]:
    """The cells of a notebook."""
    parts = re.split(r"^# %%", (FOLDER / f"{name}.py").read_text(encoding="utf-8"), flags=re.MULTILINE)
    for part in parts[1:]:
        head, _, body = part.partition("\n")
        is_code = not head.strip()
        yield Cell((body if is_code else re.sub("^# ?", "", body, flags=re.MULTILINE)).strip(), is_code)


def shown(name: str) -> Iterator[object]:
    """Run a notebook in the present folder: the values that its cells of code show, which their last lines have."""
    names: dict[str, Any] = {}
    for cell in cells(name):
        if cell.is_code:
            *others, last = ast.parse(cell.text).body
            assert isinstance(last, ast.Expr), f"{name}: a cell of code ends with what it shows"
            exec(compile(ast.Module(others, []), name, "exec"), names)
            yield eval(compile(ast.Expression(last.value), name, "eval"), names)


def html_of(value: Any) -> str:
    """A value as a notebook shows it."""
    for method in ("_repr_html_", "_repr_svg_"):
        if hasattr(value, method):
            return str(getattr(value, method)())
    return f"<pre>{value!r}</pre>"


def lines_of_code(name: str) -> int:
    """Lines of a notebook's code without empty ones."""
    return sum(1 for cell in cells(name) if cell.is_code for line in cell.text.splitlines() if line.strip())


def as_ipynb(name: str) -> dict[str, Any]:
    """A notebook as Jupyter has it on disk, without what its cells show."""
    found: list[dict[str, Any]] = []
    for number, cell in enumerate(cells(name)):
        of_code: dict[str, Any] = {"cell_type": "code", "execution_count": None, "outputs": []}
        kind = of_code if cell.is_code else {"cell_type": "markdown"}
        found.append({**kind, "id": f"cell-{number}", "metadata": {}, "source": cell.text})
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    return {"cells": found, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}
