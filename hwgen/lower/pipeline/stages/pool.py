"""Pools over windows, and over whole maps."""

import numpy as np
from numpy.typing import NDArray

from hwgen.arch.latency import POOL_REGISTERS
from hwgen.arch.pipeline import GlobalPoolStage, PoolStage
from hwgen.arch.pipeline.stages.pool import PoolKind
from hwgen.arch.requantisation import LOWEST, clip_values
from hwgen.golden.network import average_scale
from hwgen.golden.requantisation import requantise
from hwgen.ir.document import InputError
from hwgen.ir.layer_set import Node
from hwgen.ir.requantisation import Requantisation
from hwgen.lower.pipeline.lanes import Lanes, Work
from hwgen.lower.pipeline.stage import Int8, PlannedStage, PlannedTile, RunningStage, StageKind, Words
from hwgen.lower.pipeline.stages.window import WindowKind
from hwgen.lower.pipeline.tiles import StagePlan
from hwgen.model.pipeline.cycles import GLOBAL, POOL
from hwgen.model.pipeline.cycles import Stage as PlayedStage

__all__ = ["KINDS"]


NO_BIAS = np.zeros(1, np.int32)


def _kind(node: Node) -> PoolKind:
    return "max" if node.pool == "max" else "average"


def _arithmetic(node: Node, requantisation: Requantisation) -> dict[str, int]:
    if node.pool == "max":
        return {}
    scale = average_scale(node.kernel[0] * node.kernel[1])
    clip = clip_values(requantisation, node.name)
    return {"multiplier": scale.multiplier, "shift": scale.shift, **clip}


def _pooled(windows: Int8, in_map: NDArray[np.bool_], kind: PoolKind, tile: RunningStage) -> Int8:
    made: Int8
    if kind == "max":
        made = np.where(in_map, windows, np.int8(LOWEST)).max(axis=(3, 4)).astype(np.int8)
        return made
    sums = windows.sum(axis=(3, 4), dtype=np.int64)
    return requantise(sums, NO_BIAS, tile.requantisation()).astype(np.int8)


class _Pool(WindowKind[PoolStage]):
    parameters = PoolStage
    played_kind = POOL
    datapath = POOL_REGISTERS

    def runs(self, node: Node) -> bool:
        return node.pool is not None and not node.global_pool

    def requantises(self, node: Node) -> bool:
        return node.pool != "max"

    def work(self, node: Node, pixels: int) -> Work:
        return Work.of_channels(pixels, node.kernel[0] * node.kernel[1], node.output_channels)

    def stage(self, planned: PlannedStage, lanes: Lanes) -> PoolStage:
        row, (source,) = planned.row, planned.operands
        return PoolStage(source.reads, planned.makes, row.kernel, row.stride, _kind(row.node), lanes.outputs)

    def arithmetic(self, node: Node, requantisation: Requantisation) -> dict[str, int]:
        return _arithmetic(node, requantisation)

    def of_windows(
        self, stage: PoolStage, tile: RunningStage, windows: Int8, in_map: NDArray[np.bool_], words: Words
    ) -> Int8:
        return _pooled(windows, in_map, stage.kind, tile)


class _GlobalPool(StageKind[GlobalPoolStage]):
    parameters = GlobalPoolStage

    def runs(self, node: Node) -> bool:
        return node.pool is not None and node.global_pool

    def requantises(self, node: Node) -> bool:
        return node.pool != "max"

    def check(self, row: StagePlan, tiles: int) -> None:
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

    def arithmetic(self, node: Node, requantisation: Requantisation) -> dict[str, int]:
        return _arithmetic(node, requantisation)

    def busy_cycles(self, stage: GlobalPoolStage, tile: RunningStage) -> int:
        return tile.steps * (tile.lines(stage.reads) * tile.line(stage.reads) + 1)

    def played(self, stage: GlobalPoolStage, tile: RunningStage) -> PlayedStage:
        return PlayedStage(GLOBAL, stage.reads, stage.makes, tile.steps, queue=tile.queue(stage))

    def run(self, stage: GlobalPoolStage, tile: RunningStage, operands: list[Int8], words: Words) -> Int8:
        (lines,) = operands
        pixels = lines.reshape(lines.shape[0], 1, 1, 1, -1)
        return _pooled(pixels, np.ones(pixels.shape[1:], bool), stage.kind, tile)


KINDS = (_Pool(), _GlobalPool())
