"""Parameters of a stage that sends elements through tables."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from hwgen.arch.latency import LOOKUP_REGISTERS
from hwgen.arch.parameter_error import ParameterError
from hwgen.arch.pipeline.maps import check_divides, check_equal
from hwgen.arch.pipeline.stage import Maps, MemorySize, WindowStage
from hwgen.ir.requantisation import TABLE_ENTRIES

__all__ = ["LookupStage"]


@dataclass(frozen=True)
class LookupStage(WindowStage):
    """Each element through a table, of which there is one, or one for each channel. The kernel is 1 x 1.

    ``lanes`` channels are done in one cycle: a divisor of the channels.
    """

    tables: int = 1
    lanes: int = 1
    loads_weights: ClassVar[bool] = True

    def check(self, maps: Maps) -> None:
        """The channels stay the same, the lanes divide them, and there are tables for all."""
        super().check(maps)
        channels = maps[self.makes].channels
        check_equal("channels", maps[self.reads].channels, channels)
        check_equal("pixels of a kernel", self.taps, 1)
        check_divides("lanes", self.lanes, channels)
        if self.tables not in (1, channels):
            raise ParameterError(f"tables: expected 1 or {channels}, got {self.tables}")

    def steps(self, maps: Maps) -> int:
        """Blocks of channels."""
        return maps[self.makes].channels // self.lanes

    @property
    def registers(self) -> int:
        """Operand and entry."""
        return LOOKUP_REGISTERS

    def memories(self, maps: Maps) -> Mapping[str, MemorySize]:
        """A byte for each entry, the same in all lanes; or one for each lane, table after table of a block."""
        if self.tables == 1:
            return {"table": MemorySize(TABLE_ENTRIES, 1)}
        return {"table": MemorySize(TABLE_ENTRIES * self.steps(maps), self.lanes)}

    def read_registers(self, maps: Maps) -> int:
        """A pixel, and a block of lanes, twice: before and after the table."""
        return super().read_registers(maps) + 2 * self.lanes
