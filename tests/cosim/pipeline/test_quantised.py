"""Quantised stacks in the simulator: scaled sums and zero points, exact, with every count and cycle as predicted."""

import random
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from cosim.pipeline.comparison import StackResult, StackRun, compare, prepare, run_stacks
from cosim.pipeline.quantised_data import random_quantised_data
from cosim.pipeline.run import StreamCount
from hwgen.arch.pipeline import ConvStage, GlobalPoolStage, JoinStage, MoverParameters, PoolStage
from hwgen.lower.pipeline.program import shared_pipeline
from hwgen.lower.pipeline.solution import Solution
from hwgen.model.pipeline.cost import Stack
from hwgen.model.pipeline.graph import Graph, Span
from tests.gateware.pipeline.test_stages import network
from tests.random.depth_first import DRAMS, random_stacks

NETWORKS, WAYS = 5, 3
SEEDS = (1, 2, 4, 10)
EVERY_RUN = 2, (0, 1)
"""The seed and the networks that are simulated in every run of the tests."""
ALL = tuple(range(NETWORKS))
SAME = {"op": "conv", "output_channels": 4, "kernel": [3, 3], "padding": [1, 1, 1, 1]}
EACH, ONE = {"op": "lookup", "groups": 4}, {"op": "lookup"}
RESIDUAL = network((3, 5, 6), SAME, EACH, SAME, ONE, {"op": "add", "inputs": ["row1", "row3"]})


def drawn(seed: int, networks: Sequence[int]) -> list[StackRun]:
    """The stacks of some networks, each network on one pipeline with its DRAM."""
    ways = random_stacks(random.Random(seed), NETWORKS, WAYS, movers=True, requantisation="scaled")
    runs = []
    for number in networks:
        pipeline = shared_pipeline([run.program.parameters for run in ways[number]])
        runs += [replace(run, pipeline=pipeline) for run in ways[number]]
    return runs


def failures(results: Sequence[StackResult]) -> dict[str, tuple[str, ...]]:
    return {result.run.name: result.failures for result in results if not result.passed}


@pytest.mark.parametrize(
    ("seed", "networks"), [EVERY_RUN, *(pytest.param(seed, ALL, marks=pytest.mark.nightly) for seed in SEEDS)]
)
def test_random_quantised_stacks_are_exact_and_as_predicted(seed: int, networks: Sequence[int]) -> None:
    results = run_stacks(drawn(seed, networks), fast=False)
    assert not failures(results)
    steady = [result for result in results if not result.run.stall_rate]
    assert steady
    for result in steady:
        assert result.cycles == result.run.predicted_cycles, result.run.name


@pytest.mark.parametrize(("chosen", "least"), [([(seed, ALL) for seed in SEEDS], 40), ([EVERY_RUN], 4)])
def test_there_are_quantised_stacks_enough(chosen: list[tuple[int, Sequence[int]]], least: int) -> None:
    """With every kind of stage that scales sums, and with zero points that padding reads as."""
    runs = [run for seed, networks in chosen for run in drawn(seed, networks)]
    assert len(runs) >= least
    stages = [stage for run in runs for stage in run.program.parameters.stages]
    assert {type(stage) for stage in stages if stage.scaling} == {ConvStage, JoinStage, PoolStage, GlobalPoolStage}
    numbered = [(run, n, row) for run in runs for n, row in enumerate(run.program.plan.stages)]
    padded = [(run.program.tiles[0].registers, n) for run, n, row in numbered if any(row.padding)]
    assert any(registers.get(f"stage{n}_zero_in") for registers, n in padded)


def test_some_random_channels_round_twice_and_others_once() -> None:
    rows = random_quantised_data(RESIDUAL, np.random.default_rng(2)).rows.values()
    assert {scale.twice for row in rows for scale in row.requantisation.scales} == {False, True}


@pytest.mark.usefixtures("icarus")
def test_a_record_that_is_wrong_is_told() -> None:
    """A residual block with tables in two tiles, its streams as ports: as it is, and with one channel's multiplier
    halved; and as it is on a DRAM."""
    graph = Graph.of(RESIDUAL)
    stack = Stack(Span(1, graph.rows), 2)
    solution = Solution(RESIDUAL, graph, (stack,), "fetched", "scaled")
    data = random_quantised_data(RESIDUAL, np.random.default_rng(2))
    row = data.rows["row0"]
    first, *others = row.requantisation.scales
    halved = replace(row.requantisation, scales=(replace(first, multiplier=first.multiplier // 2), *others))
    wrong = replace(data, rows={**data.rows, "row0": replace(row, requantisation=halved)})
    runs = [prepare(name, solution, stack, one, macs=8) for name, one in (("sound", data), ("wrong", wrong))]
    runs.append(prepare("dram", solution, stack, data, macs=8, movers=MoverParameters(), dram=DRAMS[1]))
    sound, told, on_dram = run_stacks(runs, simulator="icarus")
    for result in (sound, on_dram):
        assert not result.failures
        assert result.bias == 8 * (4 + 4) + 256 * (4 + 1)
        assert result.cycles == result.run.predicted_cycles
    assert not told.output_exact
    assert "elements are wrong" in told.failures[0]
    less = replace(sound.result, streams={**sound.result.streams, "i_weights": StreamCount(0, 32, 0, 0)})
    assert "biases, scales and tables: 32 bytes, predicted 1344" in compare(runs[0], less).failures
