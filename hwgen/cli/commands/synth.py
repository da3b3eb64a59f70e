"""``hwgen synth``: area and clock, on an ECP5 or in standard cells, of what schedules run on, and of hardware."""

from pathlib import Path
from typing import Annotated

import typer

from hwgen.api.synthesis import Device, SynthRequest
from hwgen.cli.console import Json, print_json
from hwgen.cli.coverage import Partial
from hwgen.cli.jobs import set_names
from hwgen.cli.pipelines import MacsOption
from hwgen.cli.printers.syntheses import print_part, print_synthesised
from hwgen.cli.workload import BufferOption, FittedOption, HardwareOption, ObjectiveOption, PerLayer, SlackOption

__all__ = ["Clock", "LibertyOption", "synth"]

Workload = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[SCHEDULE...|SET|HARDWARE]",
        help="Schedule files, folders of them, one layer set, or hardware (also --hardware alone).",
        autocompletion=set_names,
    ),
]
Clock = Annotated[float, typer.Option("--clock", metavar="MHZ", min=1, max=1000, help="Target clock.")]
LibertyOption = Annotated[
    list[Path] | None,
    typer.Option(
        "--liberty",
        metavar="FILE",
        help="Area in the cells of this library, in place of an ECP5; once more for a file with macros of memories.",
    ),
]
Seed = Annotated[int, typer.Option("--seed", min=1, max=(1 << 31) - 1, help="Seed of the placement.")]


def synth(
    workload: Workload = None,
    *,
    buffer: BufferOption = None,
    hardware: HardwareOption = None,
    per_layer: PerLayer = False,
    objective: ObjectiveOption = None,
    slack: SlackOption = None,
    partial: Partial = False,
    fitted: FittedOption = False,
    clock: Clock = Device.wanted_mhz,
    seed: Seed = Device.seed,
    macs: MacsOption = None,
    blocks: Annotated[
        bool, typer.Option("--blocks", help="Area by block, of a cluster all of it; nothing is placed.")
    ] = False,
    liberty: LibertyOption = None,
    as_json: Json = False,
) -> None:
    """Synthesise the HWC that schedules run on for an ECP5 (a SET is scheduled first): area, clock, critical path.

    Of a cluster one of its HWCs, with --blocks all of it; of a depth-first solution the pipeline of each stack; of a
    quantised network the HWC that runs layers of these shapes, which a line says. Hardware alone is taken as its file
    has it; what that leaves to schedules is assumed, and said. With --liberty nothing is placed: area by block in
    cells of the library, of a cluster all of it, the clock of the logic, leakage, and what is not among it.
    """
    request = SynthRequest(
        workload=workload, buffer=buffer, hardware=hardware, per_layer=per_layer, objective=objective, slack=slack,
        partial=partial, fitted=fitted, device=Device(wanted_mhz=clock, seed=seed), macs=macs, blocks=blocks,
        liberty=liberty or None,
        arrived=(lambda whose, part, found: None) if as_json else print_part,
    )  # fmt: skip
    found = request.answer()
    if as_json:
        print_json(found.document())
    else:
        print_synthesised(found)
