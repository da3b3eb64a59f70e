"""CSV text of typed rows."""

import csv
from collections.abc import Sequence
from dataclasses import fields
from io import StringIO
from typing import Any

__all__ = ["csv_text"]


def csv_text(rows: Sequence[Any], derived: Sequence[str] = ()) -> str:
    """Dataclass values of one type as CSV: their fields, then the named properties; floats with six digits."""
    names = [*(field.name for field in fields(rows[0])), *derived]
    text = StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(names)
    writer.writerows([_cell(getattr(row, name)) for name in names] for row in rows)
    return text.getvalue()


def _cell(value: object) -> object:
    match value:
        case None:
            return ""
        case bool():
            return "yes" if value else "no"
        case float():
            return f"{value:.6g}"
    return value
