"""The results of a sweep, read back: rows with the types that their schema gives them."""

import csv
import io
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hwgen.ir.document import SEAL, InputError, csv_value, row_digest
from hwgen.ir.schedule import Schedule, load_schedule
from hwgen.studies.sweep.tables.columns import FORMAT
from hwgen.studies.sweep.tables.merge import ADDED, BEFORE_AREAS, BEFORE_DIGESTS, BEFORE_OBJECTIVES

__all__ = ["SweepResults", "load_results"]

Row = dict[str, Any]


@dataclass(frozen=True)
class SweepResults:
    """The results in the folder of `hwgen sweep`.

    Members
    -------
    rows, curves : the tables of HWCs and clusters; a cell without a figure is None.
    columns, curve_columns : name, kind, unit and meaning of each column.
    pipelines, fronts : the tables of depth-first points.
    pipeline_columns : of the first of them.
    areas, area_columns : the blocks of what was synthesised.
    changed : rows that are not as they were written, a line each.
    provenance : what the rows depend on besides, for each sweep that they are from.
    schedules : those that rows name, by the name of their file.
    """

    rows: tuple[Row, ...]
    curves: tuple[Row, ...]
    columns: tuple[Mapping[str, str], ...]
    curve_columns: tuple[Mapping[str, str], ...]
    provenance: Mapping[str, Any]
    schedules: Mapping[str, Schedule]
    pipelines: tuple[Row, ...] = ()
    fronts: tuple[Row, ...] = ()
    areas: tuple[Row, ...] = ()
    pipeline_columns: tuple[Mapping[str, str], ...] = ()
    area_columns: tuple[Mapping[str, str], ...] = ()
    changed: tuple[str, ...] = ()


def load_results(path: Path) -> SweepResults:
    """Read a sweep's folder, or that of a file in it; `InputError` names what cannot be read."""
    folder = path.parent if path.is_file() else path
    if not (folder / "schema.json").is_file():
        raise InputError(f"{path}: expected the folder that hwgen sweep wrote, found no schema.json")
    schema, provenance = (_document(folder / f"{name}.json") for name in ("schema", "provenance"))
    if schema.get("kind") != "sweep" or schema.get("format") not in range(BEFORE_OBJECTIVES, FORMAT + 1):
        raise InputError(f"{folder / 'schema.json'}: expected kind sweep, format {FORMAT}")
    names = ("results", "curves", *(("pipelines", "fronts", "areas") if schema["format"] > BEFORE_AREAS else ()))
    columns = {name: _columns(schema, name, folder) for name in names}
    there = {name for name in names if (folder / f"{name}.csv").exists()}
    if not there & {"results", "pipelines"}:
        there |= {"results", "curves"}  # which are missed
    tables = {name: _table(folder / f"{name}.csv", columns[name]) if name in there else () for name in names}
    rows, pipelines = tables["results"], tables.get("pipelines", ())
    if not rows and not pipelines:
        raise InputError(f"{folder / 'results.csv'}: expected at least one row")
    changed: list[str] = []
    if schema["format"] > BEFORE_DIGESTS:
        changed = [line for name in names for line in _changed(folder / f"{name}.csv", tables[name])]
        columns = {name: tuple(one for one in some if one["name"] != SEAL) for name, some in columns.items()}
    if schema["format"] <= BEFORE_AREAS:
        rows = tuple(map(_of_today, rows))
    files = dict.fromkeys(row["schedule"] for row in rows if row["schedule"] is not None)
    schedules = {file: load_schedule(folder / file) for file in files}
    return SweepResults(
        rows, tables["curves"], columns["results"], columns["curves"], provenance, schedules, pipelines,
        tables.get("fronts", ()), tables.get("areas", ()), columns.get("pipelines", ()),
        columns.get("areas", ()), tuple(changed),
    )  # fmt: skip


def _changed(file: Path, table: Iterable[Row]) -> Iterator[str]:
    """The rows of a table that are not as they were written, a line each; takes the digests out of all of them."""
    for number, row in enumerate(table, start=1):
        digest = row_digest(row)
        if row.pop(SEAL, None) != digest:
            yield f"{file}: row {number}: changed since it was written"


def _of_today(row: Row) -> Row:
    """A row of an earlier version: without objectives it had the least traffic; it has no blocks."""
    objective = None if row["configuration"] == "hwce" else "traffic"
    return {**dict.fromkeys(ADDED), "design": None, "objective": objective, **row}


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not UTF-8 text"
        raise InputError(f"{file}: cannot be read: {reason}") from None


def _document(file: Path) -> dict[str, Any]:
    text = _text(file)
    try:
        data = json.loads(text)
    except ValueError:
        raise InputError(f"{file}: expected a JSON document") from None
    if not isinstance(data, dict):
        raise InputError(f"{file}: expected a JSON object")
    return data


def _columns(schema: Mapping[str, Any], name: str, folder: Path) -> tuple[Mapping[str, str], ...]:
    columns = schema.get(name)
    wanted = {"name", "kind", "unit", "meaning"}
    if not isinstance(columns, list) or not all(isinstance(one, dict) and wanted <= set(one) for one in columns):
        raise InputError(f"{folder / 'schema.json'}: {name}: expected columns with {', '.join(sorted(wanted))}")
    return tuple(columns)


def _table(file: Path, columns: Sequence[Mapping[str, str]]) -> tuple[Row, ...]:
    lines = csv.reader(io.StringIO(_text(file)))
    names = [column["name"] for column in columns]
    try:
        if next(lines, None) != names:
            raise InputError(f"{file}: expected the columns of schema.json")
        return tuple(
            _row(cells, columns, f"{file}: row {number}") for number, cells in enumerate(lines, start=1) if cells
        )
    except csv.Error as error:
        raise InputError(f"{file}: expected CSV: {error}") from None


def _row(cells: Sequence[str], columns: Sequence[Mapping[str, str]], where: str) -> Row:
    if len(cells) != len(columns):
        raise InputError(f"{where}: expected {len(columns)} cells, got {len(cells)}")
    return {column["name"]: _value(cell, column, where) for cell, column in zip(cells, columns, strict=True)}


def _value(cell: str, column: Mapping[str, str], where: str) -> Any:
    if not cell:
        return None
    try:
        match column["kind"]:
            case "integer":
                return int(cell)
            case "number":
                return float(cell)
            case "truth":
                return {"true": True, "false": False}[cell]
    except (ValueError, KeyError):
        shown = cell[:40]
        raise InputError(f"{where}: {column['name']}: expected {column['kind']}, got {shown!r}") from None
    return csv_value(cell)
