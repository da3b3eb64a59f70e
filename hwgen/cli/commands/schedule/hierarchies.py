"""``hwgen schedule --hierarchy``: the best schedule of every layer on a hierarchy of any depth, with its bound."""

from pathlib import Path
from typing import Any

from hwgen.api.machines import read_hierarchy
from hwgen.api.schedule_files import clear_earlier, schedule_files
from hwgen.cli.console import print_json, print_table, progress
from hwgen.cli.coverage import tell_activations
from hwgen.ir.coverage import Coverage
from hwgen.ir.document import InputError
from hwgen.ir.schedule import save_schedule
from hwgen.search.hierarchy.batch import HierarchyRequest, search_on_hierarchy
from hwgen.search.hierarchy.optimal import HierarchyResult
from hwgen.search.objectives.of_hierarchy import goal_of

__all__ = ["schedule_on_hierarchy"]


def schedule_on_hierarchy(
    coverage: Coverage,
    name: str,
    objective: str | None,
    output: Path | None,
    *,
    fills: bool,
    jobs: int,
    as_json: bool,
) -> None:
    """Search, write and print a schedule for each layer."""
    hierarchy = read_hierarchy(name)
    if len(hierarchy.levels) == 1:
        raise InputError(f"{name}: levels: expected a level inside {hierarchy.outermost.name} to schedule for")
    goal = goal_of(hierarchy, objective or "energy", fills=fills)
    if fills and goal.name != "energy":
        raise InputError("--fills: expected with --objective energy")
    request = HierarchyRequest(hierarchy, goal.name, fills)
    with progress(len(coverage.layers), "searching") as step:
        results = search_on_hierarchy(
            coverage.layers, request, jobs=jobs if jobs > 1 else None, progress=lambda layer: step()
        )
    names = schedule_files(coverage.layers)
    found = [(one, None if output is None else output / names[one.schedule.layer.name]) for one in results]
    for one, path in found:
        if path is not None:
            save_schedule(one.schedule, path, [_remark(one, hierarchy.name)])
    if output is not None:
        clear_earlier(output, [path for _, path in found if path is not None])
    if as_json:
        print_json({"schedules": [_entry(one, path) for one, path in found], "left_out": coverage.as_json()})
        return
    columns = ["layer", _unit(goal.name), "bound", "gap", "memory pJ", "MAC pJ", "seconds"]
    rows = [
        [
            one.schedule.layer.name,
            one.value,
            one.bound,
            _gap_text(one),
            one.energy.memory,
            one.energy.mac,
            one.seconds,
        ]
        for one in results
    ]
    print_table(f"Schedules of least {goal.name} on {hierarchy.name}", columns, rows, wide=["seconds"])
    tell_activations(coverage)


def _unit(objective: str) -> str:
    return "energy pJ" if objective == "energy" else f"bytes of {objective}"


def _gap_text(one: HierarchyResult) -> str:
    return "proven" if one.gap == 0 else f"{100 * one.gap:.2f} %"


def _remark(one: HierarchyResult, hierarchy: str) -> str:
    proof = "proven to be the least" if one.gap == 0 else f"at most {100 * one.gap:.2f} % above the least"
    return f"Least {_unit(one.objective)} found on hierarchy {hierarchy}: {one.value:.12g}, {proof}."


def _entry(one: HierarchyResult, path: Path | None) -> dict[str, Any]:
    return {
        "layer": one.schedule.layer.name,
        "file": None if path is None else str(path),
        **one.counts.as_json(),
        "energy": one.energy.as_json(),
        "objective": one.objective,
        "value": one.value,
        "bound": one.bound,
        "gap": one.gap,
        "complete": one.gap == 0,
        "seconds": round(one.seconds, 6),
    }
