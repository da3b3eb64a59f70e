"""The cluster of Stoutchinin et al. 2019 (section V-C) beside ours: four HWCs, operands of 8 and of 16 bits.

The paper states what its cluster does at most with 8 bits, the clock that it reaches in 28 nm, and the mean
utilisation. Here cycles are measured in the RTL, and rates are those cycles at the clock of the paper.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import mean
from typing import Literal

from hwgen.papers.claims import Claim, Quantity, between, cases, claims_table
from hwgen.papers.documents import csv_text
from hwgen.papers.stoutchinin.measured import MOST_BUSY, OF_LAYERS, PUBLISHED_UTILISATION

__all__ = [
    "FOR_ALL_LAYERS",
    "ON_CLUSTERS",
    "OperandBits",
    "RowOnCluster",
    "cluster_claims",
    "cluster_csv",
    "cluster_lines",
]

OperandBits = Literal[8, 16]
FOR_ALL_LAYERS = "four_hwcs_1KiB"
"""One cluster for all layers, in built-in hardware. Its schedules are searched, and lie beside the results."""
ON_CLUSTERS: dict[str, OperandBits] = {"alexnet_cluster": 8, FOR_ALL_LAYERS: 8, "alexnet_16bit": 16}
"""The clusters that layers run on, with the bits of their operands; AlexNet's have built-in schedules."""

PUBLISHED_MHZ = 500
PUBLISHED_RATE = 32.0
"""GMAC/s of the paper's cluster at most, with 8 bits."""
PUBLISHED_IN_A_CYCLE = 64
AVERAGE_RATE = PUBLISHED_UTILISATION * PUBLISHED_RATE
PUBLISHED_LANES: dict[OperandBits, int] = {8: 16, 16: 8}
"""Multiply-accumulates of an HWC in a cycle."""


@dataclass(frozen=True)
class RowOnCluster:
    """One layer, simulated on a cluster.

    Members
    -------
    cluster : one of `ON_CLUSTERS`.
    bits : of I, W and O.
    lanes : multiply-accumulates of each HWC in a cycle.
    equal : all counts are as predicted, and the output is exact.
    """

    cluster: str
    bits: OperandBits
    layer: str
    hwcs: int
    lanes: int
    macs: int
    cycles: int
    equal: bool

    @property
    def utilisation(self) -> float:
        """Multiply-accumulates over what the lanes can do in the measured cycles."""
        return self.macs / (self.hwcs * self.lanes * self.cycles)

    @property
    def rate(self) -> float:
        """GMAC/s at the clock of the paper."""
        return _rate(self.macs, self.cycles)


def _rate(macs: int, cycles: int) -> float:
    return macs / cycles * PUBLISHED_MHZ / 1000


def _together(rows: Sequence[RowOnCluster]) -> float:
    """GMAC/s of all rows, one after the other."""
    return _rate(sum(row.macs for row in rows), sum(row.cycles for row in rows))


def _of(rows: Sequence[RowOnCluster], bits: OperandBits) -> list[RowOnCluster]:
    return [row for row in rows if row.bits == bits]


def _by_cluster(rows: Sequence[RowOnCluster]) -> list[list[RowOnCluster]]:
    """The rows of each cluster that has some."""
    every = ([row for row in rows if row.cluster == name] for name in ON_CLUSTERS)
    return [some for some in every if some]


def cluster_claims(rows: Sequence[RowOnCluster]) -> list[Claim]:
    """What the paper states of its cluster, judged by what was simulated; widths without rows are left out."""
    if not rows:
        return []
    narrow, wide = _of(rows, 8), _of(rows, 16)
    lanes = {bits: sorted({row.lanes for row in _of(rows, bits)}) for bits in PUBLISHED_LANES if _of(rows, bits)}
    claims = [
        Claim(
            "V-C",
            "sixteen 8-bit x 8-bit or 8 16-bit x 16-bit MAC operations per clock cycle (of an HWC)",
            ", ".join(f"{_listed(each)} with {bits} bits" for bits, each in lanes.items())
            + f"; counts as predicted and outputs exact in {sum(row.equal for row in rows)} of {len(rows)} runs",
            "Each width on HWCs of 1 KiB that were generated for it, with memories divided as suits it.",
            scope=f"{len(rows)} runs on {len(_by_cluster(rows))} clusters",
            parts=(
                *(
                    Quantity(f"{bits} bits", each[-1], PUBLISHED_LANES[bits], PUBLISHED_LANES[bits])
                    for bits, each in lanes.items()
                ),
                *cases("runs as predicted", (row.equal for row in rows)),
            ),
        )
    ]
    if narrow:
        claims += _narrow_claims(narrow)
    if wide:
        claims.append(
            Claim(
                "V-C",
                "with 16 bits no rate and no utilisation are stated",
                _found(wide),
                "Nothing is stated. Half as many multiply-accumulates in a cycle as with 8 bits.",
                scope=f"{len(wide)} of the {OF_LAYERS} layers",
            )
        )
    return claims


def _narrow_claims(rows: Sequence[RowOnCluster]) -> list[Claim]:
    in_a_cycle = sorted({row.hwcs * row.lanes for row in rows})
    return [
        Claim(
            "V-C",
            f"four HWCs: up to {PUBLISHED_IN_A_CYCLE} 8x8 MAC operations per cycle",
            f"{_listed(in_a_cycle)} in a cycle",
            "What the lanes do at most.",
            scope=f"{len(rows)} runs on {len(_by_cluster(rows))} clusters",
            parts=tuple(
                Quantity("in a cycle", one, PUBLISHED_IN_A_CYCLE, PUBLISHED_IN_A_CYCLE) for one in in_a_cycle
            ),
        ),
        *(claim for some in _by_cluster(rows) for claim in _claims_of_one(some)),
    ]


def _claims_of_one(rows: Sequence[RowOnCluster]) -> list[Claim]:
    """Rate and utilisation of one cluster with 8 bits."""
    busy = mean(row.utilisation for row in rows)
    every = len(rows) == OF_LAYERS
    return [
        Claim(
            "V-C",
            f"a total of {PUBLISHED_RATE:g} GMAC/s at {PUBLISHED_MHZ} MHz, in 28 nm",
            f"at the paper's clock {_together(rows):.1f} GMAC/s for these rows together",
            "Ours was not made in that technology and has no clock there; its cycles at the paper's clock are no "
            "evidence of a rate.",
            scope=f"{len(rows)} of the {OF_LAYERS} layers on `{rows[0].cluster}`",
        ),
        Claim(
            "V-C",
            f"average utilization of {100 * PUBLISHED_UTILISATION:.0f}% across the set of convolutional layers",
            _found(rows),
            ("" if every else "Some of the layers say nothing of the mean of all, hence no verdict. ")
            + f"{100 * PUBLISHED_UTILISATION:.0f} % of {PUBLISHED_RATE:g} GMAC/s are {AVERAGE_RATE:.1f}.",
            scope=f"{len(rows)} of the {OF_LAYERS} layers on `{rows[0].cluster}`; the paper says it had 71",
            parts=(between("mean", busy, *MOST_BUSY, gain="more"),) if every else (),
        ),
    ]


def _found(rows: Sequence[RowOnCluster]) -> str:
    busy = [row.utilisation for row in rows]
    return (
        f"{mean(busy):.3f} in the mean of {len(rows)} layers, {min(busy):.3f} to {max(busy):.3f}; "
        f"{_together(rows):.1f} GMAC/s for all of them"
    )


def _listed(numbers: Sequence[int]) -> str:
    return " or ".join(map(str, numbers))


HEAD = (
    f"| cluster | bits | layer | cycles | utilisation | MACs a cycle | GMAC/s, {PUBLISHED_MHZ} MHz | counts |",
    "|---|---:|---|---:|---:|---:|---:|---|",
)
INTRODUCTION = """\
Four HWCs, a TCDM of 256 KiB and a DRAM like DDR3, simulated at full size. Cycles are measured, loads from the DRAM
and stores to it among them. The rate is the layer's multiply-accumulates in these cycles, at the clock that the paper
states."""


def cluster_lines(rows: Sequence[RowOnCluster]) -> list[str]:
    """The claims, and a table of all rows beside what the paper states, as Markdown."""
    lines = [INTRODUCTION, "", *claims_table(cluster_claims(rows)), "", *HEAD]
    for some in _by_cluster(rows):
        lines += [*map(_line, some), _sum_line(some)]
    if _of(rows, 8):
        lines.append(
            f"| the paper's, mean of its layers | 8 | | | {PUBLISHED_UTILISATION:.2f} | of {PUBLISHED_IN_A_CYCLE} | "
            f"{AVERAGE_RATE:.1f} of {PUBLISHED_RATE:g} | |"
        )
    return lines


def _line(row: RowOnCluster) -> str:
    return (
        f"| {row.cluster} | {row.bits} | {row.layer} | {row.cycles:,} | {row.utilisation:.3f} | "
        f"{row.macs / row.cycles:.1f} | {row.rate:.1f} | {_equal([row])} |"
    )


def _sum_line(rows: Sequence[RowOnCluster]) -> str:
    one, macs, cycles = rows[0], sum(row.macs for row in rows), sum(row.cycles for row in rows)
    busy = macs / cycles / (one.hwcs * one.lanes)
    return (
        f"| {one.cluster} | {one.bits} | all {len(rows)} | {cycles:,} | {busy:.3f} | "
        f"{macs / cycles:.1f} | {_together(rows):.1f} | {_equal(rows)} |"
    )


def _equal(rows: Sequence[RowOnCluster]) -> str:
    return "as predicted, exact" if all(row.equal for row in rows) else "DIFFERENT"


def cluster_csv(rows: Sequence[RowOnCluster]) -> str:
    """All rows as CSV."""
    return csv_text(rows, ("utilisation", "rate"))
