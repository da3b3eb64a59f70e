"""Lowered stacks run tile by tile: outputs of the whole network's reference, traffic of the model, by kind."""

import random
import re
from dataclasses import replace

import numpy as np
import pytest

from cosim.pipeline.comparison import NetworkData, random_network_data
from cosim.pipeline.quantised_data import random_quantised_data
from hwgen.ir.document import InputError
from hwgen.ir.excerpt import at_resolution, excerpt, narrowed
from hwgen.ir.layer_set import Network
from hwgen.ir.requantisation import RequantisationForm
from hwgen.lower.pipeline.lowering import lower_stack
from hwgen.lower.pipeline.program import PipelineProgram
from hwgen.lower.pipeline.solution import Solution
from hwgen.lower.pipeline.tiles import plan_stack
from hwgen.model.pipeline.cost import Stack
from hwgen.model.pipeline.graph import Graph, Span
from hwgen.readers.layer_sets import load_layer_set
from tests.oracles.pipeline_interpreter import Memory, ProgramError, interpret
from tests.random.networks import random_network, random_skips


def check(
    network: Network, stack: Stack, data: NetworkData, macs: int = 16, form: RequantisationForm = "shift"
) -> None:
    """One stack on the maps that it reads; what it writes has to be what the reference makes."""
    graph = Graph.of(network)
    solution = Solution(network, graph, (stack,), "fetched", form)
    memory = Memory.of(network)
    for number in graph.sources(stack.span):
        memory.put(number, data.maps[graph.maps[number].name])
    program = lower_stack(plan_stack(solution, stack), data.rows, macs=macs)
    where = (network.layers, stack)
    assert interpret(program, memory) == solution.traffic(stack), where
    for number in graph.outputs(stack.span):
        assert memory.valid[number].all(), where
        assert np.array_equal(memory.data[number], data.maps[graph.maps[number].name]), where


def runs(network: Network, rng: random.Random, form: RequantisationForm) -> bool:
    """A random stack of a network; False if none of it can be run."""
    if any(node.op == "deconv" for node in network.layers):
        return False
    graph = Graph.of(network)
    first = rng.randint(1, graph.rows)
    span = Span(first, rng.randint(first, graph.rows))
    joins = [edge for edge in graph.edges if edge.kind == "join" and span.first <= edge.consumer <= span.last]
    factor = rng.randint(1, min(4, graph.largest_factor(span)))
    stack = Stack(span, factor, frozenset(edge for edge in joins if rng.random() < 0.3))
    drawn = np.random.default_rng(rng.randrange(1 << 30))
    if form == "scaled":
        data = random_quantised_data(network, drawn)
    else:
        data = random_network_data(network, drawn, draw_shifts=True)
    try:
        check(network, stack, data, macs=rng.choice([8, 16, 40]), form=form)
    except InputError as refused:
        if not re.search("different rates|global pool in stacks of one tile", str(refused)):
            raise
        return False
    return True


@pytest.mark.parametrize("form", ["shift", "scaled"])
@pytest.mark.parametrize("make", [random_network, random_skips])
def test_random_stacks(make: object, form: RequantisationForm) -> None:
    rng = random.Random(11)
    assert sum(runs(make(rng), rng, form) for _ in range(120)) > 80  # type: ignore[operator]


def test_a_residual_block_upright_and_lying() -> None:
    block = narrowed(excerpt(load_layer_set("srgan"), "rb02_conv1", "rb02_add"), 16)
    for size in ((12, 20), (20, 12)):
        network = at_resolution(block, *size)
        data = random_network_data(network, np.random.default_rng(5), draw_shifts=True)
        skip = next(edge for edge in Graph.of(network).edges if edge.kind == "join" and edge.producer == 0)
        for factor in (1, 2, 3, 12):
            check(network, Stack(Span(1, 3), factor), data)
            check(network, Stack(Span(1, 3), factor, frozenset({skip})), data)


def changed(program: PipelineProgram, tile: int, **registers: int) -> PipelineProgram:
    """A program with other register values in one tile."""
    tiles = list(program.tiles)
    tiles[tile] = replace(tiles[tile], registers={**tiles[tile].registers, **registers})
    return replace(program, tiles=tuple(tiles))


def test_a_program_that_is_wrong_is_found_out() -> None:
    network = at_resolution(narrowed(load_layer_set("vgg_e_first5"), 64), 16, 16)
    data = random_network_data(network, np.random.default_rng(5), draw_shifts=True)
    graph, stack = Graph.of(network), Stack(Span(1, 7), 2)
    program = lower_stack(plan_stack(Solution(network, graph, (stack,), "fetched"), stack), data.rows)

    def run(wrong: PipelineProgram) -> np.ndarray:
        memory = Memory.of(network)
        memory.put(0, data.maps["input"])
        interpret(wrong, memory)
        return memory.data[7]

    assert np.array_equal(run(program), data.maps["conv3_1"])
    assert not np.array_equal(run(changed(program, 1, stage3_first_column=3)), data.maps["conv3_1"])
    assert not np.array_equal(run(replace(program, weights=program.weights[::-1])), data.maps["conv3_1"])
    with pytest.raises(ProgramError, match=r"map 3: .* new pixels for 8 lines of 1"):
        run(changed(program, 1, map3_line=3))
    lines = program.tiles[1].overlap_in
    late = replace(program.tiles[0], overlap_out=program.tiles[0].overlap_out[1:])
    with pytest.raises(ProgramError, match="overlap of line 0 is not in DRAM"):
        run(replace(program, tiles=(late, program.tiles[1])))
    with pytest.raises(ProgramError, match="overlap is left over"):
        run(replace(program, tiles=(program.tiles[0], replace(program.tiles[1], overlap_in=(*lines, lines[0])))))
