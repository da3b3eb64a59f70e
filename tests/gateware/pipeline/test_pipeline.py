"""Whole pipelines in the simulator: outputs, overlap, bytes and cycles of random small stacks as predicted."""

import random

import numpy as np
import pytest

from cosim.pipeline.comparison import random_network_data
from hwgen.arch.registers.errors import PipelineError
from hwgen.ir.document import InputError
from hwgen.lower.pipeline.cycles import predict_tile, service_order
from hwgen.lower.pipeline.lowering import lower_stack
from hwgen.lower.pipeline.program import PipelineProgram
from hwgen.lower.pipeline.solution import Solution
from hwgen.lower.pipeline.tiles import plan_stack
from hwgen.model.pipeline.cost import Stack
from hwgen.model.pipeline.graph import Graph, Span
from tests.gateware.pipeline.bench import run_pipeline
from tests.random.networks import random_network
from tests.random.pipelines import Maps, expected_streams, stimuli


def random_case(rng: random.Random) -> tuple[PipelineProgram, Maps] | None:
    """A random stack, lowered, with all maps; None if a pipeline cannot run it."""
    network = random_network(rng, rows=6, most=7)
    graph = Graph.of(network)
    first = rng.randint(1, graph.rows)
    span = Span(first, rng.randint(first, graph.rows))
    joins = [edge for edge in graph.edges if edge.kind == "join" and span.first <= edge.consumer <= span.last]
    skips = frozenset(edge for edge in joins if rng.random() < 0.3)
    stack = Stack(span, rng.randint(1, min(3, graph.largest_factor(span))), skips)
    try:
        data = random_network_data(network, np.random.default_rng(rng.getrandbits(32)), draw_shifts=True)
        plan = plan_stack(Solution(network, graph, (stack,), "fetched"), stack)
        program = lower_stack(plan, data.rows, macs=rng.choice([8, 16, 64]), order=service_order)
    except InputError:
        return None
    return program, {number: data.maps[one.name] for number, one in enumerate(graph.maps)}


@pytest.mark.parametrize(
    ("seed", "pauses"), [(0, 0.3), (3, 0.0), (8, 0.0), (11, 0.0), (18, 0.0), (22, 0.3), (63, 0.0)]
)
def test_random_stacks(seed: int, pauses: float) -> None:
    case = random_case(random.Random(seed))
    assert case is not None
    program, maps = case
    seen = run_pipeline(program.parameters, stimuli(program, maps), pauses=pauses, seed=seed)
    assert seen.error == PipelineError.NONE
    assert seen.outputs == expected_streams(program, maps)
    cycles, predicted = (
        seen.cycles[-len(program.tiles) :],
        [predict_tile(program.parameters, t) for t in program.tiles],
    )
    if pauses:
        assert all(one >= least > 0 for one, least in zip(cycles, predicted, strict=True))
    else:
        assert cycles == predicted
