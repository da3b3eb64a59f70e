"""What Cecconi et al. 2017 state, beside what was computed, with a sentence on each difference."""

from collections.abc import Sequence

from hwgen.ir.layer import Layer
from hwgen.papers.cecconi.model import published_need
from hwgen.papers.cecconi.own_hardware import WayRow
from hwgen.papers.cecconi.rows import (
    ELEMENT_BYTES,
    MEMORY_BYTES,
    PUBLISHED_FILL,
    TilingRow,
    TilingTotal,
    tiling_totals,
)
from hwgen.papers.cecconi.search import published_tiles
from hwgen.papers.cecconi.ways import CLOSE, PUBLISHED_SAVING, PUBLISHED_SECONDS, way_claims
from hwgen.papers.claims import Claim, verdict_of

__all__ = ["tiling_claims"]

PUBLISHED_RATIO = 5
"""How many times less the best tiles move than naive ones, by the abstract and section 7."""


def tiling_claims(
    layers: Sequence[Layer], rows: Sequence[TilingRow], ways: Sequence[WayRow] = (), scale: str = ""
) -> list[Claim]:
    """All claims of the paper, judged by what was computed; ``scale`` says of which layers ``ways`` are."""
    return [
        _sizes(layers),
        _printed_times(),
        *way_claims(ways, scale),
        *(_ratio(rows, total) for total in tiling_totals(rows)),
        _fill(rows),
        _less_full(rows),
        _usage(layers, rows),
        _halo(rows),
    ]


def _printed_times() -> Claim:
    before, naive, best = PUBLISHED_SECONDS
    saved, by_tiles = 100 * (1 - best / before), 100 * (1 - best / naive)
    return Claim(
        "6.1, as printed",
        f"double buffering with the best tiles saves {PUBLISHED_SAVING} % of the execution time (caches disabled)",
        f"by the printed {before} s and {best} s: {saved:.1f} %; of the {naive} s with naive tiles the best ones "
        f"save {by_tiles:.1f} %",
        "Arithmetic on the paper's own seconds. Most of the saving is the double buffering's; for 34 % no seconds "
        "are printed.",
        verdict_of([abs(saved - PUBLISHED_SAVING) <= CLOSE * PUBLISHED_SAVING]),
    )


def _sizes(layers: Sequence[Layer]) -> Claim:
    weights = sum(layer.weight_elements + layer.output_channels for layer in layers) * ELEMENT_BYTES
    maps = sum(layer.output_elements for layer in layers) + layers[0].input_elements
    return Claim(
        "2.2",
        "FlowNet S, contracting section: about 96 MBytes of weights and biases, roughly 32 Mbytes of maps",
        f"{weights / 1e6:.1f} MB, {maps * ELEMENT_BYTES / 2**20:.1f} MiB",
        "4-byte elements at 384x512, the input among the maps; the paper prints neither.",
        verdict_of([abs(weights / 1e6 - 96) <= CLOSE * 96, abs(maps * ELEMENT_BYTES / 2**20 - 32) <= CLOSE * 32]),
    )


def _ratio(rows: Sequence[TilingRow], total: TilingTotal) -> Claim:
    own = [row for row in rows if (row.cost, row.kind) == (total.cost, total.kind)]
    low, high = min(own, key=lambda row: row.ratio), max(own, key=lambda row: row.ratio)
    near = sum(row.least <= PUBLISHED_RATIO * row.best <= row.most for row in own)
    return Claim(
        "6.2, Fig. 4",
        f"{PUBLISHED_RATIO}x lower bandwidth than naive tiles (abstract, section 7)",
        f"{total.cost}, {total.kind}: the median naive tile costs {total.ratio:.2f} times the best over all layers, "
        f"{low.ratio:.2f} ({low.layer}) to {high.ratio:.2f} ({high.layer}) by layer; the best naive tiles "
        f"{total.least / total.best:.2f}, the worst {total.ratio_most:.1f}",
        "The paper took one naive tile a layer and does not print which. Five times is between the best and the "
        f"worst naive tile of {near} of {len(own)} layers. Verdict: whether the medians reach five times over all "
        "layers.",
        verdict_of([total.ratio >= PUBLISHED_RATIO]),
    )


def _fill(rows: Sequence[TilingRow]) -> Claim:
    found = []
    dearer = [row for row in rows if row.fullest > row.best]
    for (cost, kind), group in _groups(rows).items():
        more, fills = [row.fullest / row.best for row in group], [row.fill for row in group]
        found.append(
            f"{cost}, {kind}: the fullest tile ({min(row.fullest_fill for row in group):.0f} to "
            f"{max(row.fullest_fill for row in group):.0f} %) costs {min(more):.2f} to {max(more):.2f} times the "
            f"best, which takes {min(fills):.0f} to {max(fills):.0f} %"
        )
    return Claim(
        "6.2, Table 1",
        "the highest use of the memory does not generally lead to the least traffic",
        f"the fullest tile is not the cheapest in {len(dearer)} of {len(rows)} rows; " + "; ".join(found),
        "Rows are layers x models x costs: the table of layers. Of several tiles that are equally full the cheapest.",
        verdict_of(row.fullest > row.best for row in rows),
    )


def _less_full(rows: Sequence[TilingRow]) -> Claim:
    less = [row.layer for row in rows if row.fill < PUBLISHED_FILL[row.layer][0]]
    paper = [layer for layer, (naive, best) in PUBLISHED_FILL.items() if best < naive]
    return Claim(
        "6.2, Table 1, naive",
        f"a best tile uses less of the memory than the naive one ({', '.join(paper)} by the table)",
        f"our best tiles use less than the paper's naive ones for {', '.join(dict.fromkeys(less)) or 'no layer'}",
        "The best tile of a linear cost nearly fills the memory here. Compared with the naive tiles of Table 1, "
        "since ours are many. Verdict: whether there is any such layer among those that were computed.",
        verdict_of([bool(less)] if any(row.layer in paper for row in rows) else []),
    )


def _usage(layers: Sequence[Layer], rows: Sequence[TilingRow]) -> Claim:
    found: list[str] = []
    equal: list[bool] = []
    for (cost, kind), group in _groups(rows).items():
        if kind == "published":
            near = [row.layer for row in group if abs(row.fill - PUBLISHED_FILL[row.layer][1]) < 1]
            equal += [row.layer in near for row in group]
            found.append(f"{cost}: {len(near)} of {len(group)} layers ({', '.join(near) or 'none'})")
    absent = [layer.name for layer in layers if not _reachable(layer, PUBLISHED_FILL[layer.name][1])]
    return Claim(
        "Table 1",
        "memory taken by the best tiles: " + ", ".join(str(best) for _, best in PUBLISHED_FILL.values()) + " %",
        "the same to a percent, published model: " + "; ".join(found),
        "Which tile is best depends on C, p and t, which the paper does not print."
        + (
            f" But no tile of its space, whatever its cost, takes the printed part for {', '.join(absent)}: the size "
            "of its maps, also not printed, or what it counts is another."
            if absent
            else ""
        ),
        verdict_of(equal),
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
        "Kernels overlap from tile to tile: a transfer without the halo leaves out inputs that the tile needs. A "
        "comparison: the paper claims nothing of this.",
        "not judged",
    )


def _groups(rows: Sequence[TilingRow]) -> dict[tuple[str, str], list[TilingRow]]:
    groups: dict[tuple[str, str], list[TilingRow]] = {}
    for row in rows:
        groups.setdefault((row.cost, row.kind), []).append(row)
    return groups
