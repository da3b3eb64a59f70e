"""The results of a folder's sweeps as files: CSV and Parquet with the same rows, schema, provenance, schedules."""

import csv
import io
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from hwgen.ir.document import write_atomically
from hwgen.sweep.request import Outcome, Question
from hwgen.sweep.rows import Cells
from hwgen.sweep.tables.columns import COLUMNS, CURVES, Column
from hwgen.sweep.tables.merge import Tables, known_tables, schema
from hwgen.tools.processes import locked
from hwgen.tools.toolchain import ToolError

__all__ = ["require_parquet", "write_results"]

Rows = Sequence[Mapping[str, Any]]


def require_parquet() -> None:
    """`ToolError` if Parquet cannot be written."""
    try:
        import pyarrow.parquet  # noqa: F401
    except ImportError:
        raise ToolError("Parquet needs pyarrow (in the checkout: pip install '.[sweep]')") from None


def write_results(folder: Path, outcome: Outcome, question: Question) -> Tables:
    """Put a sweep's rows into the tables of its folder; each file is written whole.

    ``results`` and ``curves``, each as CSV and Parquet, ``schema.json``, ``provenance.json`` with an entry for each
    sweep that a row is from, and the schedules with their hardware. What earlier sweeps left stays.
    """
    store = folder / "store"
    store.mkdir(parents=True, exist_ok=True)
    with locked(store / "tables.lock"):
        before = known_tables(folder)

        def same_schedule(old: Cells, new: Cells) -> bool:
            file = new["schedule"]
            return (
                file is not None and file == old["schedule"] and _text(folder / file) == outcome.documents.get(file)
            )

        now = Tables(outcome.rows, outcome.curves, {question.name: question.provenance()})
        tables = before.joined(now, same_schedule)
        for name, text in outcome.documents.items():
            write_atomically(folder / name, text)
        provenance = {"format": schema()["format"], "kind": "provenance", "questions": tables.questions}
        write_atomically(folder / "schema.json", json.dumps(schema(), indent=1) + "\n")
        write_atomically(folder / "provenance.json", json.dumps(provenance, indent=1) + "\n")
        for name, columns, table in (("curves", CURVES, tables.curves), ("results", COLUMNS, tables.rows)):
            write_atomically(folder / f"{name}.csv", _csv(columns, table))
            _write_parquet(folder / f"{name}.parquet", columns, table, provenance)
    return tables


def _text(file: Path) -> str | None:
    try:
        return file.read_text(encoding="utf-8")
    except OSError:
        return None


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
    return str(value).lower() if isinstance(value, bool) else " ".join(str(value).splitlines())


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
