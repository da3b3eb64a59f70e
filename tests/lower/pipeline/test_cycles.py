"""Random lowered stacks never come to a standstill with the model's rings, not even with the least of queues."""

import random
from dataclasses import replace

import numpy as np
import pytest

from hwgen.arch.pipeline import JoinStage, PipelineParameters
from hwgen.golden.network import RowData
from hwgen.ir.document import InputError
from hwgen.ir.layer_set import Network
from hwgen.lower.pipeline.cycles import predict_tile, run_pipeline, service_order, tile_pipeline
from hwgen.lower.pipeline.lowering import lower_stack
from hwgen.lower.pipeline.program import PipelineProgram
from hwgen.lower.pipeline.queues import with_queues
from hwgen.lower.pipeline.solution import Solution
from hwgen.lower.pipeline.tiles import plan_stack
from hwgen.model.pipeline.cost import Stack
from hwgen.model.pipeline.cycles import play
from hwgen.model.pipeline.graph import Graph, Span
from tests.random.networks import random_network, random_skips


def without_values(network: Network) -> dict[str, RowData]:
    """Rows whose weights and biases are all zero."""
    return {
        node.name: RowData(
            np.zeros((node.output_channels, node.input_channels // node.groups, *node.kernel), np.int8),
            np.zeros(node.output_channels, np.int32),
        )
        if node.op in ("conv", "depthwise_conv")
        else RowData()
        for node in network.layers
    }


def random_program(rng: random.Random) -> PipelineProgram | None:
    """A random stack, lowered; None if a pipeline cannot run it."""
    network = random_network(rng, rows=9, most=10) if rng.random() < 0.6 else random_skips(rng, rows=7, most=10)
    graph = Graph.of(network)
    first = rng.randint(1, graph.rows)
    span = Span(first, rng.randint(first, graph.rows))
    joins = [edge for edge in graph.edges if edge.kind == "join" and span.first <= edge.consumer <= span.last]
    skips = frozenset(edge for edge in joins if rng.random() < 0.2)
    stack = Stack(span, rng.randint(1, min(5, graph.largest_factor(span))), skips)
    try:
        plan = plan_stack(Solution(network, graph, (stack,), "fetched"), stack)
        return lower_stack(plan, without_values(network), macs=rng.choice([9, 16, 64, 256]))
    except InputError:
        return None


def with_least_queues(parameters: PipelineParameters) -> PipelineParameters:
    """One pixel before each operand of a join, however many pixels other paths hold."""
    stages = (
        replace(stage, operands=tuple(replace(operand, queue=1) for operand in stage.operands))
        if isinstance(stage, JoinStage)
        else stage
        for stage in parameters.stages
    )
    return replace(parameters, stages=tuple(stages))


def runs(program: PipelineProgram, parameters: PipelineParameters) -> bool:
    """Whether all tiles end, with the overlap port served in time: as a run of all, and each by itself."""
    incoming, outgoing = map(tuple, service_order(parameters, program.tiles))
    if play(run_pipeline(parameters, program.tiles), incoming, outgoing).cycles < 0:
        return False
    return all(predict_tile(parameters, tile) > 0 for tile in program.tiles)


def check(seed: int, stacks: int) -> None:
    rng = random.Random(seed)
    for _ in range(stacks):
        program = random_program(rng)
        if program is not None:
            for parameters in (with_least_queues(program.parameters), with_queues(program.parameters)):
                assert runs(program, parameters), (program.plan, parameters)


def test_no_standstill() -> None:
    check(7, 100)


@pytest.mark.nightly
@pytest.mark.parametrize("seed", range(10))
def test_no_standstill_at_length(seed: int) -> None:
    check(seed, 1000)


def test_an_impossible_order_is_a_deadlock() -> None:
    rng = random.Random(1)
    stuck = 0
    for _ in range(40):
        program = random_program(rng)
        for tile in program.tiles if program is not None else ():
            pipeline = tile_pipeline(program.parameters, tile.registers)
            incoming = tuple(sorted((line.map for line in tile.overlap_in), reverse=True))
            stuck += play(pipeline, incoming, play(pipeline).outgoing).cycles < 0
    assert stuck > 5


def test_a_stack_of_one_tile_is_not_played_for_an_order(monkeypatch: pytest.MonkeyPatch) -> None:
    """That takes as long as the pipeline's cycles, of which a large stack has many."""

    def never(*_: object) -> None:
        raise AssertionError("played")

    network = random_skips(random.Random(1), rows=5, most=10)
    graph = Graph.of(network)
    monkeypatch.setattr("hwgen.lower.pipeline.cycles.play", never)
    whole = Stack(Span(1, graph.rows), 1)
    (tile,) = lower_stack(plan_stack(Solution(network, graph, (whole,), "fetched"), whole), None).tiles
    assert (tile.overlap_in, tile.overlap_out) == ((), ())
    halves = Stack(Span(1, graph.rows), 2)
    with pytest.raises(AssertionError, match="played"):
        lower_stack(plan_stack(Solution(network, graph, (halves,), "fetched"), halves), None)
