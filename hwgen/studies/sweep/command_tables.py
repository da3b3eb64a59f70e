"""What the command prints: the results of a sweep as tables on standard output, progress on standard error."""

import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import typer
from rich.console import Console

from hwgen.api.arguments import size_text
from hwgen.cli.console import print_cycles_note, print_table, printable
from hwgen.cli.heartbeat import is_quiet, now
from hwgen.studies.sweep.rows import Cells
from hwgen.studies.sweep.tables.merge import writes_parquet

__all__ = ["Lines", "print_files", "print_pipelines", "print_sweep"]

VARIED = ("order", "objective")
"""Columns that are shown where they differ."""
AREA = ("LUT4", "clock, MHz", "clock of an HWC, MHz")
"""Columns that are shown where something was synthesised."""


def print_sweep(rows: Sequence[Cells], scale: int) -> None:
    """A table of single HWCs and one of clusters; and for each configuration what was weighed."""
    size = "at full size" if scale == 1 else f"SCALED: channels, rows and columns divided by {scale}"
    lone = [row for row in rows if row["hwcs"] is None]
    clusters = [row for row in rows if row["hwcs"] is not None]
    for some, columns in ((lone, _lone_cells), (clusters, _cluster_cells)):
        if some:
            _print(f"Sweep, layers {size}", [columns(row) for row in some])
    for some, named in ((lone, _lone_name), (clusters, _cluster_name)):
        _print_weighed(some, named)
    if clusters:
        print_cycles_note()


def print_pipelines(rows: Sequence[Cells]) -> None:
    """A table of depth-first points, a line for each stack."""
    on_dram = any(row["axi_bits"] is not None for row in rows)
    found = [
        {
            "memory": size_text(row["memory_bytes"]),
            "multipliers": row["multipliers"],
            "stack": row["stack"],
            "tiles": row["tiles"],
            "weights": row["weights"],
            "status": row["status"],
            "on chip": row["stack_bytes"],
            "traffic predicted": row["total_bytes_predicted"],
            "measured": row["total_bytes_measured"],
            **({"row misses": row["dram_row_misses_measured"]} if on_dram else {}),
            "cycles predicted": row["cycles_predicted"],
            "measured ": row["cycles_measured"],
            "utilisation": row["utilisation"],
            "LUT4": row["luts"],
            "clock, MHz": row["clock_mhz"],
        }
        for row in rows
    ]
    first = rows[0]
    title = (
        f"Depth-first, {first['set']} at {first['input_width']}x{first['input_height']}: bytes to and from the DRAM"
    )
    _print(title, found)
    print_cycles_note()


def print_files(folder: Path, name: str, rows: int, kept: int, more: str) -> None:
    """Name the table and the files beside it, and the rows that were there before; ``kept`` : all of the table."""
    earlier = kept - rows
    there = f"{kept} rows{f', {earlier} of them from earlier sweeps' if earlier else ''}"
    parquet = f"{name}.parquet, " if writes_parquet() else ""
    typer.echo(f"{folder / f'{name}.csv'} ({there}), {parquet}schema.json, provenance.json, {more}")


def _print(title: str, found: list[Cells]) -> None:
    alike = {name for name in VARIED if name in found[0] and len({cells[name] for cells in found}) == 1}
    names = [
        name for name in found[0] if name not in alike and (name not in AREA or any(cells[name] for cells in found))
    ]
    print_table(title, names, [[cells[name] for name in names] for cells in found])


def _print_weighed(rows: Sequence[Cells], named: Callable[[Cells], Cells]) -> None:
    """Print the choice and both ends of each configuration, over the layers for which both are known."""
    groups: dict[tuple[object, ...], list[Cells]] = {}
    for row in rows:
        if row["least_traffic_cycles"] is not None:
            groups.setdefault(tuple(named(row).values()), []).append(row)
    if not groups:
        return
    at_dram = rows[0]["hwcs"] is not None
    ends = {
        "bytes": "dram_total_bytes_predicted" if at_dram else "total_bytes_predicted",
        "cycles": "cycles_predicted",
        "least bytes": "least_traffic_bytes",
        "cycles ": "least_traffic_cycles",
        **({} if at_dram else {"bytes ": "fewest_cycles_bytes", "fewest cycles": "fewest_cycles"}),
    }
    found = [
        {
            **named(some[0]),
            "layers": len(some),
            **{name: sum(row[column] for row in some) for name, column in ends.items()},
        }
        for some in groups.values()
    ]
    where = "bytes at the DRAM" if at_dram else "bytes of I, W and O"
    what = "the choice, the least traffic" + ("" if at_dram else ", the fewest cycles")
    _print(f"What was weighed, all layers together, predicted, {where}: {what}", found)


def _lone_name(row: Cells) -> Cells:
    return {
        "HWC": row["configuration"],
        "buffers": size_text(row["buffer_bytes"]),
        "lanes": row["lanes"],
        "order": row["order"],
        "objective": _objective(row),
    }


def _cluster_name(row: Cells) -> Cells:
    return {
        "HWCs": row["hwcs"],
        "TCDM": size_text(row["tcdm_bytes"]),
        "buffers": size_text(row["buffer_bytes"]),
        "lanes": row["lanes"],
        "order": row["order"],
        "objective": _objective(row),
    }


def _objective(row: Cells) -> str:
    """The objective, with its slack where it has one."""
    slack = row["traffic_slack"]
    return row["objective"] or "" if slack is None else f"{row['objective']} {slack:g}"


def _lone_cells(row: Cells) -> Cells:
    return {
        **_lone_name(row),
        "lanes": row["hardware_lanes"] or row["lanes"],
        "layer": row["layer"],
        "status": row["status"],
        "I+W+O predicted": row["total_bytes_predicted"],
        "measured": row["total_bytes_measured"],
        "/ optimum": row["optimum_ratio"],
        "/ bound": row["bound_ratio"],
        "cycles": row["cycles_predicted"] if row["cycles_measured"] is None else row["cycles_measured"],
        "utilisation": row["utilisation"],
        "LUT4": row["luts"],
        "clock, MHz": row["clock_mhz"],
    }


def _cluster_cells(row: Cells) -> Cells:
    return {
        **_cluster_name(row),
        "layer": row["layer"],
        "status": row["status"],
        "DRAM predicted": row["dram_total_bytes_predicted"],
        "measured": row["dram_total_bytes_measured"],
        "/ bound": row["bound_ratio"],
        "TCDM predicted": row["total_bytes_predicted"],
        "measured ": row["total_bytes_measured"],
        "cycles predicted": row["cycles_predicted"],
        "measured  ": row["cycles_measured"],
        "utilisation": row["utilisation"],
        "LUT4": row["luts"],
        "clock of an HWC, MHz": row["clock_mhz"],
    }


# --- progress ---


class Lines:
    """Lines of progress on standard error, each with the share done; on a terminal a last one that changes."""

    def __init__(self) -> None:
        self._console = Console(stderr=True)
        self._shown = ""

    def tell(self, line: str, done: int, known: int) -> None:
        """A line that stays."""
        if is_quiet():
            return
        self.clear()
        sys.stderr.write(printable(f"[{done}/{known}] {line}") + "\n")
        sys.stderr.flush()

    def look(self, line: str, done: int, known: int) -> None:
        """What is under way; elsewhere than on a terminal it is told now and then."""
        now(f"[{done}/{known}] {line}")
        if self._console.is_terminal and line and not is_quiet():
            self.clear()
            self._shown = printable(f"[{done}/{known}] {line}")[: self._console.width - 1]
            sys.stderr.write(self._shown)
            sys.stderr.flush()

    def clear(self) -> None:
        """Take away the line that changes."""
        if self._shown:
            sys.stderr.write("\r\x1b[2K")
            self._shown = ""
