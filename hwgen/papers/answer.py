"""What a paper's command answers: files in its folder; its text, as tables on a terminal, or JSON."""

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from itertools import groupby
from pathlib import Path
from typing import Any

import typer

from hwgen.cli.console import print_json, print_table, print_wrapped
from hwgen.papers.claims import HEAD, Claim, claims_table
from hwgen.papers.documents import csv_text
from hwgen.papers.kept import claims_bytes
from hwgen.tools.output import write_together

__all__ = ["answer", "answer_rtl"]


def answer(
    output: Path,
    command: str,
    stated: Sequence[Claim],
    files: Mapping[str, bytes],
    text: str,
    data: Mapping[str, Any],
    *,
    as_json: bool,
) -> None:
    """Write the files and the claims; print the text, or with ``as_json`` the data and where the files are.

    A terminal gets the text without its Markdown, and of the claims what was stated, found and judged.

    ``command`` : what was called, as the kept claims have it.
    """
    every = {**files, "claims.json": claims_bytes(command, stated)}
    write_together(output, every)
    if as_json:
        claims = [asdict(claim) for claim in stated]
        print_json({**data, "claims": claims, "files": sorted(str(output / file) for file in every)})
    elif sys.stdout.isatty():
        _show(text)
        print_wrapped(f"{output}: tolerances, remarks and figures", "")
    else:
        sys.stdout.write(text)


def answer_rtl(
    output: Path,
    paper: str,
    sections: Mapping[str, Sequence[str]],
    stated: Sequence[Claim],
    rows: Sequence[Any],
    derived: Sequence[str],
    *,
    as_json: bool,
) -> None:
    """What ``--rtl`` alone has simulated: README_rtl.md, rtl.csv and the rows as JSON.

    ``sections`` : lines by heading, the first one the title; the claims come after it. ``derived`` : properties of
    the rows that the CSV has, too.
    """
    (title, preface), *others = sections.items()
    parts = [(title, preface), ("## Claims", claims_table(stated)), *others]
    text = "\n".join(line for heading, lines in parts for line in (heading, "", *lines, ""))
    files = {"README_rtl.md": text.encode(), "rtl.csv": csv_text(rows, derived).encode()}
    data = {"paper": paper, "rtl": [asdict(row) for row in rows]}
    answer(output, f"hwgen paper {paper} --rtl", stated, files, text, data, as_json=as_json)


ON_TERMINAL = ("where", "the paper states", "found", "verdict")
"""Columns of the claims that a terminal has room for."""


def _show(text: str) -> None:
    """Print Markdown for a terminal: headings, paragraphs and lists wrapped, tables as tables."""
    for is_table, lines in groupby(text.splitlines(), key=lambda line: line.startswith("|")):
        if is_table:
            _show_table(list(lines))
        else:
            _show_prose(list(lines))


def _show_table(lines: Sequence[str]) -> None:
    head, _, *rows = ([_plain(cell) for cell in line.strip("|").split("|")] for line in lines)
    if tuple(head) == HEAD:
        places = [head.index(name) for name in ON_TERMINAL]
        head, rows = [head[at] for at in places], [[row[at] for at in places] for row in rows]
    print_table("", head, rows)


def _show_prose(lines: Sequence[str]) -> None:
    for first, paragraph in _paragraphs(lines):
        if first == "#":
            typer.secho(paragraph, bold=True)
        elif paragraph:
            print_wrapped(paragraph, first)
        else:
            typer.echo()


def _paragraphs(lines: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Paragraphs in one line each, with what they begin with: a heading, an item of a list, or nothing.

    Empty ones stand for empty lines.
    """
    first, words = "", ""
    for line in [*lines, ""]:
        begins = "#" if line.startswith("#") else "- " if line.startswith("- ") else ""
        if words and (begins or not line):
            yield first, words
            words = ""
        if not line:
            yield "", ""
        elif begins or not words:
            first, words = begins, _plain(line.lstrip("#").removeprefix("- "))
        else:
            words += f" {_plain(line)}"


def _plain(text: str) -> str:
    """Text without the signs of code and of emphasis."""
    return text.strip().replace("`", "").replace("**", "")
