"""The tables of a folder in which several sweeps were made: rows by key, the newest of each."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from hwgen.ir.document import InputError
from hwgen.sweep.rows import Cells, completed
from hwgen.sweep.tables.columns import COLUMNS, CURVES, FORMAT, Column

__all__ = ["Tables", "known_tables", "schema"]

KINDS = ("shared", "per-layer", "hwce", "cluster")
SYNTHESIS = tuple(column.name for column in COLUMNS if column.name in {
    "luts", "ffs", "dsps", "lut_rams", "block_rams", "buffer_lut_rams", "buffer_block_rams", "gates", "buffer_bits",
    "queue_bits", "clock_mhz", "critical_path",
})  # fmt: skip
BEFORE_OBJECTIVES = 3
"""Version of the tables that had none of `ADDED`: every HWC was that of the least traffic."""
ADDED = ("objective", "traffic_slack", "least_traffic_bytes", "least_traffic_cycles", "fewest_cycles_bytes",
         "fewest_cycles", "energy_predicted", "energy_measured")  # fmt: skip
HARDWARE = ("hardware_lanes", "hardware_order", "macs")
MODELLED = tuple(
    column.name
    for column in COLUMNS
    if column.name.endswith(("_predicted", "_buffer_bytes")) or column.name in HARDWARE
    if column.name not in ADDED
)


@dataclass(frozen=True)
class Tables:
    """The tables of a folder.

    Members
    -------
    questions : the provenance of each sweep that a row is from, by the name that the row has for it.
    """

    rows: list[Cells] = field(default_factory=list)
    curves: list[Cells] = field(default_factory=list)
    questions: dict[str, Any] = field(default_factory=dict)

    def joined(self, newer: "Tables", same_schedule: Callable[[Cells, Cells], bool]) -> "Tables":
        """Both; of rows with the same key the newer one, with what only the older one has of the same point.

        A row that is pending takes no other row's place.
        """
        rows = {_key(row, COLUMNS): row for row in self.rows}
        for row in newer.rows:
            key = _key(row, COLUMNS)
            rows[key] = _newest(rows[key], row, same_schedule) if key in rows else row
        curves = {_key(row, CURVES): row for row in (*self.curves, *newer.curves)}
        questions = {**self.questions, **newer.questions}
        used = {row["question"] for row in (*rows.values(), *curves.values())}
        return Tables(
            sorted(rows.values(), key=_place),
            sorted(curves.values(), key=lambda row: (row["set"] or "", row["scale"])),
            {name: provenance for name, provenance in questions.items() if name in used},
        )


def schema() -> dict[str, Any]:
    """What each column is."""
    return {
        "format": FORMAT,
        "kind": "sweep",
        "results": [asdict(column) for column in COLUMNS],
        "curves": [asdict(column) for column in CURVES],
    }


def known_tables(folder: Path) -> Tables:
    """The tables that a folder has so far; `InputError` if they are of another version."""
    import pyarrow.parquet

    file = folder / "results.parquet"
    if not file.exists():
        return Tables()
    try:
        known = json.loads((folder / "schema.json").read_text(encoding="utf-8"))
        if not _readable(known):
            raise InputError(f"-o: {folder}: its results are of another version of hwgen: expected another folder")
        provenance = json.loads((folder / "provenance.json").read_text(encoding="utf-8"))
        rows, curves = (
            pyarrow.parquet.read_table(folder / f"{name}.parquet").to_pylist() for name in ("results", "curves")
        )
        return Tables([_of_today(row) for row in rows], curves, provenance["questions"])
    except InputError:
        raise
    except (OSError, ValueError, KeyError, TypeError) as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise InputError(
            f"-o: {folder}: its results cannot be read ({reason}): expected a folder of sweeps"
        ) from None


def _readable(known: Any) -> bool:
    """Whether a schema is today's, or that of a version whose rows `_of_today` can bring to it."""
    columns = [[column["name"], column["kind"]] for column in known["results"]]
    today = [[column.name, column.kind] for column in COLUMNS]
    if known["format"] == FORMAT:
        return bool(known == json.loads(json.dumps(schema())))
    return known["format"] == BEFORE_OBJECTIVES and columns == [one for one in today if one[0] not in ADDED]


def _of_today(row: Cells) -> Cells:
    """A row of tables without objectives had the least traffic."""
    return completed({"objective": None if row["configuration"] == "hwce" else "traffic", **row})


def _key(row: Mapping[str, Any], columns: Sequence[Column]) -> tuple[Any, ...]:
    return tuple(row[column.name] for column in columns if column.key)


def _newest(old: Cells, new: Cells, same_schedule: Callable[[Cells, Cells], bool]) -> Cells:
    if new["status"] == "pending" and old["status"] != "pending":
        return old
    if any(old[name] != new[name] for name in MODELLED) or not same_schedule(old, new):
        return new
    if new["status"] in ("predicted", "pending") and old["status"] in ("ok", "differs"):
        return {name: cell if old[name] is None else old[name] for name, cell in new.items()}
    if new["luts"] is None:
        return {**new, **{name: old[name] for name in SYNTHESIS}}
    return new


def _place(row: Cells) -> tuple[Any, ...]:
    """Rows of one configuration are neighbours; layers stay in the order of their set."""
    order = ("scale", "seed", "hwcs", "tcdm_bytes", "axi_bits", "banks", "dram", "objective", "traffic_slack",
             "buffer_bytes", "lanes", "order")  # fmt: skip
    kind = row["configuration"]
    rank = KINDS.index(kind) if kind in KINDS else len(KINDS)
    return (row["set"] or "", rank, *((row[name] is not None, row[name] or 0) for name in order))
