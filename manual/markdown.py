"""Pieces of Markdown."""

import html
import re
from collections.abc import Iterator, Sequence

__all__ = ["anchored", "cell", "table"]


def cell(text: str) -> str:
    """A text as it may stand in a cell of a table: on one line, nothing in it read as markup."""
    flat = html.escape(" ".join(text.split()), quote=False)
    return re.sub(r"([\\|*_\[\]])", r"\\\1", flat)


def table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """The lines of a table; cells are Markdown."""
    yield f"| {' | '.join(columns)} |"
    yield f"|{'---|' * len(columns)}"
    for row in rows:
        yield f"| {' | '.join(row)} |"


def anchored(level: int, title: str, anchor: str) -> str:
    """A heading with an address of its own."""
    return f"{'#' * level} {title} {{ #{anchor} }}"
