"""A sweep: its points planned, built, simulated and synthesised wherever there are workers, and put into a table."""

from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hwgen.ir.document import InputError
from hwgen.ir.layer import Layer
from hwgen.ir.schedule import Schedule
from hwgen.lower.cluster.program import compile_cluster
from hwgen.studies.engine.attempt import Record, Step
from hwgen.studies.engine.farm import Place
from hwgen.studies.engine.work import Limits, Work
from hwgen.studies.regress.hwc import Row, rows_of
from hwgen.studies.regress.plans import Configuration, Plan
from hwgen.studies.sweep.clusters import ClusterConfiguration, cluster_row
from hwgen.studies.sweep.documents import documents_of, hardware_of, schedule_file
from hwgen.studies.sweep.request import AnyConfiguration, Outcome, Question
from hwgen.studies.sweep.rows import Cells, curve_rows, no_row, row_of
from hwgen.studies.sweep.steps import (
    LEDGER,
    NOTES,
    PERFORM,
    build_step,
    cluster_plan_step,
    cluster_simulate_step,
    curve_step,
    plan_step,
    scaled,
    simulate_step,
    synthesise_step,
    told,
)
from hwgen.studies.sweep.synthesis import area_rows
from hwgen.tools.cache import digest_of

__all__ = ["Sweep"]

Where = tuple[AnyConfiguration, str]
"""A configuration and a layer's name."""


@dataclass
class Sweep:
    """One sweep with the folder that keeps its finished steps.

    Parameters
    ----------
    folder : finished steps are kept in its `LEDGER`, and are not done again.
    seconds : after which an attempt at a step is given up.
    attempts : that a step may take.
    tell : called with a line of progress, how many rows are settled, and how many there are.
    look : called twice a second with what is under way, and the same numbers.
    perform : the function that does a step.
    keep : called with what is known, if anything is, now and then and when the sweep is interrupted.
    """

    question: Question
    folder: Path
    place: Place = field(default_factory=Place)
    seconds: float = 3600.0
    attempts: int = 3
    tell: Callable[[str, int, int], None] = lambda line, done, known: None
    look: Callable[[str, int, int], None] = lambda line, done, known: None
    perform: str = PERFORM
    keep: Callable[[Outcome], object] = lambda outcome: None

    def __post_init__(self) -> None:
        question = self.question
        sizes = {"configuration": len(question.configurations), "layer": len(question.layers)}
        self._work = Work(
            self.folder / LEDGER, self.place, Limits(self.seconds, self.attempts), notes=self.folder / NOTES,
            perform=self.perform, tell=self.tell, look=self.look, share=self._share, keep=self._keep_table, told=told,
            what=", ".join(f"{number} {what}{'' if number == 1 else 's'}" for what, number in sizes.items()),
        )  # fmt: skip
        self._planning: dict[Where, str] = {}
        self._plans: dict[Configuration, tuple[Plan, list[Row]]] = {}
        self._synthesis: dict[Where, Step] = {}
        self._simulation: dict[Where, Step] = {}
        self._missing: dict[Where, str] = {}
        self._cells_known: dict[Where, tuple[object, Cells]] = {}
        self._layers = tuple(scaled(layer, question.scale) for layer in question.layers)
        self._outcome = Outcome()

    def run(self) -> Outcome:
        """Do all steps that are not done yet; `InputError` if no configuration runs any layer.

        An interruption goes on to the caller once what is known is kept and the workers have ended.
        """
        self._work.run(self._begin)
        outcome = self._table()
        if outcome.rows and all(row["status"] == "infeasible" for row in outcome.rows):
            reasons = dict.fromkeys(row["reason"] for row in outcome.rows)
            raise InputError(f"no feasible point: {'; '.join(reasons)}")
        return outcome

    def _begin(self) -> None:
        for configuration in self.question.configurations:
            if isinstance(configuration, Configuration):
                step = plan_step(self._layers, configuration)
                self._planning |= {(configuration, layer.name): step.key for layer in self._layers}
                self._work.want(step, self._planned(configuration))
                continue
            for layer in self._layers:
                step = cluster_plan_step(layer, configuration)
                self._planning[configuration, layer.name] = step.key
                self._work.want(step, self._planned_on_cluster(configuration))
        for layer in self._layers if self.question.curve_sizes else ():
            self._work.want(curve_step(layer, self.question.curve_sizes))

    # --- steps ---

    def _share(self) -> tuple[int, int]:
        """How many rows are there, but for their area, or have the reason why not; and how many there are to be."""
        number = 0
        for one in self.question.configurations:
            for layer in self._layers:
                record = self._work.records.get(self._planning.get((one, layer.name), ""))
                where = one, layer.name
                step = self._simulation.get(where)
                there = where in self._missing or step is None or step.key in self._work.records
                number += record is not None and (record["status"] != "done" or there)
        return number, len(self._layers) * len(self.question.configurations)

    def _planned(self, configuration: Configuration) -> Callable[[Record], None]:
        def go_on(record: Record) -> None:
            if record["status"] != "done":
                return
            plan = Plan.from_data(configuration, record["value"])
            rows = rows_of(plan)
            self._plans[configuration] = plan, rows
            self._outcome.documents |= documents_of(
                self.question, configuration, (row.entry.schedule for row in rows), hardware_of(configuration, rows)
            )
            designs: dict[tuple[Any, ...], list[Row]] = defaultdict(list)
            for row in rows:
                designs[row.parameters, row.entry.hardware is None].append(row)
            for same in designs.values():
                self._designed(same)

        return go_on

    def _planned_on_cluster(self, configuration: ClusterConfiguration) -> Callable[[Record], None]:
        def go_on(record: Record) -> None:
            if record["status"] != "done":
                return
            question, schedule = self.question, Schedule.from_data(record["value"]["schedule"])
            where = configuration, schedule.layer.name
            if question.simulate:
                self._simulation[where] = cluster_simulate_step(schedule, configuration, question.seed)
                self._work.want(self._simulation[where])
            if question.synthesise:
                parameters = compile_cluster(schedule, configuration.hardware).hardware
                title = f"{configuration.name} {schedule.layer.name}"
                self._synthesis[where] = synthesise_step(
                    parameters, question.device, title, question.synthesis_seconds
                )
                self._work.want(self._synthesis[where])

        return go_on

    def _designed(self, rows: list[Row]) -> None:
        """The rows of one HWC: build what is simulated, and synthesise."""
        question = self.question
        if question.synthesise:
            first = rows[0]
            title = first.configuration.name + ("" if len(rows) > 1 else f" {first.layer}")
            step = synthesise_step(first.parameters, question.device, title, question.synthesis_seconds)
            for row in rows:
                self._synthesis[row.configuration, row.layer] = step
            self._work.want(step)
        if question.simulate:
            steps = [simulate_step(row, question.seed) for row in rows]
            for row, step in zip(rows, steps, strict=True):
                self._simulation[row.configuration, row.layer] = step
            todo = [pair for pair in zip(rows, steps, strict=True) if self._work.kept(pair[1]) is None]
            for step in steps:
                if step not in [one for _, one in todo]:
                    self._work.want(step)
            if todo:
                self._work.want(build_step([row for row, _ in todo]), self._built(todo))

    def _built(self, todo: list[tuple[Row, Step]]) -> Callable[[Record], None]:
        def go_on(record: Record) -> None:
            for row, step in todo:
                if record["status"] == "done":
                    self._work.want(step)
                else:
                    self._missing[row.configuration, row.layer] = record["reason"]

        return go_on

    # --- the table ---

    def _keep_table(self) -> tuple[int, int]:
        outcome = self._table()
        if any(row["total_bytes_predicted"] is not None for row in outcome.rows):
            self.keep(outcome)
        return len(outcome.rows) - outcome.pending, len(outcome.rows)

    def _table(self) -> Outcome:
        """Write the tables of all results so far: every row, and the finished curves."""
        question, outcome = self.question, self._outcome
        outcome.attempts, outcome.again = dict(self._work.tried), self._work.again
        outcome.rows = [row for one in question.configurations for row in self._rows(one)]
        outcome.curves = []
        outcome.areas = list(self._areas())
        asked = {"set": question.layer_set, "scale": question.scale, "question": question.name}
        for layer in self._layers if question.curve_sizes else ():
            record = self._work.records.get(curve_step(layer, question.curve_sizes).key)
            if record is not None and record["status"] == "done":
                outcome.curves += curve_rows(layer, asked, record["value"])
        return outcome

    def _areas(self) -> Iterator[Cells]:
        """The blocks of what was synthesised, each design once."""
        for key in dict.fromkeys(step.key for step in self._synthesis.values()):
            record = self._work.records.get(key)
            if record is not None and record["status"] == "done":
                yield from area_rows(record["value"])

    def _rows(self, configuration: AnyConfiguration) -> list[Cells]:
        """The rows of a configuration."""
        if isinstance(configuration, ClusterConfiguration):
            return [self._cluster_cells(configuration, layer) for layer in self._layers]
        asked = self.question.asked(configuration)
        planned = plan_step(self._layers, configuration)
        if configuration not in self._plans:
            return [self._unplanned(layer, asked, planned) for layer in self._layers]
        plan, rows = self._plans[configuration]
        by_layer = {row.layer: row for row in rows}
        return [
            self._cells(by_layer[layer.name], plan, asked)
            if layer.name in by_layer
            else no_row(layer, asked, "left out", plan.left_out[layer.name], planned.key)
            for layer in self._layers
        ]

    def _unplanned(self, layer: Layer, asked: Cells, step: Step) -> Cells:
        record = self._work.records.get(step.key, {"status": "pending", "reason": ""})
        status: str = "infeasible" if record["status"] == "refused" else record["status"]
        return no_row(layer, asked, status, record["reason"], step.key)

    def _cells(self, row: Row, plan: Plan, asked: Cells) -> Cells:
        where = row.configuration, row.layer
        simulated, synthesis, common = self._found(where, row.entry.schedule.as_data())

        def made() -> Cells:
            return row_of(
                row,
                optimum=plan.optima[row.layer],
                balance=plan.balances.get(row.layer),
                asked=asked,
                file=schedule_file(self.question, row.configuration, row.layer),
                simulated=simulated,
                area=None if synthesis is None else synthesis["cells"],
                **common,
            )

        return self._made(where, (simulated is None, synthesis is None, common), made)

    def _cluster_cells(self, configuration: ClusterConfiguration, layer: Layer) -> Cells:
        where = configuration, layer.name
        asked = self.question.asked(configuration)
        step = cluster_plan_step(layer, configuration)
        record = self._work.records.get(step.key)
        if record is None or record["status"] != "done":
            return self._unplanned(layer, asked, step)
        simulated, synthesis, common = self._found(where, record["value"]["schedule"])

        def made() -> Cells:
            schedule = Schedule.from_data(record["value"]["schedule"])
            self._outcome.documents |= documents_of(self.question, configuration, [schedule], configuration.hardware)
            file = schedule_file(self.question, configuration, layer.name)
            area = None if synthesis is None else synthesis["cells"]
            return cluster_row(
                record["value"], configuration, asked=asked, file=file, simulated=simulated, area=area, **common
            )

        return self._made(where, (simulated is None, synthesis is None, common), made)

    def _found(self, where: Where, schedule: Record) -> tuple[Any, Any, Cells]:
        """The records of a point's simulation and synthesis, and the status of its row."""
        reasons = [self._missing[where]] if where in self._missing else []
        values: list[Any] = []
        pending = False
        for steps, what in ((self._simulation, "simulation"), (self._synthesis, "synthesis")):
            step = steps.get(where)
            record = None if step is None else self._work.records.get(step.key)
            pending = pending or (step is not None and record is None and not reasons)
            if record is not None and record["status"] != "done":
                reasons.append(f"{what}: {record['reason']}")
            values.append(record["value"] if record is not None and record["status"] == "done" else None)
        keys = [steps[where].key for steps in (self._simulation, self._synthesis) if where in steps]
        point = digest_of(keys or [where[0].name, schedule])
        return values[0], values[1], {"reason": "; ".join(reasons), "pending": pending, "point": point}

    def _made(self, where: Where, state: object, make: Callable[[], Cells]) -> Cells:
        """A row; it is made again only if a record has arrived since."""
        before, cells = self._cells_known.get(where, (None, {}))
        if before != state:
            cells = make()
            self._cells_known[where] = state, cells
        return cells
