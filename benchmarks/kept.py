"""The figures of a benchmark as CSV, which `docs/results.md` has its tables from."""

from collections.abc import Sequence
from pathlib import Path

from hwgen.ir.document import csv_lines, write_atomically

__all__ = ["FOLDER", "leave"]

FOLDER = Path("results") / "benchmarks"


def leave(name: str, columns: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Write a table into `FOLDER`; it takes the place of what the last call left."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    write_atomically(FOLDER / f"{name}.csv", csv_lines([columns, *rows]))
