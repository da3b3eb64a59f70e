"""``hwgen predict``: what a schedule costs, exactly, without running anything."""

from pathlib import Path
from typing import Annotated

import typer

from cosim.comparison import least_cycles
from hwgen.cli.console import Json, load_schedules, print_json, print_table
from hwgen.ir.counts import DIRECTIONS, Counts
from hwgen.ir.document import InputError
from hwgen.ir.schedule import Schedule
from hwgen.model import access
from hwgen.model.prediction import Prediction

__all__ = ["Schedules", "count_rows", "predict"]

Schedules = Annotated[list[str], typer.Argument(metavar="SCHEDULE...", help="Schedule files, or folders of them.")]
Elements = Annotated[bool, typer.Option("--elements", help="Add elements to the bytes and words of the JSON counts.")]


def predict(schedules: Schedules, *, elements: Elements = False, as_json: Json = False) -> None:
    """Print the exact counts, buffer needs and least cycles of schedules."""
    found = [(path, schedule, _predicted(path, schedule)) for path, schedule in load_schedules(schedules)]
    if as_json:
        document = [
            {
                "layer": schedule.layer.name,
                "file": str(path),
                **prediction.as_json(elements=elements),
                "total_bytes": prediction.total_bytes,
                "cycles": least_cycles(prediction),
            }
            for path, schedule, prediction in found
        ]
        print_json({"schedules": document})
        return
    for path, schedule, prediction in found:
        rows = count_rows(prediction.counts)
        rows.append(["I+W+O", "total", prediction.total_bytes, prediction.counts.total_words()])
        print_table(f"{schedule.layer.name} ({path})", ["operand", "direction", "bytes", "words"], rows)
        buffers = [
            [operand, prediction.need[operand], prediction.need_bytes[operand], prediction.allocation[operand]]
            for operand in ("I", "W", "O")
        ]
        buffers.append(["total", prediction.need.total, prediction.need_bytes.total, prediction.allocated_bytes])
        print_table("", ["buffer", "elements", "bytes", "bytes allocated"], buffers)
        macs = schedule.layer.macs
        cycles = least_cycles(prediction)
        print_table("", ["MACs", "cycles at least", "MACs per cycle at most"], [[macs, cycles, macs / cycles]])


def _predicted(path: Path, schedule: Schedule) -> Prediction:
    try:
        return access.predict(schedule)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None


def count_rows(counts: Counts) -> list[list[object]]:
    """One row per operand and direction: bytes and words."""
    return [
        [operand, direction, counts["tcdm", operand, direction].bytes, counts["tcdm", operand, direction].words]
        for operand, directions in DIRECTIONS.items()
        for direction in directions
    ]
