"""Pools over windows, and over whole maps."""

import numpy as np
from numpy.typing import NDArray

from hwgen.arch.pipeline import GlobalPoolStage, PoolStage
from hwgen.arch.pipeline.stages.pool import PoolKind
from hwgen.golden.network import average_factor, rectified
from hwgen.ir.document import InputError
from hwgen.ir.network import Node
from hwgen.lower.pipeline.lanes import Lanes, Work
from hwgen.lower.pipeline.stage import CEILING, Int8, PlannedStage, PlannedTile, RunningStage, StageKind, Words
from hwgen.lower.pipeline.stages.window import WindowKind
from hwgen.lower.pipeline.tiles import StagePlan
from hwgen.model.pipeline.cycles import GLOBAL, POOL
from hwgen.model.pipeline.cycles import Stage as PlayedStage

__all__ = ["KINDS"]


def _kind(node: Node) -> PoolKind:
    return "max" if node.pool == "max" else "average"


def _check_activation(node: Node) -> None:
    if rectified(node) and node.pool == "max":
        raise InputError(f"{node.name}: activation: a pipeline has none for this operation, got {node.activation}")


def _arithmetic(node: Node, relu: bool) -> dict[str, int]:
    if node.pool == "max":
        return {}
    multiplier, shift = average_factor(node.kernel[0] * node.kernel[1])
    return {"multiplier": multiplier, "shift": shift, "relu": int(relu), "ceiling": CEILING}


def _pooled(windows: Int8, there: NDArray[np.bool_], kind: PoolKind, tile: RunningStage) -> Int8:
    made: Int8
    if kind == "max":
        made = np.where(there, windows, np.int8(-128)).max(axis=(3, 4)).astype(np.int8)
        return made
    products = windows.sum(axis=(3, 4), dtype=np.int64) * tile.setting("multiplier")
    shift, least = tile.setting("shift"), 0 if tile.setting("relu") else -128
    made = np.clip((products + (1 << (shift - 1))) >> shift, least, tile.setting("ceiling")).astype(np.int8)
    return made


class _Pool(WindowKind[PoolStage]):
    parameters = PoolStage
    played_kind = POOL

    def runs(self, node: Node) -> bool:
        return node.pool is not None and not node.global_pool

    def check(self, row: StagePlan, tiles: int) -> None:
        _check_activation(row.node)
        super().check(row, tiles)

    def work(self, node: Node, pixels: int) -> Work:
        return Work.of_channels(pixels, node.kernel[0] * node.kernel[1], node.output_channels)

    def stage(self, planned: PlannedStage, lanes: Lanes) -> PoolStage:
        row, (source,) = planned.row, planned.operands
        return PoolStage(source.reads, planned.makes, row.kernel, row.stride, _kind(row.node), lanes.outputs)

    def arithmetic(self, node: Node, *, relu: bool) -> dict[str, int]:
        return _arithmetic(node, relu)

    def of_windows(
        self, stage: PoolStage, tile: RunningStage, windows: Int8, there: NDArray[np.bool_], words: Words
    ) -> Int8:
        return _pooled(windows, there, stage.kind, tile)


class _GlobalPool(StageKind[GlobalPoolStage]):
    parameters = GlobalPoolStage

    def runs(self, node: Node) -> bool:
        return node.pool is not None and node.global_pool

    def check(self, row: StagePlan, tiles: int) -> None:
        _check_activation(row.node)
        if tiles > 1:
            raise InputError(f"{row.node.name}: a pipeline has a global pool in stacks of one tile only, got {tiles}")
        if row.padding != (0, 0, 0, 0):
            raise InputError(f"{row.node.name}: padding: expected none for a global pool in a pipeline")

    def work(self, node: Node, pixels: int) -> Work:
        return Work.of_channels(pixels, 1, node.output_channels)

    def works_on_input(self) -> bool:
        return True

    def stage(self, planned: PlannedStage, lanes: Lanes) -> GlobalPoolStage:
        (source,) = planned.operands
        return GlobalPoolStage(source.reads, planned.makes, _kind(planned.row.node), lanes.outputs)

    def columns(self, tile: PlannedTile) -> dict[str, int]:
        return {}

    def arithmetic(self, node: Node, *, relu: bool) -> dict[str, int]:
        return _arithmetic(node, relu)

    def busy_cycles(self, stage: GlobalPoolStage, tile: RunningStage) -> int:
        return tile.steps * (tile.lines(stage.reads) * tile.line(stage.reads) + 1)

    def played(self, stage: GlobalPoolStage, tile: RunningStage) -> PlayedStage:
        return PlayedStage(GLOBAL, stage.reads, stage.makes, tile.steps, queue=tile.queue(stage))

    def run(self, stage: GlobalPoolStage, tile: RunningStage, operands: list[Int8], words: Words) -> Int8:
        (lines,) = operands
        pixels = lines.reshape(lines.shape[0], 1, 1, 1, -1)
        return _pooled(pixels, np.ones(pixels.shape[1:], bool), stage.kind, tile)


KINDS = (_Pool(), _GlobalPool())
