"""Stacks lowered: lanes within a budget, registers by hand, refusals."""

from typing import Any

import numpy as np
import pytest

from cosim.pipeline.comparison import random_network_data
from hwgen.arch.pipeline import ConvStage, JoinStage
from hwgen.golden.network import RowData
from hwgen.ir.document import InputError
from hwgen.ir.excerpt import at_resolution, excerpt, narrowed
from hwgen.ir.layer_set import Network
from hwgen.lower.pipeline.lanes import Lanes, choose_lanes, narrowest_beat
from hwgen.lower.pipeline.lowering import lower_stack
from hwgen.lower.pipeline.program import Columns, OverlapLine, PipelineProgram
from hwgen.lower.pipeline.solution import Solution
from hwgen.lower.pipeline.stage import kind_of_row
from hwgen.lower.pipeline.tiles import plan_stack
from hwgen.model.pipeline.cost import Stack
from hwgen.model.pipeline.graph import Graph, Span
from hwgen.readers.layer_sets import load_layer_set


def lowered(network: Network, factor: int, skips: Any = frozenset(), macs: int = 64) -> PipelineProgram:
    graph = Graph.of(network)
    stack = Stack(Span(1, graph.rows), factor, skips)
    data = random_network_data(network, np.random.default_rng(1), draw_shifts=True)
    return lower_stack(plan_stack(Solution(network, graph, (stack,), "fetched"), stack), data.rows, macs=macs)


def test_lanes_keep_pace_within_the_budget() -> None:
    network = at_resolution(narrowed(load_layer_set("vgg_e_first5"), 4), 56, 56)
    works = [kind_of_row(node).work(node, node.output_height * node.output_width) for node in network.layers]
    for macs in (5, 16, 100, 600):
        lanes, cycles = choose_lanes(works, macs)
        spent = sum(one.multipliers for one, work in zip(lanes, works, strict=True) if work.weighted)
        assert spent <= macs
        times = [dict(work.choices)[one] * work.pixels for one, work in zip(lanes, works, strict=True)]
        assert max(times) == cycles
        # no faster one fits: the next faster time of any stage breaks the budget
        faster = [work.cheapest(cycles - 1) for work in works]
        few = [one.multipliers for one, work in zip(faster, works, strict=True) if one and work.weighted]
        assert None in faster or sum(few) > macs
    with pytest.raises(InputError, match=r"^--macs: expected at least 5, one for each convolution of a stack, got 4"):
        choose_lanes(works, 4)


def test_depthwise_lanes_go_over_the_channels() -> None:
    node = excerpt(load_layer_set("mobilenet_v2"), "block02_expand", "block02_add").layers[1]
    work = kind_of_row(node).work(node, 56 * 56)
    assert work.cheapest(9 * 56 * 56) == Lanes(1, 144)
    assert work.cheapest(9 * 144 * 56 * 56) == Lanes(1, 1)


def test_beats() -> None:
    assert [narrowest_beat(16, 100, cycles, 16) for cycles in (1600, 1599, 800, 799, 100, 10)] == [1, 2, 2, 3, 16, 16]
    assert [narrowest_beat(16, 100, 1600, 16, late=late) for late in (15, 14, 7, 6, 1, 0)] == [1, 2, 2, 3, 8, 16]


def test_registers_of_a_residual_block_in_two_tiles() -> None:
    block = narrowed(excerpt(load_layer_set("srgan"), "rb02_conv1", "rb02_add"), 16)
    program = lowered(at_resolution(block, 8, 10), 2)
    first, second = (tile.registers for tile in program.tiles)
    # The output has columns 0 to 3 and 4 to 7; two 3x3 kernels before it need one column more each.
    assert [first[f"map{n}_line"] for n in range(4)] == [6, 5, 4, 4]
    # The second tile: the add reads the input from column 4, the first kernel from 4, the second its map from 3.
    assert [second[f"map{n}_overlap"] for n in range(4)] == [2, 2, 0, 0]
    assert [second[f"map{n}_line"] for n in range(4)] == [4, 5, 4, 4]
    assert [first[f"map{n}_saved"] for n in range(4)] == [0, 2, 0, 0]
    assert (first["stage0_first_column"], second["stage0_first_column"]) == (1, 2)
    assert (first["stage0_first_line"], second["stage0_lines"]) == (1, 10)
    assert (second["stage2_first_0"], second["stage2_first_1"], second["stage2_columns"]) == (0, 0, 4)
    assert program.tiles[1].streams == {"i_map0": Columns(6, 2), "o_map3": Columns(4, 4)}
    # Map 0 is in the second tile while map 1 still makes the last lines of the first: it is ahead by two lines.
    assert program.tiles[1].overlap_in[:3] == (
        OverlapLine(0, 0, 4, 2), OverlapLine(0, 1, 4, 2), OverlapLine(1, 0, 3, 2),
    )  # fmt: skip
    assert program.tiles[0].overlap_out[1] == OverlapLine(1, 1, 3, 2)
    assert {(one.name, one.kind, one.region) for one in program.streams} == {
        ("i_map0", "input", 0), ("o_map3", "output", 3),
    }  # fmt: skip


def test_a_source_that_only_joins_read_through_dram_is_a_map_for_each() -> None:
    network = at_resolution(narrowed(excerpt(load_layer_set("srgan"), "rb02_conv1", "rb02_add"), 16), 8, 10)
    graph = Graph.of(network)
    skip = next(edge for edge in graph.edges if edge.kind == "join" and edge.producer == 0)
    # Both the convolution and the join read the input: a skip stream of its own.
    program = lowered(network, 2, frozenset({skip}))
    join = program.parameters.stages[2]
    assert isinstance(join, JoinStage)
    assert [operand.through_dram for operand in join.operands] == [False, True]
    assert program.stream("i_skip2_1").kind == "skip_in"
    # The join alone: an ordinary source, counted as what it is.
    stack = Stack(Span(3, 3), 1, frozenset({skip}))
    solution = Solution(network, graph, (stack,), "resident")
    alone = lower_stack(plan_stack(solution, stack), {"rb02_add": RowData()})
    assert [(one.name, one.kind) for one in alone.streams] == [
        ("i_map0", "skip_in"), ("i_map1", "input"), ("o_map2", "output"),
    ]  # fmt: skip
    assert alone.parameters.maps[0].pixels == 0


def test_the_weight_image() -> None:
    row = {"op": "conv", "input_channels": 2, "output_channels": 2, "input_height": 1, "input_width": 2,
           "output_height": 1, "output_width": 1, "kernel": [1, 2]}  # fmt: skip
    source = {"name": "input", "channels": 2, "height": 1, "width": 2}
    layers = [{"name": "c", "inputs": ["input"], **row}]
    network = Network.from_data({"format": 1, "kind": "network", "network": "n", "input": source, "layers": layers})
    weights = np.arange(1, 9, dtype=np.int8).reshape(2, 2, 1, 2)
    graph, stack = Graph.of(network), Stack(Span(1, 1))
    plan = plan_stack(Solution(network, graph, (stack,), "fetched"), stack)
    data = {"c": RowData(weights, np.array([-1, 256], np.int32))}
    # Lines run along the height, the shorter axis: the kernel is transposed, and so is the order of taps.
    whole = lower_stack(plan, data, macs=4)
    assert isinstance(whole.parameters.stages[0], ConvStage)
    assert whole.weights == bytes([1, 3, 5, 7, 2, 4, 6, 8]) + b"\xff\xff\xff\xff\0\1\0\0"
    single = lower_stack(plan, data, macs=1)
    words = b"".join(bytes([value, 0, 0, 0]) for value in (1, 3, 2, 4, 5, 7, 6, 8))
    assert single.weights == words + b"\xff\xff\xff\xff\0\1\0\0"


def refused(row: dict[str, Any], message: str, factor: int = 1) -> None:
    shape = {"input_channels": 1, "output_channels": 1, "input_height": 4, "input_width": 4, "output_height": 4,
             "output_width": 4, "kernel": [1, 1]}  # fmt: skip
    source = {"name": "input", "channels": 1, "height": 4, "width": 4}
    layers = [{"name": "row", "inputs": ["input"], **shape, **row}]
    network = Network.from_data({"format": 1, "kind": "network", "network": "n", "input": source, "layers": layers})
    graph, stack = Graph.of(network), Stack(Span(1, 1), factor)
    with pytest.raises(InputError, match=message):
        lower_stack(plan_stack(Solution(network, graph, (stack,), "fetched"), stack), {"row": RowData()})


def test_refusals() -> None:
    refused({"op": "lrn"}, "row: op: a depth-first pipeline has no stage for lrn")
    up = {"kernel": [2, 2], "stride": [2, 2], "output_height": 8, "output_width": 8}
    refused({"op": "deconv", **up}, "row: op: a depth-first pipeline has no stage for deconv; hwgen depth-first --ph")
    pixel = {"input_channels": 16, "input_height": 1, "input_width": 1, "output_height": 1, "output_width": 1}
    refused({"op": "fc", **pixel}, "row: op: a depth-first pipeline has fc on maps of one pixel only")
    refused({"op": "add", "inputs": ["input", "input"]}, "row: inputs: expected different maps for a pipeline")
    refused({"op": "conv", "activation": "tanh"}, "row: activation: expected one of relu")
    refused({"op": "pool", "pool": "max", "activation": "relu"}, "row: activation: a pipeline has none for this")
    padded = {"padding": [1, 0, 0, 0], "output_height": 5}
    refused({"op": "conv", **padded}, "row: padding: expected less than the kernel on every side for a pipeline")
