"""Runs of the movers by hand, and skips that are read line by line."""

import random
from dataclasses import replace

import numpy as np
import pytest

from cosim.pipeline.comparison import StackRun, prepare, random_network_data
from hwgen.arch.dram import Dram
from hwgen.arch.pipeline import MoverParameters
from hwgen.arch.pipeline.movers import movers_of
from hwgen.ir.layer_set import Network
from hwgen.ir.requantisation import RequantisationForm
from hwgen.lower.pipeline.cycles import predict_on_dram
from hwgen.lower.pipeline.images import layout_of
from hwgen.lower.pipeline.lowering import lower_stack
from hwgen.lower.pipeline.movers import RunsOfTile, dram_counts, runs_of_tile
from hwgen.lower.pipeline.program import KINDS
from hwgen.lower.pipeline.solution import Solution
from hwgen.lower.pipeline.tiles import plan_stack
from hwgen.model.pipeline.cost import Stack
from hwgen.model.pipeline.graph import Graph, Span
from tests.random.depth_first import random_stacks

SIDE = 30
"""Lines and columns of the stack below."""


def short_skip(factor: int) -> StackRun:
    """A convolution of 3 x 3, one of 1 x 1, and a join that adds their outputs; the first one's is read from DRAM."""
    size = {"input_height": SIDE, "input_width": SIDE, "output_height": SIDE, "output_width": SIDE}
    conv = {"op": "conv", "output_channels": 2, **size}
    layers = [
        {
            **conv,
            "name": "first",
            "inputs": ["input"],
            "input_channels": 3,
            "kernel": [3, 3],
            "padding": [1, 1, 1, 1],
        },
        {**conv, "name": "second", "inputs": ["first"], "input_channels": 2, "kernel": [1, 1]},
        {**conv, "op": "add", "name": "sum", "inputs": ["first", "second"], "input_channels": 2, "kernel": [1, 1]},
    ]
    source = {"name": "input", "channels": 3, "height": SIDE, "width": SIDE}
    network = Network.from_data({"format": 1, "kind": "network", "network": "n", "input": source, "layers": layers})
    graph = Graph.of(network)
    skip = frozenset(edge for edge in graph.edges if edge.kind == "join" and edge.producer == 1)
    stack = Stack(Span(1, graph.rows), factor, skip)
    data = random_network_data(network, np.random.default_rng(1), draw_shifts=True)
    return prepare("n", Solution(network, graph, (stack,), "fetched"), stack, data, movers=MoverParameters())


def test_runs_of_the_streams_by_hand() -> None:
    run = short_skip(2)
    program, layout = run.program, run.images.layout
    movers = {mover.stream: mover for mover in movers_of(program.parameters)}

    def runs(stream: str, tile: int) -> list[RunsOfTile]:
        return runs_of_tile(program, layout, movers[stream], tile)

    base, first, last = (layout.regions[number] for number in (0, 1, 3))
    assert runs("i_map0", 0) == [RunsOfTile(base, 3 * 16, 3 * SIDE, SIDE)]
    assert runs("i_map0", 1) == [RunsOfTile(base + 3 * 16, 3 * 14, 3 * SIDE, SIDE)]
    assert runs("o_map3", 1) == [RunsOfTile(last + 2 * 15, 2 * 15, 2 * SIDE, SIDE)]
    assert runs("i_overlap", 0) == [RunsOfTile(lines=SIDE)]
    assert runs("i_overlap", 1) == [RunsOfTile(base + 3 * 14, 3 * 2, 3 * SIDE, SIDE)]
    assert movers["i_skip2_0"].after == "o_map1"
    assert runs("i_skip2_0", 1) == runs("o_map1", 1) == [RunsOfTile(first + 2 * 15, 2 * 15, 2 * SIDE, SIDE)]
    whole = short_skip(1)
    assert runs_of_tile(whole.program, whole.images.layout, movers["i_map0"], 0) == [
        RunsOfTile(base, 3 * SIDE * SIDE, 0, 1)
    ]


def test_a_join_waits_for_a_line_that_comes_back_from_the_dram() -> None:
    """With queues as for a skip that comes back at once, the stack stands still."""
    run = short_skip(1)
    assert predict_on_dram(run.program, run.images.layout, run.dram) > 0
    join = run.program.parameters.stages[-1]
    assert join.pixel_operands[1].queue >= SIDE
    stages = (*run.program.parameters.stages[:-1], join.with_operand_queues([2, 2]))
    short = replace(run.program.parameters, stages=stages)
    assert predict_on_dram(run.program, run.images.layout, run.dram, short) == -1


@pytest.mark.parametrize("form", ["shift", "scaled"])
@pytest.mark.parametrize("seed", [1, *(pytest.param(seed, marks=pytest.mark.nightly) for seed in range(2, 16))])
def test_random_stacks_do_not_stand_still_and_move_their_bytes(seed: int, form: RequantisationForm) -> None:
    for ways in random_stacks(random.Random(seed), 6, 3, movers=True, requantisation=form):
        for run in ways:
            assert predict_on_dram(run.program, run.images.layout, run.dram) > 0, run.name
            counts = dram_counts(run.program, run.images.layout, run.dram)
            kinds = {one.name: str(one.kind) for one in run.program.streams}
            kinds |= {"i_overlap": "overlap_in", "o_overlap": "overlap_out"}
            moved = dict.fromkeys(KINDS, 0)
            for stream, access in counts.items():
                if stream in kinds:
                    moved[kinds[stream]] += access.bytes  # type: ignore[index]
            assert moved == {kind: getattr(run.traffic, kind) for kind in KINDS}


def test_a_late_line_of_overlap_does_not_keep_another_one_from_coming() -> None:
    """Three convolutions after a shuffle, a column a tile. The port's order is that of a memory that answers at once;
    when lines come late, datapaths have put their pixels into the queues, and the stages before stand still earlier.
    """
    rows = [
        ("conv", 9, (1, 1), (0, 0, 0, 0)),
        ("pixel_shuffle", 1, (1, 1), (0, 0, 0, 0)),
        ("conv", 1, (3, 5), (1, 4, 1, 0)),
        ("conv", 3, (2, 5), (1, 0, 0, 4)),
        ("conv", 2, (4, 4), (0, 1, 3, 2)),
    ]
    layers, before, channels, size = [], "input", 2, (3, 6)
    for number, (op, outputs, kernel, padding) in enumerate(rows):
        scale = 3 if op == "pixel_shuffle" else 1
        made = size[0] * scale, size[1] * scale
        layers.append(
            {"op": op, "name": f"row{number}", "inputs": [before], "input_channels": channels, "kernel": list(kernel),
             "output_channels": outputs, "input_height": size[0], "input_width": size[1], "output_height": made[0],
             "output_width": made[1], "padding": list(padding), **({"factor": 3} if scale > 1 else {})}
        )  # fmt: skip
        before, channels, size = f"row{number}", outputs, made
    source = {"name": "input", "channels": 2, "height": 3, "width": 6}
    network = Network.from_data({"format": 1, "kind": "network", "network": "n", "input": source, "layers": layers})
    graph = Graph.of(network)
    solution = Solution(network, graph, (Stack(Span(1, graph.rows), 8),), "resident")
    movers = MoverParameters(bursts_ahead=2, outstanding=2)
    program = lower_stack(plan_stack(solution, solution.stacks[0]), None, macs=4, movers=movers)
    ddr3 = Dram(latency=20, miss_cycles=28, block_cycles=16)
    assert predict_on_dram(program, layout_of(program), ddr3) > 0
