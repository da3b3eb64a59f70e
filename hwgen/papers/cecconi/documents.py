"""The tables and the summary of the Cecconi 2017 figures as text."""

from collections.abc import Sequence

from hwgen.papers.cecconi.own_hardware import WayRow
from hwgen.papers.cecconi.rows import (
    ELEMENT_BYTES,
    MEMORY_BYTES,
    PAPER_COST,
    PUBLISHED_FILL,
    TilingRow,
    tiling_totals,
)
from hwgen.papers.cecconi.transfers import TransferRow, transfer_table
from hwgen.papers.cecconi.ways import way_table
from hwgen.papers.claims import Claim, claims_table
from hwgen.papers.documents import csv_text
from hwgen.papers.own_cluster import OwnRun, own_runs

__all__ = ["tiling_files", "tiling_readme"]

MODELS_TEXT = """\
A transfer of n elements in s runs costs C + s p + n t cycles; tiles move in the order of their Listing 1.1; the
tiles of all operands fit half of the memory. *published*: Eq. 2-6, tiles that divide the map, no halo, the output
read and written for every input tile. *exact*: any tile, halos and edges counted to the run, padding not fetched,
partial sums read only where there are some. *Naive* tiles: all that fill at least 80 % of half the memory."""

COLUMNS = (
    "(C, p, t)",
    "model",
    "layer",
    "best tile",
    "fill %",
    "naive tiles",
    "best",
    "least naive",
    "median",
    "most",
    "median / best",
    "Table 1: naive, best %",
)

DMA_TEXT = """\
(C, p, t) other than (100, 10, 1) are what `hwgen calibrate` measured of our own DMA's loads, in cycles, t for an
element of four bytes; its stores are charged the same."""

FILES_TEXT = """\
- `fig3.csv`, `fig3.png`, `fig3.svg`: cycles of our own cluster, by layer, tiles and way of moving them
- `transfers.csv`: transfers of the best and of a naive tile by our own DMA, computation off, by layer
- `fig4.csv`, `fig4_layers.csv`, `fig4.png`, `fig4.svg`: best and naive tiles, over all layers and by layer"""


OWN_TEXT = """\
What ran, at both levels of memory and with every output compared. *model's cycles* are C + s p + n t of all transfers
with the (C, p, t) of the cluster's DMA. Without buffering a part of the layer was run: its first rows, 16 filters."""


def tiling_files(
    rows: Sequence[TilingRow], ways: Sequence[WayRow], transfers: Sequence[TransferRow]
) -> dict[str, str]:
    """The CSV files by name."""
    derived = ("ratio", "ratio_most")
    return {
        "fig3.csv": csv_text(ways),
        "transfers.csv": csv_text(transfers, ("bytes_a_cycle",)),
        "fig4_layers.csv": csv_text(rows, derived),
        "fig4.csv": csv_text(tiling_totals(rows), derived),
    }


def tiling_readme(
    rows: Sequence[TilingRow],
    stated: Sequence[Claim],
    ways: Sequence[WayRow],
    scale: str,
    transfers: Sequence[TransferRow],
    moved: str,
    runs: Sequence[OwnRun] = (),
) -> str:
    """The summary as Markdown: claims beside findings, every layer, what ran in the RTL, what is in which file."""
    sections = {
        "# Cecconi, Smets, Benini, Verhelst 2017, computed anew": [
            f"FlowNet S, {ELEMENT_BYTES}-byte elements, {MEMORY_BYTES >> 10} KiB on chip. Every figure here was",
            "computed; the published ones are quoted in the second column of the first table, and in the last one of",
            "the second.",
            "",
            MODELS_TEXT,
            *(["", DMA_TEXT] if any(row.cost != PAPER_COST for row in rows) else []),
        ],
        "## Claims": claims_table(stated),
        "## Layers": [
            "Costs in million cycles for (C, p, t). A tile: output rows x output columns x input channels x filters.",
            "",
            f"| {' | '.join(COLUMNS)} |",
            "|---" * len(COLUMNS) + "|",
            *map(_row, rows),
        ],
        "## Transfers alone, on our own DMA": transfer_table(transfers, moved),
        "## Three ways of moving data, on our own cluster": way_table(ways, scale),
        **({"## In the RTL": [OWN_TEXT, "", *own_runs(runs)]} if runs else {}),
        "## Files": [FILES_TEXT],
    }
    return "\n".join(line for title, lines in sections.items() for line in (title, "", *lines, ""))


def _row(row: TilingRow) -> str:
    costs = [f"{cost / 1e6:.2f}" for cost in (row.best, row.least, row.median, row.most)]
    tile = f"{row.rows} x {row.columns} x {row.input_channels} x {row.filters}"
    naive, best = PUBLISHED_FILL.get(row.layer, ("", ""))
    return (
        f"| {row.cost} | {row.kind} | {row.layer} | {tile} | {row.fill:.0f} | {row.number:,} | "
        f"{' | '.join(costs)} | {row.ratio:.2f} | {naive}, {best} |"
    )
