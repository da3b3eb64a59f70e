"""What Cecconi et al. 2017 state, beside what was computed, with a sentence on each difference."""

from collections.abc import Sequence

from hwgen.ir.layer import Layer
from hwgen.papers.cecconi.model import published_need
from hwgen.papers.cecconi.own_hardware import FULL, WayRow
from hwgen.papers.cecconi.rows import (
    ELEMENT_BYTES,
    MEMORY_BYTES,
    PAPER_COST,
    PUBLISHED_FILL,
    TilingRow,
    TilingTotal,
    tiling_totals,
)
from hwgen.papers.cecconi.search import published_tiles
from hwgen.papers.cecconi.transfers import TransferRow
from hwgen.papers.cecconi.ways import (
    CLOSE,
    OF_LAYERS,
    PUBLISHED_CACHED,
    PUBLISHED_SAVING,
    PUBLISHED_SECONDS,
    way_claims,
)
from hwgen.papers.claims import Claim, Largest, OverAll, about, between, cases, of_a_part, share_of_cases

__all__ = ["tiling_claims"]

PUBLISHED_RATIO, RATIO_OFF = 5, 0.1
"""How many times less the best tiles move than naive ones, by the abstract and section 7; parts that it may be
off."""
ROUGHLY = 0.1
"""Parts of a figure that is printed as "roughly" or "almost"."""
MOST = (50.0, 100.0)
"""Percent of the layers that are generally meant."""
FILL_OFF = 1.0
"""Percentage points by which a printed use of the memory may be off."""


def tiling_claims(
    layers: Sequence[Layer],
    rows: Sequence[TilingRow],
    ways: Sequence[WayRow] = (),
    scale: str = "",
    transfers: Sequence[TransferRow] = (),
    moved: str = "",
    *,
    every_layer: bool = True,
) -> list[Claim]:
    """All claims of the paper, judged by what was computed.

    ``scale``, ``moved`` : of which layers ``ways`` and ``transfers`` are. ``every_layer`` : whether ``layers`` are
    all of them.
    """
    groups = [(cost, kind, group) for (cost, kind), group in _groups(rows).items()]
    of_layers = [
        *(_ratio(rows, total) for total in tiling_totals(rows)),
        _measured(transfers, moved),
        *(_fill(*one) for one in groups),
        *(_less_full(*one) for one in groups),
        *(_usage(layers, cost, group) for cost, kind, group in groups if kind == "published"),
    ]
    sizes, of_ways = _sizes(layers), way_claims(ways, scale)
    if not every_layer:
        sizes, of_layers = of_a_part(sizes), [*map(of_a_part, of_layers)]
        # The small layers are computed whatever the others are.
        of_ways = [*map(of_a_part, of_ways)] if scale == FULL.text else of_ways
    return [sizes, _printed_times(), *of_ways, *of_layers, _halo(rows), *_not_judged()]


def _of(rows: Sequence[TilingRow]) -> str:
    return f"{len(rows)} of the {OF_LAYERS} layers, by the model of a transfer"


def _read(cost: str, kind: str) -> str:
    own = "our (C, p, t), which the paper does not print" if cost == PAPER_COST else "(C, p, t) of our own DMA"
    return f"{own}: {cost}, {kind}"


def _printed_times() -> Claim:
    before, naive, best = PUBLISHED_SECONDS
    saved, by_tiles = 100 * (1 - best / before), 100 * (1 - best / naive)
    return Claim(
        "6.1, as printed",
        f"double buffering with the best tiles saves {PUBLISHED_SAVING} % of the execution time (caches disabled), "
        "almost 2 times",
        f"by the printed {before} s and {best} s: {saved:.1f} %, {before / best:.2f} times; of the {naive} s with "
        f"naive tiles the best ones save {by_tiles:.1f} %",
        "Arithmetic on the paper's own seconds. Most of the saving is the double buffering's; for "
        f"{PUBLISHED_CACHED} % no seconds are printed.",
        scope="the paper's own measurement, nothing of ours",
        parts=(
            about("saved", saved, PUBLISHED_SAVING, CLOSE, "%", "more"),
            about("times", before / best, 2, ROUGHLY, gain="more"),
        ),
    )


def _sizes(layers: Sequence[Layer]) -> Claim:
    weights = sum(layer.weight_elements + layer.output_channels for layer in layers) * ELEMENT_BYTES
    maps = sum(layer.output_elements for layer in layers) + layers[0].input_elements
    return Claim(
        "2.2",
        "FlowNet S, contracting section: about 96 MBytes of weights and biases, roughly 32 Mbytes of maps",
        f"{weights / 1e6:.1f} MB, {maps * ELEMENT_BYTES / 2**20:.1f} MiB",
        "The paper prints neither the size of the maps nor that of an element.",
        scope=f"{len(layers)} of the {OF_LAYERS} layers",
        parts=(
            Largest.of(about("weights", weights / 1e6, 96, CLOSE, "MB")),
            Largest.of(about("maps", maps * ELEMENT_BYTES / 2**20, 32, CLOSE, "MiB")),
        ),
        reading="4-byte elements at 384 x 512, the input among the maps",
    )


def _ratio(rows: Sequence[TilingRow], total: TilingTotal) -> Claim:
    own = [row for row in rows if (row.cost, row.kind) == (total.cost, total.kind)]
    low, high = min(own, key=lambda row: row.ratio), max(own, key=lambda row: row.ratio)
    near = sum(row.least <= PUBLISHED_RATIO * row.best <= row.most for row in own)
    return Claim(
        "abstract, 6.2, Fig. 4",
        f"{PUBLISHED_RATIO}x lower bandwidth between external and on-chip memory than naive tiles",
        f"the median naive tile costs {total.ratio:.2f} times the best over all layers, {low.ratio:.2f} "
        f"({low.layer}) to {high.ratio:.2f} ({high.layer}) by layer; the best naive tiles "
        f"{total.least / total.best:.2f}, the worst {total.ratio_most:.1f}",
        "The paper measured its DMA with the convolutions disabled. It took one naive tile a layer and does not "
        f"print which; five times is between the best and the worst naive tile of {near} of {len(own)} layers.",
        scope=_of(own),
        parts=(OverAll.of(about("median naive tile", total.ratio, PUBLISHED_RATIO, RATIO_OFF, gain="more")),),
        reading=_read(total.cost, total.kind),
    )


def _measured(transfers: Sequence[TransferRow], moved: str) -> Claim:
    """Fig. 4, of transfers that our own DMA makes."""
    cycles: dict[str, dict[str, float]] = {}
    for row in transfers:
        cycles.setdefault(row.layer, {})[row.tiles] = row.expected if row.cycles is None else row.cycles
    naive, best = (sum(of[tiles] for of in cycles.values()) for tiles in ("naive", "best"))
    by_layer = {layer: of["naive"] / of["best"] for layer, of in cycles.items()}
    low, high = (pick(by_layer, key=by_layer.__getitem__, default="") for pick in (min, max))
    simulated = [row for row in transfers if row.cycles is not None]
    return Claim(
        "6.2, Fig. 4",
        "transfer cycles of the DMA with the convolutions disabled: the best tiles take fewer than naive ones, "
        f"{PUBLISHED_RATIO} times fewer by the abstract",
        f"{naive / 1e6:,.2f} to {best / 1e6:,.2f} million cycles: {naive / best:.2f} times, {by_layer[low]:.2f} "
        f"({low}) to {by_layer[high]:.2f} ({high}) by layer"
        if best
        else "not computed",
        "Both tiles are chosen by C + s p + n t of our own DMA: the best of all, and the one nearest the median of "
        "those that fill 80 %. One transfer after the other. "
        + (
            f"In the RTL: {sum(row.transfers for row in simulated):,} of {sum(row.of for row in simulated):,} "
            "transfers were moved; those of a kind stand for all of it."
            if simulated
            else "By the cycle model of the DMA, beside its RTL with `--rtl`."
        ),
        scope=f"{len(by_layer)} of the {OF_LAYERS} layers; {moved}",
        parts=(
            OverAll.of(about("naive over best", naive / best, PUBLISHED_RATIO, RATIO_OFF, gain="more")),
            *cases("layers in which the best tiles take fewer", (ratio > 1 for ratio in by_layer.values())),
        )
        if best
        else (),
        reading="our own DMA, the median naive tile",
    )


def _fill(cost: str, kind: str, group: Sequence[TilingRow]) -> Claim:
    dearer = [row.fullest > row.best for row in group]
    more, fills = [row.fullest / row.best for row in group], [row.fill for row in group]
    return Claim(
        "6.2",
        "the highest use of the memory does not generally lead to the least traffic",
        f"the fullest tile ({min(row.fullest_fill for row in group):.0f} to "
        f"{max(row.fullest_fill for row in group):.0f} %) is not the cheapest in {sum(dearer)} of {len(group)} "
        f"layers: it costs {min(more):.2f} to {max(more):.2f} times the best, which takes {min(fills):.0f} to "
        f"{max(fills):.0f} %",
        "Of several tiles that are equally full the cheapest. Generally: in more than half of the layers.",
        scope=_of(group),
        parts=tuple(map(OverAll.of, share_of_cases("layers", dearer, *MOST))),
        reading=_read(cost, kind),
    )


def _less_full(cost: str, kind: str, group: Sequence[TilingRow]) -> Claim:
    less = [row.layer for row in group if row.fill < PUBLISHED_FILL[row.layer][0]]
    paper = [layer for layer, (naive, best) in PUBLISHED_FILL.items() if best < naive]
    return Claim(
        "6.2, Table 1",
        f"the best tile uses less of the memory than the naive one for {', '.join(paper)}, and for no other layer",
        f"our best tiles use less than the paper's naive ones for {', '.join(less) or 'no layer'}",
        "The best tile of a linear cost nearly fills the memory here. Compared with the naive tiles of Table 1, "
        "since ours are many.",
        scope=_of(group),
        parts=cases("layers alike", ((row.layer in less) == (row.layer in paper) for row in group)),
        reading=_read(cost, kind),
    )


def _usage(layers: Sequence[Layer], cost: str, group: Sequence[TilingRow]) -> Claim:
    near = [row.layer for row in group if abs(row.fill - PUBLISHED_FILL[row.layer][1]) <= FILL_OFF]
    absent = [layer.name for layer in layers if not _reachable(layer, PUBLISHED_FILL[layer.name][1])]
    return Claim(
        "Table 1",
        "memory taken by the best tiles: " + ", ".join(str(best) for _, best in PUBLISHED_FILL.values()) + " %",
        f"the same to a percent in {len(near)} of {len(group)} layers ({', '.join(near) or 'none'}): "
        + ", ".join(f"{row.layer} {row.fill:.0f}" for row in group),
        "Which tile is best depends on C, p and t, which the paper does not print."
        + (
            f" But no tile of its space, whatever its cost, takes the printed part for {', '.join(absent)}: the size "
            "of its maps, also not printed, or what it counts is another."
            if absent
            else ""
        ),
        scope=_of(group),
        parts=tuple(
            between(row.layer, row.fill, printed - FILL_OFF, printed + FILL_OFF, "%")
            for row in group
            for printed in PUBLISHED_FILL[row.layer][1:]
        ),
        reading=_read(cost, "published"),
    )


def _reachable(layer: Layer, percent: int) -> bool:
    half = MEMORY_BYTES // ELEMENT_BYTES // 2
    return any(round(100 * published_need(layer, tile) / half) == percent for tile in published_tiles(layer))


def _halo(rows: Sequence[TilingRow]) -> Claim:
    found = []
    for (cost, kind), group in _groups(rows).items():
        if kind == "exact":
            kept = [row for row in group if row.published_exactly is not None]
            more = [100 * (row.published_exactly / row.best - 1) for row in kept if row.published_exactly is not None]
            lost = [row.layer for row in group if row.published_exactly is None]
            found.append(
                f"{cost}: {min(more):.0f} to {max(more):.0f} % more than the best of all tiles" if more else cost
            )
            if lost:
                found[-1] += f"; does not fit with its halo: {', '.join(lost)}"
    return Claim(
        "4.2",
        "tiles divide the map, have no halo",
        "the published best tile, counted exactly: " + "; ".join(found),
        "Nothing is claimed; a comparison. Kernels overlap from tile to tile: a transfer without the halo leaves out "
        "inputs that the tile needs.",
        scope=f"{len({row.layer for row in rows})} of the {OF_LAYERS} layers",
    )


def _not_judged() -> list[Claim]:
    return [
        Claim(
            "6.1, Fig. 3",
            "execution of all layers on the hardware, elements of 32 bits, leaky ReLU",
            "-",
            f"In the RTL {len(FULL.simulated)} of the {OF_LAYERS} layers run, with elements of 8 bits (an HWC "
            "multiplies 8 or 16 bits); leaky ReLU runs as ReLU. The others are by the cycle model.",
            scope="ten layers",
        ),
        Claim(
            "7",
            "performance increases with larger on-chip memories",
            "-",
            "Quoted from other work; one size of memory was computed.",
        ),
    ]


def _groups(rows: Sequence[TilingRow]) -> dict[tuple[str, str], list[TilingRow]]:
    groups: dict[tuple[str, str], list[TilingRow]] = {}
    for row in rows:
        groups.setdefault((row.cost, row.kind), []).append(row)
    return groups
