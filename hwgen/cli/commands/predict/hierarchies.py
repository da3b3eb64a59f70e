"""``hwgen predict --hierarchy``: counts by the level that serves, needs and energy."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hwgen.api.machines import read_hierarchy
from hwgen.api.schedule_files import load_schedules
from hwgen.cli.console import print_json, print_table
from hwgen.ir.counts import DIRECTIONS
from hwgen.ir.memory.hierarchy import Hierarchy
from hwgen.ir.schedule import ARRAYS, Schedule
from hwgen.model.energy import Energy, energy_of
from hwgen.model.nest.hierarchy_counts import HierarchyCounts, counts_of, require_fit

__all__ = ["predict_on_hierarchy"]


@dataclass(frozen=True)
class _Found:
    """One schedule on the hierarchy."""

    path: Path
    schedule: Schedule
    hierarchy: Hierarchy
    counts: HierarchyCounts
    energy: Energy

    def document(self, *, elements: bool) -> dict[str, Any]:
        return {
            "layer": self.schedule.layer.name,
            "file": str(self.path),
            "hierarchy": self.hierarchy.name,
            **self.counts.as_json(elements=elements),
            "energy": self.energy.as_json(),
            "macs": self.schedule.layer.macs,
        }


def predict_on_hierarchy(names: Sequence[str], name: str, *, fills: bool, elements: bool, as_json: bool) -> None:
    """Print what schedules cost on a hierarchy; raises `InputError` if one does not fit."""
    hierarchy = read_hierarchy(name)
    found = []
    for file in load_schedules(names, read=hierarchy.read_schedule):
        counts = counts_of(file.schedule, hierarchy)
        require_fit(counts, hierarchy, str(file.path))
        energy = energy_of(counts, hierarchy, file.schedule.layer.macs, fills=fills)
        found.append(_Found(file.path, file.schedule, hierarchy, counts, energy))
    if as_json:
        print_json({"schedules": [one.document(elements=elements) for one in found]})
        return
    for one in found:
        _print(one)


def _print(one: _Found) -> None:
    rows: list[list[object]] = [
        [level.name, operand, way, one.counts.served[level.name, operand, way].bytes]
        for level in one.hierarchy.levels
        for operand in ARRAYS
        for way in DIRECTIONS[operand]
        if one.counts.served[level.name, operand, way].bytes
    ]
    title = f"{one.schedule.layer.name} ({one.path}) on {one.hierarchy.name}"
    print_table(title, ["served by", "operand", "direction", "bytes"], rows)
    needs: list[list[object]] = []
    for level in one.hierarchy.inner:
        need = one.counts.need_bytes[level.name]
        needs.append([level.name, *(need[operand] for operand in ARRAYS), need.total, level.total])
    if needs:
        print_table("", ["bytes held", *ARRAYS, "total", "of"], needs)
    energies: list[list[object]] = [
        [level, *(_microjoule(of[operand]) for operand in ARRAYS), _microjoule(sum(of.values()))]
        for level, of in one.energy.levels.items()
    ]
    energies.append(["multiply-accumulates", "", "", "", _microjoule(one.energy.mac)])
    energies.append(["total", "", "", "", _microjoule(one.energy.total)])
    print_table("", ["energy in uJ", *ARRAYS, "total"], energies)


def _microjoule(picojoule: float) -> str:
    return f"{picojoule / 1e6:,.3f}"
