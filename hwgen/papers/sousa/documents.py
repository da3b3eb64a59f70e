"""The tables and the summary of the Sousa 2022 figures as text."""

from collections.abc import Mapping, Sequence

from hwgen.papers.claims import Claim, claims_table
from hwgen.papers.documents import csv_text
from hwgen.papers.own_cluster import OwnRun, own_runs
from hwgen.papers.sousa.own_hardware import OWN_TEXT, JudgedLayer, judged_lines, own_models
from hwgen.papers.sousa.rows import MODELS, PUBLISHED, LayerRow, ModelRow

__all__ = ["mapping_files", "mapping_readme"]

SETTING_TEXT = """\
Four clusters of eight cores, three memories of 8 KB a core, 16-bit elements, one DRAM: bursts of 128 bytes, 14 ns to
the first byte, 14 ns for the rest; MACs and transfers one after the other (Eq. 6). Both objectives search all
slicings, schedules and tiles of their Algorithms 1 to 3. *published*: every tile counts as a whole one (Eq. 1, 3-5,
7-9). *exact*: tiles at the edges as large as they are, halos clipped to the image.

Without bursts many mappings tie. The one with the largest input tile is taken, then the first in the order of rows,
columns, channels: that gives the tiles that the paper prints. *kindest*: the fastest of them with bursts; *first*: as
their Algorithm 3 reads."""

FILES_TEXT = """\
- `table2.csv`, `layers.csv`: times of each network and each layer; `own_layers.csv`: thousands of cycles on our own
  cluster; `judged.csv`: layers of which the cycle model of our cluster judges both mappings
- `fig5.png`, `fig6.png`, `fig7.png`, the same as `.svg`: speedups; what times are made of; MACs a second by MACs a
  byte"""

SYSTEM_FILES_TEXT = """\
- `system.json`, `system.csv`: every layer on four clusters of each hardware; `mappings.jsonl`: each run, kept as
  soon as it was there; `fig7_HARDWARE.png`, `.svg`: their MACs a cycle by MACs a byte"""

COLUMNS = (
    "reading",
    "network",
    "burst",
    "bytes",
    "first",
    "kindest",
    "KS",
    "KS&OFM",
    "OFM",
    "IS",
    "OS",
    "WS",
    "unfit",
)


def mapping_files(
    layers: Sequence[LayerRow],
    models: Sequence[ModelRow],
    own: Sequence[LayerRow],
    judged: Sequence[JudgedLayer],
    runs: Sequence[OwnRun],
) -> dict[str, str]:
    """The CSV files by name."""
    files = {
        "table2.csv": csv_text(models, ("speedup", "speedup_kindest", "speedup_first")),
        "layers.csv": csv_text(layers, ("speedup", "macs_per_byte", "gmacs")),
        "own_layers.csv": csv_text(own, ("speedup",)),
    }
    if judged:
        files["judged.csv"] = csv_text(judged, ("gain",))
    return files | ({"rtl.csv": csv_text(runs, ())} if runs else {})


def mapping_readme(
    models: Sequence[ModelRow],
    stated: Sequence[Claim],
    own: Sequence[ModelRow],
    judged: Sequence[JudgedLayer],
    runs: Sequence[OwnRun],
    systems: Mapping[str, Sequence[str]],
) -> str:
    """The summary as Markdown: claims beside findings, Table II, the clusters (``systems``), the files."""
    sections = {
        "# Sousa et al. 2022, computed anew": [
            "Every figure here was computed; the published ones are quoted in the second column of the first table,",
            "and in the lines *paper* of the second.",
            "",
            SETTING_TEXT,
        ],
        "## Claims": claims_table(stated),
        "## Table II": [
            "Microseconds; convolutions only.",
            "",
            f"| {' | '.join(COLUMNS)} |",
            "|---" * len(COLUMNS) + "|",
            *_lines(models),
        ],
        "## On our own cluster": [
            OWN_TEXT,
            "",
            *own_models(own),
            *(["", *judged_lines(judged)] if judged else []),
            *(["", *own_runs(runs)] if runs else []),
        ],
        **{f"## On four clusters of {name}": lines for name, lines in systems.items()},
        "## Files": [FILES_TEXT + (f"\n{SYSTEM_FILES_TEXT}" if systems else "")],
    }
    return "\n".join(line for title, lines in sections.items() for line in (title, "", *lines, ""))


def _lines(models: Sequence[ModelRow]) -> list[str]:
    lines = []
    for network in dict.fromkeys(row.network for row in models):
        paper = PUBLISHED[network]
        times = (paper.burst, paper.volume, "", "", *paper.slicings, *paper.flows, "")
        lines.append(f"| paper | {MODELS[network]} | {' | '.join(map(str, times))} |")
        for row in models:
            if row.network == network:
                found = (row.burst, row.volume, row.first, row.kindest, *row.slicings, *row.flows)
                cells = " | ".join(f"{time:.0f}" for time in found)
                lines.append(f"| {row.reading} | {MODELS[network]} | {cells} | {row.unfit} |")
    return lines
