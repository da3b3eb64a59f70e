"""Block diagram of a depth-first pipeline."""

from itertools import pairwise

from hwgen.arch.pipeline.parameters import PipelineParameters
from hwgen.arch.pipeline.stages.conv import ConvStage
from hwgen.gateware.pipeline.beats import Scatter, TileSource
from hwgen.gateware.pipeline.linebuffer import LineBuffer, OverlapFirst
from hwgen.gateware.pipeline.overlap_port import OverlapIn, OverlapOut
from hwgen.gateware.pipeline.registers import PipelineRegisters
from hwgen.gateware.pipeline.stages.conv import Convolution
from hwgen.gateware.pipeline.stages.join import Join
from hwgen.gateware.pipeline.weight_store import WeightStore
from manual.designs import pipeline
from manual.figures.drawing import Box, Drawing

__all__ = ["pipeline_drawing"]

MIDDLE, WIDE = 126, 148
"""The column of maps and stages."""


def pipeline_drawing() -> Drawing:
    """The pipeline that the manual shows: a convolution, and a sum with its input."""
    p = pipeline()
    first, between, made = p.maps
    conv = p.stages[0]
    assert isinstance(conv, ConvStage)
    d = Drawing("Block diagram of a pipeline of two stages", 740)

    def column(y: int, height: int, title: str, *notes: str, kind: str = "block", of: type | None = None) -> Box:
        return d.box((MIDDLE, y, WIDE, height), title, *notes, kind=kind, of=of)

    chain = [
        column(8, 26, "i_map0", kind="port"),
        column(70, 44, "Tile source", "beats to pixels", of=TileSource),
        column(146, 44, "Overlap first", "columns of last tile", of=OverlapFirst),
        column(222, 58, "Line buffer, map 0", f"ring of {first.pixels} pixels,", f"{first.elements} B", kind="memory",
               of=LineBuffer),
        column(312, 58, "Convolution", f"{conv.kernel[0]} x {conv.kernel[1]} windows,",
               f"{conv.input_lanes} x {conv.output_lanes} lanes", of=Convolution),
        column(402, 44, "Line buffer, map 1", "newest pixel only", kind="memory", of=LineBuffer),
        column(478, 44, "Join", "adds, requantises", of=Join),
        column(554, 44, "Line buffer, map 2", "newest pixel only", kind="memory", of=LineBuffer),
        column(630, 44, "Scatter", "pixels to beats", of=Scatter),
        column(706, 26, "o_map2", kind="port"),
    ]  # fmt: skip
    assert between.pixels == made.pixels == 0
    for number, (above, below) in enumerate(pairwise(chain)):
        d.wire([above.bottom(), below.top()])
        bits = {0: 8 * first.beat, 8: 8 * made.beat}.get(number, 8 * first.channels)
        d.label((MIDDLE + WIDE / 2 + 7, (above.y + above.height + below.y) / 2 + 4), f"{bits} bit")

    _overlap(d, p, chain[2], chain[5])
    _operands(d, p, chain[4], chain[6])
    registers = d.box((304, 74, 88, 58), "Registers", "settings of", "a tile", of=PipelineRegisters)
    cfg = d.box((304, 8, 40, 26), "cfg", kind="port")
    irq = d.box((352, 8, 40, 26), "irq", kind="port")
    d.wire([cfg.bottom(), (324, registers.y)], both=True)
    d.wire([(372, registers.y), irq.bottom()])
    d.wire([registers.bottom(), (348, 168), chain[2].right()], control=True)
    d.label((284, 186), "settings, to\nevery part")
    return d


def _overlap(d: Drawing, p: PipelineParameters, takes: Box, gives: Box) -> None:
    """The overlap port, on the left: what the first map takes, and what the second one gives."""
    overlap_in = d.box((8, 70, 92, 26), "i_overlap", kind="port")
    into = d.box((8, 146, 92, 44), "Overlap in", "queue a map", of=OverlapIn)
    d.wire([overlap_in.bottom(), into.top()])
    d.label((60, 125), f"{8 * p.overlap_beat} bit")
    d.wire([into.right(), takes.left()])
    out = d.box((8, 402, 92, 44), "Overlap out", "last columns", of=OverlapOut)
    overlap_out = d.box((8, 496, 92, 26), "o_overlap", kind="port")
    d.wire([gives.left(), out.right()])
    d.wire([out.bottom(), overlap_out.top()])
    d.label((60, 475), f"{8 * p.overlap_beat} bit")


def _operands(d: Drawing, p: PipelineParameters, convolution: Box, join: Box) -> None:
    """Weights and the skip, on the right."""
    weights = d.box((304, 236, 88, 26), "i_weights", kind="port")
    weights_of = p.memory_words(0)["weights"]
    store = d.box(
        (304, 312, 88, 58),
        "Weights",
        f"{weights_of.words} words",
        f"of {weights_of.bytes} B",
        kind="memory",
        of=WeightStore,
    )
    d.wire([weights.bottom(), store.top()])
    d.label((354, 291), f"{8 * p.weight_beat} bit")
    d.wire([store.left(), convolution.right()])
    skip = d.box((304, 402, 88, 26), "i_skip1_1", kind="port")
    source = d.box((304, 478, 88, 44), "Tile source", "and queue", of=TileSource)
    d.wire([skip.bottom(), source.top()])
    d.label((354, 457), f"{8 * p.maps[0].beat} bit")
    d.wire([source.left(), join.right()])
