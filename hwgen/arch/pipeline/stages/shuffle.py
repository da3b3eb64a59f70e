"""Parameters of a pixel shuffle stage."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from hwgen.arch.pipeline.maps import MOST_LINE, check_equal, check_range
from hwgen.arch.pipeline.stage import Maps, MemorySize, Setting, SingleMapStage, Stage

__all__ = ["ShuffleStage"]


@dataclass(frozen=True)
class ShuffleStage(SingleMapStage):
    """Pixel shuffle: ``factor`` squared channels become a square of pixels.

    Sub-pixel (p across, q along) of channel c is input channel ``(c factor + p) factor + q``, with ``transposed``
    ``(c factor + q) factor + p``: for lines along the height. A memory holds ``line`` pixels of the map that it
    reads, without the channels of the first of the lines that each gives.
    """

    factor: int
    line: int
    transposed: bool = False

    def check(self, maps: Maps) -> None:
        """The factor's square divides the channels."""
        check_range("factor", self.factor, 2, 16)
        check_range("line", self.line, 1, MOST_LINE)
        channels = maps[self.makes].channels * self.factor * self.factor
        check_equal("channels", maps[self.reads].channels, channels)

    def steps(self, maps: Maps) -> int:
        """An output pixel a cycle."""
        return 1

    def settings(self, maps: Maps) -> tuple[Setting, ...]:
        """The columns of the output."""
        width = (maps[self.reads].line * self.factor).bit_length()
        return (
            Setting("first_column", width, "First output column, from what the map's first column becomes"),
            Setting("columns", width, "Outputs of a line in the tile"),
        )

    def memories(self, maps: Maps) -> Mapping[str, MemorySize]:
        """All channels of a line but those of the first output line."""
        channels = maps[self.reads].channels
        return {"memory": MemorySize(self.line, channels * (self.factor - 1) // self.factor)}

    def read_registers(self, maps: Maps) -> int:
        """A pixel, and a word of the memory."""
        return super().read_registers(maps) + self.memories(maps)["memory"].bytes

    def with_room_for(self, other: Stage) -> Stage:
        """The longer line."""
        return replace(self, line=max(self.line, other.line)) if isinstance(other, ShuffleStage) else self
