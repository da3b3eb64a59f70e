"""A sweep over depth-first points: the front, then every stack of every solution, into tables."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hwgen.ir.document import InputError, dump_yaml
from hwgen.ir.names import plain_name
from hwgen.studies.engine.attempt import Record, Step
from hwgen.studies.engine.farm import Place
from hwgen.studies.engine.work import Limits, Work
from hwgen.studies.sweep.depth_first.request import DepthFirstQuestion, PipelinePoint
from hwgen.studies.sweep.depth_first.rows import front_rows, no_stack_row, stack_row
from hwgen.studies.sweep.depth_first.steps import (
    PERFORM,
    StackJob,
    front_step,
    predict_step,
    simulate_step,
    synthesise_step,
)
from hwgen.studies.sweep.request import Outcome
from hwgen.studies.sweep.rows import Cells
from hwgen.studies.sweep.steps import LEDGER, NOTES, told
from hwgen.studies.sweep.synthesis import area_rows
from hwgen.tools.cache import digest_of

__all__ = ["DepthFirstSweep", "solution_file"]

FOLDER = "solutions"
Where = tuple[PipelinePoint, int]
"""A point, and the number of a stack of its solution."""


def solution_file(question: DepthFirstQuestion, memory: int) -> str:
    """The name of a solution's file in the folder of the results."""
    entry = question.network.connected_input()
    size = next(
        (f"{memory >> shift}{unit}" for shift, unit in ((20, "MiB"), (10, "KiB")) if not memory % (1 << shift)),
        f"{memory}B",
    )
    parts = [question.place, *(["phases"] if question.phases else []), f"{entry.width}x{entry.height}", size]
    return f"{FOLDER}/{plain_name('_'.join(filter(None, parts)))}.yaml"


@dataclass
class DepthFirstSweep:
    """One sweep with the folder that keeps its finished steps; its parameters are those of `Sweep`."""

    question: DepthFirstQuestion
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
        self._points = list(question.points())
        number = len(self._points)
        self._work = Work(
            self.folder / LEDGER, self.place, Limits(self.seconds, self.attempts), notes=self.folder / NOTES,
            perform=self.perform, tell=self.tell, look=self.look, share=self._share, keep=self._keep_table, told=told,
            what=f"{number} depth-first point{'' if number == 1 else 's'} of {question.network.network}",
        )  # fmt: skip
        self._front = front_step(question.network, question.memories)
        self._jobs: dict[PipelinePoint, list[StackJob]] = {}
        self._steps: dict[Where, list[Step]] = {}
        self._outcome = Outcome()

    def run(self) -> Outcome:
        """Do all steps that are not done yet; `InputError` if no memory has a solution that a pipeline runs.

        An interruption goes on to the caller once what is known is kept and the workers have ended.
        """
        self._work.run(lambda: self._work.want(self._front, self._found))
        outcome = self._table()
        if all(row["status"] == "infeasible" for row in outcome.pipelines):
            reasons = dict.fromkeys(row["reason"] for row in outcome.pipelines)
            raise InputError(f"no feasible point: {'; '.join(reasons)}")
        return outcome

    def _found(self, record: Record) -> None:
        """Its solutions are known: predict every stack."""
        if record["status"] != "done":
            return
        solutions = record["value"]["solutions"]
        for point in self._points:
            solution = solutions[str(point.memory)]
            if solution is None:
                continue
            self._outcome.documents[solution_file(self.question, point.memory)] = dump_yaml(solution)
            jobs = [
                StackJob(solution, number, point.multipliers, self.question.port)
                for number in range(len(solution["stacks"]))
            ]
            self._jobs[point] = jobs
            self._steps |= {(point, number): [predict_step(job)] for number, job in enumerate(jobs)}
            for number in range(len(jobs)):
                self._work.want(self._steps[point, number][0], self._predicted(point, number))

    def _predicted(self, point: PipelinePoint, number: int) -> Callable[[Record], None]:
        def go_on(record: Record) -> None:
            if record["status"] != "done":
                return
            for step in self._asked(self._jobs[point][number], record["value"]):
                self._steps[point, number].append(step)
                self._work.want(step)

        return go_on

    def _asked(self, job: StackJob, predicted: Record) -> list[Step]:
        """The steps of a stack that its pipeline is known for."""
        question, found = self.question, []
        if question.synthesise:
            found.append(synthesise_step(job, predicted["design"], question.device, question.synthesis_seconds))
        if question.simulate:
            found.append(simulate_step(job, question.seed, stalls=question.stalls, macs=predicted["macs"]))
        return found

    def _share(self) -> tuple[int, int]:
        if self._front.key not in self._work.records:
            return 0, len(self._points)
        rows = {point: range(len(self._jobs.get(point, ()))) for point in self._points}
        done = sum(self._settled(point, number) for point, numbers in rows.items() for number in numbers)
        missing = sum(not numbers for numbers in rows.values())
        return done + missing, missing + sum(map(len, rows.values()))

    def _settled(self, point: PipelinePoint, number: int) -> bool:
        steps = [step for step in self._steps[point, number] if step.kind != "synthesise"]
        return all(step.key in self._work.records for step in steps)

    # --- the table ---

    def _keep_table(self) -> tuple[int, int]:
        outcome = self._table()
        if any(row["stack"] is not None for row in outcome.pipelines):
            self.keep(outcome)
        return len(outcome.pipelines) - outcome.pending, len(outcome.pipelines)

    def _table(self) -> Outcome:
        """The tables of all results so far."""
        outcome = self._outcome
        outcome.attempts, outcome.again = dict(self._work.tried), self._work.again
        front = self._work.records.get(self._front.key)
        outcome.fronts = []
        if front is not None and front["status"] == "done":
            outcome.fronts = front_rows(self.question, front["value"]["points"])
        outcome.areas = list(self._areas())
        outcome.pipelines = [row for point in self._points for row in self._rows(point, front)]
        return outcome

    def _areas(self) -> Iterator[Cells]:
        """The blocks of what was synthesised, each design once."""
        keys = (step.key for steps in self._steps.values() for step in steps if step.kind == "synthesise")
        for key in dict.fromkeys(keys):
            record = self._work.records.get(key)
            if record is not None and record["status"] == "done":
                yield from area_rows(record["value"])

    def _rows(self, point: PipelinePoint, front: Record | None) -> list[Cells]:
        asked = self.question.asked(point)
        key = digest_of([self._front.key, point.multipliers])
        if front is None:
            return [no_stack_row(asked, "pending", "", key)]
        if front["status"] != "done":
            status = "infeasible" if front["status"] == "refused" else front["status"]
            return [no_stack_row(asked, status, front["reason"], key)]
        if point not in self._jobs:
            least = front["value"]["points"][0]["memory_bytes"]
            return [no_stack_row(asked, "infeasible", f"expected at least {least} bytes, got {point.memory}", key)]
        return [self._row(point, job, asked) for job in self._jobs[point]]

    def _row(self, point: PipelinePoint, job: StackJob, asked: Cells) -> Cells:
        steps = self._steps[point, job.number]
        records = {step.kind: self._work.records.get(step.key) for step in steps}
        values: dict[str, Any] = {}
        reasons = []
        for kind, record in records.items():
            if record is not None and record["status"] == "done":
                values[kind] = record["value"]
            elif record is not None:
                what = {"simulate-stack": "simulation: ", "synthesise": "synthesis: "}.get(kind, "")
                reasons.append(f"{what}{record['reason']}")
        prediction = records["predict-stack"] or {}
        return stack_row(
            job,
            point=digest_of([step.key for step in steps]),
            asked=asked,
            file=solution_file(self.question, point.memory),
            predicted=values.get("predict-stack"),
            simulated=values.get("simulate-stack"),
            area=values["synthesise"]["cells"] if "synthesise" in values else None,
            reason="; ".join(reasons),
            refused=prediction.get("status") == "refused",
            pending=None in records.values() and not reasons,
        )
