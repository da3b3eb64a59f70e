"""What the model says about a schedule: the counts and the buffer space, as frozen values."""

from dataclasses import dataclass
from typing import Any, Literal

from hwgen.arch.bus import SUM_BYTES
from hwgen.ir.counts import Counts
from hwgen.ir.document import InputError
from hwgen.ir.layer import IMAGE
from hwgen.ir.level import LEVELS, LOCAL
from hwgen.ir.schedule import Bits, Marker, Schedule

__all__ = ["PerOperand", "Prediction", "require_one_image", "require_one_level"]


@dataclass(frozen=True, slots=True)
class PerOperand:
    """One number for each of I, W and O."""

    I: int  # noqa: E741 - the operand's name
    W: int
    O: int  # noqa: E741

    def __getitem__(self, operand: Literal["I", "W", "O"]) -> int:
        return int(getattr(self, operand))

    @property
    def total(self) -> int:
        """The sum over the three operands."""
        return self.I + self.W + self.O

    def in_bytes(self, bits: Bits) -> "PerOperand":
        """Elements held in a local buffer, in bytes: O is held as partial sums, ``acc`` bits an element."""
        return PerOperand(self.I * bits.I // 8, self.W * bits.W // 8, self.O * bits.acc // 8)


@dataclass(frozen=True)
class Prediction:
    """The exact cost of one schedule with one memory level.

    Members
    -------
    counts : accesses by (level, operand, direction), level ``tcdm``.
    need : elements that each local buffer must hold (DESIGN: the largest touch of one iteration of the marked loop).
    need_bytes : the same in bytes; O in partial sums of ``acc`` bits.
    allocation : bytes that the hardware's memories take, rounded up to lane vectors and words.
    iterations : innermost iterations (lane vectors) of the whole nest.
    kept_biases : biases that the HWC holds at a time, in a store beside the three buffers; 0 if it keeps none.
    record : bytes of a bias, with its channel's multiplier and shift if they come along.
    """

    counts: Counts
    need: PerOperand
    need_bytes: PerOperand
    allocation: PerOperand
    iterations: int
    kept_biases: int = 0
    record: int = SUM_BYTES

    @property
    def allocated_bytes(self) -> int:
        """Bytes of the three memories together, as allocated."""
        return self.allocation.total

    @property
    def total_bytes(self) -> int:
        """Traffic of I, W and O in bytes."""
        return self.counts.total_bytes()

    @property
    def total_with_bias(self) -> int:
        """The same with the biases."""
        return self.counts.total_with_bias()

    def as_json(self, *, elements: bool = False) -> dict[str, Any]:
        """Counts, needs and totals as keys of the command line's JSON form."""
        return {
            "counts": self.counts.as_json(elements=elements),
            "buffer": {
                operand: {"elements": self.need[operand], "bytes": self.need_bytes[operand]}
                for operand in ("I", "W", "O")
            },
            "allocated_bytes": self.allocated_bytes,
            "bias_store": {"elements": self.kept_biases, "bytes": self.record * self.kept_biases},
            "total_bytes": self.total_bytes,
            "total_with_bias": self.total_with_bias,
        }


def require_one_level(schedule: Schedule) -> None:
    """Refuse what a model with one memory level cannot count: ``tcdm`` markers and loops spread over HWCs."""
    for item in schedule.nest:
        if isinstance(item, Marker) and item.level != LOCAL:
            hint = "" if item.level.name in LEVELS else "; levels of a hierarchy need --hierarchy"
            raise InputError(f"schedule: buffer: {item.level}: expected markers of one memory level only{hint}")
        if not isinstance(item, Marker) and item.over is not None:
            raise InputError(f"schedule: {item.dim}: over: {item.over}: expected a nest for one HWC")


def require_one_image(schedule: Schedule) -> None:
    """Refuse a batch of several images, and loops over images: the hardware runs one image at a time."""
    where, batch = schedule.layer.name, schedule.layer.batch
    if batch > 1:
        raise InputError(f"{where}: batch: expected 1: the hardware runs one image at a time, got {batch}")
    if any(loop.dim == IMAGE for loop in schedule.loops):
        raise InputError(f"{where}: nest: {IMAGE}: expected no loop over images: the hardware runs one at a time")
