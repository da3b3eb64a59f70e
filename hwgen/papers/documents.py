"""CSV text of typed rows."""

from collections.abc import Sequence
from dataclasses import fields
from typing import Any

from hwgen.ir.document import csv_lines

__all__ = ["csv_text"]


def csv_text(rows: Sequence[Any], derived: Sequence[str] = ()) -> str:
    """Dataclass values of one type as CSV: their fields, then the named properties; floats with six digits."""
    names = [*(field.name for field in fields(rows[0])), *derived]
    return csv_lines([names, *([_cell(getattr(row, name)) for name in names] for row in rows)])


def _cell(value: object) -> object:
    match value:
        case None:
            return ""
        case bool():
            return "yes" if value else "no"
        case float():
            return f"{value:.6g}"
    return value
