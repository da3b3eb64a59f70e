"""Parameters of pooling stages."""

from dataclasses import dataclass
from typing import Literal

from hwgen.arch.latency import POOL_REGISTERS
from hwgen.arch.pipeline.maps import check_divides, check_equal, check_range
from hwgen.arch.pipeline.stage import (
    OUTPUT_SETTINGS,
    SCALE_SHIFT,
    SCALED_SETTINGS,
    Maps,
    Setting,
    SingleMapStage,
    WindowStage,
    scaling_registers,
)
from hwgen.arch.requantisation import MULTIPLIER_BITS as SCALED_BITS
from hwgen.ir.requantisation import RequantisationForm

__all__ = ["AVERAGE_SHIFT_BITS", "MOST_SCALED", "MULTIPLIER_BITS", "GlobalPoolStage", "PoolKind", "PoolStage"]

PoolKind = Literal["max", "average"]

MULTIPLIER_BITS = 17
AVERAGE_SHIFT_BITS = 6

_AVERAGE = (
    Setting("multiplier", MULTIPLIER_BITS, "What the sum is multiplied by", lasting=True),
    Setting("shift", AVERAGE_SHIFT_BITS, "Bits that the product is shifted right, with rounding", lasting=True),
    *OUTPUT_SETTINGS,
)
_SCALED = (
    Setting("multiplier", SCALED_BITS, "What the sum is multiplied by", lasting=True),
    SCALE_SHIFT,
    *SCALED_SETTINGS,
)
MOST_SCALED = 1 << 23
"""Most elements of a scaled sum: it then has 33 bits at most."""


def _settings(kind: PoolKind, requantisation: RequantisationForm) -> tuple[Setting, ...]:
    """What an average does with its sums."""
    if kind == "max":
        return ()
    return _SCALED if requantisation == "scaled" else _AVERAGE


@dataclass(frozen=True)
class PoolStage(WindowStage):
    """The maximum of each window, or its average: sum times a multiplier, shifted.

    Padding is left out of the maximum and counts as zero in the average. ``lanes`` channels are done in one cycle: a
    divisor of the channels. ``requantisation``: where it is scaled, an average has zero points.
    """

    kind: PoolKind = "max"
    lanes: int = 1
    requantisation: RequantisationForm = "shift"

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
        return (*super().settings(maps), *_settings(self.kind, self.requantisation))

    @property
    def scaling(self) -> int:
        """Those of a scaled average."""
        return scaling_registers(self.requantisation) if self.kind == "average" else 0

    @property
    def registers(self) -> int:
        """Operands and result; and those of scaling."""
        return POOL_REGISTERS + self.scaling

    def read_registers(self, maps: Maps) -> int:
        """A pixel, and a block of lanes."""
        return super().read_registers(maps) + self.lanes


@dataclass(frozen=True)
class GlobalPoolStage(SingleMapStage):
    """The maximum, or the average, of all pixels of a map: one pixel. ``lanes`` channels are done in one cycle."""

    kind: PoolKind = "average"
    lanes: int = 1
    requantisation: RequantisationForm = "shift"

    def check(self, maps: Maps) -> None:
        """The channels stay the same, and the lanes divide them; a scaled sum has 33 bits at most."""
        if self.kind == "average" and self.requantisation == "scaled":
            check_range(
                "elements of a scaled average", maps[self.reads].line * maps[self.reads].lines, 1, MOST_SCALED
            )
        check_equal("channels", maps[self.reads].channels, maps[self.makes].channels)
        check_divides("lanes", self.lanes, maps[self.makes].channels)

    def steps(self, maps: Maps) -> int:
        """Blocks of channels: for each input pixel, and for the output."""
        return maps[self.reads].channels // self.lanes

    def settings(self, maps: Maps) -> tuple[Setting, ...]:
        """The division of an average."""
        return _settings(self.kind, self.requantisation)

    @property
    def scaling(self) -> int:
        """Those of a scaled average."""
        return scaling_registers(self.requantisation) if self.kind == "average" else 0
