"""``hwgen schedule``: the best schedule of every layer for every buffer size, with the figures of its proof."""

from pathlib import Path
from typing import Annotated

import typer

from hwgen.api.scheduling.request import OBJECTIVES, ScheduleRequest
from hwgen.cli.commands.layers import LayerSet
from hwgen.cli.console import Json, print_json
from hwgen.cli.coverage import Partial
from hwgen.cli.jobs import MEMORY_OF_A_SEARCH, jobs_option
from hwgen.cli.printers.plans import print_plan
from hwgen.cli.workload import FillsOption, HardwareOption, HierarchyOption, PerLayer, SlackOption

__all__ = ["schedule"]

Buffers = Annotated[
    str | None,
    typer.Option(
        "--buffer",
        metavar="SIZE[,SIZE...]",
        help="Sizes such as 512 or 1KiB,4KiB; by default that of --hardware, the most where its buffers "
        "are fixed. A cluster has its own.",
    ),
]
Goal = Annotated[
    str | None,
    typer.Option(
        "--objective",
        metavar=f"[{'|'.join(OBJECTIVES)}|LEVEL]",
        help="What to have least of. On hardware cycles by default: the least traffic within half a percent of the "
        "fewest; balanced (the default with --shared): the fewest within the slack of the least traffic; without "
        "hardware traffic, or with-bias: with the biases, none of which is kept. On a cluster traffic is at the "
        "DRAM; or dram-bytes, dram-time, energy. On a hierarchy energy, or a level's bytes.",
    ),
]
Folder = Annotated[
    Path | None,
    typer.Option(
        "-o", "--output", metavar="DIR", help="Write the schedules here; what is finished is not done again."
    ),
]
Busy = Annotated[
    float | None,
    typer.Option(
        "--min-utilisation",
        metavar="U",
        help="What the mean estimated MAC utilisation must reach, 0 to 1; on a cluster, each layer's.",
    ),
]
Energy = Annotated[
    str | None,
    typer.Option(
        "--energy", metavar="DRAM,TCDM,LOCAL,MAC", help="With --objective energy: of a byte in each, of a MAC."
    ),
]
Lanes = Annotated[
    str | None,
    typer.Option("--lanes", metavar="auto|SHAPE", help="With --min-utilisation: lanes such as m8x2; any by default."),
]
Multipliers = Annotated[
    int | None,
    typer.Option(
        "--multipliers",
        metavar="N",
        help="With --min-utilisation or --shared: of each HWC, 4 to 256 (16), where the lanes are free.",
    ),
]
Ratio = Annotated[
    float | None,
    typer.Option(
        "--max-ratio", min=1.0, help="With --min-utilisation: most traffic, by the least without hardware (1.2)."
    ),
]
OneForAll = Annotated[bool, typer.Option("--shared", help="One HWC for all layers, as cosim and generate find it.")]
Jobs = Annotated[int, jobs_option("Layers at a time.", MEMORY_OF_A_SEARCH)]


def schedule(
    name: LayerSet,
    *,
    buffer: Buffers = None,
    hardware: HardwareOption = None,
    hierarchy: HierarchyOption = None,
    fills: FillsOption = False,
    partial: Partial = False,
    objective: Goal = None,
    slack: SlackOption = None,
    energy: Energy = None,
    min_utilisation: Busy = None,
    lanes: Lanes = None,
    multipliers: Multipliers = None,
    max_ratio: Ratio = None,
    shared: OneForAll = False,
    per_layer: PerLayer = False,
    output: Folder = None,
    jobs: Jobs = 1,
    as_json: Json = False,
) -> None:
    """Find the schedule of least traffic for each layer and buffer size, of all loop orders, markers and steps.

    The result is proven: nothing of that space is left out. With --min-utilisation: schedules and HWCs of little
    traffic whose mean utilisation meets the demand, by estimated cycles. With the hardware of a cluster: schedules of
    two memory levels and the one cluster that runs them all, of the fewest cycles; or with --objective of the least
    bytes or time of the DRAM, or the least energy, and then the fewest bytes at the TCDM. That search is bounded; it
    says where it may have left out something better. With --hierarchy: schedules of least energy, or least bytes of a
    level, on memories of any depth, each with a proven lower bound.
    """
    plan = ScheduleRequest(
        network=name, buffer=buffer, hardware=hardware, hierarchy=hierarchy, fills=fills, partial=partial,
        objective=objective, slack=slack, energy=energy, min_utilisation=min_utilisation, lanes=lanes,
        multipliers=multipliers, max_ratio=max_ratio, shared=shared, per_layer=per_layer, output=output, jobs=jobs,
    ).plan()  # fmt: skip
    if as_json:
        print_json(plan.document())
    else:
        print_plan(plan)
