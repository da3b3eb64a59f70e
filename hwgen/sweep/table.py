"""A sweep's results as files: CSV and Parquet with the same rows, the schema, and the provenance."""

import csv
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from hwgen.ir.document import write_atomically
from hwgen.sweep.columns import COLUMNS, CURVES, FORMAT, Column
from hwgen.tools.toolchain import ToolError

__all__ = ["require_parquet", "write_results"]

Rows = Sequence[Mapping[str, Any]]


def require_parquet() -> None:
    """`ToolError` if Parquet cannot be written."""
    try:
        import pyarrow.parquet  # noqa: F401
    except ImportError:
        raise ToolError("Parquet is written by pyarrow, which is missing (pip install 'hwgen[sweep]')") from None


def write_results(folder: Path, rows: Rows, curves: Rows, provenance: Mapping[str, Any]) -> None:
    """Write `results` and `curves`, each as CSV and Parquet, `schema.json` and `provenance.json`, each file whole."""
    schema = {
        "format": FORMAT,
        "kind": "sweep",
        "results": [asdict(column) for column in COLUMNS],
        "curves": [asdict(column) for column in CURVES],
    }
    folder.mkdir(parents=True, exist_ok=True)
    write_atomically(folder / "schema.json", json.dumps(schema, indent=1) + "\n")
    write_atomically(folder / "provenance.json", json.dumps(provenance, indent=1) + "\n")
    for name, columns, table in (("curves", CURVES, curves), ("results", COLUMNS, rows)):
        write_atomically(folder / f"{name}.csv", _csv(columns, table))
        _write_parquet(folder / f"{name}.parquet", columns, table, provenance)


def _csv(columns: Sequence[Column], rows: Rows) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([column.name for column in columns])
    for row in rows:
        writer.writerow([_cell(row[column.name]) for column in columns])
    return text.getvalue()


def _cell(value: Any) -> str:
    if value is None:
        return ""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _write_parquet(file: Path, columns: Sequence[Column], rows: Rows, provenance: Mapping[str, Any]) -> None:
    import pyarrow
    import pyarrow.parquet

    types = {
        "text": pyarrow.string(),
        "integer": pyarrow.int64(),
        "number": pyarrow.float64(),
        "truth": pyarrow.bool_(),
    }
    schema = pyarrow.schema(
        [
            pyarrow.field(one.name, types[one.kind], metadata={"unit": one.unit, "meaning": one.meaning})
            for one in columns
        ],
        metadata={"hwgen.provenance": json.dumps(provenance)},
    )
    table = pyarrow.Table.from_pylist([dict(row) for row in rows], schema=schema)
    part = file.with_name(f".{file.name}.part")
    pyarrow.parquet.write_table(table, part)
    part.replace(file)
