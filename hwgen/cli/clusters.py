"""Options of commands that put layers, or images of a network, on several clusters."""

from typing import Annotated

import typer

from hwgen.api.sharing import MOST_MASTERS

__all__ = ["ClustersOption", "ImageOnEachOption", "PartitionOption", "ShareOrImageOption"]

ClustersOption = Annotated[
    int | None,
    typer.Option(
        "--clusters",
        metavar="N",
        help=f"Number of clusters on one DRAM, 2 to {MOST_MASTERS}; each computes a share of a layer.",
    ),
]
ShareOrImageOption = Annotated[
    int | None,
    typer.Option(
        "--clusters",
        metavar="N",
        help=f"Number of clusters on one DRAM, 2 to {MOST_MASTERS}; each computes a share of a layer, or of a "
        "quantised network an image of its own.",
    ),
]
ImageOnEachOption = Annotated[
    int | None,
    typer.Option(
        "--clusters",
        metavar="N",
        help=f"Number of clusters on one DRAM, 2 to {MOST_MASTERS}; each runs an image of its own at the same time.",
    ),
]
PartitionOption = Annotated[
    str | None,
    typer.Option(
        "--partition",
        metavar="KS|OFM|KS+OFM",
        help="With --clusters: shares by output channels (KS), output rows (OFM) or both; the fastest of them by the "
        "cycle model unless given.",
    ),
]
