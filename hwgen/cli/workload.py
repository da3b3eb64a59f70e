"""Options of commands that work on schedules, or a layer set that is scheduled first."""

from collections.abc import Sequence
from typing import Annotated

import typer

from hwgen.api.work import (
    MOST_SLACK,
    SHARED_SLACK,
    TRAFFIC_SLACK,
    Balance,
    Cost,
    SetObjective,
    Work,
    time_and_area,
    time_text,
)
from hwgen.cli.coverage import tell_activations
from hwgen.cli.jobs import hardware_names, hierarchy_names, set_names

__all__ = [
    "MOST_SLACK",
    "BufferOption",
    "FillsOption",
    "FittedOption",
    "HardwareOption",
    "HierarchyOption",
    "ObjectiveOption",
    "PerLayer",
    "ResidentOption",
    "SlackOption",
    "Workload",
    "tell_balance",
    "tell_set",
]

Workload = Annotated[
    list[str],
    typer.Argument(
        metavar="SCHEDULE...|SET", help="Schedule files, folders of them, or one layer set.", autocompletion=set_names
    ),
]
BufferOption = Annotated[
    str | None,
    typer.Option(
        "--buffer",
        metavar="SIZE",
        help="Local buffers of the HWC, for a SET: 1KiB by default, on --hardware its own, which is the most.",
    ),
]
HardwareOption = Annotated[
    str | None,
    typer.Option(
        "--hardware",
        metavar="FILE",
        help="A hardware file, or a built-in name: what the schedules run on.",
        autocompletion=hardware_names,
    ),
]
HierarchyOption = Annotated[
    str | None,
    typer.Option(
        "--hierarchy",
        metavar="FILE",
        help="A hierarchy file, or a built-in name: the memories whose levels the markers name.",
        autocompletion=hierarchy_names,
    ),
]
FillsOption = Annotated[
    bool, typer.Option("--fills", help="With --hierarchy: energy of the writes into the level that receives, too.")
]
ObjectiveOption = Annotated[
    SetObjective | None,
    typer.Option(
        "--objective",
        help="For a SET: cycles, the default with --hardware: the least traffic within half a percent of the fewest "
        "cycles; balanced, the default without: the fewest cycles within the slack of the least traffic, where one "
        "HWC is found for all the least time (cycles over the estimated clock), then area; traffic: the least. On a "
        "cluster at the DRAM.",
    ),
]
SlackOption = Annotated[
    float | None,
    typer.Option(
        "--traffic-slack",
        min=0,
        max=MOST_SLACK,
        metavar="SHARE",
        help=f"With balanced: traffic above the least, at most ({TRAFFIC_SLACK:g}; a shared HWC: {SHARED_SLACK:g}).",
    ),
]
PerLayer = Annotated[
    bool, typer.Option("--per-layer", help="Hardware for each layer of a SET instead of one for all.")
]


FittedOption = Annotated[
    bool, typer.Option("--fitted", help="As narrow as the layers allow; settings that they have alike are constants.")
]
ResidentOption = Annotated[
    bool,
    typer.Option(
        "--resident",
        help="Of a quantised network on a cluster: feature maps that fit stay in the TCDM from node to node.",
    ),
]


def tell_set(works: Sequence[Work]) -> None:
    """Print what all layers of a set have in common: what was weighed, and activations that run as another one."""
    tell_balance(works[0].balance, time_and_area(works[0].balance, works[0].hardware))
    if works[0].coverage is not None:
        tell_activations(works[0].coverage)


def _time(cost: Cost) -> str:
    """The time of what is compared by time."""
    return "" if cost.mhz is None else f", {time_text(cost.cycles, cost.mhz)}"


def tell_balance(balance: Balance | None, by: str | None) -> None:
    """The same as a sentence; ``by`` : what one HWC for all layers was chosen by (`time_and_area`)."""
    if balance is None:
        return
    if by is not None:
        typer.echo(by)
    chosen, least, fewest = balance.chosen, balance.least_traffic, balance.fewest_cycles
    typer.echo(
        f"Chosen: {chosen.total_bytes:,} bytes in {chosen.cycles:,} cycles. The least traffic is "
        f"{least.total_bytes:,} bytes in {least.cycles:,} cycles{_time(least)} (--objective traffic); the fewest "
        f"cycles found are {fewest.cycles:,}{_time(fewest)}, with {fewest.total_bytes:,} bytes."
    )
    if balance.within_slack is not None:
        typer.echo(
            f"All {balance.timed:,} of the space searched that are within the slack were timed: none is faster."
        )
    else:
        typer.echo(f"{balance.timed:,} within the slack were timed, the others estimated: one of them may be faster.")
