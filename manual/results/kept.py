"""The files in `docs/results` and `docs/papers`, read, and how their figures are written on the page."""

import csv
import json
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

__all__ = ["DOCS", "PAGE", "Row", "count", "document", "off", "percent", "rows", "share", "tenths"]

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGE = DOCS / "results.md"
Row = dict[str, str]


@cache
def rows(name: str) -> tuple[Row, ...]:
    """The rows of a CSV file, ``name`` without its ending."""
    return tuple(csv.DictReader(file_of(f"{name}.csv").read_text(encoding="utf-8").splitlines()))


@cache
def document(name: str) -> Any:
    """A JSON document, ``name`` without its ending."""
    return json.loads(file_of(f"{name}.json").read_text(encoding="utf-8"))


def file_of(name: str) -> Path:
    """The file of a name in one of the two folders."""
    places = [DOCS / folder / name for folder in ("results", "papers")]
    return next((place for place in places if place.exists()), places[0])


def count(value: object) -> str:
    """A number of bytes, cycles or cells."""
    return f"{int(str(value)):,}"


def share(value: object, digits: int = 3) -> str:
    """A part or a ratio."""
    return f"{float(str(value)):.{digits}f}"


def percent(value: object, digits: int = 1) -> str:
    """A part in percent."""
    return f"{100 * float(str(value)):.{digits}f} %"


def tenths(value: object, digits: int = 1) -> str:
    """A number with thousands and decimals."""
    return f"{float(str(value)):,.{digits}f}"


def off(predicted: object, measured: object, digits: int = 2) -> str:
    """Predicted by measured cycles, less 1, in percent; 0 if they are equal."""
    ratio = int(str(predicted)) / int(str(measured)) - 1
    return "0" if not ratio else f"{100 * ratio:+.{digits}f} %"


def total(every: Iterable[Row], column: str) -> int:
    """The sum of a column."""
    return sum(int(row[column]) for row in every)
