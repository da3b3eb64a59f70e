"""Planned stacks run tile by tile: outputs of the whole network's reference, traffic of the model, by kind."""

import random
from dataclasses import replace

import numpy as np
import pytest

from cosim.fused_data import NetworkData, random_network_data
from hwgen.ir.document import InputError
from hwgen.ir.excerpt import excerpt, narrowed
from hwgen.ir.network import Network, load_layer_set
from hwgen.ir.resolution import at_resolution
from hwgen.model.fusion import Stack, stack_cost
from hwgen.model.fusion_graph import Graph, Span
from hwgen.pipeline.interpreter import Memory, NotWritten, run_stack
from hwgen.pipeline.solution import Solution
from hwgen.pipeline.tiles import plan_stack
from tests.random_networks import random_network, random_skips


def check(network: Network, stack: Stack, data: NetworkData) -> None:
    """One stack on the maps that it reads; what it writes has to be what the reference makes."""
    graph = Graph.of(network)
    solution = Solution(network, graph, (stack,), "resident")
    memory = Memory()
    for number in graph.sources(stack.span):
        memory.put(number, data.maps[graph.maps[number].name])
    where = (network.layers, stack)
    assert run_stack(plan_stack(solution, stack), data.rows, memory) == stack_cost(graph, stack).traffic, where
    for number in graph.outputs(stack.span):
        assert np.array_equal(memory.whole(number), data.maps[graph.maps[number].name]), where


def runs(network: Network, rng: random.Random) -> bool:
    """A random stack of a network; False if none of it can be run."""
    if any(node.op == "deconv" for node in network.layers):
        return False
    graph = Graph.of(network)
    first = rng.randint(1, graph.rows)
    span = Span(first, rng.randint(first, graph.rows))
    joins = [edge for edge in graph.edges if edge.kind == "join" and span.first <= edge.consumer <= span.last]
    factor = rng.randint(1, min(4, graph.largest_factor(span)))
    stack = Stack(span, factor, frozenset(edge for edge in joins if rng.random() < 0.3))
    try:
        stack_cost(graph, stack)
    except InputError:
        return False
    check(network, stack, random_network_data(network, np.random.default_rng(rng.randrange(1 << 30))))
    return True


@pytest.mark.parametrize("make", [random_network, random_skips])
def test_random_stacks(make: object) -> None:
    rng = random.Random(11)
    assert sum(runs(make(rng), rng) for _ in range(120)) > 80  # type: ignore[operator]


def test_a_residual_block_upright_and_lying() -> None:
    block = narrowed(excerpt(load_layer_set("srgan"), "rb02_conv1", "rb02_add"), 16)
    for size in ((12, 20), (20, 12)):
        network = at_resolution(block, *size)
        data = random_network_data(network, np.random.default_rng(5))
        skip = next(edge for edge in Graph.of(network).edges if edge.kind == "join" and edge.producer == 0)
        for factor in (1, 2, 3, 12):
            check(network, Stack(Span(1, 3), factor), data)
            check(network, Stack(Span(1, 3), factor, frozenset({skip})), data)


def test_a_column_that_the_plan_does_not_bring_is_missed() -> None:
    network = at_resolution(narrowed(load_layer_set("vgg_e_first5"), 64), 16, 16)
    data = random_network_data(network, np.random.default_rng(5))
    graph, stack = Graph.of(network), Stack(Span(1, 7), 2)
    plan = plan_stack(Solution(network, graph, (stack,), "resident"), stack)
    pool = plan.maps[3]
    short = replace(pool.tiles[1], begin=pool.tiles[1].begin + 1)
    broken = replace(plan, maps=(*plan.maps[:3], replace(pool, tiles=(pool.tiles[0], short)), *plan.maps[4:]))
    memory = Memory()
    memory.put(0, data.maps["input"])
    with pytest.raises(NotWritten, match="pool1: columns"):
        run_stack(broken, data.rows, memory)
