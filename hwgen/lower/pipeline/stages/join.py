"""Sums and concatenations of maps."""

from dataclasses import replace

import numpy as np

from hwgen.arch.pipeline import JoinStage
from hwgen.arch.pipeline.stages.join import JoinKind
from hwgen.arch.requantisation import clip_values, scale_values, scaled_values
from hwgen.golden.network import RowData
from hwgen.golden.requantisation import requantise
from hwgen.ir.layer_set import Node
from hwgen.ir.network.kinds import Addition
from hwgen.ir.requantisation import Requantisation, RequantisationForm, Scale
from hwgen.lower.pipeline.lanes import Lanes, Work
from hwgen.lower.pipeline.stage import Int8, PlannedStage, PlannedTile, RunningStage, StageKind, Words
from hwgen.model.pipeline.cycles import JOIN
from hwgen.model.pipeline.cycles import Stage as PlayedStage

__all__ = ["KINDS"]

OPERATIONS: dict[str, JoinKind] = {"add": "add", "concat": "concat"}
NO_BIAS = np.zeros(1, np.int32)


class _Join(StageKind[JoinStage]):
    parameters = JoinStage

    def runs(self, node: Node) -> bool:
        return node.op in OPERATIONS

    def requantises(self, node: Node) -> bool:
        return OPERATIONS[node.op] == "add"

    def work(self, node: Node, pixels: int) -> Work:
        return Work.of_channels(pixels, 1, node.output_channels)

    def stage(self, planned: PlannedStage, lanes: Lanes) -> JoinStage:
        kind = OPERATIONS[planned.row.node.op]
        form = planned.requantisation if kind == "add" else "shift"
        return JoinStage(planned.operands, planned.makes, kind, lanes.outputs, form)

    def columns(self, tile: PlannedTile) -> dict[str, int]:
        sources = [place for place, source in enumerate(tile.read) if source is not None]
        return {"columns": tile.made.new, **{f"first_{place}": tile.first(tile.made.old, place) for place in sources}}

    def arithmetic(self, node: Node, data: RowData, form: RequantisationForm) -> dict[str, int]:
        if not self.requantises(node):
            return {}
        if form == "scaled":
            return _scaled(node, data)
        return {**scale_values(data.requantisation, node.name), **clip_values(data.requantisation, node.name)}

    def busy_cycles(self, stage: JoinStage, tile: RunningStage) -> int:
        return tile.steps * tile.lines(stage.makes) * tile.setting("columns")

    def played(self, stage: JoinStage, tile: RunningStage) -> PlayedStage:
        return PlayedStage(JOIN, 0, stage.makes, tile.steps, queue=tile.queue(stage), registers=stage.registers)

    def run(self, stage: JoinStage, tile: RunningStage, operands: list[Int8], words: Words) -> Int8:
        if stage.kind == "concat":
            return np.concatenate(operands)
        if stage.scales:
            return _summed(stage, tile, operands)
        sums = np.sum(np.array(operands, np.int64), axis=0).astype(np.int32)
        return requantise(sums, NO_BIAS, tile.requantisation()).astype(np.int8)


def _scaled(node: Node, data: RowData) -> dict[str, int]:
    """The registers of a scaled sum; without a node of an integer graph every operand counts as it is."""
    count, requantisation = len(node.inputs), data.requantisation
    scales, zeros = (Scale(),) * count, (0,) * count
    if isinstance(one := data.quantised, Addition):
        scales, zeros = one.scales, one.zeros
        requantisation = Requantisation(scales, zero_out=one.zero_out, low=one.low, high=one.high)
    values = scaled_values(replace(requantisation, scales=scales), node.name)
    del values["zero_in"]
    for place, scale, zero in zip(range(count), scales, zeros, strict=True):
        values |= {f"multiplier_{place}": scale.multiplier, f"zero_{place}": zero & 0xFF}
    return {**values, "shift": scales[0].shift}


def _summed(stage: JoinStage, tile: RunningStage, operands: list[Int8]) -> Int8:
    """The pixels of a scaled sum."""
    sums = np.zeros(operands[0].shape, np.int64)
    for place, operand in enumerate(operands):
        zero = (tile.setting(f"zero_{place}") ^ 0x80) - 0x80
        sums += (operand.astype(np.int64) - zero) * tile.setting(f"multiplier_{place}")
    return requantise(sums, NO_BIAS, tile.scaled((Scale(1, tile.setting("shift")),))).astype(np.int8)


KINDS = (_Join(),)
