"""``hwgen regress-stacks``: stacks of published networks in the simulator, results kept line by line.

Which of them are simulated as published and which are cut down: `hwgen.studies.regress.pipeline_cases`.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from hwgen.api.arguments import require_folder
from hwgen.api.depth_first import dram_port
from hwgen.arch.dram import DramPort
from hwgen.cli.console import Json, note, print_json, print_table, progress
from hwgen.cli.jobs import jobs_option
from hwgen.cli.pipelines import DramOption
from hwgen.cli.printers.cosimulations import print_accesses, print_stacks
from hwgen.ir.document import InputError, write_atomically
from hwgen.studies.regress.pipeline import StackRegression
from hwgen.studies.regress.pipeline_cases import (
    CaseSize,
    PipelineCase,
    all_channels_cases,
    full_size_cases,
    regression_cases,
    small_cases,
)
from hwgen.studies.regress.summary import borders, borders_csv, channels_text, shape_text, stacks_csv

__all__ = ["print_sizes", "regress_stacks"]

Folder = Annotated[
    Path,
    typer.Option("-o", "--output", metavar="DIR", help="Where results go; what is there is not simulated again."),
]
Jobs = Annotated[int, jobs_option("Pipelines at a time.")]
Small = Annotated[
    bool, typer.Option("--small", help="The same stacks with fewer channels on smaller maps, in seconds.")
]

FullSize = Annotated[
    bool,
    typer.Option(
        "--full-size",
        help="The first five layers of VGG-E as published, in one, two and four tiles, on the DRAM of --dram.",
    ),
]
AllChannels = Annotated[
    bool,
    typer.Option(
        "--all-channels",
        help="The stacks of SRGAN and DMCNN-VD with all channels, 24 rows of the published width, in one "
        "and two tiles.",
    ),
]

WITHIN = 0.02
"""Cycles may differ from the prediction by that."""


def regress_stacks(
    *,
    output: Folder,
    jobs: Jobs = 1,
    small: Small = False,
    full_size: FullSize = False,
    all_channels: AllChannels = False,
    dram: DramOption = None,
    as_json: Json = False,
) -> int:
    """Run stacks of VGG-E, SRGAN, MobileNetV2 and DMCNN-VD in one to three tiles and compare them with the model.

    The two stacks of MobileNetV2 are simulated as published. The others have a quarter of the channels and smaller
    maps; a table gives the sizes. With --full-size VGG-E alone, as published; with --all-channels SRGAN and DMCNN-VD.
    """
    require_folder(output)
    cases = _cases(small, full_size, all_channels, dram_port(dram))
    note(f"{len(cases)} depth-first stacks; each pipeline's first run builds its simulator")
    with progress(len(cases), "simulating") as step:
        results = StackRegression(cases, output, jobs).run(lambda result: step())
    ending = "_full_size" if full_size else "_all_channels" if all_channels else ""
    write_atomically(output / f"stacks{ending}.csv", stacks_csv(results))
    if full_size:
        write_atomically(output / "borders.csv", borders_csv(results))
    late = [(str(result["stack"]), line) for result in results for line in _late(result)]
    if as_json:
        print_json({"results": results})
    else:
        print_sizes([(case.name, case.size) for case in cases if case.size is not None])
        print_stacks(results, late)
        if full_size:
            print_accesses(results)
            _print_borders(results)
        else:
            _print_pace(results)
    return 0 if not late and not any(result["failures"] for result in results) else 1


def _cases(small: bool, full_size: bool, all_channels: bool, port: DramPort | None) -> tuple[PipelineCase, ...]:
    if all_channels:
        if small or full_size or port is not None:
            raise InputError("--all-channels: expected without --small, --full-size and --dram")
        return tuple(all_channels_cases())
    if full_size != (port is not None):
        raise InputError("--full-size: expected with --dram, and --dram with --full-size")
    if port is None:
        return tuple(small_cases() if small else regression_cases())
    if small:
        raise InputError("--small: expected without --full-size")
    return tuple(full_size_cases(port))


def _late(result: dict[str, Any]) -> list[str]:
    """What is wrong with the pace of a stack."""
    cycles = result["cycles"]
    late = abs(cycles["measured"] - cycles["predicted"]) > WITHIN * cycles["predicted"]
    lines = [f"{cycles['measured']} cycles, {cycles['predicted']} predicted"] if late else []
    return lines + (result["pace"]["failures"] if result["pace"] else [])


def _print_pace(results: list[dict[str, Any]]) -> None:
    """The tile of each stack whose output is furthest from the pace of its slowest stage, and the worst border."""
    rows: list[list[object]] = []
    for result in results:
        tiles = (pace := result["pace"] or {"tiles": [], "drain": 0, "waited": 0, "skips_waited": 0})["tiles"]
        steady = [tile for tile in tiles if tile["measured"] is not None]
        ratios = [tile["measured"] / tile["slowest"] for tile in steady]
        worst = max(range(len(steady)), key=lambda place: abs(ratios[place] - 1), default=None)
        pair = (None, None, None) if worst is None else (
            steady[worst]["slowest"], steady[worst]["measured"], ratios[worst])  # fmt: skip
        later = [tile["measured"] / tile["slowest"] for tile in tiles[1:]]
        allowed = [tile["within"] for tile in tiles[1:2]]
        rows.append([result["stack"], result["factor"], len(steady), *pair, max(later, default=None),
                     f"{allowed[0]:.2%}" if allowed else "", pace["drain"],
                     pace["waited"], pace["skips_waited"], result["cycles"]["measured"]])  # fmt: skip
    columns = ["stack", "tiles", "steady", "slowest stage", "output", "ratio", "worst border", "allowed", "drain",
               "streams wait", "skips wait", "cycles"]  # fmt: skip
    print_table(
        "Cycles a pixel of the output (the tile that differs most), borders between tiles included",
        columns,
        rows,
        wide=["drain", "skips wait", "streams wait"],
    )
    typer.echo("A border may cost 2 % of a tile; with a map of fewer than 50 lines, a line of that map.")


def _print_borders(results: list[dict[str, Any]]) -> None:
    """What each border between tiles costs the slowest stage, by the cycle model."""
    rows: list[list[object]] = [
        [*cells, f"{lost:.2%}", f"{allowed:.2%}"] for *cells, lost, allowed in borders(results)
    ]
    columns = ["stack", "tile", "slowest stage", "output", "lost at the border", "allowed"]
    title = "Cycles from the end of the tile before to that of a tile, by the model, whose runs take the same cycles"
    print_table(title, columns, rows)


def print_sizes(sizes: Sequence[tuple[str, CaseSize]]) -> None:
    """Print which parts of published networks are simulated, by name, and at which sizes."""
    rows: list[list[object]] = [
        [name, shape_text(size.input), shape_text(size.published_input), channels_text(size.divisor),
         size.macs, size.published_macs, size.text]
        for name, size in sizes
    ]  # fmt: skip
    columns = ["stack", "input", "input published", "channels", "MACs", "MACs published", "what it is"]
    wide = ["channels", "MACs published", "input published"]
    print_table("What is simulated (inputs: channels x height x width)", columns, rows, wide=wide)
