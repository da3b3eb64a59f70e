"""Fig. 3 of Cecconi et al. 2017 on our own cluster: claims, and a table."""

from collections.abc import Sequence

from hwgen.papers.cecconi.own_hardware import WAYS, Tiles, Way, WayRow
from hwgen.papers.claims import Claim, Largest, OverAll, about

__all__ = [
    "CLOSE",
    "OF_LAYERS",
    "PUBLISHED_CACHED",
    "PUBLISHED_PEAK",
    "PUBLISHED_SAVING",
    "PUBLISHED_SECONDS",
    "way_claims",
    "way_table",
]

PUBLISHED_SECONDS = (1573, 838, 805)
"""Section 6.1, caches disabled: without double buffering; double buffering with naive and with the best tiles."""
PUBLISHED_SAVING, PUBLISHED_CACHED = 50, 34
"""Percent of the execution time that double buffering with the best tiles saves, by the abstract and section 7:
caches disabled, caches enabled."""
BY_TILES_OFF = 1.0
"""Percentage points by which what the best tiles save of naive ones may be off."""
OF_LAYERS = 10
PUBLISHED_PEAK, PEAK_LAYER = 2.4, "conv2"
"""Section 6.1: how many times faster the second layer becomes, the most of all."""
CLOSE = 0.05
"""A figure within this part of the published one counts as reproduced."""

WAYS_TEXT = """\
{scale}; bytes in place of 4-byte elements, but partial sums of four.
Million cycles by the cycle model of our cluster. *none*: no buffering, what the HWCs work on at a time is fetched for
them and nothing else is kept. *single*: load, compute and store one after the other; *halves*: the DMA fills one half
of the room while the HWCs work in the other; *ring*: the same in rings. A tile: output rows x output columns x input
channels x filters. KiB: of the TCDM, for the two halves."""

COLUMNS: tuple[tuple[Tiles, Way], ...] = (
    ("none", "single"),
    ("naive", "single"),
    ("naive", "halves"),
    ("naive", "ring"),
    ("best", "single"),
    ("best", "halves"),
    ("best", "ring"),
)


def way_claims(rows: Sequence[WayRow], scale: str) -> list[Claim]:
    """What the paper says of Fig. 3, beside our own cluster."""
    by_layer = _by_layer(rows)
    sums = {column: sum(found[column].cycles for found in by_layer.values()) for column in COLUMNS}
    return [
        _disabled(sums, scale),
        _enabled(sums, scale),
        _naive(sums, scale),
        _peak(by_layer, scale),
        _ring(by_layer, sums, scale),
    ]


def _by_layer(rows: Sequence[WayRow]) -> dict[str, dict[tuple[Tiles, Way], WayRow]]:
    found: dict[str, dict[tuple[Tiles, Way], WayRow]] = {}
    for row in rows:
        found.setdefault(row.layer, {})[row.tiles, row.way] = row
    return found


Sums = dict[tuple[Tiles, Way], float]


def _saved(sums: Sums, before: tuple[Tiles, Way], after: tuple[Tiles, Way]) -> tuple[str, list[float]]:
    """The sentence, and the percentage if there is any."""
    if not sums[before]:
        return "not computed", []
    saved = 100 * (1 - sums[after] / sums[before])
    return f"{sums[before] / 1e6:,.2f} to {sums[after] / 1e6:,.2f} million cycles: {saved:.1f} % less", [saved]


def _scope(scale: str) -> str:
    return f"{scale or 'no layer'}; our own cluster, by its cycle model"


def _disabled(sums: Sums, scale: str) -> Claim:
    text, saved = _saved(sums, ("none", "single"), ("best", "halves"))
    return Claim(
        "6.1, Fig. 3, caches disabled",
        f"double buffering with the best tiles saves {PUBLISHED_SAVING} % of the time of no double buffering, where "
        "the CPU fetches all data from DRAM",
        text,
        "Without buffering the HWCs keep 1 KiB each and the TCDM nothing. They compute 64 products in a cycle, so "
        "that waiting for the DRAM takes a larger part of the time than a CPU's does.",
        scope=_scope(scale),
        parts=tuple(OverAll.of(about("saved", one, PUBLISHED_SAVING, CLOSE, "%", "more")) for one in saved),
        reading="four HWCs in place of a CPU",
    )


def _enabled(sums: Sums, scale: str) -> Claim:
    text, saved = _saved(sums, ("best", "single"), ("best", "halves"))
    return Claim(
        "6.1, Fig. 3, caches enabled",
        f"double buffering with the best tiles saves {PUBLISHED_CACHED} % where caches keep data on chip without it",
        text,
        "The same tiles in the TCDM, one load, computation or store after the other. Overlap can hide the transfers, "
        "and no more: of the best tiles they are a smaller part of the time.",
        scope=_scope(scale),
        parts=tuple(OverAll.of(about("saved", one, PUBLISHED_CACHED, CLOSE, "%", "more")) for one in saved),
        reading="four HWCs, a single buffer in place of caches",
    )


def _naive(sums: Sums, scale: str) -> Claim:
    text, saved = _saved(sums, ("naive", "halves"), ("best", "halves"))
    _, naive, best = PUBLISHED_SECONDS
    printed = 100 * (1 - best / naive)
    return Claim(
        "6.1, Fig. 3, tiles",
        f"with double buffering the difference of naive and best tiles is not so marked: {printed:.1f} % of the time "
        f"({naive} to {best} s)",
        text,
        "The paper's CPU computes so long that transfers of either tile are hidden. Four HWCs do not, and naive "
        "tiles leave more of their lanes idle: here the difference is marked. A larger one is no gain on the "
        "statement.",
        scope=_scope(scale),
        parts=tuple(OverAll("saved", one, printed - BY_TILES_OFF, printed + BY_TILES_OFF, "%") for one in saved),
        reading="four HWCs in place of a CPU",
    )


def _peak(by_layer: dict[str, dict[tuple[Tiles, Way], WayRow]], scale: str) -> Claim:
    gains = {
        layer: found["none", "single"].cycles / found["best", "halves"].cycles for layer, found in by_layer.items()
    }
    judged = len(gains) > 1 and PEAK_LAYER in gains
    first = 1 + sum(gain > gains[PEAK_LAYER] for gain in gains.values()) if judged else 0
    return Claim(
        "6.1",
        f"the second layer gains most by double buffering, {PUBLISHED_PEAK} times",
        ", ".join(f"{layer} {gain:.1f}" for layer, gain in gains.items()) or "not computed",
        "How many times faster than without buffering, with the best tiles."
        if judged
        else "The second layer is not among those that were computed.",
        scope=_scope(scale),
        parts=(
            Largest("its rank", first, 1, 1),
            about("times", gains[PEAK_LAYER], PUBLISHED_PEAK, CLOSE, gain="more"),
        )
        if judged
        else (),
        reading="four HWCs in place of a CPU",
    )


def _ring(by_layer: dict[str, dict[tuple[Tiles, Way], WayRow]], sums: Sums, scale: str) -> Claim:
    rooms = [
        f"{layer} {found['best', 'halves'].room / 1024:.0f} and {found['best', 'ring'].room / 1024:.0f} KiB"
        for layer, found in by_layer.items()
    ]
    halves, ring = (f"{sums['best', way] / 1e6:,.2f}" for way in WAYS[1:])
    return Claim(
        "3.2",
        "the memory is divided into two buffers, whose pointers are swapped",
        f"with the best tiles {halves} million cycles in halves, {ring} in rings; room: {', '.join(rooms) or 'none'}",
        "Nothing is claimed; a comparison. In the order of Listing 1.1 nothing slides from one tile to the next, "
        "so a ring moves the same bytes; it takes less room where two tiles in a row are not both of the largest "
        "size.",
        scope=_scope(scale),
    )


def way_table(rows: Sequence[WayRow], scale: str) -> list[str]:
    """Lines of Markdown: one row for each layer."""
    head = (
        "layer",
        "naive tile",
        "best tile",
        *(f"{tiles}, {way}" for tiles, way in COLUMNS),
        "naive KiB",
        "best KiB",
    )
    lines = [WAYS_TEXT.format(scale=scale), "", f"| {' | '.join(head)} |", "|---" * len(head) + "|"]
    for layer, found in _by_layer(rows).items():
        cycles = [f"{found[column].cycles / 1e6:,.2f}" for column in COLUMNS]
        halves = (found["naive", "halves"], found["best", "halves"])
        cells = (layer, *(row.tile for row in halves), *cycles, *(f"{row.room / 1024:.0f}" for row in halves))
        lines.append(f"| {' | '.join(cells)} |")
    return lines
