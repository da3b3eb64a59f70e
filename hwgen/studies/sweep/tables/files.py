"""The results of a folder's sweeps as files: CSV, with pyarrow Parquet, too; schema, provenance, schedules."""

import io
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from hwgen.ir.document import SEAL, csv_lines, json_text, row_digest, write_atomically
from hwgen.studies.sweep.request import Outcome
from hwgen.studies.sweep.rows import Cells
from hwgen.studies.sweep.tables.columns import Column
from hwgen.studies.sweep.tables.merge import TABLES, Tables, known_tables, rows_file, schema, writes_parquet
from hwgen.tools.processes import locked

__all__ = ["write_results"]

Rows = Sequence[Mapping[str, Any]]


class Asked(Protocol):
    """What was asked for, of any kind of points."""

    @property
    def name(self) -> str:
        """The name in ``provenance.json``."""

    def provenance(self) -> dict[str, Any]:
        """What the results depend on besides the rows' own cells."""


def write_results(folder: Path, outcome: Outcome, question: Asked) -> Tables:
    """Put a sweep's rows into the tables of its folder; each file is written whole.

    The tables that have rows, each as CSV and, with pyarrow, Parquet, ``schema.json``, ``provenance.json`` with an
    entry for each sweep that a row is from, and the schedules with their hardware, or solutions. What earlier sweeps
    left stays.
    """
    store = folder / "store"
    store.mkdir(parents=True, exist_ok=True)
    with locked(store / "tables.lock"):
        before = known_tables(folder)

        def same_schedule(old: Cells, new: Cells) -> bool:
            name = "schedule" if "schedule" in new else "solution"
            file = new[name]
            return file is not None and file == old[name] and _text(folder / file) == outcome.documents.get(file)

        asked = {question.name: question.provenance()}
        now = Tables(outcome.rows, outcome.curves, asked, outcome.pipelines, outcome.fronts, outcome.areas)
        tables = before.joined(now, same_schedule)
        for name, text in outcome.documents.items():
            write_atomically(folder / name, text)
        provenance = {"format": schema()["format"], "kind": "provenance", "questions": tables.questions}
        write_atomically(folder / "schema.json", json_text(schema()))
        write_atomically(folder / "provenance.json", json_text(provenance))
        named = {name: [{**row, SEAL: row_digest(row)} for row in table] for name, table in tables.named().items()}
        if not writes_parquet():
            write_atomically(rows_file(folder), json_text(named))
        for name, table in reversed(named.items()):
            write_atomically(folder / f"{name}.csv", _csv(TABLES[name], table))
            if writes_parquet():
                _write_parquet(folder / f"{name}.parquet", TABLES[name], table, provenance)
        if writes_parquet():
            rows_file(folder).unlink(missing_ok=True)
    return tables


def _text(file: Path) -> str | None:
    try:
        return file.read_text(encoding="utf-8")
    except OSError:
        return None


def _csv(columns: Sequence[Column], rows: Rows) -> str:
    cells = ([_cell(row[column.name]) for column in columns] for row in rows)
    return csv_lines([[column.name for column in columns], *cells])


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
    content = io.BytesIO()
    pyarrow.parquet.write_table(table, content)
    write_atomically(file, content.getvalue())
