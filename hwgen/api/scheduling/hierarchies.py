"""Plans on memories of any depth: the best schedule of every layer, with its bound."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from hwgen.api.machines import HierarchyLike, read_hierarchy
from hwgen.api.predictions import Prediction, predict
from hwgen.api.progress import steps
from hwgen.api.schedule_files import clear_earlier, schedule_files
from hwgen.api.scheduling.plan import Plan
from hwgen.api.work import Work
from hwgen.ir.coverage import Coverage
from hwgen.ir.document import InputError
from hwgen.ir.memory.hierarchy import Hierarchy
from hwgen.ir.schedule import Schedule, save_schedule
from hwgen.search.hierarchy.batch import HierarchyRequest, search_on_hierarchy
from hwgen.search.hierarchy.optimal import HierarchyResult
from hwgen.search.objectives.of_hierarchy import goal_of

__all__ = ["HierarchyPlan", "energy_unit", "gap_text", "plan_on_hierarchy"]


@dataclass(frozen=True, repr=False, eq=False)
class HierarchyPlan(Plan):
    """A schedule of each layer on a hierarchy. ``goal`` : energy, or the level whose bytes are least."""

    results: tuple[HierarchyResult, ...]
    hierarchy: Hierarchy
    goal: str
    fills: bool
    output: Path | None

    @property
    def schedules(self) -> tuple[Schedule, ...]:
        """The schedules, layer by layer."""
        return tuple(one.schedule for one in self.results)

    @cached_property
    def prediction(self) -> Prediction:
        """What the schedules cost on the hierarchy."""
        return predict(self, hierarchy=self.hierarchy, fills=self.fills)

    def works(self) -> list[Work]:
        """The schedules, of no hardware."""
        return [Work(self.schedules, None, coverage=self.coverage)]

    def machines(self) -> Sequence[None]:
        """The hardware of each schedule: none."""
        return [None] * len(self.results)

    def files(self) -> Sequence[Path | None]:
        """The file of each schedule."""
        names = schedule_files(self.coverage.layers)
        return [None if self.output is None else self.output / names[one.layer.name] for one in self.schedules]

    def write_files(self) -> None:
        """Write the files, in place of those of an earlier run."""
        found = [path for path in self.files() if path is not None]
        for one, path in zip(self.results, found, strict=False):
            save_schedule(one.schedule, path, [_remark(one, self.hierarchy.name)])
        if self.output is not None:
            clear_earlier(self.output, found)

    def kind(self) -> str:
        """What they are the best of."""
        return f"least {self.goal} on {self.hierarchy.name}"

    def document(self) -> dict[str, Any]:
        """The document that ``hwgen schedule --hierarchy --json`` prints."""
        entries = [_entry(one, path) for one, path in zip(self.results, self.files(), strict=True)]
        return {"schedules": entries, "left_out": self.coverage.as_json()}


def plan_on_hierarchy(
    coverage: Coverage, name: HierarchyLike, objective: str | None, output: Path | None, *, fills: bool, jobs: int
) -> HierarchyPlan:
    """Search and write a schedule for each layer."""
    hierarchy = read_hierarchy(name)
    if len(hierarchy.levels) == 1:
        told = name.name if isinstance(name, Hierarchy) else name
        raise InputError(f"{told}: levels: expected a level inside {hierarchy.outermost.name} to schedule for")
    goal = goal_of(hierarchy, objective or "energy", fills=fills)
    if fills and goal.name != "energy":
        raise InputError("--fills: expected with --objective energy")
    request = HierarchyRequest(hierarchy, goal.name, fills)
    with steps(len(coverage.layers), "searching") as step:
        results = search_on_hierarchy(
            coverage.layers, request, jobs=jobs if jobs > 1 else None, progress=lambda layer: step()
        )
    plan = HierarchyPlan(coverage, tuple(results), hierarchy, goal.name, fills, output)
    plan.write_files()
    return plan


def energy_unit(objective: str) -> str:
    """What the value of an objective is in."""
    return "energy pJ" if objective == "energy" else f"bytes of {objective}"


def gap_text(one: HierarchyResult) -> str:
    """How far above the least the value may be."""
    return "proven" if one.gap == 0 else f"{100 * one.gap:.2f} %"


def _remark(one: HierarchyResult, hierarchy: str) -> str:
    proof = "proven to be the least" if one.gap == 0 else f"at most {100 * one.gap:.2f} % above the least"
    return f"Least {energy_unit(one.objective)} found on hierarchy {hierarchy}: {one.value:.12g}, {proof}."


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
