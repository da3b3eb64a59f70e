"""Sums and concatenations of maps."""

import numpy as np

from hwgen.arch.pipeline import JoinStage
from hwgen.arch.pipeline.stages.join import JoinKind
from hwgen.arch.requantisation import clip_values, scale_values
from hwgen.golden.requantisation import requantise
from hwgen.ir.layer_set import Node
from hwgen.ir.requantisation import Requantisation
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
        return JoinStage(planned.operands, planned.makes, OPERATIONS[planned.row.node.op], lanes.outputs)

    def columns(self, tile: PlannedTile) -> dict[str, int]:
        sources = [place for place, source in enumerate(tile.read) if source is not None]
        return {"columns": tile.made.new, **{f"first_{place}": tile.first(tile.made.old, place) for place in sources}}

    def arithmetic(self, node: Node, requantisation: Requantisation) -> dict[str, int]:
        if not self.requantises(node):
            return {}
        return {**scale_values(requantisation, node.name), **clip_values(requantisation, node.name)}

    def busy_cycles(self, stage: JoinStage, tile: RunningStage) -> int:
        return tile.steps * tile.lines(stage.makes) * tile.setting("columns")

    def played(self, stage: JoinStage, tile: RunningStage) -> PlayedStage:
        return PlayedStage(JOIN, 0, stage.makes, tile.steps, queue=tile.queue(stage))

    def run(self, stage: JoinStage, tile: RunningStage, operands: list[Int8], words: Words) -> Int8:
        if stage.kind == "concat":
            return np.concatenate(operands)
        sums = np.sum(np.array(operands, np.int64), axis=0).astype(np.int32)
        return requantise(sums, NO_BIAS, tile.requantisation()).astype(np.int8)


KINDS = (_Join(),)
