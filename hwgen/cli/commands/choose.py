"""``hwgen choose``: the cluster, or the HWC alone, that fits a network, or layers, and a budget."""

from pathlib import Path
from typing import Annotated

import typer

from hwgen.api.choosing.request import BOARD_NAMES, MINUTES, ChooseRequest, budget_of
from hwgen.cli.console import Json, print_json
from hwgen.cli.coverage import Partial
from hwgen.cli.jobs import hardware_names, set_names
from hwgen.cli.printers.choices import print_choice

__all__ = ["choose"]

Network = Annotated[
    str,
    typer.Argument(
        metavar="MODEL|SET",
        help="A quantised model (ONNX, TFLite); or layers: a built-in set, SET:PREFIX of it, a table (YAML).",
        autocompletion=set_names,
    ),
]
Rate = Annotated[float | None, typer.Option("--fps", help="Images a second, at the least.")]
Clock = Annotated[
    float | None, typer.Option("--mhz", help="The clock; else of each cluster that which it is estimated to have.")
]
Luts = Annotated[int | None, typer.Option("--luts", help="LUT4-equivalents that it may take, at most.")]
Dsps = Annotated[int | None, typer.Option("--dsps", help="Multipliers of 18 x 18 bits, at most.")]
Brams = Annotated[int | None, typer.Option("--brams", help="Block RAMs of 18 Kibit, at most.")]
Energy = Annotated[float | None, typer.Option("--energy", metavar="UJ", help="Microjoules of an image, at most.")]
Mm2 = Annotated[
    float | None, typer.Option("--mm2", metavar="A", help="mm2 of cells of --liberty that it may take, at most.")
]
LibertyOption = Annotated[
    list[Path] | None,
    typer.Option(
        "--liberty",
        metavar="FILE",
        help="Area in the cells of this library; once more for a file with macros of memories.",
    ),
]
ClockOf = Annotated[
    str | None,
    typer.Option(
        "--clock-of",
        metavar="BOARD",
        help="The clock on this board's FPGA, and its LUTs, DSPs and block RAMs where none are given: "
        f"{', '.join(BOARD_NAMES)}.",
    ),
]
Dram = Annotated[
    str | None,
    typer.Option(
        "--dram",
        metavar="FILE",
        help="The DRAM of the cluster in this hardware file or built-in; without, it answers at once.",
        autocompletion=hardware_names,
    ),
]
Alone = Annotated[
    bool,
    typer.Option(
        "--alone", help="One HWC alone, also where a cluster fits: a host moves the data and runs the other nodes."
    ),
]
Confirm = Annotated[
    bool, typer.Option(help="Run the network in the RTL on what is the best by its plan, until that has been run.")
]
Synth = Annotated[
    bool,
    typer.Option("--synth", help="Synthesise what is chosen, in some minutes: area and clock beside the estimates."),
]
Minutes = Annotated[
    float, typer.Option("--minutes", help="What it takes at most, but for --synth: the best by then is chosen.")
]
Folder = Annotated[
    Path | None,
    typer.Option("-o", "--output", metavar="DIR", help="Write the hardware here; a later call goes on from there."),
]


def choose(
    network: Network,
    *,
    fps: Rate = None,
    mhz: Clock = None,
    luts: Luts = None,
    dsps: Dsps = None,
    brams: Brams = None,
    energy: Energy = None,
    mm2: Mm2 = None,
    liberty: LibertyOption = None,
    clock_of: ClockOf = None,
    dram: Dram = None,
    alone: Alone = False,
    minutes: Minutes = MINUTES,
    confirm: Confirm = True,
    synth: Synth = False,
    partial: Partial = False,
    output: Folder = None,
    as_json: Json = False,
) -> int:
    """Choose the cluster for a network or layers: the smallest that makes --fps images a second, or the fastest.

    Clusters of 1 to 4 HWCs with 16 to 256 lanes each, with shared memories of 32 to 512 KiB and vector units of all
    sizes: those that are hoped to be the best are drafted, then planned, until no other one is hoped to be. What is
    the best by its plan is run in the RTL, on random inputs, until that has been run, or --minutes are over. Where no
    cluster fits, HWCs alone are planned. Layers of a set are scheduled one by one, as `hwgen schedule SET --hardware`
    does: each from the DRAM and back. Area and clock, of an ECP5, are estimates; with --liberty the area is that of
    cells, and what is chosen is mapped to them. The exit status is 1 where nothing reaches --fps, and where what is
    chosen does not do, synthesised or mapped, what is asked.
    """
    budget = budget_of(fps=fps, mhz=mhz, luts=luts, dsps=dsps, brams=brams, energy=energy, mm2=mm2, board=clock_of)
    found = ChooseRequest(
        network=network, budget=budget, output=output, minutes=minutes, confirm=confirm, synth=synth, dram=dram,
        partial=partial, liberty=liberty or None, alone=alone,
    ).answer()  # fmt: skip
    if as_json:
        print_json(found.document())
    else:
        print_choice(found)
    if found.interrupted:
        raise KeyboardInterrupt(found.effort)
    return 0 if found.best is not None and not found.shortfalls else 1
