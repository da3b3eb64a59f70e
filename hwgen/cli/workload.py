"""What ``generate`` and ``cosim`` work on: schedules from files, or a layer set that is scheduled first."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from hwgen.cli.console import buffer_sizes, load_schedules
from hwgen.ir.builtin import named_file
from hwgen.ir.document import InputError, load_yaml
from hwgen.ir.hardware import Hardware, load_hardware
from hwgen.ir.network import load_layer_set
from hwgen.ir.schedule import Schedule

__all__ = ["BufferOption", "HardwareOption", "PerLayer", "Work", "Workload", "read_hardware", "work_of"]

Workload = Annotated[
    list[str], typer.Argument(metavar="SCHEDULE...|SET", help="Schedule files, folders of them, or one layer set.")
]
BufferOption = Annotated[
    str | None, typer.Option("--buffer", metavar="SIZE", help="Local buffers of the HWC, for a SET: 1KiB by default.")
]
HardwareOption = Annotated[
    str | None, typer.Option("--hardware", metavar="FILE", help="A hardware file: what the schedules run on.")
]
PerLayer = Annotated[bool, typer.Option("--per-layer", help="An HWC for each layer of a SET instead of one for all.")]


@dataclass(frozen=True)
class Work:
    """Schedules, and the HWC that runs them all; None: for each schedule the smallest one that runs it."""

    schedules: tuple[Schedule, ...]
    hardware: Hardware | None


def read_hardware(name: str | None) -> Hardware | None:
    """The hardware of a file or a built-in name."""
    return None if name is None else load_hardware(named_file("hardware", name))


def work_of(names: Sequence[str], *, buffer: str | None, hardware: str | None, per_layer: bool, jobs: int) -> Work:
    """Read the schedules, or schedule the set."""
    given = read_hardware(hardware)
    if not _is_set(names):
        if buffer is not None or per_layer:
            raise InputError(
                f"--{'buffer' if buffer else 'per-layer'}: expected with a layer set, not with schedules"
            )
        return Work(tuple(schedule for _, schedule in load_schedules(names)), given)
    sizes = buffer_sizes(buffer or "1KiB")
    if len(sizes) != 1:
        raise InputError(f"--buffer: expected one size, got {buffer}")
    raise NotImplementedError(load_layer_set(names[0]), sizes[0], jobs)


def _is_set(names: Sequence[str]) -> bool:
    """Whether the only name is a layer set; what a YAML file is, its ``kind`` says."""
    if len(names) > 1:
        return False
    path = Path(names[0])
    if path.is_dir():
        return False
    if path.is_file() and path.suffix.lower() != ".onnx":
        data = load_yaml(path)
        return isinstance(data, dict) and data.get("kind") in ("network", "layer_list")
    return True
