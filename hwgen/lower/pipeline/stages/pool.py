"""Pools over windows, and over whole maps."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from hwgen.arch.pipeline import GlobalPoolStage, PoolStage
from hwgen.arch.pipeline.stages.pool import PoolKind
from hwgen.arch.requantisation import LOWEST, clip_values, scaled_values
from hwgen.golden.network import RowData, average_scale
from hwgen.golden.requantisation import requantise
from hwgen.ir.document import InputError
from hwgen.ir.layer_set import Node
from hwgen.ir.network.kinds import AveragePool
from hwgen.ir.requantisation import MULTIPLIER_BITS, Requantisation, RequantisationForm, Scale
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


def _form(planned: PlannedStage) -> RequantisationForm:
    """A maximum is no sum."""
    return planned.requantisation if _kind(planned.row.node) == "average" else "shift"


def _arithmetic(node: Node, data: RowData, form: RequantisationForm) -> dict[str, int]:
    if node.pool == "max":
        return {}
    area = node.kernel[0] * node.kernel[1]
    scale, requantisation = average_scale(area), data.requantisation
    if isinstance(one := data.quantised, AveragePool):
        scale = one.scales[area]
        requantisation = Requantisation(zero_in=one.zero_in, zero_out=one.zero_out, low=one.low, high=one.high)
    if form == "scaled":
        scale = _narrow(scale)
        requantisation = replace(requantisation, scales=(scale,))
        clip = scaled_values(requantisation, node.name)
    else:
        clip = clip_values(requantisation, node.name)
    return {"multiplier": scale.multiplier, "shift": scale.shift, **clip}


def _narrow(scale: Scale) -> Scale:
    """The same factor with a multiplier of one bit less, where it has a bit too many."""
    if scale.multiplier >> MULTIPLIER_BITS and not scale.multiplier & 1 and scale.shift > 1:
        return Scale(scale.multiplier >> 1, scale.shift - 1)
    return scale


def _pooled(windows: Int8, in_map: NDArray[np.bool_], stage: PoolStage | GlobalPoolStage, tile: RunningStage) -> Int8:
    made: Int8
    if stage.kind == "max":
        made = np.where(in_map, windows, np.int8(LOWEST)).max(axis=(3, 4)).astype(np.int8)
        return made
    sums = windows.sum(axis=(3, 4), dtype=np.int64)
    if stage.requantisation == "scaled":
        scale = Scale(tile.setting("multiplier"), tile.setting("shift"))
        requantisation = tile.scaled((scale,))
        sums -= requantisation.zero_in * windows.shape[3] * windows.shape[4]
        return requantise(sums, NO_BIAS, requantisation).astype(np.int8)
    return requantise(sums, NO_BIAS, tile.requantisation()).astype(np.int8)


class _Pool(WindowKind[PoolStage]):
    parameters = PoolStage
    played_kind = POOL

    def runs(self, node: Node) -> bool:
        return node.pool is not None and not node.global_pool

    def requantises(self, node: Node) -> bool:
        return node.pool != "max"

    def work(self, node: Node, pixels: int) -> Work:
        return Work.of_channels(pixels, node.kernel[0] * node.kernel[1], node.output_channels)

    def stage(self, planned: PlannedStage, lanes: Lanes) -> PoolStage:
        row, (source,) = planned.row, planned.operands
        return PoolStage(
            source.reads, planned.makes, row.kernel, row.stride, _kind(row.node), lanes.outputs, _form(planned)
        )

    def arithmetic(self, node: Node, data: RowData, form: RequantisationForm) -> dict[str, int]:
        return _arithmetic(node, data, form)

    def of_windows(
        self, stage: PoolStage, tile: RunningStage, windows: Int8, in_map: NDArray[np.bool_], words: Words
    ) -> Int8:
        return _pooled(windows, in_map, stage, tile)


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
        return GlobalPoolStage(source.reads, planned.makes, _kind(planned.row.node), lanes.outputs, _form(planned))

    def columns(self, tile: PlannedTile) -> dict[str, int]:
        return {}

    def arithmetic(self, node: Node, data: RowData, form: RequantisationForm) -> dict[str, int]:
        return _arithmetic(node, data, form)

    def busy_cycles(self, stage: GlobalPoolStage, tile: RunningStage) -> int:
        return tile.steps * (tile.lines(stage.reads) * tile.line(stage.reads) + 1)

    def played(self, stage: GlobalPoolStage, tile: RunningStage) -> PlayedStage:
        queue, registers = tile.queue(stage), stage.registers
        return PlayedStage(GLOBAL, stage.reads, stage.makes, tile.steps, queue=queue, registers=registers)

    def run(self, stage: GlobalPoolStage, tile: RunningStage, operands: list[Int8], words: Words) -> Int8:
        (lines,) = operands
        pixels = lines.reshape(lines.shape[0], 1, 1, 1, -1)
        return _pooled(pixels, np.ones(pixels.shape[1:], bool), stage, tile)


KINDS = (_Pool(), _GlobalPool())
