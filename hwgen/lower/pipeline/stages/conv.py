"""Convolutions, depthwise ones and fully connected rows."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from hwgen.arch.pipeline import ConvStage
from hwgen.arch.requantisation import bias_records, clip_values, records_content, scale_values, scaled_values
from hwgen.golden.network import RowData
from hwgen.golden.requantisation import requantise
from hwgen.ir.document import InputError
from hwgen.ir.layer_set import Node
from hwgen.ir.requantisation import RequantisationForm
from hwgen.lower.pipeline.lanes import Lanes, Work
from hwgen.lower.pipeline.stage import Int8, PlannedStage, RunningStage, Words
from hwgen.lower.pipeline.stages.window import WindowKind
from hwgen.lower.pipeline.tiles import StagePlan
from hwgen.model.pipeline.cycles import CONV
from hwgen.model.pipeline.graph import LineAxis, Reach

__all__ = ["KINDS"]


class _Convolution(WindowKind[ConvStage]):
    parameters = ConvStage
    played_kind = CONV

    def runs(self, node: Node) -> bool:
        return node.operator.schedulable

    def requantises(self, node: Node) -> bool:
        return True

    def check(self, row: StagePlan, tiles: int) -> None:
        if row.node.operator.flattens and {row.edges[0].edge.rows, row.edges[0].edge.columns} != {Reach()}:
            raise InputError(f"{row.node.name}: op: a depth-first pipeline has fc on maps of one pixel only")
        super().check(row, tiles)

    def work(self, node: Node, pixels: int) -> Work:
        inputs, outputs = node.input_channels // node.groups, node.output_channels
        depthwise = inputs == 1 and node.groups == outputs
        taps = node.kernel[0] * node.kernel[1]
        return Work.of_multipliers(pixels, taps, inputs, outputs, outputs if depthwise else outputs // node.groups)

    def stage(self, planned: PlannedStage, lanes: Lanes) -> ConvStage:
        row, (source,) = planned.row, planned.operands
        return ConvStage(
            source.reads, planned.makes, row.kernel, row.stride, row.node.groups, lanes.inputs, lanes.outputs,
            planned.requantisation,
        )  # fmt: skip

    def arithmetic(self, node: Node, data: RowData, form: RequantisationForm) -> dict[str, int]:
        requantisation = data.requantisation
        if form == "scaled":
            return scaled_values(requantisation, node.name)
        return {**scale_values(requantisation, node.name), **clip_values(requantisation, node.name)}

    def weight_words(self, stage: ConvStage, data: RowData, axis: LineAxis) -> Iterator[NDArray[np.uint8]]:
        """Words by output block, tap, input block; in each the output lanes, then the input lanes."""
        weights = data.weights if axis == "W" else data.weights.transpose(0, 1, 3, 2)
        outputs, inputs = stage.output_lanes, stage.input_lanes
        count, channels, across, along = weights.shape
        blocks = weights.reshape(count // outputs, outputs, channels // inputs, inputs, across, along)
        words = blocks.transpose(0, 4, 5, 2, 1, 3).reshape(-1, outputs * inputs)
        yield np.ascontiguousarray(words).view(np.uint8)
        records = bias_records(data.bias, data.requantisation.scales, stage.requantisation)
        yield records.view(np.uint8).reshape(-1, outputs * stage.record_bytes)

    def of_windows(
        self, stage: ConvStage, tile: RunningStage, windows: Int8, in_map: NDArray[np.bool_], words: Words
    ) -> Int8:
        """Sums of products, requantised, with the weights as the weight port brought them."""
        inputs, outputs = windows.shape[0] // stage.groups, tile.parameters.maps[stage.makes].channels
        o, i = stage.output_lanes, stage.input_lanes
        blocks = words["weights"].reshape(outputs // o, *stage.kernel, inputs // i, o, i).transpose(0, 4, 3, 5, 1, 2)
        weights = blocks.reshape(outputs, inputs, *stage.kernel).view(np.int8)
        records = np.ascontiguousarray(words["bias"]).reshape(-1).view(np.int8)
        biases, scales = records_content(records, stage.requantisation)
        requantisation = tile.scaled(scales) if scales else tile.requantisation()
        sums = _convolved(windows, weights, stage.groups).astype(np.int32)
        return requantise(sums, biases, requantisation).astype(np.int8)


def _convolved(windows: Int8, weights: Int8, groups: int) -> NDArray[np.int64]:
    channels, lines, columns, across, along = windows.shape
    count, taps = weights.shape[0], across * along
    by_group = windows.reshape(groups, channels // groups, lines * columns, taps).transpose(0, 1, 3, 2)
    pixels = by_group.reshape(groups, channels // groups * taps, lines * columns).astype(np.float64)
    matrices = weights.reshape(groups, count // groups, channels // groups * taps).astype(np.float64)
    sums: NDArray[np.int64] = np.matmul(matrices, pixels).astype(np.int64)
    return sums.reshape(count, lines, columns)


KINDS = (_Convolution(),)
