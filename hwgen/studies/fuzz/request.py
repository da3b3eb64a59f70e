"""``hwgen.fuzz``: random cases through the commands, as a call; the command prints what it finds."""

import time
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from os import PathLike
from pathlib import Path
from typing import Any

from hwgen.api.arguments import chosen_names, require_folder
from hwgen.api.progress import remark, steps
from hwgen.api.results import Answer
from hwgen.api.session import call
from hwgen.ir.document import InputError
from hwgen.studies.fuzz.study import KINDS, Disagreement, Fuzz, Outcome, Pairs, repeated

__all__ = ["MOST_CASES", "FuzzRequest", "Fuzzed", "fuzz"]

MOST_CASES = 1_000_000


@dataclass(frozen=True, repr=False, eq=False)
class Fuzzed(Answer):
    """What random cases through the commands have found.

    Members
    -------
    outcome : of the cases.
    seconds : all of it.
    """

    outcome: Outcome
    seconds: float

    @property
    def cases(self) -> int:
        """How many there are, run now or kept."""
        return self.outcome.cases

    @property
    def differences(self) -> tuple[Disagreement, ...]:
        """The cases in which something differs, each with ``what``, ``files`` and the ``command`` that repeats it."""
        return self.outcome.differences

    @property
    def refused(self) -> Mapping[str, int]:
        """How many cases had a command refused, by kind and line, in which numbers are ``#``."""
        return self.outcome.refused

    @property
    def pairs(self) -> Pairs:
        """Pairs of values: ``covered`` by the cases, ``of`` those that are possible."""
        return self.outcome.pairs

    def document(self) -> dict[str, Any]:
        """The document that ``hwgen fuzz --json`` prints."""
        return {
            "cases": self.cases,
            "differences": [asdict(one) for one in self.differences],
            "refused": [{"what": what, "cases": number} for what, number in self.refused.items()],
            "pairs": asdict(self.pairs),
            "seconds": round(self.seconds, 1),
        }

    def rows(self) -> list[dict[str, object]]:
        """One row a difference."""
        return [{"what": one.what, "command": one.command} for one in self.differences]

    def summary(self) -> str:
        """How many cases, differences, pairs and seconds."""
        return (
            f"{_number(self.cases, 'case')}, {_number(len(self.differences), 'difference')}; "
            f"{self.pairs.covered:,} of {self.pairs.of:,} pairs of values; {self.seconds:.0f} s"
        )


def _number(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


@dataclass(frozen=True, kw_only=True)
class FuzzRequest:
    """What cases are to be run; see `fuzz`."""

    cases: int = 100
    seed: int = 0
    what: str | None = None
    output: Path | None = None
    case: Path | None = None
    jobs: int = 1

    @call
    def answer(self) -> Fuzzed:
        """Run the cases, or the one that was kept; what differs is told when it is found."""
        began = time.perf_counter()
        return Fuzzed(self._outcome(), time.perf_counter() - began)

    def _outcome(self) -> Outcome:
        if self.case is not None:
            if self.output is not None:
                raise InputError("--case: expected without -o")
            return repeated(self.case)
        if self.output is None:
            raise InputError("-o: expected a folder for what is found")
        for option, least, given in (("--cases", 1, self.cases), ("--seed", 0, self.seed), ("--jobs", 1, self.jobs)):
            if given < least:
                raise InputError(f"{option}: expected {least} or more, got {given}")
        if self.cases > MOST_CASES:
            raise InputError(f"--cases: expected at most {MOST_CASES:,}, got {self.cases:,}")
        require_folder(self.output)
        kinds = chosen_names("--what", self.what, list(KINDS))
        with steps(self.cases, "cases") as step:

            def arrived(value: dict[str, Any]) -> None:
                step()
                if value["difference"]:
                    remark(f"DIFFERS: {value['difference']['what']}")

            return Fuzz(kinds, self.cases, self.seed, self.output, self.jobs).run(arrived)


def fuzz(
    *,
    cases: int = 100,
    seed: int = 0,
    what: str | Iterable[str] | None = None,
    output: str | PathLike[str] | None = None,
    case: str | PathLike[str] | None = None,
    jobs: int = 1,
) -> Fuzzed:
    """Run random hardware, layers, networks and options through the commands, and find where these disagree.

    Parameters
    ----------
    cases : how many.
    seed : the cases are the same for the same seed.
    what : kinds of cases, such as ``"layers"`` or ``["layers", "files"]``; None: all of them, in turn.
    output : folder for what differs and for the outcome of each case; the same call goes on from there.
    case : a file that an earlier run kept, in place of ``output``: only that case is run, once more.
    jobs : cases at a time, each in processes of its own.
    """
    return FuzzRequest(
        cases=cases, seed=seed, what=what if what is None or isinstance(what, str) else ",".join(what),
        output=None if output is None else Path(output), case=None if case is None else Path(case), jobs=jobs,
    ).answer()  # fmt: skip
