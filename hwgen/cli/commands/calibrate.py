"""``hwgen calibrate``: the three parameters of the DMA, measured on the RTL and kept in the hardware file."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from cosim.dma.tiles import measure_tiles, random_tiles
from hwgen.arch.dma import DmaParameters
from hwgen.arch.hardware_file import load_hardware
from hwgen.cli.console import Json, note, print_json, print_table
from hwgen.cli.jobs import hardware_names
from hwgen.ir.builtin import named_file
from hwgen.ir.document import InputError, edited, parse_yaml, write_atomically
from hwgen.ir.hardware import Cluster, DmaCost, Dram, Hardware
from hwgen.model.dma.fit import CostFit, fit_cost

__all__ = ["calibrate"]

Output = Annotated[
    Path | None, typer.Option("-o", "--output", help="File for the calibrated hardware; by default the same file.")
]
Tiles = Annotated[
    int, typer.Option("--tiles", min=10, max=1000, help="Number of random tiles moved in each direction.")
]
Seed = Annotated[int, typer.Option("--seed", min=0, help="Seed of the random tiles.")]


Given = Annotated[
    str,
    typer.Argument(
        metavar="FILE",
        help="A hardware file with a cluster, or a built-in name, with -o.",
        autocompletion=hardware_names,
    ),
]


def calibrate(
    hardware: Given, *, output: Output = None, tiles: Tiles = 200, seed: Seed = 0, as_json: Json = False
) -> None:
    """Move random 3-D tiles with the DMA of a cluster; fit T = C + s p + n t; keep C, p, t in the file."""
    file = named_file("hardware", hardware)
    if output is None and not Path(hardware).is_file():
        raise InputError(f"-o: expected a file for the calibrated hardware, since {hardware} is built in")
    found = load_hardware(file)
    if found.cluster is None:
        raise InputError(f"{hardware}: cluster: expected one, since only clusters have a DMA")
    note("simulating the DMA: some seconds, half a minute more if it has to be built")
    fits = {way: _fit(found.cluster, tiles, seed, loads=way == "load") for way in ("load", "store")}
    costs = {
        way: DmaCost(transfer=round(fit.transfer, 2), run=round(fit.run, 3), byte=round(fit.byte, 5))
        for way, fit in fits.items()
    }
    target = output or file
    _keep(file, target, found.model_copy(update={"cluster": found.cluster.model_copy(update=costs)}))
    if as_json:
        print_json({"file": str(target), "tiles": tiles, **{way: _as_json(fit) for way, fit in fits.items()}})
        return
    columns = ["", "C", "p", "t (byte)", "mean error", "95th percentile", "largest"]
    rows = [[way, *(f"{value:.3f}" for value in (fit.transfer, fit.run, fit.byte)),
             *(f"{100 * value:.1f} %" for value in (fit.mean, fit.percentile_95, fit.largest))]
            for way, fit in fits.items()]  # fmt: skip
    print_table(f"cycles of the DMA over {tiles} random tiles each, now in {target}", columns, rows)


def _keep(file: Path, target: Path, calibrated: Hardware) -> None:
    """Write the text of the file with what was found in it; its comments and all else stay."""
    assert calibrated.cluster is not None
    cluster = calibrated.cluster.model_dump(mode="json", include={"load", "store"})
    text = edited(file.read_bytes().decode(), "cluster", cluster)
    if Hardware.from_data(parse_yaml(text, str(file)), str(file)) != calibrated:
        raise InputError(f"{file}: cluster: expected its keys written out where they stand, to keep the costs there")
    write_atomically(target, text)


def _fit(cluster: Cluster, tiles: int, seed: int, *, loads: bool) -> CostFit:
    dram = cluster.dram or Dram()
    moved = random_tiles(f"{seed} {loads}", tiles, loads=loads, apart=False)
    times = measure_tiles(moved, DmaParameters(axi_bits=cluster.axi_bits), dram, loads=loads)
    return fit_cost([time.transfer for time in times])


def _as_json(fit: CostFit) -> dict[str, Any]:
    return asdict(fit)
