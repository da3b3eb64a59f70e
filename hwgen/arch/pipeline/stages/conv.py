"""Parameters of a convolution stage."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from hwgen.arch.latency import CONV_REGISTERS
from hwgen.arch.pipeline.maps import check_divides
from hwgen.arch.pipeline.stage import (
    SCALED_SETTINGS,
    SUM_SETTINGS,
    Maps,
    MemorySize,
    Setting,
    WindowStage,
    scaling_registers,
)
from hwgen.arch.requantisation import record_bytes
from hwgen.ir.requantisation import RequantisationForm

__all__ = ["ConvStage"]


@dataclass(frozen=True)
class ConvStage(WindowStage):
    """A convolution with bias, requantisation and clipped ReLU.

    Parameters
    ----------
    reads, makes
        Numbers of the maps.
    kernel, stride
        Across and along.
    groups
        Groups of channels; as many as there are input channels: depthwise.
    input_lanes, output_lanes
        Input channels of a group, and output channels, that are multiplied in one cycle: divisors of both.
    requantisation
        Sums are shifted, all alike; or scaled, each output channel by its own multiplier and shift.
    """

    groups: int = 1
    input_lanes: int = 1
    output_lanes: int = 1
    requantisation: RequantisationForm = "shift"
    loads_weights: ClassVar[bool] = True

    def check(self, maps: Maps) -> None:
        """Groups and lanes divide the channels."""
        super().check(maps)
        inputs, outputs = maps[self.reads].channels, maps[self.makes].channels
        check_divides("groups", self.groups, inputs)
        check_divides("groups", self.groups, outputs)
        check_divides("input_lanes", self.input_lanes, inputs // self.groups)
        check_divides("output_lanes", self.output_lanes, outputs)

    def steps(self, maps: Maps) -> int:
        """Taps times blocks of channels."""
        inputs, outputs = maps[self.reads].channels, maps[self.makes].channels
        return self.taps * (inputs // self.groups // self.input_lanes * (outputs // self.output_lanes))

    def memories(self, maps: Maps) -> Mapping[str, MemorySize]:
        """A word of weights for each step, and a word of biases, or of records, for each block of outputs."""
        blocks = maps[self.makes].channels // self.output_lanes
        return {
            "weights": MemorySize(self.steps(maps), self.input_lanes * self.output_lanes),
            "bias": MemorySize(blocks, self.record_bytes * self.output_lanes),
        }

    @property
    def record_bytes(self) -> int:
        """Bytes that an output channel brings along: its bias; where sums are scaled, multiplier and shift."""
        return record_bytes(self.requantisation)

    @property
    def scaling(self) -> int:
        """Those of its requantisation."""
        return scaling_registers(self.requantisation)

    @property
    def registers(self) -> int:
        """Operands, product, sum; and those of scaling."""
        return CONV_REGISTERS + self.scaling

    def settings(self, maps: Maps) -> tuple[Setting, ...]:
        """Windows, then requantisation."""
        return (*super().settings(maps), *(SCALED_SETTINGS if self.requantisation == "scaled" else SUM_SETTINGS))

    def read_registers(self, maps: Maps) -> int:
        """A pixel, and the tap: input lanes, for each output lane if these are of different groups."""
        outputs = maps[self.makes].channels // self.groups
        taps = self.output_lanes if outputs % self.output_lanes else 1
        return super().read_registers(maps) + self.input_lanes * taps
