"""Designs for boards as tables."""

import typer

from hwgen.api.building import Built
from hwgen.cli.console import print_table, printable
from hwgen.export.board.files import HOST

__all__ = ["print_built"]


def print_built(found: Built) -> None:
    """Print what the design takes, what was simulated, and what to do with it."""
    about = ", estimated" if found.use.estimated else ""
    clock = "" if found.clock_mhz is None else round(found.clock_mhz, 1)
    print_table(
        f"{found.network} on {found.board}",
        ["hardware", f"LUT4{about}", f"block RAMs{about}", "of these the memory", f"multipliers{about}",
         "memory bytes", "MHz reached", "MHz", "cycles predicted", "fits"],
        [[found.hardware, found.use.luts, found.use.block_rams, found.memory_rams, found.use.dsps,
          found.memory_bytes, clock, found.wanted_mhz, found.cycles, found.fits]],
        wide=["memory bytes", f"multipliers{about}", "of these the memory"],
    )  # fmt: skip
    if found.runs:
        print_table(
            "Simulated, with the host program at the serial line",
            ["image", "program", "output exact", "DRAM traffic equal", "cycles predicted", "cycles"],
            [list(row.values()) for row in found.rows()],
        )
    for line in found.failures:
        typer.echo(printable(line))
    if found.limit is not None:
        typer.echo(f"NOT as asked: {found.limit}")
    elif found.bitstream is not None:
        typer.echo(f"Bitstream: {found.folder / found.bitstream}")
        typer.echo(f"Next: load it (openFPGALoader), then python {found.folder / HOST} /dev/ttyUSB0")
    elif found.passed:
        typer.echo("Next: the same without --simulate makes the bitstream")
