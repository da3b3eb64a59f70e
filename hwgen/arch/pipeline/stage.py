"""What every stage of a pipeline says of itself: the maps that it reads, its cycles, memories and run-time settings.

The kinds are the modules of `hwgen.arch.pipeline.stages`, a class each. Nothing else asks which kind a stage is.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from hwgen.arch.latency import PIPELINE_SCALING
from hwgen.arch.pipeline.maps import LEAST_QUEUE, MapParameters, check_range
from hwgen.arch.requantisation import CHANNEL_SHIFT_BITS, SCALED, SHIFT, clip_settings
from hwgen.ir.requantisation import RequantisationForm

__all__ = [
    "OUTPUT_SETTINGS",
    "SCALED_SETTINGS",
    "SCALE_SHIFT",
    "SUM_SETTINGS",
    "MemorySize",
    "Operand",
    "Pair",
    "Setting",
    "SingleMapStage",
    "Stage",
    "WindowStage",
    "scaling_registers",
    "window_settings",
]

Pair = tuple[int, int]
"""Across lines, along lines."""

Maps = Sequence[MapParameters]


class MemorySize(NamedTuple):
    """A memory of a stage: words, and bytes of a word."""

    words: int
    bytes: int


class Setting(NamedTuple):
    """A run-time setting of a stage.

    Members
    -------
    name : without the stage's.
    width : in bits.
    meaning : one sentence.
    lasting : the same in all tiles of a run; else the stage has that of each tile.
    """

    name: str
    width: int
    meaning: str
    lasting: bool = False


OUTPUT_SETTINGS = tuple(Setting(*one, lasting=True) for one in clip_settings())
"""Settings of every stage whose outputs are requantised."""
SUM_SETTINGS = (Setting(*SHIFT, lasting=True), *OUTPUT_SETTINGS)
"""Settings of every stage that requantises sums by a shift alone."""
SCALED_SETTINGS = tuple(Setting(*one, lasting=True) for one in SCALED)
"""Settings of every stage whose outputs are scaled: zero points and bounds."""
SCALE_SHIFT = Setting(
    "shift", CHANNEL_SHIFT_BITS, "Bits that the product is shifted right, with rounding", lasting=True
)
"""The shift of a stage that scales the sums of all channels alike."""


def scaling_registers(requantisation: RequantisationForm) -> int:
    """Registers of a stage's datapath that only scaled sums pass."""
    return PIPELINE_SCALING if requantisation == "scaled" else 0


@dataclass(frozen=True)
class Operand:
    """A map that a stage reads pixel by pixel: from its ring, or from DRAM through a stream of its own.

    Parameters
    ----------
    reads
        Number of the map.
    through_dram
        From DRAM, ``beat`` bytes a cycle; else from the ring.
    queue
        Pixels of the queue after the ring or the stream: the FIFO of a skip.
    """

    reads: int
    through_dram: bool = False
    queue: int = LEAST_QUEUE
    beat: int = 1


class Stage(ABC):
    """One stage of a pipeline. Every kind is a frozen dataclass below this class."""

    makes: int
    """Number of the map that it makes."""
    loads_weights: ClassVar[bool] = False
    """Whether it takes weights and biases from the weight port before the first tile."""

    # --- what it reads ---

    @property
    def window_reads(self) -> tuple[int, ...]:
        """The maps that it reads while their newest pixel is in flight."""
        return ()

    @property
    def pixel_operands(self) -> tuple[Operand, ...]:
        """The maps that it reads pixel by pixel, after they have left for the ring or for DRAM."""
        return ()

    @property
    def reads_of_all(self) -> tuple[int, ...]:
        """All maps that it reads, through DRAM too."""
        return (*self.window_reads, *(operand.reads for operand in self.pixel_operands))

    @property
    def reads_on_chip(self) -> tuple[int, ...]:
        """The maps that it reads without DRAM."""
        return (*self.window_reads, *(one.reads for one in self.pixel_operands if not one.through_dram))

    @property
    def output_pitch(self) -> Pair:
        """Lines and columns of the input from one output to the next."""
        return (1, 1)

    # --- what it takes ---

    @abstractmethod
    def check(self, maps: Maps) -> None:
        """Raise `ParameterError` unless it can be built between these maps."""

    @abstractmethod
    def steps(self, maps: Maps) -> int:
        """Cycles of an output pixel; of an input pixel if a whole map becomes one pixel."""

    @abstractmethod
    def settings(self, maps: Maps) -> tuple[Setting, ...]:
        """Its run-time settings in register order."""

    def memories(self, maps: Maps) -> Mapping[str, MemorySize]:
        """Its memories by name."""
        return {}

    @abstractmethod
    def read_registers(self, maps: Maps) -> int:
        """Bytes of the registers that hold what it has just read from a ring or a memory."""

    @property
    def scaling(self) -> int:
        """Registers of its datapath that only scaled sums pass."""
        return 0

    @property
    def registers(self) -> int:
        """Registers from its last step of a pixel to the queue after it, in which the next pixel may begin."""
        return self.scaling

    # --- variants ---

    def with_room_for(self, other: "Stage") -> "Stage":
        """This stage with queues and memories large enough for another one of its kind, too."""
        return self

    def with_operand_queues(self, depths: Sequence[int]) -> "Stage":
        """This stage with queues of these depths, in pixels, after its pixel operands."""
        return self


@dataclass(frozen=True)
class SingleMapStage(Stage):
    """A stage that reads one map while its newest pixel is in flight."""

    reads: int
    makes: int

    @property
    def window_reads(self) -> tuple[int, ...]:
        """The map that it reads."""
        return (self.reads,)

    def read_registers(self, maps: Maps) -> int:
        """The pixel that the ring's read port gives."""
        one = maps[self.reads]
        return one.channels if one.pixels else 0


@dataclass(frozen=True)
class WindowStage(SingleMapStage):
    """A window over one map.

    Parameters
    ----------
    reads, makes
        Numbers of the maps.
    kernel, stride
        Across and along.
    """

    kernel: Pair
    stride: Pair

    def check(self, maps: Maps) -> None:
        """Kernel and stride are 1 to 255."""
        for name, pair in (("kernel", self.kernel), ("stride", self.stride)):
            for extent in pair:
                check_range(name, extent, 1, 255)

    @property
    def taps(self) -> int:
        """Pixels of a window."""
        return self.kernel[0] * self.kernel[1]

    @property
    def output_pitch(self) -> Pair:
        """The stride."""
        return self.stride

    def settings(self, maps: Maps) -> tuple[Setting, ...]:
        """Which windows a tile has."""
        source = maps[self.reads]
        return window_settings(line=source.line, lines=source.lines, kernel=self.kernel)


def window_settings(*, line: int, lines: int, kernel: Pair) -> tuple[Setting, ...]:
    """The settings of windows over a map whose lines and line length are at most ``lines`` and ``line``."""
    outputs = lines + kernel[0], line + kernel[1]  # at most: padding is smaller than the kernel on either side
    return (
        Setting("lines", outputs[0].bit_length(), "Lines of outputs in the tile"),
        Setting("columns", outputs[1].bit_length(), "Outputs of a line in the tile"),
        Setting("first_line", (kernel[0] - 1).bit_length() or 1,
                "Line of the last tap of the first output: kernel - 1 - padding"),
        Setting("first_column", (line + kernel[1]).bit_length(),
                "Column of the last tap of the first output, from the beginning of the map's line"),
    )  # fmt: skip
