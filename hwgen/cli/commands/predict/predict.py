"""``hwgen predict``: the exact counts, buffer needs and cycles of a schedule, without a simulation."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from hwgen.api.arguments import is_given
from hwgen.api.machines import read_hardware
from hwgen.api.schedule_files import load_schedules
from hwgen.cli.clusters import cluster_document, predicted_by_file, print_cluster
from hwgen.cli.commands.predict.hierarchies import predict_on_hierarchy
from hwgen.cli.console import Json, print_json, print_table
from hwgen.cli.pipelines import DramOption, MacsOption, predict_stacks, solution_file
from hwgen.cli.workload import FillsOption, HardwareOption, HierarchyOption
from hwgen.ir.counts import DIRECTIONS, Counts
from hwgen.ir.document import InputError
from hwgen.ir.hardware import Hardware
from hwgen.ir.schedule import Schedule
from hwgen.lower.hwc import compile_layer, parameters_for
from hwgen.model.cluster.levels import is_for_cluster
from hwgen.model.energy import DevicePrices, device_energy, prices_of
from hwgen.model.hwc.cycles import Cycles, least_cycles, predicted_cycles
from hwgen.model.nest import one_level
from hwgen.model.nest.one_level import Prediction

__all__ = ["Schedules", "count_rows", "predict"]

Schedules = Annotated[list[str], typer.Argument(metavar="SCHEDULE...", help="Schedule files, or folders of them.")]
Elements = Annotated[bool, typer.Option("--elements", help="Add elements to the bytes and words of the JSON counts.")]


def predict(
    schedules: Schedules,
    *,
    hardware: HardwareOption = None,
    elements: Elements = False,
    macs: MacsOption = None,
    dram: DramOption = None,
    hierarchy: HierarchyOption = None,
    fills: FillsOption = False,
    as_json: Json = False,
) -> None:
    """Print the exact counts, buffer needs and cycles of schedules: on a given HWC, or the smallest that runs them.

    Of a schedule that no HWC runs the cycles are the least that any hardware with three ports takes. A schedule of
    two memory levels is counted at both, on the given cluster or on four HWCs, its program included. A depth-first
    solution: what each of its stacks holds, moves and takes. With --hierarchy: counts by the level that serves,
    what each level has to hold, and energy.
    """
    if hierarchy is not None:
        for option, value in (("--hardware", hardware), ("--macs", macs), ("--dram", dram)):
            if is_given(value):
                raise InputError(f"{option}: not with --hierarchy")
        predict_on_hierarchy(schedules, hierarchy, fills=fills, elements=elements, as_json=as_json)
        return
    if fills:
        raise InputError("--fills: expected with --hierarchy")
    solution = solution_file(schedules, macs, {"--hardware": hardware, "--elements": elements}, dram=dram)
    if solution is not None:
        predict_stacks(solution, macs=macs, dram=dram, as_json=as_json)
        return
    given = read_hardware(hardware)
    found = [
        _of_one_level(file.path, file.schedule, file.hardware) or _of_two(file.path, file.schedule, file.hardware)
        for file in load_schedules(schedules, given)
    ]
    if as_json:
        print_json({"schedules": [one.document(elements) for one in found]})
        return
    for one in found:
        one.show()


@dataclass(frozen=True)
class _Found:
    """A prediction, to be printed in either form."""

    document: Callable[[bool], dict[str, Any]]
    show: Callable[[], None]


def _of_two(path: Path, schedule: Schedule, given: Hardware | None) -> _Found:
    found = predicted_by_file(path, schedule, given)
    return _Found(
        lambda elements: cluster_document(path, schedule, found, elements=elements),
        lambda: print_cluster(path, schedule, found),
    )


def _of_one_level(path: Path, schedule: Schedule, given: Hardware | None) -> _Found | None:
    if is_for_cluster(schedule):
        return None
    prediction = _predicted(path, schedule)
    on_hwc = _on_hwc(path, schedule, given)
    cycles, prices = (None, None) if on_hwc is None else on_hwc
    return _Found(
        lambda elements: {
            "layer": schedule.layer.name,
            "file": str(path),
            **prediction.as_json(elements=elements),
            "cycles": least_cycles(prediction) if cycles is None else cycles.total,
            "stalls": None if cycles is None else cycles.stalls_by_name(),
            "energy": None if prices is None else device_energy(schedule, prediction.counts, prices).as_json(),
        },
        lambda: _print(path, schedule, prediction, cycles),
    )


def _print(path: Path, schedule: Schedule, prediction: Prediction, cycles: Cycles | None) -> None:
    rows = count_rows(prediction.counts)
    words = prediction.counts.total_words()
    rows.append(["I+W+O", "total", prediction.total_bytes, words])
    with_bias = words + prediction.counts["tcdm", "B", "read"].words
    rows.append(["I+W+O+B", "total", prediction.total_with_bias, with_bias])
    print_table(f"{schedule.layer.name} ({path})", ["operand", "direction", "bytes", "words"], rows)
    buffers = [
        [operand, prediction.need[operand], prediction.need_bytes[operand], prediction.allocation[operand]]
        for operand in ("I", "W", "O")
    ]
    buffers.append(["total", prediction.need.total, prediction.need_bytes.total, prediction.allocated_bytes])
    print_table("", ["buffer", "elements", "bytes", "bytes allocated"], buffers)
    _print_cycles(schedule, prediction, cycles)


def _print_cycles(schedule: Schedule, prediction: Prediction, cycles: Cycles | None) -> None:
    macs = schedule.layer.macs
    if cycles is None:
        least = least_cycles(prediction)
        print_table("", ["MACs", "cycles at least", "MACs per cycle at most"], [[macs, least, macs / least]])
        return
    stalls = [cycles.stalls[operand] for operand in ("I", "W", "O")]
    row = [macs, cycles.total, cycles.startup, cycles.compute, *stalls, cycles.drain, macs / cycles.total]
    columns = [
        "MACs",
        "cycles",
        "start",
        "compute",
        "wait for I",
        "wait for W",
        "wait for O",
        "drain",
        "MACs per cycle",
    ]
    print_table("", columns, [row], wide=["drain", "start"])


def _on_hwc(path: Path, schedule: Schedule, hardware: Hardware | None) -> tuple[Cycles, DevicePrices] | None:
    """Cycles and prices on the given HWC; without one on the smallest that runs it, None if there is none."""
    try:
        # On the given one its program is made, too: settings may be fitted to other layers, or too narrow.
        given = None if hardware is None else compile_layer(schedule, hardware).parameters
        parameters = given or parameters_for(schedule)
        return predicted_cycles(schedule, parameters), prices_of(parameters, None)
    except InputError as error:
        if hardware is not None:
            raise InputError(f"{path}: {error}") from None
        return None


def _predicted(path: Path, schedule: Schedule) -> Prediction:
    try:
        return one_level.predict(schedule)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None


def count_rows(counts: Counts) -> list[list[object]]:
    """One row per operand and direction: bytes and words."""
    return [
        [operand, direction, counts["tcdm", operand, direction].bytes, counts["tcdm", operand, direction].words]
        for operand, directions in DIRECTIONS.items()
        for direction in directions
    ]
