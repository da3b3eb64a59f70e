"""Cases one by one as steps of a study; what differs is made simpler and kept with the command that repeats it."""

import re
import shlex
import shutil
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from random import Random
from typing import Any

import cosim
import hwgen
from hwgen.ir.document import InputError, dump_yaml, load_yaml
from hwgen.studies.engine.attempt import Step, Tell
from hwgen.studies.engine.work import results_of
from hwgen.studies.fuzz.bench import Bench, Differs
from hwgen.studies.fuzz.of_files import OF_FILES
from hwgen.studies.fuzz.of_hierarchies import OF_HIERARCHIES
from hwgen.studies.fuzz.of_layers import OF_LAYERS
from hwgen.studies.fuzz.of_networks import CHAINS, DEPTH_FIRST, OF_NETWORKS
from hwgen.studies.fuzz.of_points import OF_CHOICES, OF_SWEEPS
from hwgen.studies.fuzz.of_sets import OF_SETS
from hwgen.studies.fuzz.pairs import Case
from hwgen.tools.cache import digest_of, sources_digest

__all__ = ["KINDS", "Disagreement", "Fuzz", "Outcome", "Pairs", "perform", "repeated"]

KINDS = {
    "layers": OF_LAYERS,
    "sets": OF_SETS,
    "networks": OF_NETWORKS,
    "depth-first": DEPTH_FIRST,
    "chains": CHAINS,
    "hierarchies": OF_HIERARCHIES,
    "sweeps": OF_SWEEPS,
    "choices": OF_CHOICES,
    "files": OF_FILES,
}
"""Kinds of cases by the name that ``--what`` has."""
CASE, LOG = "case.yaml", "commands.txt"
SHRINKING_SECONDS = 600.0
"""Time after which a case that differs is kept as simple as it is by then."""


@dataclass(frozen=True)
class Disagreement:
    """A case in which something differs.

    Members
    -------
    what : the command line, and what of it is wrong.
    files : what was kept, relative to the folder.
    command : repeats it.
    """

    what: str
    files: tuple[str, ...]
    command: str


@dataclass(frozen=True)
class Pairs:
    """Pairs of values: ``covered``, those that cases have together, ``of`` those that do not exclude each other."""

    covered: int
    of: int


@dataclass(frozen=True)
class Outcome:
    """What was found.

    Members
    -------
    cases : how many were run, or had been run.
    differences : the cases in which something differs.
    refused : how many cases had a command refused, by kind and line, numbers left out.
    pairs : of values that the cases have.
    """

    cases: int
    differences: tuple[Disagreement, ...]
    refused: Mapping[str, int]
    pairs: Pairs


@dataclass(frozen=True)
class Fuzz:
    """Cases of some kinds in turn, the same for the same seed.

    Those whose outcome ``folder`` has, of the same sources, are not run again.
    """

    kinds: Sequence[str]
    number: int
    seed: int
    folder: Path
    jobs: int = 1

    def run(self, arrived: Callable[[dict[str, Any]], None]) -> Outcome:
        """Run them all; ``arrived`` is called with what became of each."""
        cases = list(self._cases())
        state = sources_digest(Path(package.__path__[0]) for package in (hwgen, cosim))
        steps = [
            Step("case", digest_of([kind, case, state]), f"{kind} {number}", (kind, case, str(self.folder)))
            for number, (kind, case) in enumerate(cases)
        ]
        found = results_of(
            steps, self.folder / "cases.jsonl", self.jobs, perform=f"{__name__}:perform", arrived=arrived
        )
        covered = {(kind, pair) for kind, case in cases for pair in KINDS[kind].space.pairs(case)}
        possible = {(kind, pair) for kind in self.kinds for pair in KINDS[kind].space.possible}
        differences = tuple(
            Disagreement(one["what"], tuple(one["files"]), one["command"])
            for one in (value["difference"] for value in found)
            if one is not None
        )
        refused = Counter(one["refused"] for one in found if one["refused"])
        pairs = Pairs(len(covered & possible), len(possible))
        return Outcome(len(cases), differences, dict(refused.most_common()), pairs)

    def _cases(self) -> Iterator[tuple[str, Case]]:
        drawn = {kind: KINDS[kind].space.cases(Random(f"{kind} {self.seed}")) for kind in self.kinds}
        return islice(((kind, next(drawn[kind])) for _ in range(self.number) for kind in self.kinds), self.number)


def perform(step: Step, tell: Tell) -> dict[str, Any]:
    """Run a case; where it differs, simpler ones that differ alike, and keep the simplest."""
    kind, case, folder = step.arguments
    what, refused = _ran(kind, case)
    if what is None:
        return {"difference": None, "refused": refused and f"{kind}: {_numberless(refused)}"}
    ends = time.monotonic() + SHRINKING_SECONDS
    while simpler := next(_alike(kind, case, what, ends, tell), None):
        case, what = simpler
    place = Path(folder) / "differences" / f"{kind}_{step.key[:8]}"
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    KINDS[kind].write(case, place)
    (place / CASE).write_text(dump_yaml({"kind": kind, **case}), encoding="utf-8")
    _ran(kind, case, place)
    files = sorted(str(path.relative_to(folder)) for path in place.iterdir() if path.is_file())
    difference = {"what": what, "files": files, "command": _repeating(place / CASE)}
    return {"difference": difference, "refused": ""}


def repeated(file: Path) -> Outcome:
    """The outcome of a case that was kept, which is run once more."""
    data = load_yaml(file)
    kind = data.pop("kind", None) if isinstance(data, dict) else None
    if not isinstance(kind, str) or kind not in KINDS or not KINDS[kind].space.has(data):
        raise InputError(f"{file}: expected a case that hwgen fuzz has kept")
    what, refused = _ran(kind, data)
    differences = () if what is None else (Disagreement(what, (str(file),), _repeating(file)),)
    return Outcome(1, differences, {f"{kind}: {_numberless(refused)}": 1} if refused else {}, Pairs(0, 0))


def _repeating(file: Path) -> str:
    return f"hwgen fuzz --case {shlex.quote(str(file))}"


def _alike(kind: str, case: Case, what: str, ends: float, tell: Tell) -> Iterator[tuple[Case, str]]:
    """Simpler cases that differ in the same way, and what they differ in."""
    for number, simpler in enumerate(KINDS[kind].space.simpler(case)):
        if time.monotonic() > ends:
            return
        tell(f"making it simpler, {number}")
        found, _ = _ran(kind, simpler)
        if found is not None and _way(found) == _way(what):
            yield simpler, found


def _way(what: str) -> str:
    """The way in which something differs: the command and the words, without options and numbers."""
    command, _, words = what.partition(": ")
    return f"{command.split()[1]}: {_numberless(words)[:60]}"


def _numberless(words: str) -> str:
    return re.sub(r"[0-9][0-9.e+-]*", "#", words)


def _ran(kind: str, case: Case, kept: Path | None = None) -> tuple[str | None, str]:
    """What differs in a case, and what was refused; its commands are written into the folder in which it is kept."""
    with tempfile.TemporaryDirectory(prefix="hwgen-case-") as name:
        bench = Bench(Path(name))
        KINDS[kind].write(case, bench.folder)
        try:
            KINDS[kind].ask(case, bench)
        except Differs as differs:
            return str(differs), bench.refused
        except (LookupError, TypeError, ValueError) as error:  # a key is not there, or a row
            what = f"{bench.commands[-1]}: not the document that is described: {type(error).__name__}: {error}"
            return what, bench.refused
        finally:
            if kept is not None:
                (kept / LOG).write_text("".join(f"{one}\n" for one in bench.commands), encoding="utf-8")
        return None, bench.refused
