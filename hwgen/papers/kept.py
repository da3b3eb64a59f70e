"""Claims as they are kept: a file for each command that judged them, and the page that shows them all.

``hwgen paper`` leaves ``claims.json`` in its folder. Copies of it in ``docs/papers`` are what the documentation says;
``python -m hwgen.papers.kept`` writes ``docs/papers.md`` from them. A verdict is not read back: it follows from the
quantities that the file has.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from hwgen.ir.document import InputError, json_text
from hwgen.papers.claims import Claim, Quantity, claims_table

__all__ = ["KEPT", "PAGE", "Kept", "claims_bytes", "command_text", "kept_files", "load_kept", "papers_page"]

ROOT = Path(__file__).resolve().parents[2]
KEPT = ROOT / "docs" / "papers"
"""Folder of the copies."""
PAGE = ROOT / "docs" / "papers.md"

TITLE = """\
# Claims of the papers

Here you can look up what the papers state beside what was computed, and run it again: each table is the output of the
command above it, kept in `docs/papers`. This page is written by `python -m hwgen.papers.kept`, and a test compares
the two. What is counted in the RTL is on the page of [results](results.md#papers).

Every quantity of a statement has a tolerance with two sides, fixed in the claim. The verdicts:

- *reproduced*: every quantity is within its tolerance, in the paper's own reading.
- *reproduced in another reading*: the same in the reading that is named, which the text does not print or leaves open
  beside others. Readings stand side by side; none is chosen by its result.
- *exceeded*: what is outside is beyond, on the side that the paper counts as the gain.
- *not reproduced*: something is outside, for the reason beside it.
- *refuted in the paper's own space*: the statement is about all cases, these are the paper's, and one contradicts it.
- *not judged*: nothing was computed that decides it, for the reason beside it.
"""


@dataclass(frozen=True)
class Kept:
    """The claims that one command judged."""

    command: str
    claims: tuple[Claim, ...]


def command_text(paper: str, options: Mapping[str, object]) -> str:
    """What was called: options that are None or False are left out; the folder and ``--json`` are not told."""
    parts = [f"hwgen paper {paper}"]
    for name, value in options.items():
        if value is True:
            parts.append(name)
        elif value not in (None, False):
            parts.append(f"{name} {value}")
    return " ".join(parts)


def claims_bytes(command: str, claims: Sequence[Claim]) -> bytes:
    """The file that a command leaves; ``command`` is what was called, without its folder."""
    return json_text({"command": command, "claims": [asdict(claim) for claim in claims]}).encode()


def load_kept(path: Path) -> Kept:
    """A kept file; its verdicts are judged anew. Raises `InputError` if one was another."""
    data = json.loads(path.read_text(encoding="utf-8"))
    claims = []
    for one in data["claims"]:
        claim = _claim(one)
        if claim.verdict != one["verdict"]:
            raise InputError(f"{path}: {claim.where}: expected the verdict {claim.verdict}, got {one['verdict']}")
        claims.append(claim)
    return Kept(data["command"], tuple(claims))


def _claim(data: dict[str, Any]) -> Claim:
    given = {field.name: data[field.name] for field in fields(Claim) if field.init}
    return Claim(**{**given, "parts": tuple(Quantity(**part) for part in data["parts"])})


def kept_files() -> list[Path]:
    """All kept files, in the order of the page."""
    return sorted(KEPT.glob("*.json"))


def papers_page(every: Sequence[Kept]) -> str:
    """The page as Markdown."""
    lines = [TITLE]
    for kept in every:
        lines += [f"## `{kept.command}`", "", _counted(kept.claims), "", *claims_table(kept.claims), ""]
    return "\n".join(lines)


def _counted(claims: Sequence[Claim]) -> str:
    verdicts = [claim.verdict for claim in claims]
    counts = ", ".join(f"{verdicts.count(one)} {one}" for one in dict.fromkeys(verdicts))
    return f"{len(claims)} claims and readings: {counts}."


def main() -> None:
    """Write the page."""
    PAGE.write_text(papers_page([load_kept(path) for path in kept_files()]), encoding="utf-8")


if __name__ == "__main__":
    main()
