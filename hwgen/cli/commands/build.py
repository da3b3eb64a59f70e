"""``hwgen build``: a quantised network as a whole design for an FPGA board."""

from pathlib import Path
from typing import Annotated

import typer

from hwgen.api.building import DEFAULT_BOARD, WORKING_BOARDS, BuildRequest
from hwgen.cli.commands.network.network import Inputs, Mean, Model, Seed, Std
from hwgen.cli.console import Json, print_json
from hwgen.cli.jobs import hardware_names
from hwgen.cli.printers.builds import print_built
from hwgen.cli.workload import ResidentOption

__all__ = ["build"]

BoardOption = Annotated[
    str,
    typer.Option(
        "--board",
        metavar="BOARD",
        help=f"The board: {', '.join(WORKING_BOARDS)}.",
        autocompletion=lambda incomplete: [name for name in WORKING_BOARDS if name.startswith(incomplete)],
    ),
]
Output = Annotated[Path, typer.Option("-o", "--output", metavar="DIR", help="Folder for the design.")]
Hardware = Annotated[
    str | None,
    typer.Option(
        "--hardware",
        metavar="FILE",
        help="The cluster, with requantisation scaled: a hardware file, or a built-in name. If not given: "
        "cluster_64_vector where by the estimate the FPGA has room for it, else cluster_16_vector, with --resident.",
        autocompletion=hardware_names,
    ),
]
Mhz = Annotated[
    float | None,
    typer.Option("--mhz", metavar="MHZ", help="The clock, made by a PLL. If not given: the oscillator of the board."),
]
Simulate = Annotated[
    bool,
    typer.Option(
        "--simulate", help="Simulate the design with the host program at its serial line; no bitstream is made."
    ),
]


def build(
    model: Model,
    *,
    output: Output,
    board: BoardOption = DEFAULT_BOARD,
    hardware: Hardware = None,
    given: Inputs = None,
    mean: Mean = None,
    std: Std = None,
    seed: Seed = None,
    mhz: Mhz = None,
    resident: ResidentOption = False,
    simulate: Simulate = False,
    as_json: Json = False,
) -> int:
    """Make the whole design of a quantised network for an FPGA board: a bitstream, and a program for the host.

    The cluster gets a memory of block RAMs that stands as its DRAM, and a serial line to the host. run.py in the
    folder loads weights and programs, gives the inputs, and compares the outputs with the integer reference. Where
    the FPGA has no room, or the design does not reach the clock, that is said, and the exit status is 1.
    """
    found = BuildRequest(
        model=model, output=output, board=board, hardware=hardware, given=given, mean=mean, std=std, seed=seed,
        mhz=mhz, resident=resident, simulate=simulate,
    ).answer()  # fmt: skip
    if as_json:
        print_json(found.document())
    else:
        print_built(found)
    return 0 if found.passed else 1
