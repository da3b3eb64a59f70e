"""What a column of a table is."""

from dataclasses import dataclass
from typing import Literal

from hwgen.ir.document import SEAL

__all__ = ["DIGEST", "Column", "Kind"]

Kind = Literal["text", "integer", "number", "truth"]


@dataclass(frozen=True)
class Column:
    """One column; a cell may be empty where the row has no such figure.

    ``key``: whether rows that differ in it are kept apart when a folder's sweeps are put into one table.
    """

    name: str
    kind: Kind
    unit: str
    meaning: str
    key: bool = False


DIGEST = Column(
    SEAL, "text", "", "of the row's other cells: a row that has another one was changed since it was written"
)
"""The last column of every table in a file; the program's rows do not have it."""
