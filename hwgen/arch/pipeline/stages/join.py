"""Parameters of a stage that joins maps pixel by pixel."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from hwgen.arch.parameter_error import ParameterError
from hwgen.arch.pipeline.maps import MOST_BEAT, MOST_QUEUE, check_divides, check_equal, check_range
from hwgen.arch.pipeline.stage import (
    SCALE_SHIFT,
    SCALED_SETTINGS,
    SUM_SETTINGS,
    Maps,
    Operand,
    Setting,
    Stage,
    scaling_registers,
)
from hwgen.ir.requantisation import MULTIPLIER_BITS, RequantisationForm

__all__ = ["JoinKind", "JoinStage"]

JoinKind = Literal["add", "concat"]


@dataclass(frozen=True)
class JoinStage(Stage):
    """Two or more maps pixel by pixel: their sum, requantised, ``lanes`` channels a cycle; or all their channels.

    ``requantisation``: the sum is shifted; or each operand is multiplied by a number of its own, less its zero point,
    and the sum of these is shifted.
    """

    operands: tuple[Operand, ...]
    makes: int
    kind: JoinKind = "add"
    lanes: int = 1
    requantisation: RequantisationForm = "shift"

    @property
    def scales(self) -> bool:
        """Whether it makes scaled sums."""
        return self.kind == "add" and self.requantisation == "scaled"

    @property
    def scaling(self) -> int:
        """Those of a scaled sum."""
        return scaling_registers(self.requantisation) if self.kind == "add" else 0

    @property
    def pixel_operands(self) -> tuple[Operand, ...]:
        """All operands."""
        return self.operands

    def check(self, maps: Maps) -> None:
        """Two operands or more, of channels that go together."""
        made = maps[self.makes]
        if len(self.operands) < 2:
            raise ParameterError(f"operands: expected two or more, got {len(self.operands)}")
        channels = [maps[operand.reads].channels for operand in self.operands]
        if self.kind == "concat":
            channels = [sum(channels)]
        for one in channels:
            check_equal("channels", one, made.channels)
        check_divides("lanes", self.lanes, made.channels)
        for operand in self.operands:
            check_range("queue", operand.queue, 1, MOST_QUEUE)
            check_range("beat", operand.beat, 1, min(MOST_BEAT, maps[operand.reads].channels))

    def steps(self, maps: Maps) -> int:
        """Blocks of channels; a concatenation is done at once."""
        return maps[self.makes].channels // self.lanes if self.kind == "add" else 1

    def settings(self, maps: Maps) -> tuple[Setting, ...]:
        """The columns of each operand; for a sum its requantisation."""
        found = [Setting("columns", maps[self.makes].line.bit_length(), "Joined columns of a line in the tile")]
        for place, operand in enumerate(self.operands):
            if not operand.through_dram:
                width = maps[operand.reads].line.bit_length()
                found.append(Setting(f"first_{place}", width, f"First joined column of operand {place}'s line"))
        if self.scales:
            for place in range(len(self.operands)):
                meaning = f"What operand {place} is multiplied by, less its zero point"
                found.append(Setting(f"multiplier_{place}", MULTIPLIER_BITS, meaning, lasting=True))
                found.append(Setting(f"zero_{place}", 8, f"Zero point of operand {place}", lasting=True))
            return (*found, SCALE_SHIFT, *SCALED_SETTINGS[1:])
        return (*found, *(SUM_SETTINGS if self.kind == "add" else ()))

    def read_registers(self, maps: Maps) -> int:
        """A pixel of each operand that a ring has."""
        taps = (maps[operand.reads] for operand in self.operands if not operand.through_dram)
        return sum(one.channels for one in taps if one.pixels)

    def with_room_for(self, other: Stage) -> Stage:
        """The longer queue of each operand."""
        if len(other.pixel_operands) != len(self.operands):
            return self
        pairs = zip(self.operands, other.pixel_operands, strict=True)
        return self.with_operand_queues([max(own.queue, their.queue) for own, their in pairs])

    def with_operand_queues(self, depths: Sequence[int]) -> Stage:
        """The same operands with queues of these depths."""
        pairs = zip(self.operands, depths, strict=True)
        return replace(self, operands=tuple(replace(operand, queue=depth) for operand, depth in pairs))
