"""Parameters of pooling stages."""

from dataclasses import dataclass
from typing import Literal

from hwgen.arch.pipeline.maps import check_divides, check_equal
from hwgen.arch.pipeline.stage import OUTPUT_SETTINGS, Maps, Setting, SingleMapStage, WindowStage

__all__ = ["AVERAGE_SHIFT_BITS", "MULTIPLIER_BITS", "GlobalPoolStage", "PoolKind", "PoolStage"]

PoolKind = Literal["max", "average"]

MULTIPLIER_BITS = 17
AVERAGE_SHIFT_BITS = 6

_AVERAGE = (
    Setting("multiplier", MULTIPLIER_BITS, "What the sum is multiplied by", lasting=True),
    Setting("shift", AVERAGE_SHIFT_BITS, "Bits that the product is shifted right, with rounding", lasting=True),
    *OUTPUT_SETTINGS,
)


@dataclass(frozen=True)
class PoolStage(WindowStage):
    """The maximum of each window, or its average: sum times a multiplier, shifted.

    Padding is left out of the maximum and counts as zero in the average. ``lanes`` channels are done in one cycle: a
    divisor of the channels.
    """

    kind: PoolKind = "max"
    lanes: int = 1

    def check(self, maps: Maps) -> None:
        """The channels stay the same, and the lanes divide them."""
        super().check(maps)
        check_equal("channels", maps[self.reads].channels, maps[self.makes].channels)
        check_divides("lanes", self.lanes, maps[self.makes].channels)

    def steps(self, maps: Maps) -> int:
        """Taps times blocks of channels."""
        return self.taps * (maps[self.reads].channels // self.lanes)

    def settings(self, maps: Maps) -> tuple[Setting, ...]:
        """Windows; for an average its division."""
        return (*super().settings(maps), *(_AVERAGE if self.kind == "average" else ()))

    def read_registers(self, maps: Maps) -> int:
        """A pixel, and a block of lanes."""
        return super().read_registers(maps) + self.lanes


@dataclass(frozen=True)
class GlobalPoolStage(SingleMapStage):
    """The maximum, or the average, of all pixels of a map: one pixel. ``lanes`` channels are done in one cycle."""

    kind: PoolKind = "average"
    lanes: int = 1

    def check(self, maps: Maps) -> None:
        """The channels stay the same, and the lanes divide them."""
        check_equal("channels", maps[self.reads].channels, maps[self.makes].channels)
        check_divides("lanes", self.lanes, maps[self.makes].channels)

    def steps(self, maps: Maps) -> int:
        """Blocks of channels: for each input pixel, and for the output."""
        return maps[self.reads].channels // self.lanes

    def settings(self, maps: Maps) -> tuple[Setting, ...]:
        """The division of an average."""
        return _AVERAGE if self.kind == "average" else ()
