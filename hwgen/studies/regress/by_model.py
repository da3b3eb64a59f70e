"""The configurations of a regression by the cycle model alone: no Verilog, no simulator, the same plans."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import mean
from typing import Any

from hwgen.ir.document import csv_lines
from hwgen.ir.layer import Layer
from hwgen.model.hwc.cycles import predicted_cycles
from hwgen.model.nest.one_level import predict
from hwgen.studies.engine.attempt import Record, Step, Tell
from hwgen.studies.engine.farm import Place
from hwgen.studies.engine.work import UNLIMITED, Work
from hwgen.studies.regress.goals import verdict
from hwgen.studies.regress.hwc import rows_of
from hwgen.studies.regress.plans import Configuration, make_plan
from hwgen.tools.cache import digest_of

__all__ = ["Modelled", "by_model", "modelled_csv", "perform"]

COLUMNS = ("configuration", "kind", "multipliers", "buffer_bytes", "rows", "hwcs", "bytes", "of_the_optima",
           "utilisation", "cycles", "verdict")  # fmt: skip


@dataclass(frozen=True)
class Modelled:
    """One configuration as the model has it.

    Members
    -------
    rows, left_out : layers that the configuration runs; that it cannot or need not run.
    hwcs : how many HWCs its layers run on.
    lanes : their shapes, as text.
    total_bytes, ratio : I, W and O; over the sum of the same rows' optima in the pure model.
    mean_utilisation, least_utilisation : multiply-accumulates by what the lanes could have done.
    cycles : of all rows.
    """

    configuration: Configuration
    rows: int
    left_out: int
    hwcs: int
    lanes: tuple[str, ...]
    total_bytes: int
    ratio: float
    mean_utilisation: float
    least_utilisation: float
    cycles: int


def by_model(
    layers: Sequence[Layer],
    configurations: Sequence[Configuration],
    folder: Path,
    jobs: int = 1,
    arrived: Callable[[str, str, int], None] = lambda configuration, layer, cycles: None,
) -> tuple[list[Modelled], list[str]]:
    """Each configuration's figures, and a line for each that could not be planned.

    ``folder`` keeps the plans. ``arrived`` is called with each row's configuration, layer and cycles.
    """
    found: dict[Configuration, Modelled] = {}
    failures: list[str] = []

    def settle(configuration: Configuration, record: Record) -> None:
        if record["status"] != "done":
            failures.append(f"{configuration.name}: {record['reason']}")
            return
        value = record["value"]
        for layer, taken in value.pop("rows_cycles").items():
            arrived(configuration.name, layer, taken)
        found[configuration] = Modelled(configuration, **{**value, "lanes": tuple(value["lanes"])})

    def share() -> tuple[int, int]:
        return len(found), len(configurations)

    def begin() -> None:
        for number, configuration in enumerate(configurations):
            late = configuration.kind == "shared"  # their plans take long: those of the others come first
            arguments = (tuple(layers), configuration, folder / "plans")
            key, urgency = digest_of([configuration.name]), -number - 100.0 * late
            step = Step("model", key, configuration.name, arguments, urgency, keep=False)
            work.want(step, partial(settle, configuration))

    place = Place(workers=min(jobs, len(configurations)))
    work = Work(folder / "none", place, UNLIMITED, perform=f"{__name__}:perform", share=share, keep=share)
    work.run(begin)
    return [found[one] for one in configurations if one in found], failures


def modelled_csv(found: Sequence[Modelled]) -> str:
    """Configurations as CSV, ratios with six digits."""
    return csv_lines([COLUMNS, *map(_cells, found)])


def _cells(one: Modelled) -> tuple[object, ...]:
    asked, goal = one.configuration, one.configuration.goal
    return (
        asked.name, asked.kind, asked.multipliers, asked.budget, one.rows, one.hwcs, one.total_bytes,
        round(one.ratio, 6), round(one.mean_utilisation, 6), one.cycles,
        "" if goal is None else verdict(goal, one.mean_utilisation, one.ratio),
    )  # fmt: skip


def perform(step: Step, tell: Tell) -> dict[str, Any]:
    """Plan a configuration and predict its rows."""
    layers, configuration, store = step.arguments
    plan = make_plan(layers, configuration, store)
    rows = rows_of(plan)
    moved, busy = 0, []
    cycles: dict[str, int] = {}
    for row in rows:
        schedule = row.entry.schedule
        taken = predicted_cycles(schedule, row.parameters).total
        moved += predict(schedule).total_bytes
        cycles[row.layer] = taken
        busy.append(schedule.layer.macs / (row.parameters.lanes.product * taken))
    return {
        "rows": len(rows),
        "left_out": len(plan.left_out),
        "hwcs": len({row.parameters for row in rows}),
        "lanes": sorted({str(row.parameters.lanes) for row in rows}),
        "total_bytes": moved,
        "ratio": moved / sum(plan.optima[row.layer] for row in rows) if rows else 0.0,
        "mean_utilisation": mean(busy) if rows else 0.0,
        "least_utilisation": min(busy, default=0.0),
        "cycles": sum(cycles.values()),
        "rows_cycles": cycles,
    }
