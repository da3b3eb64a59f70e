"""Pixel shuffles."""

from hwgen.arch.pipeline import ShuffleStage
from hwgen.ir.layer_set import Node
from hwgen.lower.pipeline.lanes import Lanes, Work
from hwgen.lower.pipeline.stage import Int8, PlannedStage, PlannedTile, RunningStage, StageKind, Words
from hwgen.model.pipeline.cycles import SHUFFLE
from hwgen.model.pipeline.cycles import Stage as PlayedStage

__all__ = ["KINDS"]


class _Shuffle(StageKind[ShuffleStage]):
    parameters = ShuffleStage

    def runs(self, node: Node) -> bool:
        return node.op == "pixel_shuffle"

    def work(self, node: Node, pixels: int) -> Work:
        return Work.of_pixels(pixels)

    def stage(self, planned: PlannedStage, lanes: Lanes) -> ShuffleStage:
        (source,), (read,) = planned.sources, planned.operands
        factor, line = planned.row.node.factor or 1, max(source.line, 1)
        return ShuffleStage(read.reads, planned.makes, factor, line, transposed=planned.axis == "H")

    def columns(self, tile: PlannedTile) -> dict[str, int]:
        (source,), factor = tile.read, tile.row.node.factor or 1
        assert source is not None
        first = tile.made.old - factor * source.begin if tile.made.new else 0
        return {"columns": tile.made.new, "first_column": first}

    def busy_cycles(self, stage: ShuffleStage, tile: RunningStage) -> int:
        return tile.steps * tile.lines(stage.makes) * tile.setting("columns")

    def played(self, stage: ShuffleStage, tile: RunningStage) -> PlayedStage:
        columns, first = tile.setting("columns"), tile.setting("first_column")
        return PlayedStage(
            SHUFFLE, stage.reads, stage.makes, tile.steps, stage.factor, columns=columns, first_column=first
        )

    def run(self, stage: ShuffleStage, tile: RunningStage, operands: list[Int8], words: Words) -> Int8:
        (lines,), factor = operands, stage.factor
        split = lines.reshape(-1, factor, factor, *lines.shape[1:])
        order = (0, 3, 2, 4, 1) if stage.transposed else (0, 3, 1, 4, 2)
        pixels = split.transpose(order).reshape(split.shape[0], lines.shape[1] * factor, lines.shape[2] * factor)
        first = tile.setting("first_column")
        return pixels[:, :, first : first + tile.setting("columns")]


KINDS = (_Shuffle(),)
