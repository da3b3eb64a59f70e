"""The tables of a folder in which several sweeps were made: rows by key, the newest of each."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from hwgen.ir.builtin import how_to_install
from hwgen.ir.document import SEAL, InputError, row_digest
from hwgen.studies.sweep.rows import Cells, completed
from hwgen.studies.sweep.tables.columns import AREA_NAMES, AREAS, COLUMNS, CURVES, DIGEST, FORMAT, Column
from hwgen.studies.sweep.tables.pipelines import FRONTS, PIPELINES
from hwgen.tools.toolchain import ToolError

__all__ = ["ADDED", "TABLES", "Tables", "known_tables", "rows_file", "schema", "writes_parquet"]

TABLES: dict[str, Sequence[Column]] = {
    name: (*columns, DIGEST)
    for name, columns in {
        "results": COLUMNS,
        "curves": CURVES,
        "pipelines": PIPELINES,
        "fronts": FRONTS,
        "areas": AREAS,
    }.items()
}
"""The tables of a folder, by the names of their files. It has those that have rows."""
KINDS = ("shared", "per-layer", "hwce", "cluster")
BEFORE_OBJECTIVES, BEFORE_AREAS, BEFORE_DIGESTS = 3, 4, 5
"""Versions of the tables: when every HWC was that of the least traffic; when what was synthesised had no blocks; when
rows had no digest."""
ADDED = ("objective", "traffic_slack", "least_traffic_bytes", "least_traffic_cycles", "fewest_cycles_bytes",
         "fewest_cycles", "energy_predicted", "energy_measured")  # fmt: skip
"""Columns that there were none of `BEFORE_OBJECTIVES`."""
MISSING = {BEFORE_OBJECTIVES: {*ADDED, "design"}, BEFORE_AREAS: {"design"}, BEFORE_DIGESTS: set()}
HARDWARE = ("hardware_lanes", "hardware_order", "macs")
MODELLED = tuple(
    column.name
    for column in COLUMNS
    if column.name.endswith(("_predicted", "_buffer_bytes")) or column.name in HARDWARE
    if column.name not in ADDED
)
MODELLED_STACK = tuple(column.name for column in PIPELINES if column.name.endswith("_predicted"))
Same = Callable[[Cells, Cells], bool]


@dataclass(frozen=True)
class Tables:
    """The tables of a folder.

    Members
    -------
    rows, curves : of HWCs and clusters, and of the pure model.
    pipelines, fronts : of depth-first points, and the fronts that they are on.
    areas : the blocks of what was synthesised.
    questions : the provenance of each sweep that a row is from, by the name that the row has for it.
    """

    rows: list[Cells] = field(default_factory=list)
    curves: list[Cells] = field(default_factory=list)
    questions: dict[str, Any] = field(default_factory=dict)
    pipelines: list[Cells] = field(default_factory=list)
    fronts: list[Cells] = field(default_factory=list)
    areas: list[Cells] = field(default_factory=list)

    def joined(self, newer: "Tables", same_schedule: Same) -> "Tables":
        """Both; of rows with the same key the newer one, with what only the older one has of the same point.

        Their order is that of their keys, whichever was known first; layers are in the order of their set.
        A row that is pending takes no other row's place. ``same_schedule`` tells whether the schedule, or solution,
        that two rows name is the same.
        """
        rows = {_key(row, COLUMNS): row for row in self.rows}
        for row in newer.rows:
            key = _key(row, COLUMNS)
            rows[key] = _newest(rows[key], row, same_schedule, MODELLED) if key in rows else row
        curves = {_key(row, CURVES): row for row in (*self.curves, *newer.curves)}
        pipelines = _newest_points(self.pipelines, newer.pipelines, same_schedule)
        fronts = _grouped(self.fronts, FRONTS, "memory_bytes") | _grouped(newer.fronts, FRONTS, "memory_bytes")
        front_rows = [row for key in sorted(fronts, key=_sortable) for row in fronts[key]]
        questions = {**self.questions, **newer.questions}
        used = {row["question"] for row in (*rows.values(), *curves.values(), *pipelines, *front_rows)}
        designs = {row["design"] for row in (*rows.values(), *pipelines)}
        areas = _grouped(self.areas, AREAS, "block") | _grouped(newer.areas, AREAS, "block")
        layers = {name: _layer_names(provenance) for name, provenance in questions.items()}

        def layer(row: Cells) -> tuple[int, str]:
            names = layers.get(row["question"], [])
            return (names.index(row["layer"]) if row["layer"] in names else len(names), row["layer"])

        return Tables(
            sorted(rows.values(), key=lambda row: (_place(row), layer(row))),
            sorted(
                curves.values(), key=lambda row: (row["set"] or "", row["scale"], layer(row), row["buffer_bytes"])
            ),
            {name: provenance for name, provenance in questions.items() if name in used},
            sorted(pipelines, key=_place_of_stack),
            front_rows,
            [row for key in sorted(areas, key=_sortable) for row in areas[key] if row["design"] in designs],
        )

    def of_others(self, asked: Mapping[str, Any]) -> list[str]:
        """Layers, or the network, that rows of a set of the same name have, and that are others than those asked for.

        ``asked`` : the provenance of a sweep, which replaces such rows where all else is the same.
        """
        named = {layer["name"]: layer for layer in asked.get("layers", ())}
        found: dict[str, None] = {}
        for one in self.questions.values():
            if one["set"] != asked["set"]:
                continue
            found |= {
                layer["name"]: None for layer in one.get("layers", ()) if named.get(layer["name"], layer) != layer
            }
            if "network" in one and "network" in asked and one["network"] != asked["network"]:
                found[str(one["network"]["network"])] = None
        return list(found)

    def named(self) -> dict[str, list[Cells]]:
        """The tables by the names of their files: those that a folder has."""
        found = {"results": self.rows, "curves": self.curves, "pipelines": self.pipelines, "fronts": self.fronts,
                 "areas": self.areas}  # fmt: skip
        together = {"curves": "results", "fronts": "pipelines"}
        return {name: rows for name, rows in found.items() if rows or found.get(together.get(name, ""))}


def schema() -> dict[str, Any]:
    """What each column is."""
    columns = {name: [asdict(column) for column in columns] for name, columns in TABLES.items()}
    return {"format": FORMAT, "kind": "sweep", **columns}


def writes_parquet() -> bool:
    """Whether tables are written as Parquet, too: whether pyarrow is there."""
    return find_spec("pyarrow") is not None


def rows_file(folder: Path) -> Path:
    """Where the rows of a folder are kept while it has no Parquet, which alone has them without loss."""
    return folder / "store" / "tables.json"


def known_tables(folder: Path, tell: Callable[[str], object] = lambda line: None) -> Tables:
    """The tables that a folder has so far; `InputError` if they are of another version, `ToolError` if they are
    Parquet and pyarrow is not there.

    Rows that are not as they were written are not among them; ``tell`` is called with a line for each.
    """
    there = {name: file for name in TABLES if (file := folder / f"{name}.parquet").exists()}
    kept = rows_file(folder)
    if not there and not kept.exists():
        return Tables()
    if there and not writes_parquet():
        raise ToolError(f"{folder}: its Parquet needs pyarrow ({how_to_install('sweep')})")
    try:
        known = json.loads((folder / "schema.json").read_text(encoding="utf-8"))
        if not _readable(known):
            raise InputError(f"-o: {folder}: its results are of another version of hwgen: expected another folder")
        provenance = json.loads((folder / "provenance.json").read_text(encoding="utf-8"))
        found: dict[str, list[Cells]] = {name: [] for name in TABLES}
        found |= _parquet(there) if there else json.loads(kept.read_text(encoding="utf-8"))
        if known["format"] == FORMAT:
            files = {name: there.get(name, kept) for name in TABLES}
            found = {name: _believed(rows, files[name], name, tell) for name, rows in found.items()}
        rows = [_of_today(row) for row in found["results"]]
        more = (found[name] for name in ("pipelines", "fronts", "areas"))
        return Tables(rows, found["curves"], provenance["questions"], *more)
    except InputError:
        raise
    except (OSError, ValueError, KeyError, TypeError) as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise InputError(
            f"-o: {folder}: its results cannot be read ({reason}): expected a folder of sweeps"
        ) from None


def _parquet(files: Mapping[str, Path]) -> dict[str, list[Cells]]:
    import pyarrow.parquet

    return {name: pyarrow.parquet.read_table(file).to_pylist() for name, file in files.items()}


_TOGETHER = {"pipelines": "stack", "fronts": "memory_bytes", "areas": "block"}
"""The column within which rows of a table are known only together."""


def _believed(rows: Sequence[Cells], file: Path, name: str, tell: Callable[[str], object]) -> list[Cells]:
    """The rows that are as they were written, without their digests, and without those known only together with
    others that are not."""
    wrong = [(number, row) for number, row in enumerate(rows, 1) if row.get(SEAL) != row_digest(row)]
    for number, row in wrong:
        parts = [
            row.get(cell) for cell in ("set", "configuration", "buffer_bytes", "layer", "stack", "design", "block")
        ]
        named = " ".join(str(part) for part in parts if part is not None)
        why = "without a digest" if row.get(SEAL) is None else "changed since it was written"
        tell(f"{file}: row {number} ({named}): {why}: not believed, made anew where it is wanted")
    bare = [{cell: value for cell, value in row.items() if cell != SEAL} for row in rows]
    key = [column.name for column in TABLES[name] if column.key and column.name != _TOGETHER.get(name)]
    doubtful = [[row.get(cell) for cell in key] for _, row in wrong] if name in _TOGETHER else []
    numbers = {number for number, _ in wrong}
    return [
        row
        for number, row in enumerate(bare, 1)
        if number not in numbers and [row.get(cell) for cell in key] not in doubtful
    ]


def _readable(known: Any) -> bool:
    """Whether a schema is today's, or that of a version whose rows `_of_today` can bring to it."""
    columns = [[column["name"], column["kind"]] for column in known["results"]]
    today = [[column.name, column.kind] for column in COLUMNS]
    if known["format"] == FORMAT:
        return bool(_without_meanings(known) == _without_meanings(schema()))
    missing = MISSING.get(known["format"])
    return missing is not None and columns == [one for one in today if one[0] not in missing]


def _without_meanings(one: Mapping[str, Any]) -> dict[str, Any]:
    """A schema but for what its columns mean, which may be said better."""
    return {
        name: [{key: text for key, text in column.items() if key != "meaning"} for column in value]
        if isinstance(value, list)
        else value
        for name, value in one.items()
    }


def _of_today(row: Cells) -> Cells:
    """A row of tables without objectives had the least traffic."""
    return completed({"objective": None if row["configuration"] == "hwce" else "traffic", **row})


def _key(row: Mapping[str, Any], columns: Sequence[Column]) -> tuple[Any, ...]:
    return tuple(row[column.name] for column in columns if column.key)


def _sortable(key: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple((cell is not None, cell or 0) for cell in key)


def _layer_names(provenance: Mapping[str, Any]) -> list[str]:
    """The layers that a sweep is of, in the order of their set."""
    return [layer["name"] for layer in provenance.get("layers", ())]


def _grouped(rows: Iterable[Cells], columns: Sequence[Column], *within: str) -> dict[tuple[Any, ...], list[Cells]]:
    """Rows that are equal in all keys but those ``within`` a group: one is only known, or replaced, as a whole."""
    found: dict[tuple[Any, ...], list[Cells]] = {}
    for row in rows:
        key = tuple(row[column.name] for column in columns if column.key and column.name not in within)
        found.setdefault(key, []).append(row)
    return found


def _newest_points(older: Sequence[Cells], newer: Sequence[Cells], same: Same) -> list[Cells]:
    """The rows of all depth-first points, of each the newer one's: another solution may have other stacks."""
    points = _grouped(older, PIPELINES, "stack")
    for key, rows in _grouped(newer, PIPELINES, "stack").items():
        before = {row["stack"]: row for row in points.get(key, [])}
        if before and all(row["status"] == "pending" and row["stack"] is None for row in rows):
            continue  # its solution is not known yet
        pairs = [(before.get(row["stack"]), row) for row in rows]
        points[key] = [new if old is None else _newest(old, new, same, MODELLED_STACK) for old, new in pairs]
    return [row for rows in points.values() for row in rows]


def _newest(old: Cells, new: Cells, same_schedule: Same, modelled: Sequence[str]) -> Cells:
    if new["status"] == "pending" and old["status"] != "pending":
        return old
    if any(old[name] != new[name] for name in modelled) or not same_schedule(old, new):
        return new
    if new["status"] in ("predicted", "pending") and old["status"] in ("ok", "differs"):
        return {name: cell if old[name] is None else old[name] for name, cell in new.items()}
    if new["luts"] is None:
        return {**new, **{name: old[name] for name in AREA_NAMES}}
    return new


def _place_of_stack(row: Cells) -> tuple[Any, ...]:
    """Stacks of one solution are neighbours, in its order."""
    order = ("phases", "input_width", "input_height", "multipliers", "axi_bits", "dram", "stalls", "seed",
             "memory_bytes", "number")  # fmt: skip
    return (row["set"] or "", *((row[name] is not None, row[name] or 0) for name in order))


def _place(row: Cells) -> tuple[Any, ...]:
    """Rows of one configuration are neighbours; layers stay in the order of their set."""
    order = ("scale", "seed", "hwcs", "tcdm_bytes", "axi_bits", "banks", "dram", "objective", "traffic_slack",
             "buffer_bytes", "lanes", "order")  # fmt: skip
    kind = row["configuration"]
    rank = KINDS.index(kind) if kind in KINDS else len(KINDS)
    return (row["set"] or "", rank, *((row[name] is not None, row[name] or 0) for name in order))
