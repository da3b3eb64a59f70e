"""What Stoutchinin et al. 2019 state, beside what was computed, with a sentence on each difference."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import mean

from hwgen.papers.claims import Claim, verdict_of, verdict_of_all
from hwgen.papers.stoutchinin.loop_orders import OrderSummary
from hwgen.papers.stoutchinin.measured import NO_BAR, PUBLISHED_MOST, PUBLISHED_UTILISATION, no_bar_expected
from hwgen.papers.stoutchinin.rows import HWC_BYTES, NETWORKS, Engines, Traffic, exceptions, totals
from hwgen.papers.stoutchinin.utilisation import DEMAND, LANES_CHOSEN, BusyLanes

__all__ = ["claims"]

SAVINGS = (2.5, 17.5)
"""Percent less than PEEMEN, by section IV-D."""
LARGE_BYTES = 128 * 1024
LARGE_SAVING = 5.0
CACHE_FACTOR = 3.5
SMALL_BYTES = 4 * 1024
"""The paper says small and large without figures. Small here: the sizes for which it chose the loops of Fig. 8."""
FEW_ORDERS, MANY_ORDERS = 20.0, (40.0, 60.0)
"""Percent of the orders that reach the optimum: less than the first with small buffers, about 50 with a large one."""
NO_ORDER_BELOW = 512 * 1024


@dataclass(frozen=True)
class _Part:
    """One of the values that a claim is about, with its name."""

    name: str
    value: float


def claims(
    rows: Sequence[Traffic],
    pairs: Sequence[Engines],
    busy: Sequence[BusyLanes],
    orders: Sequence[OrderSummary],
) -> list[Claim]:
    """All claims that can be judged from what was computed."""
    stated = [*_of_models(rows), *_of_engines(pairs), *_of_utilisation(busy), _accuracy()]
    return [*stated, *_of_orders(orders)] if orders else stated


# --- Fig. 4 and 5: traffic by our schedules and by the published models ---


def _of_models(rows: Sequence[Traffic]) -> list[Claim]:
    sums = totals(rows)
    lines = [_savings(sums)]
    large = [row for row in sums if row.buffer_bytes >= LARGE_BYTES]
    if large:
        lines.append(_large_buffers(large))
    return [*lines, _cache(rows, sums), _ordered(rows)]


def _savings(sums: Sequence[Traffic]) -> Claim:
    low, high = SAVINGS
    known = [row.saving for row in sums if row.saving is not None]
    return Claim(
        "Fig. 5",
        f"{low} to {high} % less traffic than PEEMEN's best schedules, 1 to 256 KB",
        _both(sums, "saving", "{:.1f} to {:.1f} % less"),
        "The appendix counts elements; with sums of four bytes PEEMEN pays more wherever its innermost controlling "
        "loop is not over input channels, since every sum then goes out and in once for each tile. The paper chooses "
        "among 180 orders and sampled tile sizes, our search among all. Verdict: which networks and sizes are within "
        "the published range.",
        verdict_of(low <= saving <= high for saving in known),
    )


def _large_buffers(large: Sequence[Traffic]) -> Claim:
    parts, several = [], []
    for reading in ("elements", "bytes"):
        good = {(r.network, r.buffer_bytes) for r in large if r.reading == reading and (r.saving or 0) > LARGE_SAVING}
        for size in sorted({row.buffer_bytes for row in large}):
            names = [network for network in NETWORKS if (network, size) in good]
            several.append(len(names) > 1)
            parts.append(f"{reading}, {size >> 10} KiB: {', '.join(names) or 'none'}")
    return Claim(
        "Fig. 5",
        "more than 5 % less even at 128 and 256 KB for several networks",
        "; ".join(parts),
        "PEEMEN counts O twice unless its innermost controlling loop is over input channels (Eq. 8), even where one "
        "tile holds all of them; that part does not shrink with the buffer. Verdict: readings and sizes with more "
        "than one network.",
        verdict_of(several),
    )


def _cache(rows: Sequence[Traffic], sums: Sequence[Traffic]) -> Claim:
    worse = [row.cache is None or (row.peemen is not None and row.cache > max(row.ours, row.peemen)) for row in rows]
    factors = {
        reading: [row.cache_factor for row in sums if row.reading == reading and row.cache_factor is not None]
        for reading in ("elements", "bytes")
    }
    reached = [max(values) >= CACHE_FACTOR for values in factors.values() if values]
    return Claim(
        "Fig. 4",
        f"CACHE is worse than both at every size and for every layer, by a factor of up to {CACHE_FACTOR}",
        f"{_both(sums, 'cache_factor', '{:.2f} to {:.2f} times ours')}; worse than both in {sum(worse)} of "
        f"{len(rows)} cases",
        "The factor of a whole network; it depends on the width of a sum, which CACHE reads and writes for every "
        "tile of input channels. Cases are layers x buffer sizes x the two readings.",
        verdict_of([all(worse), *reached]),
    )


def _ordered(rows: Sequence[Traffic]) -> Claim:
    wrong = exceptions(rows)
    named = ", ".join(f"{row.layer} at {row.buffer_bytes} ({row.reading})" for row in wrong)
    return Claim(
        "IV-D",
        "ours <= PEEMEN <= CACHE",
        f"holds in all {len(rows)} cases" if not wrong else f"{len(rows) - len(wrong)} of {len(rows)}, not: {named}",
        "Cases are layers x buffer sizes x the two readings." if not wrong else "To be looked into.",
        verdict_of_all(row.ordered for row in rows),
    )


def _both(rows: Iterable[Traffic], name: str, text: str) -> str:
    parts = []
    kept = list(rows)
    for reading in ("elements", "bytes"):
        values = [getattr(row, name) for row in kept if row.reading == reading]
        known = [value for value in values if value is not None]
        if known:
            parts.append(f"{reading}: {text.format(min(known), max(known))}")
    return "; ".join(parts)


# --- Fig. 10: HWCE against HWC ---


def _of_engines(pairs: Sequence[Engines]) -> list[Claim]:
    absent = [pair.layer for pair in pairs if not pair.fits]
    lines = [
        _most_reduced(pairs),
        Claim(
            "Fig. 10",
            NO_BAR,
            ", ".join(absent) or "none of these layers",
            "A row is left out where kernel-height rows, one kernel and a sum exceed 1024 bytes." + _stripes(pairs),
            verdict_of([absent == no_bar_expected(pair.layer for pair in pairs)]),
        ),
    ]
    known = [_Part(pair.layer, pair.over_fig8) for pair in pairs if pair.over_fig8 is not None]
    above = [part.name for part in known if part.value <= 1]
    lines.append(
        Claim(
            "Fig. 10",
            "less traffic than HWCE for all layers",
            f"not: {', '.join(above)}" if above else "holds for all that have a bar",
            "The HWCE writes and reads partial sums once per input channel; Fig. 8 never does.",
            verdict_of_all(part.value > 1 for part in known),
        )
    )
    unable = [pair.layer for pair in pairs if pair.fig8 is None]
    if unable:
        lines.append(
            Claim(
                "Fig. 8",
                "runs all layers",
                f"not in 1 KiB: {', '.join(unable)}",
                "16 lanes, allocated memories.",
                verdict_of(pair.fig8 is not None for pair in pairs),
            )
        )
    return lines


def _most_reduced(pairs: Sequence[Engines]) -> Claim:
    wide = [_Part(pair.layer, pair.over_fig8) for pair in pairs if pair.over_fig8 is not None and not pair.pointwise]
    point = [_Part(pair.layer, pair.over_fig8) for pair in pairs if pair.over_fig8 is not None and pair.pointwise]
    best = [pair.over_best for pair in pairs if pair.over_best is not None]
    parts = []
    for name, some in (("larger kernels", wide), ("1x1", point)):
        if some:
            most = max(some, key=lambda part: part.value)
            parts.append(f"{name}: {min(part.value for part in some):.1f} to {most.value:.1f} times ({most.name})")
    if best:
        parts.append(f"each layer's best loops: up to {max(best):.1f} times")
    return Claim(
        "Fig. 10",
        f"up to {PUBLISHED_MOST} times less traffic than HWCE with 1 KB",
        "; ".join(parts),
        "By the model, with the HWC in the loops of Fig. 8 on 16 lanes. 1x1 kernels stand apart: there the HWCE "
        "moves a 32-bit sum in and out for every product; the paper does not say how its figure counts them. "
        "Verdict: whether larger kernels reach the published ratio.",
        verdict_of([max(part.value for part in wide) >= PUBLISHED_MOST] if wide else []),
    )


def _stripes(pairs: Sequence[Engines]) -> str:
    striped = [
        100 * (pair.hwce_striped / pair.hwce - 1) for pair in pairs if not pair.fits and pair.hwce_striped is not None
    ]
    return f" In stripes that fit, HWCE moves {max(striped):.1f} % more at most." if striped else ""


# --- V-C: utilisation and accuracy ---


def _of_utilisation(busy: Sequence[BusyLanes]) -> list[Claim]:
    fig8 = [row.fig8 for row in busy if row.fig8 is not None]
    chosen = [row.chosen for row in busy if row.chosen is not None]
    lanes = ", ".join(f"{dim}: {LANES_CHOSEN.along(dim)}" for dim in LANES_CHOSEN.dims)
    published = f"average utilisation of {100 * PUBLISHED_UTILISATION:.0f} % over the layers"
    lines = []
    if fig8:
        lines.append(
            Claim(
                "V-C",
                published,
                f"the published HWC (Fig. 8, 16 lanes along x): {mean(fig8):.3f} over {len(fig8)} layers, "
                f"{min(fig8):.3f} to {max(fig8):.3f}",
                f"By the cycle model of the HWC at {HWC_BYTES} bytes. Images whose width is no multiple of 16 leave "
                "lanes idle. The paper prints neither its tile sizes nor how it averages.",
                verdict_of([mean(fig8) >= PUBLISHED_UTILISATION]),
            )
        )
    if busy:
        found = f"another HWC (lanes {{{lanes}}}): " + (
            f"{mean(chosen):.3f} over {len(chosen)} layers, {min(chosen):.3f} to {max(chosen):.3f}"
            if chosen
            else f"none reaches {DEMAND} by the estimate of the search"
        )
        remark = "Same model. Loops and lanes were chosen for utilisation: the 80 % can be had, with other loops."
        lines.append(
            Claim(
                "V-C", published, found, remark, verdict_of([bool(chosen) and mean(chosen) >= PUBLISHED_UTILISATION])
            )
        )
    return lines


def _accuracy() -> Claim:
    return Claim(
        "V-C",
        "the model's traffic is within 0.5 % of that counted on the implementation",
        "not judged here: nothing was simulated",
        "With --rtl, from the regression's counts.",
        "not judged",
    )


# --- Fig. 7: the loop orders ---


def _of_orders(orders: Sequence[OrderSummary]) -> list[Claim]:
    small = [one for one in orders if one.buffer_bytes <= SMALL_BYTES]
    low, high = MANY_ORDERS
    largest = orders[-1]
    shares = "; ".join(f"{_size(one)}: {one.optimal:.1f} % (median {one.median_optimal:.1f})" for one in orders)
    below = [one for one in orders if one.buffer_bytes < NO_ORDER_BELOW]
    return [
        Claim(
            "Fig. 7",
            f"with small buffers, less than {FEW_ORDERS:.0f} % of the 180 orders reach the optimum",
            f"mean over the layers {shares}",
            "Each order has its own best of all integer tiles and marker places; the optimum is that of all orders. "
            f"The paper sampled tiles. Verdict: sizes up to {SMALL_BYTES >> 10} KiB.",
            verdict_of(one.optimal < FEW_ORDERS for one in small),
        ),
        Claim(
            "Fig. 7",
            "with a large buffer, about 50 % of the orders reach the optimum",
            f"{largest.optimal:.1f} % at {_size(largest)}",
            f"Verdict: {low:.0f} to {high:.0f} % at the largest size that was computed; the paper prints no size.",
            verdict_of([low <= largest.optimal <= high] if largest.buffer_bytes >= LARGE_BYTES else []),
        ),
        Claim(
            "V-B",
            "with less than 512 KB no order is optimal for all layers",
            "; ".join(f"{_size(one)}: {one.everywhere} orders" for one in below),
            f"Of {orders[0].layers} layers; an order counts if it reaches the optimum of each, byte for byte.",
            verdict_of_all(one.everywhere == 0 for one in below),
        ),
    ]


def _size(one: OrderSummary) -> str:
    return f"{one.buffer_bytes >> 10} KiB" if one.buffer_bytes % 1024 == 0 else f"{one.buffer_bytes} B"
