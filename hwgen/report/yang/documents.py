"""The tables, the summary and the plot of the Yang 2016 figures."""

from collections.abc import Sequence

from matplotlib.figure import Figure

from hwgen.ir.schedule import ARRAYS
from hwgen.report.claims import Claim, claims_table
from hwgen.report.documents import csv_text
from hwgen.report.yang.rows import EnergyRow, NetworkRow, OnDianNao

__all__ = ["blocking_5", "blocking_files", "blocking_readme"]

SETTING_TEXT = """\
Layers Conv1 to Conv5 of Table 4 at full size, on the memories of DianNao: 2 KB for inputs, 32 KB for weights, 2 KB
for outputs, 16 x 16 multipliers, 16 bits. Energies are those of Table 3 for accesses of 64 bits and of the DRAM.
*baseline*: DianNao's loops with one more block of columns; *best*: the least energy that was found over orders, tile
sizes and buffer places, with the gap to a proven lower bound."""

FILES_TEXT = """\
- `table1.csv`: multiply-accumulates of networks; `table3.csv`: pJ for 16 bits by size and width, those that are
  printed and those that are ours (below 1 KiB, above 1 MiB); `fig5.csv`: pJ of each layer, memory and operand
- `fig5.png`, the same as `.svg`: energy of each layer with both schedules"""


def blocking_files(
    networks: Sequence[NetworkRow], energies: Sequence[EnergyRow], rows: Sequence[OnDianNao]
) -> dict[str, str]:
    """The CSV files by name."""
    return {
        "table1.csv": csv_text(networks),
        "table3.csv": csv_text(energies),
        "fig5.csv": csv_text(rows, ("dram", "memory")),
    }


def blocking_readme(rows: Sequence[OnDianNao], stated: Sequence[Claim]) -> str:
    """The summary as Markdown: claims beside findings, Fig. 5 as a table, and what is in which file."""
    sections = {
        "# Yang et al. 2016, computed anew": [
            "Every figure here was computed; the published ones are quoted in the second column of the first table.",
            "",
            SETTING_TEXT,
        ],
        "## Claims": claims_table(stated),
        "## Fig. 5": [
            "mJ by operand, of the DRAM and of the buffers, and of the multiply-accumulates.",
            "",
            "| layer | schedule | DRAM I | W | O | buffers I | W | O | MACs | memory / MACs | gap |",
            "|---|---|---|---|---|---|---|---|---|---|---|",
            *(_line(row) for row in rows),
        ],
        "## Files": [FILES_TEXT],
    }
    return "\n".join(line for title, lines in sections.items() for line in (title, "", *lines, ""))


def _line(row: OnDianNao) -> str:
    figures = (row.dram_i, row.dram_w, row.dram_o, row.sram_i, row.sram_w, row.sram_o, row.mac)
    cells = " | ".join(f"{figure / 1e9:.3f}" for figure in figures)
    gap = "" if row.gap is None else f"{100 * row.gap:.1f} %"
    return f"| {row.layer} | {row.schedule} | {cells} | {row.memory / row.mac:.1f} | {gap} |"


def blocking_5(rows: Sequence[OnDianNao]) -> Figure:
    """Energy by operand and memory: left bars with the baseline schedule, right bars with the best one."""
    names = list(dict.fromkeys(row.layer for row in rows))
    figure = Figure(figsize=(9, 4), layout="constrained")
    axes = figure.subplots()
    colours = dict(zip(ARRAYS, ("tab:blue", "tab:orange", "tab:green"), strict=True))
    for shift, called in ((-0.2, "baseline"), (0.2, "best")):
        own = [row for row in rows if row.schedule == called]
        bottom = [0.0] * len(names)
        for memory, hatch in (("dram", ""), ("sram", "//")):
            for operand, colour in colours.items():
                heights = [
                    getattr(row, f"{memory}_{operand.lower()}") / (first.memory + first.mac)
                    for row, first in zip(own, rows[::2], strict=True)
                ]
                label = f"{operand}, {'DRAM' if memory == 'dram' else 'buffer'}" if called == "baseline" else None
                places = [place + shift for place in range(len(names))]
                axes.bar(places, heights, width=0.36, bottom=bottom, color=colour, hatch=hatch, label=label)
                bottom = [low + height for low, height in zip(bottom, heights, strict=True)]
    axes.set_xticks(range(len(names)), names)
    axes.set(title="DianNao: baseline schedule (left) and best (right)", ylabel="energy, baseline and its MACs = 1")
    axes.legend(loc="upper left", bbox_to_anchor=(1, 1))
    return figure
