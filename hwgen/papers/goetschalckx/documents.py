"""The tables and the summary of the Goetschalckx 2019 figures as text."""

from collections.abc import Sequence

from hwgen.ir.document import dump_yaml
from hwgen.papers.claims import Claim, claims_table
from hwgen.papers.documents import csv_text
from hwgen.papers.goetschalckx.rows import FIG5, NETWORKS, VARIANTS, BoundRow, Computed, front_rows, stack_rows
from hwgen.search.pipeline.files import front_data

__all__ = ["depth_first_files", "depth_first_readme"]

KEPT = (FIG5, "default, to 64")
"""The variants whose solutions are written to files."""

RULES_TEXT = """\
An element is a feature or a weight. *published*: long skips go through DRAM, short ones are free and never cut,
tiling factors are powers of two, weights resident or fetched once for each stack. *default*: every skip is paid for,
in its map's ring or through DRAM, whichever is better; cuts anywhere; factors 1 to 64. Both fronts are exact: over
all cuts."""

FILES_TEXT = """\
- `fig5.csv`, `fig5_bound.csv`, `fig5.png`, `fig5.svg`: memory against traffic, those of Fig. 7 included
- `fig6.csv`, `fig6.png`, `fig6.svg`: the stacks of every point of SRGAN
- `fig7.png`, `fig7.svg`: VGG-E's first five convolutions, FSRCNN
- `fronts/*.yaml`: the solution of each point"""


def depth_first_files(computed: Computed, bounds: Sequence[BoundRow]) -> dict[str, str]:
    """The CSV and YAML files by name."""
    files = {"fig5.csv": csv_text(front_rows(computed)), "fig5_bound.csv": csv_text(bounds)}
    stacks = [
        row
        for network, resolution in computed.graphs
        if network == "srgan"
        for row in stack_rows(computed.front(network, resolution), network, resolution)
    ]
    if stacks:
        files["fig6.csv"] = csv_text(stacks)
    for (network, resolution, variant), front in computed.fronts.items():
        if variant in KEPT:
            files[f"fronts/{network}_{resolution}_{front.rules}.yaml"] = dump_yaml(front_data(front))
    return files


def depth_first_readme(computed: Computed, stated: Sequence[Claim]) -> str:
    """The summary in Markdown: claims beside findings, the ends of every front, and the contents of the files."""
    sections = {
        "# Goetschalckx, Verhelst 2019, computed anew": [
            "Every figure here was computed; the published ones are quoted in the second column of the first table",
            "only.",
            "",
            RULES_TEXT,
        ],
        "## Claims": claims_table(stated),
        "## The ends of the fronts": [
            "| network | resolution | front | points | least memory, traffic | memory, least traffic |",
            "|---|---|---|---|---|---|",
            *_ends(computed),
        ],
        "## Files": [FILES_TEXT],
    }
    return "\n".join(line for title, lines in sections.items() for line in (title, "", *lines, ""))


def _ends(computed: Computed) -> list[str]:
    lines = []
    for variant in VARIANTS:
        for network, resolution in computed.graphs:
            points = computed.front(network, resolution, variant).points
            first, last = points[0], points[-1]
            lines.append(
                f"| {NETWORKS.get(network, network)} | {resolution} | {variant} | {len(points)} | "
                f"{first.memory:,}, {first.traffic:,} | {last.memory:,}, {last.traffic:,} |"
            )
    return lines
