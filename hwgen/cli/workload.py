"""What ``generate`` and ``cosim`` work on: schedules from files, or a layer set that is scheduled first."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from hwgen.cli.console import buffer_sizes, load_schedules, note, progress
from hwgen.cli.coverage import covered
from hwgen.ir.builtin import named_file
from hwgen.ir.coverage import Coverage
from hwgen.ir.document import InputError, load_yaml
from hwgen.ir.hardware import Hardware, load_hardware
from hwgen.ir.layer import Layer
from hwgen.ir.schedule import Schedule
from hwgen.lower.cluster.cost import judge_of
from hwgen.search.cluster.optimal import search_two_levels
from hwgen.search.core.batch import Request, search_layers
from hwgen.search.core.optimal import Objective, Result
from hwgen.search.hwc.shared import best_shared

__all__ = [
    "BufferOption",
    "HardwareOption",
    "PerLayer",
    "Work",
    "Workload",
    "best_schedules",
    "read_hardware",
    "work_of",
]

DEFAULT_BUDGET = 1024

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
    """Schedules, and the HWC that runs them all; None: for each schedule the smallest one that runs it.

    ``coverage``: what became of the layers of the set; None for schedules from files.
    """

    schedules: tuple[Schedule, ...]
    hardware: Hardware | None
    coverage: Coverage | None = None

    def left_out(self) -> dict[str, object]:
        """The part of the JSON document that says what the schedules of a set leave out."""
        return {} if self.coverage is None else {"left_out": self.coverage.as_json()}


def read_hardware(name: str | None) -> Hardware | None:
    """The hardware of a file or a built-in name."""
    return None if name is None else load_hardware(named_file("hardware", name))


def work_of(
    names: Sequence[str],
    *,
    buffer: str | None,
    hardware: str | None,
    per_layer: bool,
    alone: bool = False,
    partial: bool = False,
) -> Work:
    """Read the schedules; or schedule the set: on the given HWC or cluster, one for each layer, the best one for all.

    ``alone``: on one HWC even where there is a cluster of them. ``partial``: leave out what cannot be scheduled.
    """
    given = read_hardware(hardware)
    if not _is_set(names):
        if buffer is not None or per_layer or partial:
            option = "buffer" if buffer is not None else "per-layer" if per_layer else "partial"
            raise InputError(f"--{option}: expected with a layer set, not with schedules")
        return Work(tuple(schedule for _, schedule in load_schedules(names)), given)
    coverage = covered(names[0], partial=partial)
    layers = coverage.layers
    sizes = buffer_sizes(buffer) if buffer is not None else [DEFAULT_BUDGET if given is None else given.budget]
    if len(sizes) != 1:
        raise InputError(f"--buffer: expected one size, got {buffer}")
    if given is None and not per_layer:
        note(f"searching the best HWC of {sizes[0]} bytes for {len(layers)} layers")
        shared = best_shared(layers, sizes[0])
        return Work(tuple(result.schedule for result in shared.results), shared.hardware, coverage)
    if given is not None and given.cluster is not None and not alone:
        if buffer is not None:
            raise InputError("--buffer: a cluster has its sizes: expected none")
        return Work(tuple(_on_cluster(layers, given)), given, coverage)
    found = best_schedules(layers, sizes, given or Hardware(name="per_layer", budget=sizes[0]))
    return Work(tuple(result.schedule for result in found), given, coverage)


def _on_cluster(layers: Sequence[Layer], hardware: Hardware) -> Iterator[Schedule]:
    """The nest of two levels with the fewest bytes of DRAM for each layer."""
    judge = judge_of(hardware, timed=False)
    with progress(len(layers), "searching") as step:
        for layer in layers:
            yield search_two_levels(layer, hardware, judge=judge).schedule
            step()


def best_schedules(
    layers: tuple[Layer, ...],
    sizes: list[int],
    hardware: Hardware | None,
    objective: Objective = "traffic",
    *,
    jobs: int = 1,
    store: Path | None = None,
) -> list[Result]:
    """The best schedule of each layer for each size, layer by layer, with a progress bar."""
    request = Request(tuple(sizes), hardware, objective)
    with progress(len(layers), "searching") as step:
        found = search_layers(layers, request, jobs=jobs, store=store, progress=lambda layer: step())
    return [result for results in found for result in results]


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
