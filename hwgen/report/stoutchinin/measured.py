"""Fig. 10 of Stoutchinin et al. 2019 from what was counted in the RTL: HWCE over HWC, row by row."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median
from typing import Literal

from hwgen.ir.counts import Counts
from hwgen.ir.layer import Layer
from hwgen.model.core.access import predict
from hwgen.model.published.stoutchinin import hwce
from hwgen.report.documents import csv_text
from hwgen.report.stoutchinin.rows import HWC_BYTES, network_of

__all__ = ["PUBLISHED_MOST", "MeasuredEngines", "histogram", "measured_csv", "measured_engines", "measured_readme"]

PUBLISHED_MOST = 14
"""The largest ratio that the paper states."""

Width = Literal[16, 32]
WIDTHS: tuple[Width, ...] = (32, 16)
SUM_BYTES = 4


@dataclass(frozen=True)
class MeasuredEngines:
    """One layer at 1 KiB on both engines.

    Members
    -------
    pointwise : whether the kernel is 1x1.
    hwc, hwc_sums : bytes of I, W and O counted on the ports of the layer's HWC; those of partial sums therein.
    hwce, hwce_sums : the same for the HWCE's nest; None where its line buffer does not fit.
    simulated : whether the HWCE's figures were counted in the RTL; else they are the model's.
    """

    network: str
    layer: str
    pointwise: bool
    hwc: int
    hwc_sums: int
    hwce: int | None
    hwce_sums: int | None
    simulated: bool

    def ratio(self, width: Width) -> float | None:
        """HWCE over HWC, each element of a partial sum that was counted taken as so many bits wide."""
        if self.hwce is None or self.hwce_sums is None:
            return None
        narrower = 1 - width / (8 * SUM_BYTES)
        return (self.hwce - narrower * self.hwce_sums) / (self.hwc - narrower * self.hwc_sums)

    @property
    def ratio_32(self) -> float | None:
        """As measured: partial sums of 32 bits."""
        return self.ratio(32)

    @property
    def ratio_16(self) -> float | None:
        """Partial sums counted as 16 bits."""
        return self.ratio(16)


def measured_engines(
    layers: Sequence[Layer], hwc: dict[str, Counts], hwce_counts: dict[str, Counts]
) -> list[MeasuredEngines]:
    """Both engines' counts by layer, put together; for 1x1 kernels, which the HWCE does not run, the model's."""
    rows = []
    for layer in layers:
        ours, pointwise = hwc[layer.name], layer.kernel == (1, 1)
        theirs = predict(hwce(layer)).counts if pointwise else hwce_counts.get(layer.name)
        rows.append(
            MeasuredEngines(
                network_of(layer),
                layer.name,
                pointwise,
                ours.total_bytes(),
                _sums(ours),
                None if theirs is None else theirs.total_bytes(),
                None if theirs is None else _sums(theirs),
                theirs is not None and not pointwise,
            )
        )
    return rows


def _sums(counts: Counts) -> int:
    return counts["tcdm", "O", "read_partial"].bytes + counts["tcdm", "O", "write_partial"].bytes


def histogram(rows: Sequence[MeasuredEngines], width: Width) -> dict[int, int]:
    """How many rows have a ratio from so many times up to, not including, twice that many, by powers of two."""
    ratios = [ratio for row in rows if (ratio := row.ratio(width)) is not None]
    most = max(ratios, default=0.0)
    edges = [0, 1]
    while edges[-1] <= most:
        edges.append(2 * edges[-1])
    return {low: sum(low <= ratio < high for ratio in ratios) for low, high in pairwise(edges)}


def measured_csv(rows: Sequence[MeasuredEngines]) -> str:
    """All rows as CSV."""
    return csv_text(rows, ("ratio_32", "ratio_16"))


INTRODUCTION = f"""\
Both engines at {HWC_BYTES} bytes, simulated at full size with every access on their three ports counted. The HWC is
the one made for each layer; the HWCE is the nest of Fig. 11, run through the same generator with 16 lanes along x.

*32 bits* is what was measured. *16 bits* takes the elements that were counted and charges two bytes for each partial
sum, in both engines: no narrower hardware was built."""

BARS = f"""\
The paper draws a bar for each layer and states only the largest, {PUBLISHED_MOST}; each layer's ratio is in the table
below and in the figure."""

POINTWISE = """\
Apart, with the HWCE by the model: it convolves rows of one channel, of which a 1x1 kernel has nothing to reuse, and
was not simulated there. For every product a sum goes in and out."""


def measured_readme(rows: Sequence[MeasuredEngines]) -> str:
    """The table, the histogram, and what differs from the paper, as Markdown."""
    wide = [row for row in rows if not row.pointwise and row.hwce is not None]
    point = [row for row in rows if row.pointwise]
    absent = [row.layer for row in rows if not row.pointwise and row.hwce is None]
    found = {
        f"up to {PUBLISHED_MOST} times less traffic than HWCE": (
            f"{_range(wide, 32)} with sums of 32 bits, {_range(wide, 16)} with 16"
        ),
        "less traffic than HWCE for all layers": _all_less(wide),
        "no bar for AlexNet 1, ZFNet 1, ResNet 1 (their line buffers do not fit)": (
            ", ".join(absent) or "none of these layers"
        ),
    }
    sections = {
        "# HWCE over HWC, counted in the RTL (Stoutchinin, Conti, Benini 2019, Fig. 10)": [INTRODUCTION],
        "## Claims": [
            "| published | found |",
            "|---|---|",
            *(f"| {claim} | {what} |" for claim, what in found.items()),
            *(["", _explanation(wide)] if wide else []),
        ],
        "## Histogram, larger kernels": [
            "| HWCE over HWC | rows, 32 bits | rows, 16 bits |",
            "|---|---|---|",
            *_bins(wide),
            "",
            BARS,
        ],
        "## Rows": [
            "| layer | HWC bytes | HWCE bytes | of them sums | ratio, 32 bits | ratio, 16 bits |",
            "|---|---|---|---|---|---|",
            *map(_line, wide),
        ],
    }
    if point:
        sections["## 1x1 kernels"] = [
            POINTWISE,
            "",
            "| layer | HWC bytes, measured | HWCE bytes, by the model | of them sums | ratio, 32 bits | 16 bits |",
            "|---|---|---|---|---|---|",
            *map(_line, point),
        ]
    return "\n".join(line for title, lines in sections.items() for line in (title, "", *lines, ""))


def _known(rows: Sequence[MeasuredEngines], width: Width) -> list[tuple[float, str]]:
    return [(ratio, row.layer) for row in rows if (ratio := row.ratio(width)) is not None]


def _range(rows: Sequence[MeasuredEngines], width: Width) -> str:
    known = _known(rows, width)
    if not known:
        return "no row"
    most, layer = max(known)
    return f"{min(known)[0]:.1f} to {most:.1f} times ({layer}), median {median(ratio for ratio, _ in known):.1f}"


def _all_less(rows: Sequence[MeasuredEngines]) -> str:
    above = [layer for width in WIDTHS for ratio, layer in _known(rows, width) if ratio <= 1]
    return f"not: {', '.join(dict.fromkeys(above))}" if above else "holds, with either width"


def _explanation(rows: Sequence[MeasuredEngines]) -> str:
    shares = [row.hwce_sums / row.hwce for row in rows if row.hwce and row.hwce_sums is not None]
    most = {width: max(_known(rows, width))[0] for width in WIDTHS}
    verdicts = [
        f"with {width} bits the largest ratio is {value:.1f}, "
        + ("beyond" if value > PUBLISHED_MOST else "within")
        + f" the published {PUBLISHED_MOST}"
        for width, value in most.items()
    ]
    return (
        f"Partial sums are {100 * min(shares):.0f} to {100 * max(shares):.0f} % of what the HWCE moves: it writes "
        "and reads one for each output and input channel, while the HWC keeps sums until they are complete wherever "
        "that pays. So the ratio depends on the width of a sum more than on anything else, and the paper does not "
        f"state the HWCE's: {'; '.join(verdicts)}. Another difference: the paper's HWC always runs the loops of its "
        "Fig. 8, ours those that are best for the layer, which makes ratios larger."
    )


def _bins(rows: Sequence[MeasuredEngines]) -> list[str]:
    wide, narrow = histogram(rows, 32), histogram(rows, 16)
    return [
        f"| {low} to {2 * low or 1} | {wide.get(low, 0)} | {narrow.get(low, 0)} |" for low in sorted({*wide, *narrow})
    ]


def _line(row: MeasuredEngines) -> str:
    ratios = " | ".join("" if ratio is None else f"{ratio:.2f}" for ratio in (row.ratio_32, row.ratio_16))
    return f"| {row.layer} | {row.hwc:,} | {row.hwce:,} | {row.hwce_sums:,} | {ratios} |"
