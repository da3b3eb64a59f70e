"""The tables and the summary of the Stoutchinin 2019 figures as text."""

from collections.abc import Sequence
from dataclasses import dataclass

from hwgen.papers.claims import Claim, claims_table
from hwgen.papers.documents import csv_text
from hwgen.papers.stoutchinin.loop_orders import OrderQuality, OrderSummary
from hwgen.papers.stoutchinin.published_nest import DIVISIONS, NESTS, LayerInNest, NestQuality, NestSum, nest_sums
from hwgen.papers.stoutchinin.rows import HWC_BYTES, Engines, Traffic, exceptions, median_ratios
from hwgen.papers.stoutchinin.utilisation import BusyLanes

__all__ = ["Found", "readme", "tables"]


@dataclass(frozen=True)
class Found:
    """Everything that was computed.

    Members
    -------
    rows, sums : traffic of each layer and of each network.
    pairs : both engines (Fig. 10).
    nests, best_nests : every layer in the readings of Fig. 8; how near to the best loops these are.
    busy : utilisation of the lanes of the HWC that was chosen for it.
    quality, orders : the loop orders (Fig. 7) of each layer and of all together; empty if they were not asked for.
    stated : the claims.
    """

    rows: Sequence[Traffic]
    sums: Sequence[Traffic]
    pairs: Sequence[Engines]
    nests: Sequence[LayerInNest]
    best_nests: Sequence[NestQuality]
    busy: Sequence[BusyLanes]
    quality: Sequence[OrderQuality]
    orders: Sequence[OrderSummary]
    stated: Sequence[Claim]


READINGS_TEXT = """\
Readings stand side by side, each with the same widths and tiles for all models. *bytes*: 8-bit data, 32-bit sums,
halos as the paper's Appendix A prints them. *elements*: a partial sum counts one like any other element, as that
appendix writes it, and halos are clipped to the image, which is kinder to the published models. *sampled*: tile sizes
that are powers of two or the whole extent, after section IV-C; the others take all integers, as IV-D has it."""

BOUND_TEXT = """\
Traffic over the larger of the two proven lower bounds, compulsory traffic and communication bound, for 8-bit data and
32-bit sums: median over the layers. Nothing is below 1."""

FILES_TEXT = """\
- `fig4.csv` (each layer), `fig4_networks.csv`, `fig4.png`, `fig4.svg`: traffic against buffer size
- `fig5.png`, `fig5.svg`: PEEMEN's overhead; its figures are in `fig4_networks.csv`
- `fig10.csv`, `fig10.png`, `fig10.svg`: HWCE over HWC at 1 KiB, by the model
- `fig8.csv`: each layer in the readings of Fig. 8 at 1 KiB: bytes, utilisation; `fig8_sums.csv`: of all;
  `fig8_sizes.csv`: in how many layers they move the least at 1, 2 and 4 KiB
- `utilisation.csv`: MACs over what the lanes can do in the cycles of the model, on the HWC chosen for busy lanes"""

ORDERS_TEXT = """\
Percent of the 180 loop orders, mean over the layers, by how far their best schedule is above the optimum.
*everywhere*: orders that reach the optimum of every layer."""


def tables(found: Found) -> dict[str, str]:
    """The CSV files by name."""
    derived = ("peemen_overhead", "saving", "cache_factor")
    files = {
        "fig4.csv": csv_text(found.rows, (*derived, "ratio")),
        "fig4_networks.csv": csv_text(found.sums, derived),
        "fig10.csv": csv_text(found.pairs, ("fits", "over_best")),
        "fig8.csv": csv_text(found.nests),
        "fig8_sums.csv": csv_text(_sums(found)),
        "fig8_sizes.csv": csv_text(found.best_nests),
    }
    files["utilisation.csv"] = csv_text(found.busy)
    if found.quality:
        files |= {"fig7.csv": csv_text(found.quality), "fig7_sizes.csv": csv_text(found.orders)}
    return files


def readme(found: Found) -> str:
    """The summary as Markdown: claims beside findings, ratios to the bound, exceptions, and what is in which file."""
    layers = len({row.layer for row in found.rows})
    sizes = sorted({row.buffer_bytes for row in found.rows})
    absent = [pair for pair in found.pairs if not pair.fits]
    sections = {
        "# Stoutchinin, Conti, Benini 2019, computed anew": [
            f"{layers} layers, buffers of {', '.join(_size(size) for size in sizes)}. Every figure here was",
            "computed; the published ones are quoted in the second column of the first table only.",
            "",
            READINGS_TEXT,
        ],
        "## Claims": claims_table(found.stated),
        "## Traffic over the lower bound": [
            BOUND_TEXT,
            "",
            "| buffer | median ratio |",
            "|---|---|",
            *(f"| {_size(size)} | {ratio:.3f} |" for size, ratio in median_ratios(found.rows).items()),
        ],
        "## PEEMEN's overhead over ours, percent (Fig. 5), and CACHE over ours": [
            "| reading | network | " + " | ".join(_size(size) for size in sizes) + " |",
            "|---|---|" + "---|" * len(sizes),
            *_by_network(found.sums, sizes),
        ],
        "## The readings of Fig. 8 at 1 KiB": _nests(found),
        **({"## The loop orders at each buffer size (Fig. 7)": _orders(found.orders)} if found.orders else {}),
        "## Exceptions to ours <= PEEMEN <= CACHE": _exceptions(found.rows) or ["None."],
        "## Rows without a fitting line buffer (Fig. 10)": [
            f"- {pair.layer}: HWCE needs {pair.hwce_need} bytes; {_striped(pair)}" for pair in absent
        ]
        or ["None."],
        "## Files": [FILES_TEXT]
        + (
            ["- `fig7.csv` (each layer), `fig7_sizes.csv`, `fig7.png`, `fig7.svg`: quality of the 180 loop orders"]
            if found.quality
            else []
        ),
    }
    return "\n".join(line for title, lines in sections.items() for line in (title, "", *lines, ""))


def _by_network(sums: Sequence[Traffic], sizes: Sequence[int]) -> list[str]:
    cells = {(row.reading, row.network, row.buffer_bytes): row for row in sums}
    lines = []
    for reading, network in dict.fromkeys((row.reading, row.network) for row in sums):
        row = [cells[reading, network, size] for size in sizes]
        found = [
            "none fits" if one.peemen_overhead is None or one.cache_factor is None
            else f"{one.peemen_overhead:.1f} %, {one.cache_factor:.2f}x"
            for one in row
        ]  # fmt: skip
        lines.append(f"| {reading} | {network} | " + " | ".join(found) + " |")
    return lines


def _nests(found: Found) -> list[str]:
    lines = [
        "Sums over the layers. *of the optima*: of the best schedules without hardware at the same size.",
        "",
        "| nest | memory | I, W, O bytes | layers | bytes | of the optima | cycles | mean utilisation |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for one in _sums(found):
        over = "" if one.of_the_optima is None else f"{one.of_the_optima:.3f}"
        lines.append(
            f"| {one.nest} | {one.division} | {one.memories} | {one.layers} | {one.bytes:,} | {over} | "
            f"{one.cycles:,} | {one.utilisation:.3f} |"
        )
    return [*lines, "", *_nests_by_layer(found)]


def _nests_by_layer(found: Found) -> list[str]:
    """Bytes and cycles of every layer, all readings with both divisions side by side."""
    columns = [(nest, division) for nest in NESTS for division in DIVISIONS]
    rows: dict[str, dict[tuple[str, str], LayerInNest]] = {}
    for one in found.nests:
        rows.setdefault(one.layer, {})[one.nest, one.division] = one
    lines = [
        "By layer, bytes and cycles:",
        "",
        f"| layer | {' | '.join(f'{nest}, {division}' for nest, division in columns)} |",
        "|---" * (1 + len(columns)) + "|",
    ]
    for layer, own in rows.items():
        cells = [f"{own[column].bytes:,}, {own[column].cycles:,}" if column in own else "-" for column in columns]
        lines.append(f"| {layer} | {' | '.join(cells)} |")
    return lines


def _sums(found: Found) -> list[NestSum]:
    least = {row.layer: row.ours for row in found.rows if (row.reading, row.buffer_bytes) == ("bytes", HWC_BYTES)}
    return nest_sums(found.nests, least)


def _orders(orders: Sequence[OrderSummary]) -> list[str]:
    lines = [
        ORDERS_TEXT,
        "",
        "| buffer | tiles | optimal | median | to 10 % above | to 20 % | to 50 % | to 100 % | more | everywhere |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for one in orders:
        shares = (one.optimal, one.median_optimal, one.within_10, one.within_20, one.within_50, one.within_100,
                  one.beyond)  # fmt: skip
        cells = " | ".join(f"{share:.1f}" for share in shares)
        lines.append(f"| {_size(one.buffer_bytes)} | {one.tiles} | {cells} | {one.everywhere} |")
    return lines


def _exceptions(rows: Sequence[Traffic]) -> list[str]:
    return [
        f"- {row.layer}, {_size(row.buffer_bytes)}, {row.reading}: {row.ours}, {row.peemen}, {row.cache}"
        for row in exceptions(rows)
    ]


def _striped(pair: Engines) -> str:
    if pair.stripe is None or pair.hwce_striped is None:
        return "no stripe fits either"
    return f"in stripes of {pair.stripe} columns it moves {pair.hwce_striped} bytes, {pair.hwce} with whole rows"


def _size(size: int) -> str:
    return f"{size >> 10} KiB" if size % 1024 == 0 else f"{size} B"
