"""The tables and the summary of the Yang 2016 figures."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from hwgen.papers.claims import Claim, claims_table, of_a_part
from hwgen.papers.documents import csv_text
from hwgen.papers.yang.caches import CacheRow, Measured, cache_claims
from hwgen.papers.yang.claims import blocking_claims, unjudged_claims
from hwgen.papers.yang.design_claims import core_claims, design_claims
from hwgen.papers.yang.designs import LARGE, CoreRow, DesignRow
from hwgen.papers.yang.rows import BENCHMARKS, EnergyRow, NetworkRow, OnDianNao

__all__ = ["Computed", "blocking_files", "blocking_readme", "stated"]

SETTING_TEXT = """\
Layers Conv1 to Conv5 of Table 4 at full size. *DianNao*: 2 KB for inputs, 32 KB for weights, 2 KB for outputs,
16 x 16 multipliers, 16 bits. Energies are those of Table 3 and of the DRAM; 0.9 pJ for a multiply-accumulate is ours.
*baseline*: DianNao's loops with one more block of columns; *best*: the least energy that was found over orders, tile
sizes and buffer places, with the gap to a proven lower bound; both in accesses of 64 bits.

*Designed* (Fig. 6 to 9): the same multipliers, and up to three memories of each operand on chip, as large as the
schedule asks for, all together within a budget of bytes. Each layer has memories of its own. Accesses have 512 bits,
the widest of Table 3, or 64; DianNao is compared at either width, since the text does not say which one it has. The
least energy found: no proof."""

NO_CACHES = """\
Not counted here. `make cpu` counts them: it runs the layers under cachegrind, from our schedules and through ATLAS
and MKL, and leaves `results/cpu/accesses.csv`. With that file, or another one that `--cpu` names, this command draws
Fig. 3 and 4 and judges what the paper states of them."""

SLICES = """\
Accesses of L2 and L3, as `make cpu` counted them: lines of 64 bytes, reads and writes, in caches of 32 KB, 256 KB and
12 MB that cachegrind simulates. *share*: the part of the layer that was run; ratios of a whole layer may differ."""

FILES_TEXT = """\
- `table1.csv`: multiply-accumulates and weights of networks; `table3.csv`: pJ for 16 bits by size and width, those
  that are printed and those that are ours (below 1 KiB, above 1 MiB)
- `fig5.csv`: pJ of each layer, memory and operand on DianNao; `fig6_7_8.csv`: the same with memories designed, for
  each budget of bytes, and the memories; `fig9.csv`: pJ of Conv1 on 1 to 8 cores, by what is shared
- `fig3_4.csv`, if caches were counted: accesses by layer and program
- `fig3` to `fig9`, each as `.png` and `.svg`"""


@dataclass(frozen=True)
class Computed:
    """All rows; ``seeded``: see `hwgen.papers.yang.rows.seeded_over_enumerated`; ``caches``: None if not counted."""

    networks: Sequence[NetworkRow]
    energies: Sequence[EnergyRow]
    on_diannao: Sequence[OnDianNao]
    seeded: Mapping[str, float]
    designs: Sequence[DesignRow]
    cores: Sequence[CoreRow]
    caches: Sequence[Measured] | None

    @property
    def cache_rows(self) -> list[CacheRow]:
        """The rows of the caches, by layer and program."""
        return [row for layer in self.caches or () for row in layer.counts.values()]


def stated(computed: Computed) -> list[Claim]:
    """All claims, by figure."""
    caches = (
        [Claim("Fig. 3, 4", "fewer accesses of L2 and L3 than ATLAS and MKL", "-", NO_CACHES.replace("\n", " "))]
        if computed.caches is None
        else cache_claims(computed.caches)
    )
    blocking = blocking_claims(computed.networks, computed.on_diannao, computed.seeded)
    designs = design_claims(computed.designs, computed.on_diannao)
    of_layers = [*blocking, *designs]
    if len(computed.seeded) < len(BENCHMARKS):
        of_layers = [*map(of_a_part, of_layers)]
    found = [*of_layers[: len(blocking)], *caches, *of_layers[len(blocking) :]]
    return [*found, *core_claims(computed.cores), *unjudged_claims()]


def blocking_files(computed: Computed) -> dict[str, str]:
    """The CSV files by name."""
    files = {
        "table1.csv": csv_text(computed.networks),
        "table3.csv": csv_text(computed.energies),
        "fig5.csv": csv_text(computed.on_diannao, ("dram", "memory")),
        "fig6_7_8.csv": csv_text(computed.designs, ("dram", "memory", "share", "gain")),
    }
    if computed.cores:
        files["fig9.csv"] = csv_text(computed.cores, ("on_chip", "large"))
    if computed.caches is not None:
        files["fig3_4.csv"] = csv_text(computed.cache_rows)
    return files


def blocking_readme(computed: Computed, claims: Sequence[Claim]) -> str:
    """The summary as Markdown: claims beside findings, figures as tables, and what is in which file."""
    sections = {
        "# Yang et al. 2016, computed anew": [
            "Every figure here was computed; the published ones are quoted in the second column of the first table.",
            "",
            SETTING_TEXT,
        ],
        "## Claims": claims_table(claims),
        "## Fig. 3 and 4": _caches(computed),
        "## Fig. 5": [
            "mJ by operand, of the DRAM and of the buffers, and of the multiply-accumulates.",
            "",
            "| layer | schedule | DRAM I | W | O | buffers I | W | O | MACs | memory / MACs | gap |",
            "|---|---|---|---|---|---|---|---|---|---|---|",
            *(_line(row) for row in computed.on_diannao),
        ],
        "## Fig. 6 and 8": [
            "Within 8 MB: mJ as above; *gain*: how many times less than DianNao with its best schedule; memories in",
            "bytes, from the outside inward.",
            "",
            "| layer | images | bits | DRAM I | W | O | on chip I | W | O | MACs | memory / MACs | gain | memories |",
            "|---|---|---|---|---|---|---|---|---|---|---|---|---|",
            *(_design(row) for row in computed.designs if row.budget == LARGE),
        ],
        "## Files": [FILES_TEXT],
    }
    return "\n".join(line for title, lines in sections.items() for line in (title, "", *lines, ""))


def _caches(computed: Computed) -> list[str]:
    if computed.caches is None:
        return [NO_CACHES]
    return [
        SLICES,
        "",
        "| layer | share | program | L2 | L3 |",
        "|---|---|---|---|---|",
        *(
            f"| {row.layer} | {100 * row.share:.2g} % | {row.program} | {row.l2:,} | {row.l3:,} |"
            for row in computed.cache_rows
        ),
    ]


def _cells(row: OnDianNao | DesignRow) -> str:
    figures = (row.dram_i, row.dram_w, row.dram_o, row.sram_i, row.sram_w, row.sram_o, row.mac)
    return " | ".join(f"{figure / 1e9:.4g}" for figure in figures)


def _line(row: OnDianNao) -> str:
    gap = "" if row.gap is None else f"{100 * row.gap:.1f} %"
    return f"| {row.layer} | {row.schedule} | {_cells(row)} | {row.memory / row.mac:.1f} | {gap} |"


def _design(row: DesignRow) -> str:
    gain = "" if row.gain is None else f"{row.gain:.1f}"
    head = f"| {row.layer} | {row.images} | {row.width} | {_cells(row)}"
    return f"{head} | {row.share:.2f} | {gain} | {row.memories} |"
