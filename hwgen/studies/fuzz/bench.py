"""A folder in which commands run, and what is asked of each, whatever it was asked to do."""

import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any, NoReturn

from hwgen.tools.processes import watched

__all__ = ["Answer", "Bench", "Differs"]

PROGRAM = "from hwgen.cli import main; main()"
SECONDS = 900.0
"""Time after which a command on a small case is taken for one that does not end."""
LONGEST_LINE = 700
"""Characters of a refusal."""
UNCLEAR = re.compile(r"Traceback|Error\b(?! of)|Exception|<[a-z_.]+ object|pydantic|numpy|np\.|\bNone\b|\bdict\b")
"""What a line for a reader does not have: words of the program."""


class Differs(Exception):
    """A command, or two, did not do what they promise; the message says what."""


@dataclass(frozen=True)
class Answer:
    """What a command left.

    Members
    -------
    command : its words after ``hwgen``.
    status : exit status.
    json : its document.
    refused : the line in which it says why it did nothing; empty if it did its work.
    """

    command: tuple[str, ...]
    status: int
    json: Any = field(repr=False)
    refused: str = ""

    def __str__(self) -> str:
        return f"hwgen {shlex.join(self.command)}"


class Bench:
    """Runs commands with ``--json`` in a folder and raises `Differs` where one breaks a promise that all give.

    The promises: it ends, with status 0, 1 or 2 and without a traceback or a warning; standard output is one JSON
    document; a refusal is one clear line, also in the document; nothing is written but what ``-o`` names.

    Members
    -------
    commands : the command lines that were run.
    refused : the first refusal; empty if there was none.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.commands: list[str] = []
        self.refused = ""

    def __call__(self, *words: object, failing: bool = False) -> Answer:
        """Run a command. Its status is 0, or 2 if it is refused; with ``failing`` also 1."""
        command = (*map(str, words), "--json", "--quiet")
        self.commands.append(f"hwgen {shlex.join(command)}")
        before = dict(self._files(command))
        status, out, err = self._run(command)
        if status == 0 and err.strip():
            self.differs(f"done, and yet says: {_last(err)}")
        if status not in ((0, 1, 2) if failing else (0, 2)):
            self.differs(f"exit status {status}: {_last(err) or _failures(out)}")
        if "Traceback" in err:
            self.differs(f"a traceback: {_last(err)}")
        document = self._document(out)
        refused = self._refusal(err, document) if status == 2 else ""
        self.refused = self.refused or refused
        after = dict(self._files(command))
        for name in sorted(before.keys() | after.keys()):
            if before.get(name) != after.get(name):
                self.differs(f"{name} is written, which is not where -o says")
        return Answer(command, status, document, refused)

    def differs(self, what: str) -> NoReturn:
        """The last command is wrong in this."""
        raise Differs(f"{self.commands[-1]}: {what}")

    def same(self, what: str, one: Any, two: Any) -> None:
        """Two answers have to agree; the last command is one of them."""
        if one != two:
            self.differs(f"{what}: {_short(_first_difference(one, two))}")

    def _run(self, command: tuple[str, ...]) -> tuple[int, str, str]:
        watched()
        with tempfile.TemporaryDirectory(prefix="hwgen-fuzz-") as scratch:
            try:
                ran = subprocess.run(
                    [sys.executable, "-c", PROGRAM, *command], cwd=self.folder, env={**os.environ, "TMPDIR": scratch},
                    stdin=subprocess.DEVNULL, capture_output=True, check=False, timeout=SECONDS,
                )  # fmt: skip
            except subprocess.TimeoutExpired:
                self.differs(f"not done after {SECONDS:g} s")
            if left := sorted(path.name for path in Path(scratch).iterdir()):
                self.differs(f"leaves {left[0]} in the folder of temporary files")
            return ran.returncode, ran.stdout.decode(errors="replace"), ran.stderr.decode(errors="replace")

    def _document(self, out: str) -> Any:
        try:
            return json.loads(out, parse_constant=self._no_constant)
        except ValueError as error:
            self.differs(f"standard output is no JSON document: {error}")

    def _no_constant(self, name: str) -> NoReturn:
        raise ValueError(name)

    def _refusal(self, err: str, document: Any) -> str:
        line = err.removeprefix("hwgen: ").removesuffix("\n")
        if not err.startswith("hwgen: ") or "\n" in line or not line or len(line) > LONGEST_LINE:
            self.differs(f"a refusal that is not one line: {_short(err)}")
        if found := UNCLEAR.search(line):
            self.differs(f"a refusal with {found[0]!r}: {line}")
        self.same("the refusal in the document", document, {"error": {"message": line, "status": 2}})
        return line

    def _files(self, command: tuple[str, ...]) -> Iterator[tuple[str, int]]:
        """Files of the folder and when they were written; without those in the places that a command may write to."""
        places = {(self.folder / place).resolve() for option, place in pairwise(command) if option in OUTPUTS}
        for path in self.folder.rglob("*"):
            if path.is_file() and places.isdisjoint([path.resolve(), *path.resolve().parents]):
                yield str(path.relative_to(self.folder)), path.stat().st_mtime_ns


OUTPUTS = ("-o", "--save-schedules", "--dump")


def _last(err: str) -> str:
    return (err.strip().splitlines() or [""])[-1]


def _failures(out: str) -> str:
    """What a document says has failed."""
    try:
        document = json.loads(out)
    except ValueError:
        return ""
    lines = [line for part in document.values() if isinstance(part, list) for one in part if isinstance(one, dict)
             for line in one.get("failures", ())]  # fmt: skip
    return "; ".join(lines[:3])


def _first_difference(one: Any, two: Any, place: str = "") -> str:
    """Where two documents first part ways."""
    if isinstance(one, dict) and isinstance(two, dict) and one.keys() == two.keys():
        return next(_first_difference(one[key], two[key], f"{place}.{key}") for key in one if one[key] != two[key])
    if isinstance(one, list) and isinstance(two, list) and len(one) == len(two):
        return next(
            _first_difference(this, that, f"{place}[{at}]")
            for at, (this, that) in enumerate(zip(one, two, strict=True))
            if this != that
        )
    return f"{place.lstrip('.')} {one!r} and {two!r}".strip()


def _short(text: str) -> str:
    return text if len(text) <= LONGEST_LINE else f"{text[:LONGEST_LINE]}..."
