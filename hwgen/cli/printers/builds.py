"""Designs for boards as tables."""

import typer

from hwgen.api.building import Built
from hwgen.cli.console import print_table, printable
from hwgen.export.board.files import HOST

__all__ = ["print_built"]


def print_built(found: Built) -> None:
    """Print what the design takes, what was simulated, and what to do with it."""
    use, about = found.use, ", estimated" if found.use.estimated else ""
    reached = None if (mhz := found.clock_mhz or use.mhz) is None else round(mhz, 1)
    shown: dict[str, object] = {
        "hardware": found.hardware,
        f"LUT4{about}": use.luts,
        f"block RAMs{about}": use.block_rams,
        "of these the memory": found.memory_rams,
        f"multipliers{about}": use.dsps,
        "memory bytes": found.memory_bytes,
        **({} if reached is None else {f"MHz{', estimated' if found.clock_mhz is None else ' reached'}": reached}),
        "MHz wanted": found.wanted_mhz,
        "cycles predicted": found.cycles,
        "fits": found.fits,
        "fast enough": found.fast_enough,
    }
    wide = ["cycles predicted", "memory bytes", f"multipliers{about}", "of these the memory"]
    print_table(f"{found.network} on {found.board}", [*shown], [[*shown.values()]], wide=wide)
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
