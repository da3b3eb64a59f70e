"""Pipelines with movers on a simulated DRAM: accesses, outputs, errors on the bus, a tile after a failed one."""

import random
from collections.abc import Sequence
from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest

from cosim.pipeline.build import PipelineBuild
from cosim.pipeline.comparison import StackResult, StackRun, compare, job_of, prepare, random_network_data, run_stacks
from cosim.pipeline.run import AccessError, PipelineResult, run_pipelines, sizes_for
from hwgen.arch.pipeline import MoverParameters
from hwgen.arch.pipeline.movers import movers_of
from hwgen.arch.registers.control import Status, error_of
from hwgen.arch.registers.errors import PipelineError
from hwgen.lower.pipeline.cycles import predict_on_dram
from hwgen.lower.pipeline.program import shared_pipeline
from hwgen.studies.regress.pipeline_cases import small_cases
from hwgen.tools.toolchain import Simulator
from tests.random.depth_first import DRAMS, random_stacks

CASES = {case.name: case for case in small_cases()}
EVERY_RUN = 6, (1, 2)
"""A seed and two of its networks, five tilings each: with overlap and with skips through the DRAM, and with a tile in
which the queue after the overlap port is full while a pixel leaves it."""
DDR3 = DRAMS[1]
SIMULATORS: tuple[Simulator, ...] = ("verilator", "icarus")


def prepared(name: str, **options: Any) -> StackRun:
    case = CASES[name]
    (stack,) = case.solution.stacks
    data = random_network_data(case.solution.network, np.random.default_rng(1), draw_shifts=True)
    return prepare(case.name, case.solution, stack, data, macs=32, movers=MoverParameters(), **options)


def on_one_pipeline(runs: Sequence[StackRun]) -> list[StackRun]:
    pipeline = shared_pipeline([run.program.parameters for run in runs])
    return [replace(run, pipeline=pipeline) for run in runs]


def failures(results: Sequence[StackResult]) -> dict[str, tuple[str, ...]]:
    return {result.run.name: result.failures for result in results if not result.passed}


@pytest.mark.parametrize(
    ("seed", "networks"),
    [
        EVERY_RUN,
        *(pytest.param(seed, range(4), marks=pytest.mark.nightly) for seed in (4, 5, 7, 8)),
        pytest.param(109, (2,), marks=pytest.mark.nightly),  # two outputs, so that one of the IDs is 3
    ],
)
def test_random_stacks_are_exact_and_as_predicted(seed: int, networks: Sequence[int]) -> None:
    ways = random_stacks(random.Random(seed), max(networks) + 1, 5, movers=True)
    runs = [run for number in networks for run in on_one_pipeline(ways[number])]
    results = run_stacks(runs, fast=False)
    assert not failures(results)
    steady = [result for result in results if not result.run.stall_rate]
    assert steady
    for result in steady:
        run = result.run
        assert result.cycles == predict_on_dram(run.program, run.images.layout, run.dram, run.parameters), run.name


def test_there_are_random_stacks_enough() -> None:
    seed, networks = EVERY_RUN
    ways = random_stacks(random.Random(seed), max(networks) + 1, 5, movers=True)
    runs = [run for number in networks for run in ways[number]]
    assert len(runs) == 10
    assert {run.dram for run in runs} == set(DRAMS)
    movers = [mover for run in runs for mover in movers_of(run.program.parameters)]
    assert {"i_overlap", "o_overlap"} <= {mover.stream for mover in movers}
    assert any(mover.after for mover in movers)


@pytest.mark.nightly
def test_a_count_that_is_wrong_is_noticed() -> None:
    """As if one line of the input were 8 bytes longer than predicted."""
    run = prepared("mobilenet_v2_stride1_x2", dram=DDR3)
    (result,) = run_stacks([run], fast=False)
    assert result.passed
    counted = result.result.dram["i_map0"]
    wrong = {**result.result.dram, "i_map0": replace(counted, beats=counted.beats + 1)}
    (line,) = compare(run, replace(result.result, dram=wrong)).failures
    assert line.startswith("i_map0: ")


@pytest.mark.parametrize(("reads", "code"), [(True, PipelineError.READ_BUS), (False, PipelineError.WRITE_BUS)])
def test_an_error_on_the_bus_ends_the_tile(reads: bool, code: PipelineError) -> None:
    run = prepared("mobilenet_v2_stride1_x2", dram=DDR3)
    region = run.program.stream("i_map0" if reads else f"o_map{run.parameters.stages[-1].makes}").region
    failing = replace(run, error=AccessError(run.images.regions[region] + 40, reads))
    (result,) = run_stacks([failing], fast=False)
    assert error_of(result.result.status[-1]) == code
    assert not result.result.violations
    assert not result.result.beyond
    changed = np.flatnonzero(result.result.memory != run.images.memory)
    outputs = [(run.images.regions[one.number], one) for one in run.program.plan.maps if not one.source]
    inside = np.zeros(run.images.memory.size, bool)
    for base, one in outputs:
        inside[base : base + one.channels * one.lines * one.columns] = True
    assert inside[changed].all()


@pytest.mark.nightly
def test_a_tile_runs_after_one_that_failed() -> None:
    """The first start has its input outside of the memory: all its bursts are answered, then the same tile runs."""
    run = prepared("mobilenet_v2_stride1_x2", dram=DDR3)
    job = replace(job_of(run), mistakes={"i_map0_address": 1 << 30})
    build = PipelineBuild(((run.parameters, sizes_for([job])),), fast=False)
    (result,) = run_pipelines(build, [job])
    _, failed, *tiles = result.status
    assert error_of(failed) == PipelineError.READ_BUS
    assert tiles == [Status.DONE]
    assert compare(run, result).output_exact


def test_both_simulators_count_alike(request: pytest.FixtureRequest) -> None:
    request.getfixturevalue("icarus")
    runs = [prepared("mobilenet_v2_stride1_x2", dram=DDR3, stall_rate=rate) for rate in (0, 60)]
    one, other = (run_stacks(runs, simulator=simulator, fast=False) for simulator in SIMULATORS)
    assert not failures(one)
    for ours, theirs in zip(one, other, strict=True):
        for field in fields(PipelineResult):
            same = getattr(ours.result, field.name), getattr(theirs.result, field.name)
            np.testing.assert_equal(*same, err_msg=field.name)
