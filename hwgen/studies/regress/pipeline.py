"""Stacks of published networks on their pipelines in the simulator, their results kept line by line.

`hwgen.studies.regress.pipeline_cases` says what is simulated: two stacks as published, three with a quarter of the
channels on smaller maps, and one of these as published on a DRAM.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np

import cosim.pipeline
import hwgen.lower.pipeline
from cosim.device.device import HARNESS
from cosim.pipeline.build import PipelineBuild
from cosim.pipeline.comparison import StackRun, compare, job_of, prepare, random_network_data
from cosim.pipeline.pace import pace_of, pace_on_dram
from cosim.pipeline.run import run_pipelines, sizes_for
from hwgen.arch.pipeline import MoverParameters
from hwgen.lower.pipeline.program import shared_pipeline
from hwgen.studies.engine.attempt import Step, Tell
from hwgen.studies.engine.work import results_of
from hwgen.studies.regress.pipeline_cases import PipelineCase
from hwgen.tools.cache import digest_of, sources_digest

__all__ = ["StackRegression", "perform"]

RANDOM = 2019


@dataclass(frozen=True)
class StackRegression:
    """Cases to run. Those that differ in the tiling factor only share one pipeline with room for all of them.

    A result that ``folder`` has for the same pipeline, data and harness is not simulated again. ``rings`` of a
    result: bytes of the line buffers of the pipeline that is generated for this case alone.
    """

    cases: tuple[PipelineCase, ...]
    folder: Path
    jobs: int = 1

    def run(self, arrived: Callable[[dict[str, Any]], None]) -> list[dict[str, Any]]:
        """All results, in the order of the cases."""
        groups = groupby(self.cases, key=lambda case: case.name.rpartition("_x")[0])
        steps = [step for _, group in groups for step in _steps(list(group))]
        sizes = {case.name: {} if case.size is None else {"size": asdict(case.size)} for case in self.cases}

        def sized(value: dict[str, Any]) -> dict[str, Any]:
            return {**value, **sizes[value["stack"]]}

        found = results_of(
            steps, self.folder / "depth_first.jsonl", self.jobs, perform=f"{__name__}:perform",
            arrived=lambda value: arrived(sized(value)),
        )  # fmt: skip
        return [sized(value) for value in found]


def _steps(cases: Sequence[PipelineCase]) -> Iterator[Step]:
    """The steps of cases that share a pipeline."""
    runs = [_prepared(case) for case in cases]
    pipeline = shared_pipeline([run.program.parameters for run in runs])
    runs = [replace(run, pipeline=pipeline) for run in runs]
    jobs = [replace(job_of(run), pipeline=0) for run in runs]
    build = PipelineBuild(((pipeline, sizes_for(jobs)),))
    packages = (cosim.pipeline, hwgen.lower.pipeline)
    sources = sources_digest([HARNESS, *(Path(package.__path__[0]) for package in packages), Path(__file__)])
    state = digest_of([build.text, sources])
    for case, run, job in zip(cases, runs, jobs, strict=True):
        yield Step("stack", digest_of([run.name, state, repr(run.dram)]), run.name, (case, run, build, job))


def perform(step: Step, tell: Tell) -> dict[str, Any]:
    """Simulate a stack."""
    case, run, build, job = step.arguments
    result = compare(run, *run_pipelines(build, [job]))
    of = pace_of if case.port is None else pace_on_dram
    pace = of(result).as_json() if result.passed else None
    rings = sum(one.elements for one in run.program.parameters.maps)
    return {**result.as_json(), "macs": case.macs, "rings": rings, "pace": pace}


def _prepared(case: PipelineCase) -> StackRun:
    (stack,) = case.solution.stacks
    data = random_network_data(case.solution.network, np.random.default_rng(RANDOM), draw_shifts=True)
    movers, dram = (None, None) if case.port is None else (MoverParameters(case.port.axi_bits), case.port.dram)
    return prepare(case.name, case.solution, stack, data, macs=case.macs, random=RANDOM, movers=movers, dram=dram)
