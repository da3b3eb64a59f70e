"""Every kind of stage alone in a pipeline: outputs as the reference has them, cycles as predicted."""

from typing import Any

import numpy as np
import pytest

from cosim.pipeline.comparison import random_network_data
from cosim.pipeline.quantised_data import random_quantised_data
from hwgen.arch.pipeline import ConvStage
from hwgen.arch.registers.errors import PipelineError
from hwgen.ir.layer_set import Network
from hwgen.ir.requantisation import RequantisationForm
from hwgen.lower.pipeline.cycles import predict_tile, service_order
from hwgen.lower.pipeline.lowering import lower_stack
from hwgen.lower.pipeline.program import PipelineProgram
from hwgen.lower.pipeline.solution import Solution
from hwgen.lower.pipeline.tiles import plan_stack
from hwgen.model.pipeline.cost import Stack
from hwgen.model.pipeline.graph import Graph, Span
from tests.gateware.pipeline.bench import run_pipeline
from tests.random.pipelines import Maps, expected_streams, stimuli


def network(size: tuple[int, int, int], *rows: dict[str, Any]) -> Network:
    """Rows on an input of ``size`` (channels, rows, columns). Each reads the row before it unless it names inputs."""
    channels, height, width = size
    made = {"input": (channels, height, width)}
    layers, before = [], "input"
    for number, row in enumerate(rows):
        name = row.get("name", f"row{number}")
        inputs = row.get("inputs", [before])
        sizes = [made[one] for one in inputs]
        read = sum(one[0] for one in sizes) if row["op"] == "concat" else sizes[0][0]
        given = {"name": name, "inputs": inputs, "input_channels": read, "input_height": sizes[0][1],
                 "input_width": sizes[0][2], "output_channels": read, "output_height": sizes[0][1],
                 "output_width": sizes[0][2], **row}  # fmt: skip
        if "kernel" in row:
            kernel, stride, pad = row["kernel"], row.get("stride", [1, 1]), row.get("padding", [0, 0, 0, 0])
            for axis, what in enumerate(("height", "width")):
                padded = given[f"input_{what}"] + pad[axis] + pad[axis + 2]
                given[f"output_{what}"] = (padded - kernel[axis]) // stride[axis] + 1
        if row["op"] == "pixel_shuffle":
            factor = row["factor"]
            given |= {"output_channels": read // factor**2, "output_height": sizes[0][1] * factor}
            given["output_width"] = sizes[0][2] * factor
        layers.append(given)
        made[name] = (given["output_channels"], given["output_height"], given["output_width"])
        before = name
    source = {"name": "input", "channels": channels, "height": height, "width": width}
    return Network.from_data({"format": 1, "kind": "network", "network": "test", "input": source, "layers": layers})


def lowered(
    table: Network, *, factor: int = 1, macs: int = 16, seed: int = 1, form: RequantisationForm = "shift"
) -> tuple[PipelineProgram, Maps]:
    """All rows as one stack, and all maps."""
    graph = Graph.of(table)
    rng = np.random.default_rng(seed)
    if form == "scaled":
        data = random_quantised_data(table, rng)
    else:
        data = random_network_data(table, rng, draw_shifts=True)
    stack = Stack(Span(1, graph.rows), factor)
    solution = Solution(table, graph, (stack,), "fetched", form)
    program = lower_stack(plan_stack(solution, stack), data.rows, macs=macs, order=service_order)
    return program, {number: data.maps[one.name] for number, one in enumerate(graph.maps)}


def check(program: PipelineProgram, maps: Maps) -> None:
    seen = run_pipeline(program.parameters, stimuli(program, maps))
    assert seen.error == PipelineError.NONE
    assert seen.outputs == expected_streams(program, maps)
    cycles = [predict_tile(program.parameters, tile) for tile in program.tiles]
    assert seen.cycles[-len(cycles) :] == cycles


CONV = {"op": "conv", "output_channels": 4}


def pool(kind: str, kernel: list[int], **keys: Any) -> dict[str, Any]:
    return {"op": "pool", "pool": kind, "kernel": kernel, **keys}


DEPTHWISE = {"op": "depthwise_conv", "groups": 4, "kernel": [3, 3], "stride": [2, 1], "padding": [1, 1, 1, 1]}
GROUPED = {"op": "conv", "output_channels": 6, "groups": 2, "kernel": [2, 2], "padding": [0, 1, 1, 0]}
STAGES: dict[str, tuple[tuple[int, int, int], dict[str, Any], int]] = {
    "conv 1x1": ((3, 4, 3), {**CONV, "kernel": [1, 1]}, 1),
    "conv 3x3 with padding": ((2, 5, 4), {**CONV, "kernel": [3, 3], "padding": [1, 1, 1, 1]}, 2),
    "conv 2x4, stride 3 and 2": ((2, 7, 6), {**CONV, "kernel": [2, 4], "stride": [3, 2], "padding": [1, 2, 0, 3]}, 1),
    "conv 3x2, stride above the kernel": ((2, 8, 7), {**CONV, "kernel": [3, 2], "stride": [4, 3]}, 2),
    "conv larger than the map": ((1, 2, 2), {**CONV, "kernel": [4, 4], "padding": [2, 3, 3, 2]}, 1),
    "conv of two groups": ((4, 4, 3), GROUPED, 1),
    "depthwise": ((4, 5, 4), DEPTHWISE, 1),
    "relu": ((2, 3, 3), {**CONV, "kernel": [1, 1], "activation": "relu"}, 1),
    "largest": ((4, 6, 5), pool("max", [3, 2], stride=[2, 2], padding=[1, 1, 1, 0]), 2),
    "average": ((4, 5, 5), pool("avg", [3, 3], stride=[1, 2], padding=[1, 1, 1, 1]), 1),
    "global average": ((4, 4, 3), pool("avg", [4, 3], global_pool=True), 1),
    "global largest": ((4, 3, 4), pool("max", [3, 4], global_pool=True), 1),
    "sum": ((4, 3, 3), {"op": "add", "inputs": ["input", "row0"]}, 1),
    "concatenation": ((2, 3, 3), {"op": "concat", "inputs": ["row0", "input"]}, 2),
    "one table": ((4, 3, 3), {"op": "lookup"}, 1),
    "a table for each channel, in tiles": ((6, 3, 5), {"op": "lookup", "groups": 6}, 2),
    "shuffle by 2, lines along the height": ((8, 3, 4), {"op": "pixel_shuffle", "factor": 2}, 2),
    "shuffle by 3": ((9, 3, 2), {"op": "pixel_shuffle", "factor": 3}, 1),
    "shuffle in tiles of one column": ((4, 2, 2), {"op": "pixel_shuffle", "factor": 2}, 4),
    "shuffle of a line of one pixel": ((4, 3, 1), {"op": "pixel_shuffle", "factor": 2}, 1),
}


@pytest.mark.parametrize("form", ["shift", "scaled"])
@pytest.mark.parametrize("name", STAGES)
def test_stage(name: str, form: RequantisationForm) -> None:
    size, row, factor = STAGES[name]
    before = [{"op": "conv", "output_channels": size[0], "kernel": [1, 1]}] if "inputs" in row else []
    check(*lowered(network(size, *before, row), factor=factor, form=form))


@pytest.mark.parametrize("macs", [1, 2, 6, 12, 24, 72])
def test_lanes_of_a_convolution(macs: int) -> None:
    row = {"op": "conv", "output_channels": 6, "kernel": [1, 2], "groups": 2}
    program, maps = lowered(network((8, 2, 3), row), macs=macs)
    stage = program.parameters.stages[0]
    assert isinstance(stage, ConvStage)
    assert stage.input_lanes * stage.output_lanes <= macs
    assert macs != 72 or program.parameters.steps(0) == 4  # 4 of 4 channels, 3 of 6 outputs: those of a group
    check(program, maps)
