"""What Yang et al. 2016 state of a processor's caches (Section 5.1), beside what was counted."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from benchmarks.cpu.programs import Counts
from hwgen.report.claims import Claim, verdict_of

__all__ = ["Measured", "cache_claims"]

STATED: tuple[tuple[str, str, Literal["l2", "l3"], int, int], ...] = (
    ("Fig. 3", "ATLAS", "l2", 2, 5),
    ("Fig. 3", "MKL", "l2", 4, 8),
    ("Fig. 3", "MKL, AVX2", "l2", 4, 8),
    ("Fig. 4", "ATLAS", "l3", 5, 11),
    ("Fig. 4", "MKL", "l3", 2, 7),
    ("Fig. 4", "MKL, AVX2", "l3", 2, 7),
)
"""Figure, library, level, and how many times the accesses of the blocked kernel at least and at most."""


@dataclass(frozen=True)
class Measured:
    """A layer, the share of its multiply-accumulates that was run, and the counts of each program by its name."""

    layer: str
    share: float
    counts: Mapping[str, Counts]

    def ratio(self, name: str, level: Literal["l2", "l3"]) -> float | None:
        """Accesses of a program over those of the blocked kernel; None if its library is not installed."""
        if name not in self.counts:
            return None
        return float(getattr(self.counts[name], level) / getattr(self.counts["blocked"], level))


def cache_claims(rows: Sequence[Measured]) -> list[Claim]:
    """The paper's statements; not judged where a library is missing."""
    ranges = [_range(rows, *stated) for stated in STATED]
    return [*ranges, _falling(rows)]


def _range(
    rows: Sequence[Measured], where: str, library: str, level: Literal["l2", "l3"], least: int, most: int
) -> Claim:
    ratios = {row.layer: ratio for row in rows if (ratio := row.ratio(library, level)) is not None}
    fewer = sum(ratio > most for ratio in ratios.values())
    remark = (
        f"At least {least} times for {sum(ratio >= least for ratio in ratios.values())} of {len(ratios)} layers, "
    )
    return Claim(
        where,
        f"{level.upper()}: {least} to {most} times fewer accesses than {library}",
        _listed(ratios),
        remark + f"above {most} for {fewer}. Verdict: layers within the range." if ratios else "Not installed.",
        verdict_of(least <= ratio <= most for ratio in ratios.values()),
    )


def _falling(rows: Sequence[Measured]) -> Claim:
    steps: list[bool] = []
    for _, library, level, *_ in STATED:
        ratios = {row.layer: ratio for row in rows if (ratio := row.ratio(library, level)) is not None}
        steps += [later < earlier for earlier, later in pairwise(ratios.values())]
    return Claim(
        "5.1",
        "the advantage falls from Conv1 to Conv5, as the windows become smaller",
        f"{sum(steps)} of {len(steps)} steps from a layer to the next fall",
        "Verdict: whether every step falls. The ratios are those above, for each library and level.",
        verdict_of(steps),
    )


def _listed(ratios: Mapping[str, float]) -> str:
    return ", ".join(f"{layer} {ratio:.1f}" for layer, ratio in ratios.items()) or "-"
