"""``hwgen design`` of a cluster: memories, HWCs and schedules of least energy, as hardware that runs them."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hwgen.api.arguments import size_text
from hwgen.api.schedule_files import clear_earlier, require_hardware, save_beside, schedule_files
from hwgen.arch.hwc import check_lanes
from hwgen.arch.parameter_error import ParameterError
from hwgen.cli.console import note, print_json, print_table, progress
from hwgen.ir.document import InputError, csv_lines, write_atomically
from hwgen.ir.hardware import MOST_HWCS, Hardware
from hwgen.ir.lanes import Lanes
from hwgen.ir.layer import Layer
from hwgen.ir.schedule import ARRAYS, Schedule, save_schedule
from hwgen.lower.cluster.cost import predicted_on_cluster
from hwgen.lower.cluster.program import compile_cluster
from hwgen.model.energy import Energy
from hwgen.search.hierarchy.clusters import ClusterPoint, ClusterSpace, best_clusters

__all__ = ["cores_of", "design_cluster"]

NAME = "design"
SCHEDULES = "schedules"


@dataclass(frozen=True)
class _Made:
    """The schedule of one layer, its energy with the program's words, its file."""

    schedule: Schedule
    energy: Energy
    path: Path

    @property
    def partition(self) -> str:
        """Along what its tiles are spread over the HWCs: output channels, rows, both, or nothing."""
        names = {"m": "K", "y": "XY"}
        return "+".join(names[loop.dim] for loop in self.schedule.loops if loop.over) or "none"


def cores_of(text: str) -> tuple[int, ...]:
    """Numbers of HWCs such as 4 or 1,2,4."""
    try:
        found = tuple(int(part) for part in text.split(","))
    except ValueError:
        found = ()
    if not found or not all(1 <= number <= MOST_HWCS for number in found):
        raise InputError(f"--cores: expected numbers from 1 to {MOST_HWCS}, such as 4 or 1,2,4, got {text[:40]!r}")
    return tuple(dict.fromkeys(found))


def design_cluster(
    layers: tuple[Layer, ...], name: str, budget: int, option: str, lanes: Lanes, cores: tuple[int, ...],
    output: Path, *, quantised: bool = False, lane_registers: bool = False, as_json: bool,
) -> None:  # fmt: skip
    """Search, write and print the cluster; ``option`` is the one that gave the budget.

    ``quantised`` : it is for a quantised network, which runs on it as it is. ``lane_registers`` : what the innermost
    loops do not move stays at the lanes.
    """
    if quantised and max(cores) >= MOST_HWCS:
        raise InputError(f"--cores: expected at most {MOST_HWCS - 1} for a quantised network, beside a vector unit")
    try:
        check_lanes(lanes)
    except ParameterError as error:
        raise InputError(f"--lanes: {error}") from None
    require_hardware(NAME, output)
    space = ClusterSpace(budget, cores, lanes, quantised, lane_registers)

    def check(schedule: Schedule, hardware: Hardware) -> None:
        compile_cluster(schedule, hardware)

    try:
        note(f"searching a cluster for {len(layers)} layers")
        with progress(len(space.stacks()), "searching") as step:
            points = best_clusters(layers, space, check, step)
    except InputError as error:
        raise InputError(f"{option}: {error}") from None
    best = points[0]
    hardware = best.hardware.model_copy(update={"name": NAME})
    made = _write(best, hardware, points, output)
    if as_json:
        print_json(_document(best, hardware, made, points))
        return
    _print(best, made, points, name, budget)
    note(f"written to {output}: {NAME}.hardware.yaml, schedules, design.csv")


def _write(best: ClusterPoint, hardware: Hardware, points: Sequence[ClusterPoint], output: Path) -> list[_Made]:
    """The files; the schedules, each with its energy."""
    save_beside(hardware, output)
    made, names = [], schedule_files(schedule.layer for schedule in best.schedules)
    for schedule in best.schedules:
        energy = predicted_on_cluster(schedule, hardware).energy
        assert energy is not None
        made.append(_Made(schedule, energy, output / SCHEDULES / names[schedule.layer.name]))
        save_schedule(schedule, made[-1].path, [f"{energy.total:.12g} pJ, the program's words included."])
    clear_earlier(output / SCHEDULES, [one.path for one in made])
    rows: list[list[object]] = [
        ["hwcs", "tcdm", *(f"{array}_bytes" for array in ARRAYS), "bytes", "area_mm2", "energy_pj", *names]
    ]
    for point in points:
        buffers = [(point.hardware.buffers or {})[array] for array in ARRAYS]
        sizes = [point.cluster.hwcs, point.cluster.tcdm, *buffers]
        rows.append([*sizes, point.bytes, point.area, point.energy, *point.energies])
    write_atomically(output / "design.csv", csv_lines(rows))
    return made


def _entry(point: ClusterPoint) -> dict[str, Any]:
    return {
        "hwcs": point.cluster.hwcs,
        "tcdm": point.cluster.tcdm,
        "buffers": point.hardware.buffers,
        "bytes": point.bytes,
        "area": point.area,
        "energy_without_program": point.energy,
    }


def _document(
    best: ClusterPoint, hardware: Hardware, made: Sequence[_Made], points: Sequence[ClusterPoint]
) -> dict[str, Any]:
    return {
        **_entry(best),
        "energy": sum(one.energy.total for one in made),
        "hardware": hardware.as_data(),
        "layers": [
            {
                "layer": one.schedule.layer.name,
                "file": str(one.path),
                "partition": one.partition,
                "energy": one.energy.as_json(),
            }
            for one in made
        ],
        "clusters": [_entry(point) for point in points],
    }


def _print(best: ClusterPoint, made: Sequence[_Made], points: Sequence[ClusterPoint], name: str, budget: int) -> None:
    rows: list[list[object]] = [
        [point.cluster.hwcs, size_text(point.cluster.tcdm), *((point.hardware.buffers or {})[one] for one in ARRAYS),
         point.bytes, round(point.area, 3), point.energy / 1e6, "chosen" if point is best else ""]
        for point in points
    ]  # fmt: skip
    columns = ["HWCs", "TCDM", "I", "W", "O", "bytes", "area mm2", "energy uJ", ""]
    print_table(f"{name}: clusters within {size_text(budget)}", columns, rows, wide=["area mm2"])
    each: list[list[object]] = []
    for one in made:
        levels = (sum(one.energy.levels[level].values()) / 1e6 for level in ("dram", "tcdm", "local"))
        layer = one.schedule.layer.name
        each.append([layer, one.partition, *levels, one.energy.mac / 1e6, one.energy.total / 1e6])
    columns = ["layer", "spread by", "DRAM uJ", "TCDM uJ", "local uJ", "MAC uJ", "uJ"]
    print_table("On the chosen cluster, predicted", columns, each)
