"""What a paper's command answers: files in its folder, and on the terminal the text or JSON."""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from hwgen.cli.console import print_json
from hwgen.papers.claims import Claim, claims_table
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

    ``command`` : what was called, as the kept claims have it.
    """
    every = {**files, "claims.json": claims_bytes(command, stated)}
    write_together(output, every)
    if as_json:
        claims = [asdict(claim) for claim in stated]
        print_json({**data, "claims": claims, "files": sorted(str(output / file) for file in every)})
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
