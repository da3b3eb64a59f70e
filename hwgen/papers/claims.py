"""A statement of a paper beside what was computed, and whether the two agree: judged both ways.

Each quantity of a statement has a tolerance with two sides, which the claim's code fixes. A verdict follows from the
quantities alone; nothing can set it. It is one of these:

- *reproduced*: every quantity is within its tolerance, in the paper's own reading.
- *reproduced in another reading*: the same in a reading that the claim names; the text does not print it, or leaves
  several open. Readings stand side by side, each as a claim of its own.
- *exceeded*: what is outside lies beyond on the side that the paper counts as the gain.
- *not reproduced*: something is outside, for the reason in the remark.
- *refuted*: the statement is about all cases, the cases are the paper's own, and one contradicts it.
- *not judged*: nothing was computed that decides the statement; the remark says why.

Of some networks, layers or sizes alone a statement about each case is judged by those that were computed. One about
the largest, the mean, a share or a number of them is judged only where the others cannot change the verdict
(`of_a_part`).
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from math import inf, isfinite
from typing import Literal, Self

__all__ = [
    "HEAD",
    "Claim",
    "Count",
    "Gain",
    "Largest",
    "Least",
    "OverAll",
    "Quantity",
    "Verdict",
    "about",
    "between",
    "cases",
    "claims_table",
    "of_a_part",
    "share_of_cases",
]

Verdict = Literal[
    "reproduced", "reproduced in another reading", "exceeded", "not reproduced", "refuted", "not judged"
]
Gain = Literal["more", "less"]


@dataclass(frozen=True)
class Quantity:
    """One figure of a statement.

    Members
    -------
    found : what was computed.
    low, high : between which it counts as reproduced, both included.
    unit : printed after the tolerance.
    gain : the side on which a figure beyond the tolerance is more than the paper states; None if neither is.
    """

    name: str
    found: float
    low: float
    high: float
    unit: str = ""
    gain: Gain | None = None

    def __post_init__(self) -> None:
        if not (isfinite(self.low) and isfinite(self.high) and self.low <= self.high):
            raise ValueError(f"{self.name}: expected a tolerance with two sides, got {self.low} to {self.high}")

    @property
    def holds(self) -> bool:
        """Whether it is within the tolerance."""
        return self.low <= self.found <= self.high

    @property
    def exceeds(self) -> bool:
        """Whether it is beyond the tolerance on the side of the gain."""
        return (self.gain == "more" and self.found > self.high) or (self.gain == "less" and self.found < self.low)

    @property
    def reach(self) -> tuple[float, float]:
        """Both ends of what it can be once all cases are computed, where some were."""
        return self.found, self.found

    @classmethod
    def of(cls, figure: "Quantity") -> Self:
        """A figure as one of this kind."""
        return cls(figure.name, figure.found, figure.low, figure.high, figure.unit, figure.gain)

    @property
    def tolerance(self) -> str:
        """The two sides with the unit."""
        sides = _figure(self.low) if self.low == self.high else f"{_figure(self.low)} to {_figure(self.high)}"
        return f"{sides} {self.unit}".strip()


class Largest(Quantity):
    """The largest of all cases: others can only raise it."""

    @property
    def reach(self) -> tuple[float, float]:
        """What was found, and no end upwards."""
        return self.found, inf


class Least(Quantity):
    """The least of all cases: others can only lower it."""

    @property
    def reach(self) -> tuple[float, float]:
        """No end downwards, and what was found."""
        return -inf, self.found


class Count(Quantity):
    """A number of cases, of ``high`` at most: others can only add to it."""

    @property
    def reach(self) -> tuple[float, float]:
        """What was found, and all."""
        return self.found, max(self.found, self.high)


class OverAll(Quantity):
    """A mean, a median, a share or a ratio of sums: others move it either way."""

    @property
    def reach(self) -> tuple[float, float]:
        """Anything."""
        return -inf, inf


def _figure(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def about(
    name: str, found: float, published: float, within: float = 0.05, unit: str = "", gain: Gain | None = None
) -> Quantity:
    """A printed figure, to ``within`` parts of it on either side."""
    off = within * abs(published)
    return Quantity(name, found, published - off, published + off, unit, gain)


def between(name: str, found: float, low: float, high: float, unit: str = "", gain: Gain | None = None) -> Quantity:
    """A range that the paper prints, or a printed figure with a tolerance of its own."""
    return Quantity(name, found, low, high, unit, gain)


def cases(name: str, holds: Iterable[bool]) -> tuple[Quantity, ...]:
    """A statement about all cases: in how many it holds, which has to be all; nothing without cases."""
    every = list(holds)
    return (Quantity(name, sum(every), len(every), len(every), f"of {len(every)}"),) if every else ()


def share_of_cases(name: str, holds: Iterable[bool], low: float, high: float) -> tuple[Quantity, ...]:
    """A statement about some, most or few cases: the percentage in which it holds; nothing without cases."""
    every = list(holds)
    return (Quantity(name, 100 * sum(every) / len(every), low, high, "%"),) if every else ()


@dataclass(frozen=True)
class Claim:
    """A statement of a paper, what was found, and why the two differ or agree.

    Members
    -------
    where : section, figure or table of the paper.
    published : what the paper states.
    found : what was computed.
    remark : how it was computed, and the likely reason of a difference; of a claim without quantities, why it is
        not judged.
    scope : what the paper states it of, and what was computed of that.
    parts : the quantities of the statement; none: not judged.
    reading : how the statement is read where the text does not print it or leaves several readings open; empty: as
        printed.
    refutable : whether the statement is about all cases and those that were computed are the paper's own.
    verdict : follows from the quantities; see the module's text.
    """

    where: str
    published: str
    found: str
    remark: str
    scope: str = field(default="", kw_only=True)
    parts: tuple[Quantity, ...] = field(default=(), kw_only=True)
    reading: str = field(default="", kw_only=True)
    refutable: bool = field(default=False, kw_only=True)
    verdict: Verdict = field(init=False)

    def __post_init__(self) -> None:
        if not self.parts and not self.remark:
            raise ValueError(f"{self.where}: expected the reason why this is not judged")
        object.__setattr__(self, "verdict", self._judged())

    def _judged(self) -> Verdict:
        if not self.parts:
            return "not judged"
        outside = [part for part in self.parts if not part.holds]
        if not outside:
            return "reproduced in another reading" if self.reading else "reproduced"
        if all(part.exceeds for part in outside):
            return "exceeded"
        return "refuted" if self.refutable else "not reproduced"

    @property
    def verdict_text(self) -> str:
        """The verdict with the reading, and how many quantities are within their tolerances where not all are."""
        text = "refuted in the paper's own space" if self.verdict == "refuted" else str(self.verdict)
        inside = sum(part.holds for part in self.parts)
        if inside < len(self.parts) and len(self.parts) > 1:
            text += f" ({inside} of {len(self.parts)} within)"
        return f"{text}: {self.reading}" if self.reading else text

    @property
    def tolerances(self) -> str:
        """The tolerance of each quantity; of those that have the same one, once."""
        names: dict[str, list[str]] = {}
        for part in self.parts:
            names.setdefault(part.tolerance, []).append(part.name)
        if len(names) == 1 and len(self.parts) > 2:
            return f"each: {next(iter(names))}"
        return "; ".join(f"{', '.join(some)}: {tolerance}" for tolerance, some in names.items())


OPEN = "Not judged: what was not computed can change the verdict."


def of_a_part(claim: Claim) -> Claim:
    """A claim of which some cases alone were computed: judged only where the others cannot change the verdict."""
    fails = any(part.reach[1] < part.low or part.reach[0] > part.high for part in claim.parts)
    holds = all(part.low <= part.reach[0] and part.reach[1] <= part.high for part in claim.parts)
    return claim if fails or holds else replace(claim, parts=(), remark=f"{OPEN} {claim.remark}".strip())


HEAD = ("where", "the paper states", "of what", "counts as reproduced", "found", "verdict", "remark")


def claims_table(claims: Sequence[Claim]) -> list[str]:
    """Lines of Markdown: one row for each claim."""
    lines = [f"| {' | '.join(HEAD)} |", "|---" * len(HEAD) + "|"]
    for claim in claims:
        cells = (claim.where, claim.published, claim.scope, claim.tolerances, claim.found, claim.verdict_text,
                 claim.remark)  # fmt: skip
        lines.append(f"| {' | '.join(cells)} |")
    return lines
