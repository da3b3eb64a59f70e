"""Depth-first pipelines in the simulator: traffic by kind, outputs, cycles; stalls; what goes wrong is told."""

import random
from collections.abc import Sequence
from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest

from cosim.pipeline import comparison
from cosim.pipeline.comparison import StackResult, StackRun, prepare, random_network_data, run_stacks
from cosim.pipeline.pace import pace_of, pace_on_dram
from cosim.pipeline.run import PipelineResult
from hwgen.arch.pipeline import JoinStage
from hwgen.arch.registers.control import error_of
from hwgen.arch.registers.errors import PipelineError
from hwgen.ir.layer_set import Network
from hwgen.lower.pipeline.program import shared_pipeline
from hwgen.model.pipeline.cost import stack_cost
from hwgen.studies.regress.pipeline_cases import PipelineCase, small_cases, whole_stack
from hwgen.tools.toolchain import Simulator
from tests.cosim.benches import PipelinesInBench
from tests.random.depth_first import random_stacks

SEEDS, NETWORKS, WAYS = (4, 6, 7), 8, 5
EVERY_RUN = 7, (1, 2, 6)
"""The seed and the networks that are simulated in every run of the tests: they have stages of each kind."""
ALL = tuple(range(NETWORKS))
CASES = {case.name: case for case in small_cases()}


def prepared(case: PipelineCase, **options: Any) -> StackRun:
    (stack,) = case.solution.stacks
    data = random_network_data(case.solution.network, np.random.default_rng(1), draw_shifts=True)
    return prepare(case.name, case.solution, stack, data, macs=options.pop("macs", 32), **options)


def on_one_pipeline(runs: Sequence[StackRun]) -> list[StackRun]:
    """The same network in several ways, on a pipeline with room for each, as long as it has the same streams."""
    try:
        pipeline = shared_pipeline([run.program.parameters for run in runs])
    except ValueError:
        return list(runs)
    return [replace(run, pipeline=pipeline) for run in runs]


def published(name: str, **options: Any) -> list[StackRun]:
    """A published stack in one to three tiles, on one pipeline."""
    runs = [prepared(CASES[f"{name}_x{factor}"], **options) for factor in (1, 2, 3)]
    pipeline = shared_pipeline([run.program.parameters for run in runs])
    return [replace(run, pipeline=pipeline) for run in runs]


def failures(results: Sequence[StackResult]) -> dict[str, tuple[str, ...]]:
    return {result.run.name: result.failures for result in results if not result.passed}


@pytest.mark.parametrize("name", [pytest.param("srgan_blocks", marks=pytest.mark.nightly), "mobilenet_v2_stride2"])
def test_published_stacks_in_one_to_three_tiles(name: str) -> None:
    runs = published(name)
    results = run_stacks([*runs, replace(runs[-1], name="stalled", stall_rate=128)], fast=False)
    assert not failures(results)
    *steady, stalled = results
    for result in steady:
        assert result.cycles == pytest.approx(result.run.predicted_cycles, rel=0.02)
        pace = pace_of(result)
        assert not pace.failures
        assert len(pace.tiles) == len(result.run.program.tiles)
        assert all(tile.measured is not None for tile in pace.tiles)
        assert sum(tile.cycles for tile in pace.tiles) + pace.drain == result.cycles
        if name == "mobilenet_v2_stride2":  # the other one ends with a join
            by_model = pace_on_dram(result)
            assert not by_model.failures
            assert [tile.cycles for tile in by_model.tiles[1:]] == [tile.cycles for tile in pace.tiles[1:]]
            assert by_model.tiles[1:] == pace.tiles[1:]
    pace = pace_of(stalled)
    assert f"streams wait {pace.waited} cycles" in pace.failures
    assert stalled.measured == steady[-1].measured
    assert stalled.cycles > steady[-1].cycles


@pytest.mark.parametrize(
    ("seed", "networks"), [EVERY_RUN, *(pytest.param(seed, ALL, marks=pytest.mark.nightly) for seed in SEEDS)]
)
def test_random_stacks_with_random_stalls(seed: int, networks: tuple[int, ...]) -> None:
    ways = random_stacks(random.Random(seed), NETWORKS, WAYS)
    runs = [run for network in networks for run in on_one_pipeline(ways[network])]
    assert not failures(run_stacks(runs, fast=False))


@pytest.mark.parametrize(("chosen", "least"), [([(seed, ALL) for seed in SEEDS], 100), ([EVERY_RUN], 11)])
def test_there_are_random_stacks_enough(chosen: list[tuple[int, tuple[int, ...]]], least: int) -> None:
    found = [(random_stacks(random.Random(seed), NETWORKS, WAYS), networks) for seed, networks in chosen]
    runs = [run for ways, networks in found for network in networks for run in ways[network]]
    assert len(runs) >= least
    kinds = {type(stage).__name__ for run in runs for stage in run.program.parameters.stages}
    assert len(kinds) == 5
    assert all(2 <= len(run.program.plan.stages) <= 6 for run in runs)


@pytest.mark.nightly
def test_rings_and_queues_that_are_too_small_are_noticed() -> None:
    """The skip over two convolutions needs its ring: with less, the watchdog ends the run, whatever the stalls."""
    run = prepared(CASES["srgan_blocks_x2"])
    parameters = run.program.parameters
    join = next(stage for stage in parameters.stages if isinstance(stage, JoinStage))
    skipped = max(join.operands, key=lambda operand: parameters.maps[operand.reads].pixels)
    maps, few = list(parameters.maps), replace(skipped, queue=1)
    maps[skipped.reads] = replace(maps[skipped.reads], pixels=maps[skipped.reads].pixels // 2)
    narrow = replace(join, operands=tuple(few if one == skipped else one for one in join.operands))
    stages = tuple(narrow if one == join else one for one in parameters.stages)
    undersized = replace(parameters, maps=tuple(maps), stages=stages)
    (result,) = run_stacks([replace(run, pipeline=undersized)], fast=False)
    assert error_of(result.result.status[-1]) == PipelineError.WATCHDOG
    assert not result.passed


def test_cocotb_counts_what_the_run_loop_counts(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Under both simulators: every stream's counts and times, the cycles of each tile, and the DRAM.

    On a pipeline that is simulated above, so that it is built once.
    """
    runs = [published("mobilenet_v2_stride2", stall_rate=rate)[1] for rate in (0, 60)]
    looped = run_stacks(runs, fast=False)
    assert not failures(looped)
    assert looped[1].cycles > looped[0].cycles
    simulators: tuple[Simulator, ...] = ("verilator", "icarus")
    monkeypatch.setattr(comparison, "PipelineBuild", PipelinesInBench)
    for simulator in simulators:
        if simulator == "icarus":
            request.getfixturevalue("icarus")
        for one, other in zip(run_stacks(runs, simulator=simulator, fast=False), looped, strict=True):
            for field in fields(PipelineResult):
                same = getattr(one.result, field.name), getattr(other.result, field.name)
                np.testing.assert_equal(*same, err_msg=f"{simulator}: {field.name}")


@pytest.mark.usefixtures("icarus")
def test_tiles_that_bring_nothing_new_are_followed_by_others() -> None:
    """Odd columns come from a pixel that the tile before had: nothing may be taken for the next tile meanwhile."""
    shape = {"input_height": 5, "input_width": 3, "kernel": [1, 1]}
    rows = [
        {"name": "conv", "op": "conv", "inputs": ["input"], "input_channels": 1, "output_channels": 4,
         "output_height": 5, "output_width": 3, **shape},
        {"name": "shuffle", "op": "pixel_shuffle", "inputs": ["conv"], "input_channels": 4, "output_channels": 1,
         "output_height": 10, "output_width": 6, "factor": 2, **shape},
    ]  # fmt: skip
    source = {"name": "input", "channels": 1, "height": 5, "width": 3}
    network = Network.from_data({"format": 1, "kind": "network", "network": "n", "input": source, "layers": rows})
    assert not failures(run_stacks([prepared(PipelineCase("odd", whole_stack(network, 6)))], simulator="icarus"))


@pytest.mark.usefixtures("icarus")
def test_fully_connected_layers_after_a_global_pool() -> None:
    whole = {"input_height": 3, "input_width": 4, "input_channels": 6, "output_channels": 6}
    pixel = {"input_height": 1, "input_width": 1, "output_height": 1, "output_width": 1, "kernel": [1, 1]}
    rows = [
        {"name": "conv", "op": "conv", "inputs": ["input"], "output_height": 3, "output_width": 4, "kernel": [3, 3],
         "padding": [1, 1, 1, 1], **whole},
        {"name": "pool", "op": "pool", "pool": "avg", "global_pool": True, "inputs": ["conv"], **pixel, **whole,
         "kernel": [3, 4]},
        {"name": "fc1", "op": "fc", "inputs": ["pool"], "input_channels": 6, "output_channels": 10, **pixel,
         "activation": "relu"},
        {"name": "fc2", "op": "fc", "inputs": ["fc1"], "input_channels": 10, "output_channels": 4, **pixel},
    ]  # fmt: skip
    source = {"name": "input", "channels": 6, "height": 3, "width": 4}
    network = Network.from_data({"format": 1, "kind": "network", "network": "n", "input": source, "layers": rows})
    (result,) = run_stacks([prepared(PipelineCase("fc", whole_stack(network, 1)))], simulator="icarus")
    assert not result.failures
    assert result.measured.output == 4


@pytest.mark.usefixtures("icarus")
def test_a_wrong_prediction_and_a_wrong_output_are_told() -> None:
    _, run, _ = published("mobilenet_v2_stride2")
    name = run.program.plan.maps[-1].name
    wrong = run.expected[name].copy()
    wrong[1, 2, 3] ^= 1
    more = replace(run.traffic, overlap_in=run.traffic.overlap_in + 1)
    (result,) = run_stacks([replace(run, traffic=more, expected={**run.expected, name: wrong})], simulator="icarus")
    assert result.failures[0] == f"overlap_in: {more.overlap_in - 1} bytes, predicted {more.overlap_in}"
    assert result.failures[1].startswith(
        f"{name}: 1 elements are wrong, the first at [line, column, channel] = [2, 3, 1]: "
    )
    assert not result.output_exact


def test_the_rings_are_the_models() -> None:
    for case in CASES.values():
        run = prepared(case)
        (stack,) = case.solution.stacks
        elements = sum(one.elements for one in run.program.parameters.maps)
        assert elements == stack_cost(case.solution.graph, stack).ring_elements
