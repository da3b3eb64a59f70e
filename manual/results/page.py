"""The page of results: its tables as the kept files have them, and the figures in its text.

A comment such as ``<!-- figures: busy -->`` stands before each table. ``python -m manual.results.page`` writes the
tables anew; a test says when they differ.
"""

import re
from collections.abc import Iterator

from hwgen.ir.document import write_atomically
from manual.results.kept import PAGE
from manual.results.sources import TABLES

__all__ = ["filled", "loose_figures", "plain", "tables_of", "write_page"]

MARK = re.compile(r"<!-- figures: (\w+) -->")
FIGURE = re.compile(r"(?<![\w.,-])\d{1,3}(?:,\d{3})+(?![\w,])|(?<![\w.,-])\d+\.\d+(?![\w.])")
"""What counts as a figure in the text: a number with thousands, or with decimals."""


def filled(page: str) -> str:
    """The page with its marked tables as the files have them."""
    lines, found = page.splitlines(), list[str]()
    place = 0
    while place < len(lines):
        found.append(lines[place])
        mark = MARK.fullmatch(lines[place])
        place += 1
        if mark:
            found += ["", *TABLES[mark[1]].lines]
            while place < len(lines) and not lines[place]:
                place += 1
            while place < len(lines) and lines[place].startswith("|"):
                place += 1
            found += [""] * (lines[place : place + 1] != [""])
    return "\n".join(found) + "\n"


def tables_of(page: str) -> Iterator[tuple[str | None, list[str]]]:
    """The tables of a page with what marks them, None where nothing does."""
    table: list[str] = []
    mark = before = ""
    for line in [*page.splitlines(), ""]:
        if line.startswith("|"):
            mark = mark if table else before
            table.append(line)
        elif table:
            found = MARK.fullmatch(mark)
            yield found[1] if found else None, table
            table = []
        before = line or before


def loose_figures(page: str, sentences: list[str]) -> list[str]:
    """Figures in the text that are in none of the sentences; tables, code and names in quotes are no text."""
    text = plain(page)
    for sentence in sentences:
        text = text.replace(plain(sentence), " ")
    return FIGURE.findall(text)


def plain(text: str) -> str:
    """Text in one line, without tables, code, and where links go to."""
    text = " ".join(re.sub(r"(?ms)^```.*?^```$|^\|[^\n]*$", " ", text).split())
    return " ".join(re.sub(r"`[^`]*`|\]\([^)]*\)", " ", text).split())


def write_page() -> None:
    """Write the tables of the page."""
    write_atomically(PAGE, filled(PAGE.read_text(encoding="utf-8")))


if __name__ == "__main__":
    write_page()
