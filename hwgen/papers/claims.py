"""A statement of a paper beside what was computed, and whether the two agree."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

__all__ = ["Claim", "Verdict", "claims_table", "verdict_of", "verdict_of_all"]

Verdict = Literal["reproduced", "reproduced in part", "not reproduced", "refuted", "not judged"]


@dataclass(frozen=True)
class Claim:
    """A statement of a paper, what was found, and why the two differ or agree.

    Members
    -------
    where : section, figure or table of the paper.
    published : what the paper states.
    found : what was computed.
    remark : how it was computed, and the likely reason of a difference.
    verdict : computed from the figures. "not reproduced": they differ, for the reason in the remark. "refuted": the
        statement is about all cases, and one of those that were found contradicts it. "not judged": they are no
        evidence for or against the statement, or nothing is stated and the line is a comparison.
    """

    where: str
    published: str
    found: str
    remark: str
    verdict: Verdict


def verdict_of(holds: Iterable[bool]) -> Verdict:
    """Reproduced if every part of a statement holds, in part if some do; not judged if there is no part."""
    parts = list(holds)
    if not parts:
        return "not judged"
    return "reproduced" if all(parts) else "reproduced in part" if any(parts) else "not reproduced"


def verdict_of_all(holds: Iterable[bool]) -> Verdict:
    """The verdict on a statement about all cases: refuted by a single one in which it does not hold; not judged
    without cases."""
    parts = list(holds)
    return verdict_of(parts) if all(parts) else "refuted"


def claims_table(claims: Sequence[Claim]) -> list[str]:
    """Lines of Markdown: one row for each claim."""
    return [
        "| where | published | found | verdict | remark |",
        "|---|---|---|---|---|",
        *(
            f"| {claim.where} | {claim.published} | {claim.found} | {claim.verdict} | {claim.remark} |"
            for claim in claims
        ),
    ]
