"""The configurations of a regression by the cycle model alone: no Verilog, no simulator, the same plans."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import mean
from typing import Any

from hwgen.ir.layer import Layer
from hwgen.model.hwc.cycles import predicted_cycles
from hwgen.model.nest.one_level import predict
from hwgen.studies.regress.hwc import rows_of
from hwgen.studies.regress.plans import Configuration, make_plan
from hwgen.tools.workers import Failed, Finished, Task, Told, Workers

__all__ = ["Modelled", "by_model", "model_task"]


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


@dataclass
class _Found:
    by_configuration: dict[Configuration, Modelled] = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)


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
    found = _Found()
    with Workers(min(jobs, len(configurations))) as workers:
        for number, configuration in enumerate(configurations):
            late = configuration.kind == "shared"  # their plans take long: those of the others come first
            arguments = (tuple(layers), configuration, folder / "plans")
            workers.submit(-number - 100.0 * late, Task("model", model_task, arguments))
        for event in workers.events():
            match event:
                case Told(_, (configuration, layer, cycles)):
                    arrived(configuration.name, layer, cycles)
                case Failed(task, reason):
                    found.failures.append(f"{task.arguments[1].name}: {reason}")
                case Finished(_, modelled, _):
                    found.by_configuration[modelled.configuration] = modelled
    return [found.by_configuration[one] for one in configurations if one in found.by_configuration], found.failures


def model_task(
    layers: Sequence[Layer], configuration: Configuration, store: Path, *, tell: Callable[[Any], None]
) -> Modelled:
    """Plan a configuration and predict its rows; each is told when it is done."""
    plan = make_plan(layers, configuration, store)
    rows = rows_of(plan)
    moved, cycles, busy = 0, 0, []
    for row in rows:
        schedule = row.entry.schedule
        taken = predicted_cycles(schedule, row.parameters).total
        moved += predict(schedule).total_bytes
        cycles += taken
        busy.append(schedule.layer.macs / (row.parameters.lanes.product * taken))
        tell((configuration, row.layer, taken))
    return Modelled(
        configuration=configuration,
        rows=len(rows),
        left_out=len(plan.left_out),
        hwcs=len({row.parameters for row in rows}),
        lanes=tuple(sorted({str(row.parameters.lanes) for row in rows})),
        total_bytes=moved,
        ratio=moved / sum(plan.optima[row.layer] for row in rows) if rows else 0.0,
        mean_utilisation=mean(busy) if rows else 0.0,
        least_utilisation=min(busy, default=0.0),
        cycles=cycles,
    )
