"""How long stages work on a tile: by hand, and against the cycle model where a stage is alone."""

from collections.abc import Iterator

from hwgen.lower.pipeline.cycles import predict_tile
from hwgen.lower.pipeline.lowering import lower_stack
from hwgen.lower.pipeline.pace import slowest_stage, stage_cycles
from hwgen.lower.pipeline.program import PipelineProgram
from hwgen.lower.pipeline.solution import Solution
from hwgen.lower.pipeline.tiles import plan_stack
from hwgen.model.pipeline.cost import Stack
from hwgen.model.pipeline.graph import Graph, Span
from hwgen.studies.regress.pipeline_cases import PARTS, Part


def rows_alone(part: Part, factor: int) -> Iterator[tuple[str, PipelineProgram]]:
    """Every row of a network as a stack of its own."""
    network = part.made(small=True)
    graph = Graph.of(network)
    for number, node in enumerate(network.layers, start=1):
        stack = Stack(Span(number, number), factor)
        plan = plan_stack(Solution(network, graph, (stack,), "fetched"), stack)
        yield node.name, lower_stack(plan, None, macs=16)


def test_by_hand() -> None:
    vgg = dict(rows_alone(PARTS[0], 1))
    # 16 x 16 windows of 9 cycles; the first line and column complete none, the last ones two each: 15 x 15 pixels do
    conv = vgg["conv1_2"]
    assert stage_cycles(conv.parameters, conv.tiles[0].registers, 0) == 256 * 9 + 256 - 225
    # windows of 2 x 2, of one cycle a pixel: three of four pixels complete none
    pool = vgg["pool1"]
    steps = pool.parameters.steps(0)
    assert slowest_stage(pool.parameters, pool.tiles[0].registers) == 64 * steps + 192


def test_a_stage_alone_takes_as_long_as_it_works_and_its_input_needs_to_begin() -> None:
    for part in PARTS:
        for factor in (1, 3):
            for name, program in rows_alone(part, factor):
                parameters = program.parameters
                stage, source = parameters.stages[0], parameters.maps[0]
                beats = -(-source.channels // source.beat)
                for tile in program.tiles:
                    work, taken = slowest_stage(parameters, tile.registers), predict_tile(parameters, tile)
                    line = tile.registers["map0_line"]
                    across, along = getattr(stage, "kernel", (1, 1))
                    begins = (across - 1) * line + along  # pixels until the first window is complete
                    brought = beats * source.lines * line
                    # strides across lines: input and stage wait for each other by turns
                    most = max(work, brought) if getattr(stage, "stride", (1, 1)) == (1, 1) else work + brought
                    assert work < taken <= most + 20 + begins * beats, (part.name, name, factor)
