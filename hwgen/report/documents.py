"""CSV text of typed rows, and files that are written whole or not at all."""

import csv
import os
import tempfile
from collections.abc import Sequence
from dataclasses import fields
from io import StringIO
from pathlib import Path
from typing import Any

__all__ = ["csv_text", "write_bytes"]


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


def write_bytes(path: Path, data: bytes) -> bool:
    """Write so that a reader sees the old file or the new one, never half; False if it already was equal."""
    if path.is_file() and path.read_bytes() == data:
        return False
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        Path(name).chmod(0o644)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
    return True
