"""Queues for strides: how deep, by hand, and that the slowest stage then works all the time."""

import numpy as np

from cosim.pipeline.comparison import random_network_data
from hwgen.arch.pipeline import ConvStage, MapParameters, PipelineParameters
from hwgen.ir.excerpt import at_resolution, excerpt
from hwgen.lower.pipeline.cycles import predict_tile, service_order
from hwgen.lower.pipeline.lowering import lower_stack
from hwgen.lower.pipeline.queues import with_queues
from hwgen.lower.pipeline.solution import Solution
from hwgen.lower.pipeline.tiles import plan_stack
from hwgen.model.pipeline.cost import Stack
from hwgen.model.pipeline.graph import Graph, Span
from hwgen.readers.layer_sets import load_layer_set


def test_depths() -> None:
    maps = (
        MapParameters(2, 0, 40, 40, source=True),
        MapParameters(2, 82, 40, 40),
        MapParameters(4, 0, 20, 20),
        MapParameters(8, 0, 20, 20, written=True),
    )
    stages = (
        ConvStage(0, 1, (1, 1), (1, 1)),  # 4 cycles a pixel
        ConvStage(1, 2, (3, 3), (2, 2), input_lanes=2, output_lanes=2, groups=1),  # 18, and 1 for every second pixel
        ConvStage(2, 3, (1, 1), (1, 1), output_lanes=1),  # 32
    )
    even = with_queues(PipelineParameters(maps, stages))
    # 5/4 of a line would pile up, one at most; 19 of 32 parts of what is made in a line are taken meanwhile
    assert [one.queue for one in even.maps] == [2, 2 + 40, 2 + 9, 2]


def test_a_block_with_a_stride_runs_at_the_pace_of_its_slowest_stage() -> None:
    block = at_resolution(excerpt(load_layer_set("mobilenet_v2"), "block01_expand", "block01_project"), 64, 64)
    graph = Graph.of(block)
    stack = Stack(Span(1, graph.rows), 1)
    data = random_network_data(block, np.random.default_rng(1), draw_shifts=True)
    program = lower_stack(
        plan_stack(Solution(block, graph, (stack,), "fetched"), stack), data.rows, order=service_order
    )
    slowest = max(
        program.parameters.steps(index) * program.parameters.maps[stage.makes].line ** 2
        for index, stage in enumerate(program.parameters.stages)
    )
    fill = 1 / 32  # two lines of 64 come before the first window is complete
    cycles = predict_tile(with_queues(program.parameters), program.tiles[0])
    assert slowest < cycles < (1 + fill + 0.02) * slowest
