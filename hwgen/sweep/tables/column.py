"""What a column of a table is."""

from dataclasses import dataclass
from typing import Literal

__all__ = ["Column", "Kind"]

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
