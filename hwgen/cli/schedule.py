"""``hwgen schedule``: the best schedule of every layer for every buffer size, with the figures of its proof."""

from pathlib import Path
from typing import Annotated

import typer

from hwgen.cli.cluster_schedules import schedule_on_cluster
from hwgen.cli.console import Json, buffer_sizes, print_json, print_table, size_text
from hwgen.cli.layers import LayerSet
from hwgen.cli.plans import print_plan
from hwgen.cli.workload import HardwareOption, best_schedules, read_hardware
from hwgen.ir.document import InputError
from hwgen.ir.network import load_layer_set
from hwgen.ir.schedule import save_schedule
from hwgen.model.bounds import Bounds, bounds
from hwgen.search.optimal import Objective, Result

__all__ = ["schedule"]

Buffers = Annotated[
    str | None,
    typer.Option(
        "--buffer", metavar="SIZE[,SIZE...]", help="Sizes such as 512 or 1KiB,4KiB; none with a cluster's hardware."
    ),
]
Goal = Annotated[Objective, typer.Option("--objective", help="What to have least of.")]
Folder = Annotated[
    Path | None,
    typer.Option(
        "-o", "--output", metavar="DIR", help="Write the schedules here; what is finished is not done again."
    ),
]
Busy = Annotated[
    float | None,
    typer.Option(
        "--min-utilisation", metavar="U", help="What the mean estimated MAC utilisation must reach, 0 to 1."
    ),
]
Lanes = Annotated[
    str | None,
    typer.Option(
        "--lanes", metavar="auto|SHAPE", help="With --min-utilisation: 16 lanes such as m8x2; any by default."
    ),
]
Ratio = Annotated[
    float | None,
    typer.Option(
        "--max-ratio", min=1.0, help="With --min-utilisation: most traffic, by the least without hardware (1.2)."
    ),
]
OneForAll = Annotated[bool, typer.Option("--shared", help="With --min-utilisation: one HWC for all layers.")]
Jobs = Annotated[int, typer.Option("--jobs", "-j", min=1, max=256, help="Layers at a time.")]

STORE = ".found"
"""Folder, beside the schedules, of the results of each finished layer."""


def schedule(
    name: LayerSet,
    *,
    buffer: Buffers = None,
    hardware: HardwareOption = None,
    objective: Goal = "traffic",
    min_utilisation: Busy = None,
    lanes: Lanes = None,
    max_ratio: Ratio = None,
    shared: OneForAll = False,
    output: Folder = None,
    jobs: Jobs = 1,
    as_json: Json = False,
) -> None:
    """Find the schedule of least traffic for each layer and buffer size, among all that there are.

    With --min-utilisation: schedules and HWCs that move little while the lanes are busy. With the hardware of a
    cluster: schedules of two memory levels that move least from and to the DRAM, then the TCDM.
    """
    given = read_hardware(hardware)
    sizes = [] if buffer is None else buffer_sizes(buffer)
    if output is not None and output.exists() and not output.is_dir():
        raise InputError(f"-o: expected a folder, got the file {output}")
    layers = load_layer_set(name).convolutions()
    if given is not None and given.cluster is not None:
        if buffer is not None or objective != "traffic" or min_utilisation is not None or shared:
            raise InputError(
                f"--hardware: {hardware}: a cluster has its sizes: expected no options but -o and --json beside it"
            )
        schedule_on_cluster(layers, given, output, as_json=as_json)
        return
    if buffer is None:
        raise InputError("--buffer: expected sizes such as 512 or 1KiB,4KiB (only a cluster's hardware does without)")
    store = None if output is None else output / STORE
    if min_utilisation is None and (lanes is not None or max_ratio is not None or shared):
        option = "lanes" if lanes is not None else "max-ratio" if max_ratio is not None else "shared"
        raise InputError(f"--{option}: expected together with --min-utilisation")
    if min_utilisation is not None:
        if hardware is not None or objective != "traffic":
            raise InputError("--min-utilisation: expected without --hardware and --objective")
        print_plan(
            layers, sizes, min_utilisation, max_ratio=max_ratio, lanes=lanes, one_for_all=shared, output=output,
            store=store, jobs=jobs, as_json=as_json,
        )  # fmt: skip
        return
    results = best_schedules(layers, sizes, given, objective, jobs=jobs, store=store)
    found = [(result, _file(output, result, len(sizes) > 1)) for result in results]
    for result, path in found:
        if path is not None:
            save_schedule(result.schedule, path, _remarks(result, hardware, objective))
    if as_json:
        print_json({"schedules": [_as_json(result, path) for result, path in found]})
        return
    columns = [
        "layer",
        "buffer",
        "needs",
        "bytes",
        "words",
        "/ compulsory",
        "/ bound",
        "schedules covered",
        "pruned",
        "seconds",
    ]
    rows = [
        [
            result.schedule.layer.name,
            size_text(result.buffer_bytes),
            result.need.total,
            result.total_bytes,
            result.counts.total_words(),
            result.total_bytes / _bounds(result).compulsory,
            _bounds(result).ratio(result.total_bytes),
            result.covered,
            result.pruned,
            result.seconds,
        ]
        for result in results
    ]
    print_table(f"Schedules of least {objective}", columns, rows)


def _file(folder: Path | None, result: Result, several_sizes: bool) -> Path | None:
    if folder is None:
        return None
    inside = folder / size_text(result.buffer_bytes) if several_sizes else folder
    return inside / f"{result.schedule.layer.name}.yaml"


def _remarks(result: Result, hardware: str | None, objective: str) -> list[str]:
    runs_on = f"hardware {hardware}" if hardware else "the pure model: no lanes, exact buffer need"
    return [
        f"Least {objective} with {size_text(result.buffer_bytes)} of local buffers, for {runs_on}:",
        f"{result.total_bytes} bytes, out of {result.covered} schedules.",
    ]


def _bounds(result: Result) -> Bounds:
    return bounds(result.schedule.layer, result.buffer_bytes, result.schedule.bits)


def _as_json(result: Result, path: Path | None) -> dict[str, object]:
    return {
        "layer": result.schedule.layer.name,
        "buffer_bytes": result.buffer_bytes,
        "file": None if path is None else str(path),
        "counts": result.counts.as_json(),
        "total_bytes": result.total_bytes,
        "need": {operand: result.need[operand] for operand in ("I", "W", "O")},
        "bound_ratio": round(_bounds(result).ratio(result.total_bytes), 6),
        "compulsory_ratio": round(result.total_bytes / _bounds(result).compulsory, 6),
        "candidates": {"covered": result.covered, "pruned": result.pruned},
        "seconds": round(result.seconds, 6),
    }
