"""Fig. 10 of Stoutchinin et al. 2019 from what was counted in the RTL: HWCE over HWC, row by row."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import mean, median
from typing import Literal

from hwgen.ir.counts import Counts
from hwgen.ir.layer import Layer
from hwgen.papers.claims import Claim, Largest, OverAll, about, between, cases, claims_table, of_a_part
from hwgen.papers.documents import csv_text
from hwgen.papers.stoutchinin.rows import HWC_BYTES, network_of

__all__ = [
    "MOST_BUSY",
    "NO_BAR",
    "OF_LAYERS",
    "PUBLISHED_MOST",
    "PUBLISHED_UTILISATION",
    "MeasuredEngines",
    "RunOfLayer",
    "histogram",
    "measured_claims",
    "measured_csv",
    "measured_engines",
    "measured_readme",
    "no_bar_expected",
]

PUBLISHED_MOST = 14
"""The largest ratio that the paper states."""
PUBLISHED_DEVIATION = 0.005
"""How far the paper's model was from the counts of its implementation at most."""
PUBLISHED_UTILISATION = 0.80
MOST_BUSY = (0.76, 0.84)
"""Ends of the range in which a mean utilisation counts as the published one."""
RATIO_OFF = 0.05
"""Parts of the printed ratio that a largest one may be off."""
OF_LAYERS = 68
"""Layers of the paper's tables; it says that it had 71."""
NO_BAR = "no bar for AlexNet 1, ZFNet 1, ResNet 1: the line buffer does not fit"
WITHOUT_BAR = ("alexnet_1", "zfnet_1", "resnet_s1_1")

Width = Literal[16, 32]
WIDTHS: tuple[Width, ...] = (32, 16)
SUM_BYTES = 4


@dataclass(frozen=True)
class MeasuredEngines:
    """One layer at 1 KiB on both engines.

    Members
    -------
    pointwise : whether the kernel is 1x1.
    striped : whether the HWCE's line buffer does not hold whole rows, so that it works in stripes.
    hwc, hwc_sums : bytes of I, W and O counted on the ports of the layer's HWC; the part of them in partial sums.
    hwce, hwce_sums : the same for the HWCE's nest; None where not even a stripe fits.
    """

    network: str
    layer: str
    pointwise: bool
    striped: bool
    hwc: int
    hwc_sums: int
    hwce: int | None
    hwce_sums: int | None

    def ratio(self, width: Width) -> float | None:
        """HWCE over HWC, with each partial sum that was counted charged at this width in bits."""
        if self.hwce is None or self.hwce_sums is None:
            return None
        narrower = 1 - width / (8 * SUM_BYTES)
        return (self.hwce - narrower * self.hwce_sums) / (self.hwc - narrower * self.hwc_sums)

    @property
    def ratio_32(self) -> float | None:
        """The ratio as measured: partial sums of 32 bits."""
        return self.ratio(32)

    @property
    def ratio_16(self) -> float | None:
        """Partial sums counted as 16 bits."""
        return self.ratio(16)


@dataclass(frozen=True)
class RunOfLayer:
    """One layer simulated in one configuration: bytes of I, W and O by the model and as counted, and utilisation."""

    configuration: str
    engine: Literal["HWC", "HWCE"]
    layer: str
    predicted: int
    measured: int
    utilisation: float

    @property
    def deviation(self) -> float:
        """The model's bytes off the counted ones, relative to these."""
        return abs(self.predicted - self.measured) / self.measured


def no_bar_expected(layers: Iterable[str]) -> list[str]:
    """Those of these layers that have no bar in the paper's Fig. 10."""
    return [layer for layer in layers if layer in WITHOUT_BAR]


def measured_engines(
    layers: Sequence[Layer], hwc: dict[str, Counts], hwce_counts: dict[str, Counts], striped: Collection[str]
) -> list[MeasuredEngines]:
    """Both engines' counts by layer; ``striped`` are those that the HWCE did in stripes."""
    rows = []
    for layer in layers:
        ours, theirs = hwc[layer.name], hwce_counts.get(layer.name)
        rows.append(
            MeasuredEngines(
                network_of(layer),
                layer.name,
                layer.kernel == (1, 1),
                layer.name in striped,
                ours.total_bytes(),
                _sums(ours),
                None if theirs is None else theirs.total_bytes(),
                None if theirs is None else _sums(theirs),
            )
        )
    return rows


def _sums(counts: Counts) -> int:
    return counts["tcdm", "O", "read_partial"].bytes + counts["tcdm", "O", "write_partial"].bytes


def histogram(rows: Sequence[MeasuredEngines], width: Width) -> dict[int, int]:
    """Number of rows by ratio: the key n counts ratios of at least n and less than 2 n, by powers of two."""
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
Apart: the HWCE convolves rows of one channel, of which a 1x1 kernel has nothing to reuse. For every product a sum
goes in and out."""

STRIPED = """\
Apart: three rows of the image do not fit the line buffer, so the HWCE works in the widest stripes that do; the paper
draws no bar for them."""


HEAD = (
    "| layer | HWC bytes | HWCE bytes | of them sums | ratio, 32 bits | ratio, 16 bits |",
    "|---|---|---|---|---|---|",
)


def measured_claims(
    rows: Sequence[MeasuredEngines],
    runs: Sequence[RunOfLayer],
    printed: Mapping[str, Sequence[MeasuredEngines]] | None = None,
    *,
    every_layer: bool = True,
) -> list[Claim]:
    """The claims on Fig. 10 and section V-C, judged by what was counted in the RTL.

    ``printed`` : all rows with the HWC in the loops of Fig. 8 as printed, by the reading. ``every_layer`` : whether
    all layers ran.
    """
    wide = [row for row in rows if not row.pointwise and not row.striped and row.hwce is not None]
    absent = [row.layer for row in rows if row.striped or row.hwce is None]
    narrow = [row for row in rows if row.striped or row.pointwise]
    expected = no_bar_expected(row.layer for row in rows)
    every = [ratio > 1 for width in WIDTHS for ratio, _ in _known([*wide, *narrow], width)]
    stated = [
        *(_largest(wide, width, BEST_LOOPS) for width in WIDTHS),
        *_of_printed(printed or {}),
        Claim(
            "Fig. 10",
            "less traffic than HWCE for all layers",
            _all_less([*wide, *narrow]),
            "Sums of 32 and of 16 bits." if every else "No layer ran on both.",
            scope=f"{len(wide) + len(narrow)} of the {OF_LAYERS} layers"
            + (", 1x1 and stripes too" if narrow else ""),
            parts=cases("cases", every),
            reading=BEST_LOOPS,
        ),
        Claim(
            "Fig. 10",
            NO_BAR,
            ", ".join(absent) or "none of these layers",
            "Kernels of 1x1 are told apart here." if rows else "Nothing ran.",
            scope=f"{len(rows)} of the {OF_LAYERS} layers",
            parts=cases(
                "layers", ((row.layer in absent) == (row.layer in expected) for row in rows if not row.pointwise)
            ),
        ),
        *_of_runs(runs),
    ]
    return stated if every_layer else [*map(of_a_part, stated)]


BEST_LOOPS = "each layer's best loops in place of Fig. 8, an HWC for each layer"


def _of_printed(printed: Mapping[str, Sequence[MeasuredEngines]]) -> list[Claim]:
    """Fig. 10 in the loops of Fig. 8, in each reading of which all rows ran; without one, why not."""
    if not printed:
        return [
            Claim(
                "Fig. 8, 10",
                "the loops of Fig. 8 as printed, with W above LOF, in the RTL",
                "-",
                "No reading of them is complete in the results: `hwgen regress --printed`, in `make regress`, runs "
                "all rows in both readings of I. `hwgen paper stoutchinin-2019` has them by the model.",
            )
        ]
    return [
        _largest([row for row in rows if not row.pointwise and not row.striped], width, reading)
        for reading, rows in printed.items()
        for width in WIDTHS
    ]


def _largest(wide: Sequence[MeasuredEngines], width: Width, reading: str) -> Claim:
    known = _known(wide, width)
    return Claim(
        "Fig. 10",
        f"up to {PUBLISHED_MOST} times less traffic than HWCE",
        _range(wide, width),
        f"To {100 * RATIO_OFF:.0f} % of the printed figure." if known else "No layer ran on both.",
        scope=f"{len(known)} layers with a bar and kernels larger than 1x1",
        parts=(Largest.of(about("largest", max(known)[0], PUBLISHED_MOST, RATIO_OFF, gain="more")),) if known else (),
        reading=f"{reading}, sums of {width} bits",
    )


def _of_runs(runs: Sequence[RunOfLayer]) -> list[Claim]:
    if not runs:
        return []
    worst = max(runs, key=lambda run: run.deviation)
    lines = [
        Claim(
            "V-C",
            f"the model's traffic is within {100 * PUBLISHED_DEVIATION} % of that counted on the implementation",
            f"{sum(run.deviation == 0 for run in runs)} of {len(runs)} runs equal to the byte; the largest deviation "
            f"is {100 * worst.deviation:.3f} %" + (f" ({worst.layer})" if worst.deviation else ""),
            "Bytes of I, W and O on the ports, of all runs that are kept.",
            scope="our model and our implementation, in loops of their own",
            parts=(between("largest", 100 * worst.deviation, 0, 100 * PUBLISHED_DEVIATION, "%"),),
        )
    ]
    ours = [run for run in runs if run.engine == "HWC"]
    for configuration in dict.fromkeys(run.configuration for run in ours):
        values = [run.utilisation for run in ours if run.configuration == configuration]
        lines.append(
            Claim(
                "V-C",
                f"four HWCs: average utilisation of {100 * PUBLISHED_UTILISATION:.0f} % over the layers",
                f"{mean(values):.3f} in the mean",
                "Multiply-accumulates over what the lanes can do in the measured cycles.",
                scope=f"{len(values)} of the {OF_LAYERS} layers",
                parts=(OverAll("mean", mean(values), *MOST_BUSY, gain="more"),),
                reading=f"one HWC at a time, configuration {configuration}",
            )
        )
    return lines


def measured_readme(rows: Sequence[MeasuredEngines], stated: Sequence[Claim]) -> str:
    """The claims, the histogram, every layer, and what differs from the paper, as Markdown."""
    wide = [row for row in rows if not row.pointwise and not row.striped and row.hwce is not None]
    sections = {
        "# HWCE over HWC, counted in the RTL (Stoutchinin, Conti, Benini 2019, Fig. 10)": [INTRODUCTION],
        "## Claims": [*claims_table(stated), *(["", _explanation(wide)] if wide else [])],
        "## Histogram, larger kernels": [
            "| HWCE over HWC | rows, 32 bits | rows, 16 bits |",
            "|---|---|---|",
            *_bins(wide),
            "",
            BARS,
        ],
        "## Rows": [*HEAD, *map(_line, wide)],
    }
    apart = {
        "## 1x1 kernels": (POINTWISE, [row for row in rows if row.pointwise]),
        "## Stripes": (STRIPED, [row for row in rows if row.striped]),
    }
    for title, (text, some) in apart.items():
        if some:
            sections[title] = [text, "", *HEAD, *map(_line, some)]
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
