"""What Stoutchinin et al. 2019 state, beside what was computed, with a sentence on each difference."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import mean

from hwgen.papers.claims import (
    Claim,
    Count,
    Largest,
    Least,
    OverAll,
    Quantity,
    about,
    between,
    cases,
    of_a_part,
    share_of_cases,
)
from hwgen.papers.stoutchinin.loop_orders import OrderSummary, Tiles
from hwgen.papers.stoutchinin.measured import (
    MOST_BUSY,
    NO_BAR,
    OF_LAYERS,
    PUBLISHED_MOST,
    PUBLISHED_UTILISATION,
    no_bar_expected,
)
from hwgen.papers.stoutchinin.published_nest import DIVISIONS, NESTS, Division, LayerInNest, NestQuality
from hwgen.papers.stoutchinin.rows import HWC_BYTES, NETWORKS, SAMPLED, Engines, Kind, Traffic, totals
from hwgen.papers.stoutchinin.utilisation import DEMAND, LANES_CHOSEN, BusyLanes
from hwgen.studies.regress.published_nests import PRINTED

__all__ = ["FIG4_BYTES", "claims"]

SAVINGS, SAVINGS_OFF = (2.5, 17.5), 2.5
"""Percent less than PEEMEN, by section IV-D, read off a plot there; points that either end may be off."""
INTRODUCED = (5.0, 15.0)
"""Percent less than PEEMEN, by the introduction."""
SEVERAL_SAVING, SEVERAL = 10.0, 2
"""Percent by which several networks move less at small sizes; networks that are several."""
FIG4_BYTES = 256 * 1024
LARGE_BYTES = 128 * 1024
LARGE_SIZES = (LARGE_BYTES, FIG4_BYTES)
LARGE_SAVING = 5.0
CACHE_FACTOR, CACHE_OFF = 3.5, 0.1
SMALL_BYTES = 4 * 1024
"""The paper says small and large without figures. Small here: the sizes for which it chose the loops of Fig. 8."""
FEW_ORDERS, MANY_ORDERS = 20.0, (40.0, 60.0)
"""Percent of the orders that reach the optimum: less than the first with small buffers, about 50 with a large one."""
NO_ORDER_BELOW = 512 * 1024
MOST = (50.0, 100.0)
"""Percent of all cases that are most of them."""
TEND = (200 / 3, 100.0)
RARE = (90.0, 100.0)
"""Percent of all cases of which the others are rare exceptions."""
SIMILAR = 1.0
"""Percent within which a schedule moves as much as another one."""
SLIGHT = 10.0
"""Percent that is a slight increase, at most."""
RATIO_OFF = 0.05


@dataclass(frozen=True)
class _Part:
    """One of the values that a claim is about, with its name."""

    name: str
    value: float


def claims(
    rows: Sequence[Traffic],
    pairs: Sequence[Engines],
    nests: Sequence[LayerInNest],
    quality: Sequence[NestQuality],
    busy: Sequence[BusyLanes],
    orders: Sequence[OrderSummary],
    *,
    every_layer: bool = True,
    every_size: bool = True,
) -> list[Claim]:
    """All claims of the paper: judged by what was computed, or with the reason why not.

    ``every_layer``, ``every_size`` : whether that is all layers, and all sizes of Fig. 4.
    """
    of_models = _of_models(rows)
    others = [*_of_nest(quality), *_of_engines(pairs, nests), *_of_utilisation(nests, busy), *_of_orders(orders)]
    if not (every_layer and every_size):
        of_models = [*map(of_a_part, of_models)]
    return [*of_models, *(others if every_layer else map(of_a_part, others)), *_not_judged()]


# --- Fig. 4 and 5: traffic by our schedules and by the published models ---


def _of_models(every: Sequence[Traffic]) -> list[Claim]:
    rows = [row for row in every if row.buffer_bytes <= FIG4_BYTES]
    lines: list[Claim] = []
    for reading in dict.fromkeys(row.reading for row in rows):
        own = [row for row in rows if row.reading == reading]
        sums = totals(own)
        lines += [_savings(reading, sums), _introduced(reading, sums), _several(reading, sums)]
        lines += [_large_buffers(reading, sums), _cache(reading, own, sums), _ordered(reading, own)]
        lines += [_not_falling(reading, sums), _similar(reading, own)]
        if reading not in SAMPLED:
            lines.append(_keeps_sums(reading, own))
    return lines


def _read(reading: Kind) -> str:
    widths = "sums of four bytes" if reading.startswith("bytes") else "sums count as one element"
    return f"{widths}, {'sampled' if reading in SAMPLED else 'all integer'} tiles"


def _scope(rows: Sequence[Traffic]) -> str:
    networks = len({row.network for row in rows})
    sizes = sorted({row.buffer_bytes for row in rows})
    return f"sums of {networks} of 5 networks, {sizes[0] >> 10} to {sizes[-1] >> 10} KiB of 1 to 256"


def _known(sums: Sequence[Traffic]) -> list[_Part]:
    return [
        _Part(f"{row.network} at {row.buffer_bytes >> 10} KiB", row.saving) for row in sums if row.saving is not None
    ]


def _savings(reading: Kind, sums: Sequence[Traffic]) -> Claim:
    known = _known(sums)
    low, high = SAVINGS
    least, most = (pick(known, key=lambda one: one.value) for pick in (min, max)) if known else (None, None)
    parts = (
        Least("least", least.value, low - SAVINGS_OFF, low + SAVINGS_OFF, "%", "more"),
        Largest("most", most.value, high - SAVINGS_OFF, high + SAVINGS_OFF, "%", "more"),
    ) if least and most else ()  # fmt: skip
    return Claim(
        "IV-D, Fig. 5",
        f"between {low} and {high} % less traffic than PEEMEN's best schedules",
        f"{least.value:.1f} ({least.name}) to {most.value:.1f} % ({most.name})" if least and most else "none fits",
        "Appendix A counts elements; with sums of four bytes PEEMEN pays more wherever its innermost controlling "
        "loop is not over input channels. Section IV-C samples tiles and orders, IV-D speaks of all.",
        scope=_scope(sums),
        parts=parts,
        reading=_read(reading),
    )


def _introduced(reading: Kind, sums: Sequence[Traffic]) -> Claim:
    known = [one.value for one in _known(sums)]
    return Claim(
        "I",
        "schedules that require 5 to 15 % less traffic than the state of the art",
        f"{mean(known):.1f} % in the mean of networks and sizes" if known else "none fits",
        "Another range than that of section IV-D; that it is a mean is our reading of it.",
        scope=_scope(sums),
        parts=(OverAll("mean", mean(known), *INTRODUCED, "%", "more"),) if known else (),
        reading=_read(reading),
    )


def _networks(reading: Kind, sums: Sequence[Traffic], sizes: Iterable[int], saving: float) -> list[str]:
    wanted = set(sizes)
    good = {row.network for row in sums if row.buffer_bytes in wanted and (row.saving or 0) > saving}
    return [network for network in NETWORKS if network in good]


def _several(reading: Kind, sums: Sequence[Traffic]) -> Claim:
    small = [row.buffer_bytes for row in sums if row.buffer_bytes <= SMALL_BYTES]
    names = _networks(reading, sums, small, SEVERAL_SAVING)
    return Claim(
        "IV-D",
        "over 10 % less for several networks, especially with small buffers",
        f"at up to {SMALL_BYTES >> 10} KiB: {', '.join(names) or 'none'}",
        "Several: two or more." if small else "No small size was computed.",
        scope=_scope(sums),
        parts=(Count("networks", len(names), SEVERAL, len(NETWORKS)),) if small else (),
        reading=_read(reading),
    )


def _large_buffers(reading: Kind, sums: Sequence[Traffic]) -> Claim:
    sizes = sorted({row.buffer_bytes for row in sums} & {*LARGE_SIZES})
    found = {size: _networks(reading, sums, [size], LARGE_SAVING) for size in sizes}
    return Claim(
        "IV-D, Fig. 5",
        "more than 5 % less even at 128 and 256 KB for several networks",
        "; ".join(f"{size >> 10} KiB: {', '.join(names) or 'none'}" for size, names in found.items()) or "-",
        "PEEMEN counts O twice unless its innermost controlling loop is over input channels (Eq. 8), even where one "
        "tile holds all of them; that part does not shrink with the buffer."
        if len(sizes) == len(LARGE_SIZES)
        else "Not both sizes were computed.",
        scope=_scope(sums),
        parts=tuple(
            Count(f"networks at {size >> 10} KiB", len(names), SEVERAL, len(NETWORKS))
            for size, names in found.items()
            if len(sizes) == len(LARGE_SIZES)
        ),
        reading=_read(reading),
    )  # fmt: skip


def _cache(reading: Kind, rows: Sequence[Traffic], sums: Sequence[Traffic]) -> Claim:
    worse = [row.cache is None or (row.peemen is not None and row.cache > max(row.ours, row.peemen)) for row in rows]
    factors = [row.cache_factor for row in sums if row.cache_factor is not None]
    most = (Largest.of(about("factor", max(factors), CACHE_FACTOR, CACHE_OFF, gain="more")),) if factors else ()
    return Claim(
        "IV-D, Fig. 4",
        f"CACHE is worse than both at every size and for every layer, by a factor of up to {CACHE_FACTOR}",
        (f"{min(factors):.2f} to {max(factors):.2f} times ours; " if factors else "")
        + f"worse than both in {sum(worse)} of {len(rows)} cases",
        "The factor is that of a whole network. It depends on the width of a sum, which CACHE reads and writes for "
        "every tile of input channels.",
        scope=f"{_scope(sums)}; cases: layers x sizes",
        parts=(*cases("cases", worse), *most),
        reading=_read(reading),
    )


def _ordered(reading: Kind, rows: Sequence[Traffic]) -> Claim:
    wrong = [row for row in rows if not row.ordered]
    named = ", ".join(f"{row.layer} at {row.buffer_bytes}" for row in wrong)
    return Claim(
        "IV-D",
        "ours <= PEEMEN <= CACHE",
        f"holds in all {len(rows)} cases" if not wrong else f"{len(rows) - len(wrong)} of {len(rows)}, not: {named}",
        "Implied by Fig. 4.",
        scope="layers x sizes",
        parts=cases("cases", (row.ordered for row in rows)),
        reading=_read(reading),
    )


def _not_falling(reading: Kind, sums: Sequence[Traffic]) -> Claim:
    rises = []
    for network in dict.fromkeys(row.network for row in sums):
        own = sorted((row for row in sums if row.network == network), key=lambda row: row.buffer_bytes)
        overheads = [row.peemen_overhead for row in own if row.peemen_overhead is not None]
        rises += [after > before for before, after in pairwise(overheads)]
    return Claim(
        "IV-D",
        "PEEMEN's overhead does not necessarily decrease when the buffer grows",
        f"it rises in {sum(rises)} of {len(rises)} steps to the next size",
        "A statement that there are such steps: one is enough." if rises else "One size alone was computed.",
        scope=_scope(sums),
        parts=(Count("steps", sum(rises), 1, len(rises)),) if rises else (),
        reading=_read(reading),
    )


def _similar(reading: Kind, rows: Sequence[Traffic]) -> Claim:
    alike = [row for row in rows if row.peemen_overhead is not None and row.peemen_overhead <= SIMILAR]
    held = [min(row.inputs, row.outputs) <= row.buffer_bytes for row in alike]
    return Claim(
        "IV-D",
        "with rare exceptions PEEMEN finds similar schedules only when all input or output maps fit in the buffer",
        f"they fit in {sum(held)} of {len(held)} cases in which it moves at most {SIMILAR:g} % more",
        "Outputs as sums." if alike else "PEEMEN finds no similar schedule.",
        scope="layers x sizes",
        parts=tuple(map(OverAll.of, share_of_cases("cases in which they fit", held, *RARE))),
        reading=_read(reading),
    )


def _keeps_sums(reading: Kind, rows: Sequence[Traffic]) -> Claim:
    small = [bool(row.keeps_sums) for row in rows if row.buffer_bytes <= SMALL_BYTES]
    return Claim(
        "V-B",
        "schedules that accumulate all outputs on chip tend to be the best, especially with small buffers",
        f"the best schedule never moves a partial sum in {sum(small)} of {len(small)} cases up to "
        f"{SMALL_BYTES >> 10} KiB",
        "Tend: in two thirds of the cases." if small else "No small size was computed.",
        scope="layers x sizes",
        parts=tuple(map(OverAll.of, share_of_cases("cases", small, *TEND))),
        reading=_read(reading),
    )


# --- Fig. 8: the published nest ---


def _of_nest(quality: Sequence[NestQuality]) -> list[Claim]:
    lines = []
    for nest in dict.fromkeys(one.nest for one in quality):
        own = [one for one in quality if one.nest == nest]
        layers = f"{own[0].layers} of the {OF_LAYERS} layers; 16 lanes along x, a division for each layer"
        lines += [
            Claim(
                "V-B, Fig. 8",
                "for most layers its loops move the least, with buffers of 1 to 4 KB",
                "; ".join(
                    f"{one.buffer_bytes >> 10} KiB: {one.minimal} of {one.layers} layers, {one.within_5} within 5 %"
                    for one in own
                ),
                "Beside the best of all orders on the same lanes, byte for byte. The paper compares 180 orders with "
                "sampled tiles.",
                scope=layers,
                parts=tuple(
                    OverAll(f"{one.buffer_bytes >> 10} KiB", 100 * one.minimal / one.layers, *MOST, "%")
                    for one in own
                    if one.layers
                ),
                reading=_named(nest),
            ),
            Claim(
                "V-B",
                "the input maps are never tiled along the channels (css = C), over all layers",
                f"tiles of input channels move less in {sum(one.tiled for one in own)} cases",
                "With LTIF at its place and any css: below C partial sums leave the HWC.",
                scope=f"{layers}; cases: layers x 1, 2, 4 KiB",
                parts=(between("cases", sum(one.tiled for one in own), 0, 0),),
                reading=_named(nest),
            ),
        ]
    return lines


def _named(nest: str, division: Division | None = None) -> str:
    name = nest if nest in PRINTED else f"{nest} (W is printed above LOF)"
    return name if division is None else f"{name}, {division}"


# --- Fig. 10: HWCE against HWC ---


def _of_engines(pairs: Sequence[Engines], nests: Sequence[LayerInNest]) -> list[Claim]:
    if not pairs:
        return []
    absent = [pair.layer for pair in pairs if not pair.fits]
    expected = no_bar_expected(pair.layer for pair in pairs)
    lines = [*_most_reduced(pairs, nests)]
    striped = [
        100 * (pair.hwce_striped / pair.hwce - 1) for pair in pairs if not pair.fits and pair.hwce_striped is not None
    ]
    lines += [
        Claim(
            "Fig. 10",
            NO_BAR,
            ", ".join(absent) or "none of these layers",
            "A row is left out where kernel-height rows, one kernel and a sum exceed 1024 bytes.",
            scope=f"{len(pairs)} of the {OF_LAYERS} layers",
            parts=cases("layers", (pair.fits == (pair.layer not in expected) for pair in pairs)),
        ),
        Claim(
            "V-C",
            "stripes for such layers are a further slight increase of the traffic",
            f"{min(striped):.1f} to {max(striped):.1f} % more" if striped else "no such layer",
            f"In the widest stripes that fit. Slight: up to {SLIGHT:g} %." if striped else "None was computed.",
            scope="layers without a bar",
            parts=(between("most", max(striped), 0, SLIGHT, "%"),) if striped else (),
        ),
    ]
    return lines


def _over(pairs: Sequence[Engines], nests: Sequence[LayerInNest], nest: str, division: Division) -> list[_Part]:
    """HWCE over the HWC of each layer that has a bar."""
    moved = {row.layer: row.bytes for row in nests if (row.nest, row.division) == (nest, division)}
    return [_Part(pair.layer, pair.hwce / moved[pair.layer]) for pair in pairs if pair.fits and pair.layer in moved]


def _most_reduced(pairs: Sequence[Engines], nests: Sequence[LayerInNest]) -> list[Claim]:
    point = {pair.layer for pair in pairs if pair.pointwise}
    lines, everywhere, with_points = [], [], []
    for nest in NESTS:
        for division in DIVISIONS:
            parts = _over(pairs, nests, nest, division)
            wide = [part for part in parts if part.name not in point]
            everywhere += [part.value > 1 for part in parts]
            if parts:
                most = about(
                    _named(nest, division), max(part.value for part in parts), PUBLISHED_MOST, RATIO_OFF, gain="more"
                )
                with_points.append(Largest.of(most))
            if wide:
                lines.append(_most_of(wide, nest, division))
    best = [_Part(pair.layer, pair.over_best) for pair in pairs if pair.over_best is not None]
    wide = [part for part in best if part.name not in point]
    if wide:
        lines.append(_most_of(wide, "each layer's best loops, not Fig. 8", None))
    lines.append(
        Claim(
            "Fig. 10",
            f"up to {PUBLISHED_MOST} times less traffic than HWCE with 1 KB",
            "; ".join(f"{part.name}: {part.found:.1f}" for part in with_points),
            "There the HWCE moves a 32-bit sum in and out for every product. The paper does not say how its figure "
            "counts them." if with_points else "No layer was computed.",
            scope="all layers with a bar",
            parts=tuple(with_points),
            reading="1x1 kernels among them, all nests",
        )
    )  # fmt: skip
    lines.append(
        Claim(
            "Fig. 10",
            "less traffic than HWCE for all layers",
            f"in {sum(everywhere)} of {len(everywhere)} cases",
            "The HWCE writes and reads partial sums once per input channel; Fig. 8 never does."
            if everywhere
            else "No layer was computed.",
            scope="layers with a bar x three nests x two divisions of the memory",
            parts=cases("cases", everywhere),
            refutable=True,
        )
    )
    return lines


def _most_of(parts: Sequence[_Part], nest: str, division: Division | None) -> Claim:
    most = max(parts, key=lambda part: part.value)
    return Claim(
        "abstract, Fig. 10",
        f"up to {PUBLISHED_MOST} times less traffic than HWCE with 1 KB",
        f"{min(part.value for part in parts):.1f} to {most.value:.1f} times ({most.name})",
        f"By the model, sums of 32 bits. To {100 * RATIO_OFF:.0f} % of the printed figure.",
        scope=f"{len(parts)} layers with a bar and kernels larger than 1x1",
        parts=(Largest.of(about("largest", most.value, PUBLISHED_MOST, RATIO_OFF, gain="more")),),
        reading=_named(nest, division) if nest in NESTS else nest,
    )


# --- V-C: utilisation and accuracy ---


def _of_utilisation(nests: Sequence[LayerInNest], busy: Sequence[BusyLanes]) -> list[Claim]:
    lines = []
    for nest in NESTS:
        for division in DIVISIONS:
            own = [row.utilisation for row in nests if (row.nest, row.division) == (nest, division)]
            if own:
                lines.append(_utilisation(own, f"one HWC, not four: {_named(nest, division)}", _of_fig8(nests, nest)))
    chosen = [row.chosen for row in busy if row.chosen is not None]
    lanes = ", ".join(f"{dim}: {LANES_CHOSEN.along(dim)}" for dim in LANES_CHOSEN.dims)
    name = f"one HWC, lanes {{{lanes}}} and loops chosen for busy lanes"
    if chosen:
        lines.append(_utilisation(chosen, name, "Other loops and lanes than the paper's."))
    elif busy:
        lines.append(
            Claim(
                "V-C", _busy_text(), "-", f"No such HWC reaches {DEMAND} by the estimate of the search.", reading=name
            )
        )
    return lines


def _of_fig8(nests: Sequence[LayerInNest], nest: str) -> str:
    memories = next((row.memories for row in nests if row.nest == nest and row.memories), "")
    return (
        f"By the cycle model of an HWC of {HWC_BYTES} bytes ({memories} with one division). Images whose width is no "
        "multiple of 16 leave lanes idle. The paper prints neither its tile sizes nor how it averages."
    )


def _busy_text() -> str:
    return f"four HWCs: average utilisation of {100 * PUBLISHED_UTILISATION:.0f} % over the layers"


def _utilisation(found: Sequence[float], reading: str, remark: str) -> Claim:
    return Claim(
        "V-C",
        _busy_text(),
        f"{mean(found):.3f} in the mean, {min(found):.3f} to {max(found):.3f}",
        remark,
        scope=f"{len(found)} of the {OF_LAYERS} layers",
        parts=(OverAll("mean", mean(found), *MOST_BUSY, gain="more"),),
        reading=reading,
    )


# --- Fig. 7: the loop orders ---


def _of_orders(orders: Sequence[OrderSummary]) -> list[Claim]:
    lines = []
    for tiles in dict.fromkeys(one.tiles for one in orders):
        lines += _of_tiles([one for one in orders if one.tiles == tiles], tiles)
    return lines


def _of_tiles(orders: Sequence[OrderSummary], tiles: Tiles) -> list[Claim]:
    reading = "" if tiles == "sampled" else "all integer tiles"
    scope = f"{orders[0].layers} of the {OF_LAYERS} layers, 180 orders, {tiles} tiles"
    small = [one for one in orders if one.buffer_bytes <= SMALL_BYTES]
    low, high = MANY_ORDERS
    largest = orders[-1]
    shares = "; ".join(f"{_size(one)}: {one.optimal:.1f} % (median {one.median_optimal:.1f})" for one in orders)
    below = [one for one in orders if one.buffer_bytes < NO_ORDER_BELOW]
    judged = largest.buffer_bytes >= LARGE_BYTES
    return [
        Claim(
            "V-B, Fig. 7",
            f"with small buffers, less than {FEW_ORDERS:.0f} % of the 180 orders reach the optimum",
            f"mean over the layers {shares}",
            "Each order has its own best of tiles and marker places. Small: up to "
            f"{SMALL_BYTES >> 10} KiB." if small else "No small size was computed.",
            scope=scope,
            parts=tuple(OverAll(_size(one), one.optimal, 0, FEW_ORDERS, "%") for one in small),
            reading=reading,
        ),
        Claim(
            "V-B, Fig. 7",
            "with a large buffer, about 50 % of the orders reach the optimum",
            f"{largest.optimal:.1f} % at {_size(largest)}",
            "At the largest size; the paper prints no size." if judged else "No large size was computed.",
            scope=scope,
            parts=(OverAll("orders", largest.optimal, low, high, "%"),) if judged else (),
            reading=reading,
        ),
        Claim(
            "V-B",
            "with less than 512 KB no order is optimal for all layers",
            "; ".join(f"{_size(one)}: {one.everywhere} orders" for one in below),
            "An order counts if it reaches the optimum of each layer, byte for byte. The paper had 71 layers and "
            "prints 68; those that are not printed could exclude an order that reaches the optimum of all others."
            if below
            else "No such size was computed.",
            scope=scope,
            parts=tuple((Least if one.everywhere else Quantity)(_size(one), one.everywhere, 0, 0) for one in below),
            reading=reading,
        ),
    ]  # fmt: skip


def _size(one: OrderSummary) -> str:
    return f"{one.buffer_bytes >> 10} KiB" if one.buffer_bytes % 1024 == 0 else f"{one.buffer_bytes} B"


# --- what nothing was computed for ---


def _not_judged() -> list[Claim]:
    return [
        Claim(
            "V-C",
            "the model's traffic is within 0.5 % of that counted on the implementation",
            "-",
            "Nothing is simulated here; `--rtl` judges it by the regression's counts.",
        ),
        Claim(
            "V-C",
            "the HWC of Fig. 8 in hardware: traffic, and 80 % of 32 GMAC/s on four HWCs",
            "-",
            f"By the models above. In the RTL all {OF_LAYERS} rows ran in each reading with W above LOF, on one HWC "
            "and with a division for each layer (`hwgen regress --printed`), bytes and cycles as predicted "
            "(docs/results.md); `--rtl` judges what they counted. On a cluster of four HWCs it judges all rows in "
            "loops that were searched for it.",
        ),
        Claim(
            "IV-D",
            "the first step takes about two minutes for a layer on an i7 of 3.4 GHz",
            "-",
            "A time of another machine.",
        ),
        Claim(
            "V-C",
            "28 nm, 500 MHz, three ports of 32 bits",
            "-",
            "Our hardware was not made in that technology; it has the ports.",
        ),
    ]
