"""What all stages share that go over windows of a map."""

from abc import abstractmethod
from typing import ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray

from hwgen.arch.pipeline import WindowStage
from hwgen.ir.document import InputError
from hwgen.lower.pipeline.stage import Int8, PlannedTile, RunningStage, StageKind, Words
from hwgen.lower.pipeline.tiles import StagePlan
from hwgen.model.pipeline.cycles import Stage as PlayedStage

__all__ = ["WindowKind"]

W = TypeVar("W", bound=WindowStage)


class WindowKind(StageKind[W]):
    """A kind of stage that goes over windows of a map."""

    played_kind: ClassVar[int]
    """How `hwgen.model.pipeline.cycles` plays it."""

    def check(self, row: StagePlan, tiles: int) -> None:
        """The padding is smaller than the kernel."""
        top, left, bottom, right = row.padding
        if max(top, bottom) >= row.kernel[0] or max(left, right) >= row.kernel[1]:
            raise InputError(f"{row.node.name}: padding: expected less than the kernel on every side for a pipeline")

    def columns(self, tile: PlannedTile) -> dict[str, int]:
        """Outputs, and where the first has its last tap."""
        row, made = tile.row, tile.made
        top, left, _, _ = row.padding
        return {
            "lines": tile.lines,
            "columns": made.new,
            "first_line": row.kernel[0] - 1 - top,
            "first_column": tile.first(made.old * row.stride[1] + row.kernel[1] - 1 - left),
        }

    def busy_cycles(self, stage: W, tile: RunningStage) -> int:
        """The steps of all windows, padding included, and a cycle for every pixel that completes none."""
        seen = tile.lines(stage.reads), tile.line(stage.reads)
        made = tile.setting("lines"), tile.setting("columns")
        firsts = tile.setting("first_line"), tile.setting("first_column")
        completing = 1
        for count, first, stride, extent in zip(made, firsts, stage.stride, seen, strict=True):
            completing *= len({min(first + place * stride, extent - 1) for place in range(count)})
        return tile.steps * made[0] * made[1] + seen[0] * seen[1] - completing

    def played(self, stage: W, tile: RunningStage) -> PlayedStage:
        """Windows with the stage's steps."""
        (across, along), (down, right) = stage.kernel, stage.stride
        return PlayedStage(
            self.played_kind, stage.reads, stage.makes, tile.steps, across, along, down, right,
            tile.setting("lines"), tile.setting("columns"), tile.setting("first_line"),
            tile.setting("first_column"), tile.queue(stage), stage.registers,
        )  # fmt: skip

    def run(self, stage: W, tile: RunningStage, operands: list[Int8], words: Words) -> Int8:
        """The windows' outputs."""
        (lines,) = operands
        across, lines_in_map = _taps(
            tile.setting("lines"), stage.stride[0], tile.setting("first_line"), stage.kernel[0], lines.shape[1]
        )
        along, columns_in_map = _taps(
            tile.setting("columns"), stage.stride[1], tile.setting("first_column"), stage.kernel[1], lines.shape[2]
        )
        in_map = lines_in_map[:, None, :, None] & columns_in_map[None, :, None, :]
        if in_map.size:
            found = lines[:, across[:, None, :, None], along[None, :, None, :]]
            windows = np.where(in_map, found, np.int8(self.padding_value(tile)))
        else:
            windows = np.zeros((lines.shape[0], *in_map.shape), np.int8)
        return self.of_windows(stage, tile, windows, in_map, words)

    def padding_value(self, tile: RunningStage) -> int:
        """What padding reads as."""
        zero = tile.settings.get("zero_in", 0)
        return (zero ^ 0x80) - 0x80

    @abstractmethod
    def of_windows(
        self, stage: W, tile: RunningStage, windows: Int8, in_map: NDArray[np.bool_], words: Words
    ) -> Int8:
        """The outputs of windows [channels, lines, columns, across, along].

        ``in_map`` says which taps [lines, columns, across, along] are in the map. The others are padding.
        """


def _taps(count: int, stride: int, first: int, kernel: int, size: int) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
    """Along one axis: the index that each tap [output, tap] reads, and whether it is in the map."""
    places = np.arange(count)[:, None] * stride + first - (kernel - 1) + np.arange(kernel)
    in_map = (places >= 0) & (places < size)
    return np.clip(places, 0, max(size - 1, 0)), in_map
