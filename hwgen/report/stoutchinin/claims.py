"""What Stoutchinin et al. 2019 state, beside what was computed, with a sentence on each difference."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import mean, median

from hwgen.report.stoutchinin.rows import NETWORKS, Engines, OrderQuality, Traffic, exceptions, totals

__all__ = ["Claim", "claims"]


@dataclass(frozen=True)
class Claim:
    """A statement of the paper, what was found, and why the two differ or why they agree."""

    where: str
    published: str
    found: str
    remark: str


def claims(rows: Sequence[Traffic], pairs: Sequence[Engines], quality: Sequence[OrderQuality]) -> list[Claim]:
    """All claims that what was computed says something about."""
    stated = [*_of_models(rows), *_of_engines(pairs)]
    return [*stated, *_of_orders(quality)] if quality else stated


def _of_models(rows: Sequence[Traffic]) -> list[Claim]:
    by_network = totals(rows)
    lines = []
    large = [row for row in by_network if row.buffer_bytes >= 128 * 1024]
    lines.append(
        Claim(
            "Fig. 5",
            "2.5 to 17.5 % less traffic than PEEMEN's best schedules, 1 to 256 KB",
            _both(by_network, "saving", "{:.1f} to {:.1f} % less"),
            "The appendix counts elements; with sums of four bytes PEEMEN pays more wherever its innermost "
            "controlling loop is not over input channels, since every sum then goes out and in once for each tile. "
            "The paper chooses among 180 orders and sampled tile sizes, our search among all.",
        )
    )
    if large:
        lines.append(
            Claim(
                "Fig. 5",
                "more than 5 % less even at 128 and 256 KB for several networks",
                _counts(large),
                "PEEMEN counts O twice unless its innermost controlling loop is over input channels (Eq. 8), even "
                "where one tile holds all of them; that part does not shrink with the buffer.",
            )
        )
    lines.append(
        Claim(
            "Fig. 4",
            "CACHE is worse than both at every size and for every layer, by a factor of up to 3.5",
            _both(by_network, "cache_factor", "{:.2f} to {:.2f} times ours"),
            "The factor of a whole network; it depends on the width of a sum, which CACHE reads and writes for every "
            "tile of input channels.",
        )
    )
    wrong = exceptions(rows)
    named = ", ".join(f"{row.layer} at {row.buffer_bytes} ({row.reading})" for row in wrong)
    lines.append(
        Claim(
            "IV-D",
            "ours <= PEEMEN <= CACHE",
            f"holds in all {len(rows)} cases"
            if not wrong
            else f"{len(rows) - len(wrong)} of {len(rows)}, not: {named}",
            "Cases are layers x buffer sizes x the two readings." if not wrong else "To be looked into.",
        )
    )
    return lines


def _both(rows: Iterable[Traffic], name: str, text: str) -> str:
    parts = []
    kept = list(rows)
    for reading in ("elements", "bytes"):
        values = [getattr(row, name) for row in kept if row.reading == reading]
        known = [value for value in values if value is not None]
        if known:
            parts.append(f"{reading}: {text.format(min(known), max(known))}")
    return "; ".join(parts)


def _counts(rows: Iterable[Traffic]) -> str:
    parts = []
    for reading in ("elements", "bytes"):
        good = {(r.network, r.buffer_bytes) for r in rows if r.reading == reading and (r.saving or 0) > 5}
        for size in sorted({row.buffer_bytes for row in rows}):
            names = [network for network in NETWORKS if (network, size) in good]
            parts.append(f"{reading}, {size >> 10} KiB: {', '.join(names) or 'none'}")
    return "; ".join(parts)


def _of_engines(pairs: Sequence[Engines]) -> list[Claim]:
    absent = [pair.layer for pair in pairs if not pair.fits]
    wide = [(pair.over_fig8, pair.layer) for pair in pairs if pair.over_fig8 is not None and not pair.pointwise]
    point = [(pair.over_fig8, pair.layer) for pair in pairs if pair.over_fig8 is not None and pair.pointwise]
    best = [pair.over_best for pair in pairs if pair.over_best is not None]
    striped = [
        100 * (pair.hwce_striped / pair.hwce - 1) for pair in pairs if not pair.fits and pair.hwce_striped is not None
    ]
    lines = [
        Claim(
            "Fig. 10",
            "up to 14 times less traffic than HWCE with 1 KB",
            "; ".join(
                f"{name}: {min(some)[0]:.1f} to {max(some)[0]:.1f} times ({max(some)[1]})"
                for name, some in (("larger kernels", wide), ("1x1", point))
                if some
            )
            + (f"; each layer's best loops: up to {max(best):.1f} times" if best else ""),
            "By the model, with the HWC in the loops of Fig. 8 on 16 lanes. 1x1 kernels stand apart: there the HWCE "
            "moves a 32-bit sum in and out for every product; the paper does not say how its figure counts them.",
        ),
        Claim(
            "Fig. 10",
            "no bar for AlexNet 1, ZFNet 1, ResNet 1: the line buffer does not fit",
            ", ".join(absent) or "none of these layers",
            "A row is left out where kernel-height rows, one kernel and a sum exceed 1024 bytes."
            + (f" In stripes that fit, HWCE moves {max(striped):.1f} % more at most." if striped else ""),
        ),
    ]
    above = [pair.layer for pair in pairs if pair.over_fig8 is not None and pair.over_fig8 <= 1]
    lines.append(
        Claim(
            "Fig. 10",
            "less traffic than HWCE for all layers",
            f"not: {', '.join(above)}" if above else "holds for all that have a bar",
            "The HWCE writes and reads partial sums once per input channel; Fig. 8 never does.",
        )
    )
    unable = [pair.layer for pair in pairs if pair.fig8 is None]
    if unable:
        lines.append(
            Claim("Fig. 8", "runs all layers", f"not in 1 KiB: {', '.join(unable)}", "16 lanes, allocated memories.")
        )
    return lines


def _of_orders(quality: Sequence[OrderQuality]) -> list[Claim]:
    share = mean(row.optimal for row in quality)
    beyond = mean(row.beyond for row in quality)
    return [
        Claim(
            "Fig. 7",
            "with small buffers, less than 20 % of the 180 orders reach the optimum",
            f"{share:.1f} % on average over the layers, median {median(row.optimal for row in quality):.1f} %, at "
            f"{quality[0].buffer_bytes} bytes; {beyond:.1f} % need more than twice",
            "Each order has its own best of all integer tiles and marker places; the optimum is that of all orders.",
        )
    ]
