"""What commands share that run depth-first: options, and what is predicted, as a table."""

from collections.abc import Mapping, Sequence
from typing import Annotated

import typer

from hwgen.api.depth_first import MACS, MOST_MACS, StackPrediction
from hwgen.api.depth_first_networks import Cut, DepthFirstForecast
from hwgen.cli.console import print_table, printable
from hwgen.cli.jobs import hardware_names

__all__ = [
    "DepthFirstOption",
    "DramOption",
    "MacsOption",
    "MemoryOption",
    "UntilOption",
    "print_cuts",
    "print_depth_first_forecast",
    "print_host",
    "print_stack_prediction",
]

DepthFirstOption = Annotated[
    bool,
    typer.Option(
        "--depth-first", help="Of a model: what it begins with on pipelines, the rest on --hardware or the host."
    ),
]

MemoryOption = Annotated[
    str | None,
    typer.Option(
        "--memory",
        metavar="SIZE",
        help="With --depth-first: bytes on chip, at most, such as 16KiB; if not given, what the least traffic needs.",
    ),
]

MacsOption = Annotated[
    int | None,
    typer.Option(
        "--macs", min=1, max=MOST_MACS, help=f"Multipliers of each depth-first pipeline: {MACS} by default."
    ),
]

DramOption = Annotated[
    str | None,
    typer.Option(
        "--dram",
        metavar="FILE",
        help="Pipelines with movers, on the DRAM of the cluster in this hardware file or built-in.",
        autocompletion=hardware_names,
    ),
]


UntilOption = Annotated[
    str | None, typer.Option("--until", metavar="NODE", help="With --depth-first: the last node that runs so.")
]


def print_stack_prediction(found: StackPrediction) -> None:
    """Print what every stack holds, moves and takes."""
    rows: list[list[object]] = [
        [one["stack"], one["factor"], *one["memory"].values(), *one["traffic"].values(), one["total_bytes"],
         one["cycles"]]
        for one in found.stacks
    ]  # fmt: skip
    kinds = [kind.replace("_", " ") for kind in found.stacks[0]["traffic"]]
    rows.append(["all", None, *[None] * (3 + len(kinds)), found.bytes, found.cycles])
    columns = ["stack", "tiles", "rings", "in flight", "resident weights", *kinds, "bytes", "cycles"]
    title = f"Depth-first execution of {found.network} ({found.file}), in bytes"
    print_table(title, columns, rows, wide=["in flight", *kinds])


def print_depth_first_forecast(found: DepthFirstForecast) -> None:
    """Print the stacks that a network begins with, and what the host does."""
    rest = found.planned.rest
    if rest is not None:
        print_cuts(rest.cuts, found.planned.beginning.nodes[-1])
    print_stack_prediction(found.stacks)
    if rest is not None:
        of_rest = rest.document()
        typer.echo(
            f"{len(rest.here)} nodes on {rest.machine.name}: {of_rest['cycles']:,} cycles, {of_rest['bytes']:,} bytes"
        )
        typer.echo(f"Stacks, then {rest.machine.name}: {found.cycles:,} cycles, {found.bytes:,} bytes")
    print_host(found.planned.host)


def print_cuts(cuts: Sequence[Cut], last: str) -> None:
    """Print how much of a network might run depth-first, and what that is drafted to take; ``last`` : what does."""
    rows: list[list[object]] = [
        [f"{cut.last}{' *' if cut.last == last else ''}", cut.nodes, cut.stacks, cut.rest, cut.cycles, cut.bytes]
        for cut in cuts
    ]
    columns = ["depth-first up to", "nodes", "cycles of stacks", "of the rest, about", "of both", "bytes of stacks"]
    print_table("How much runs depth-first", columns, rows, wide=["bytes of stacks"])


def print_host(host: Mapping[str, str]) -> None:
    """Print why nodes are the host's, a line each."""
    for name, reason in host.items():
        typer.echo(printable(f"host: {name} ({reason})"))
