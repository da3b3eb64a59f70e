"""Descriptors of the DMA as 32-bit words: one table of fields for hardware, program writer and documentation.

A descriptor moves runs of consecutive DRAM bytes under two counts, ``count_2`` outermost. Run (i, j) begins at DRAM
byte ``dram_address + i * dram_stride_2 + j * dram_stride_1`` and, in the TCDM, at ``tcdm_address`` plus likewise
strided. Byte b of a packed run is b bytes further on; that of a scattered run is ``(b mod fold) * fast_stride + (b
div fold) * slow_stride`` further on. With a fast stride of 1 a scattered run is a row of segments, which move as fast
as packed runs; otherwise each byte is written alone. Every TCDM address wraps in its ring. Both sides may have any
alignment.

Runs that are contiguous in DRAM share bursts. So do descriptors with the same tag, if the first one says that the
next one continues it.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import TYPE_CHECKING, TypeVar

from hwgen.arch.bus import WORD_BYTES
from hwgen.arch.parameter_error import ParameterError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = [
    "FIELDS",
    "PACKED_WORDS",
    "SCATTERED_WORDS",
    "Descriptor",
    "DescriptorError",
    "DescriptorField",
    "OperandTag",
    "Ring",
    "RingSelect",
    "TransferArithmetic",
]

PACKED_WORDS = 8
SCATTERED_WORDS = 10
"""Words of a descriptor: a packed one ends where the fields of the scattering begin."""
Places = TypeVar("Places", int, "NDArray[np.int64]")


class DescriptorError(ParameterError):
    """Values that no descriptor may have; the text says which and why."""


class RingSelect(IntEnum):
    """Where in the TCDM a descriptor moves to or from: one of three rings, or the window, which never wraps."""

    FIXED = 0
    I = 1  # noqa: E741
    W = 2
    O = 3  # noqa: E741


class OperandTag(IntEnum):
    """What a transfer is counted as; it goes out with every AXI address. The channel tells the direction."""

    P = 0
    I = 1  # noqa: E741
    W = 2
    B = 3
    O_PARTIAL = 4
    O = 5  # noqa: E741


@dataclass(frozen=True)
class DescriptorField:
    """A field: its word, lowest bit, width in bits, and what it means."""

    name: str
    word: int
    low: int
    width: int
    meaning: str


FIELDS = (
    DescriptorField("length", 0, 0, 20, "bytes of one run, at least 1"),
    DescriptorField("tag", 0, 20, 4, "operand that the transfer is counted as: an OperandTag"),
    DescriptorField("ring", 0, 24, 2, "ring that TCDM addresses wrap in: a RingSelect"),
    DescriptorField("scattered", 0, 26, 1, "1: the bytes of a run are folded or scattered in the TCDM, in a ring"),
    DescriptorField("continues", 0, 27, 1, "1: the next descriptor begins in DRAM where this one ends (loads only)"),
    DescriptorField("dram_address", 1, 0, 32, "DRAM byte address of the first run"),
    DescriptorField("count_1", 2, 0, 16, "runs, at least 1"),
    DescriptorField("count_2", 2, 16, 16, "how often those runs come, at least 1"),
    DescriptorField("dram_stride_1", 3, 0, 32, "DRAM bytes from run to run"),
    DescriptorField("dram_stride_2", 4, 0, 32, "DRAM bytes from one first run to the next"),
    DescriptorField("tcdm_address", 5, 0, 32, "TCDM byte address of the first run, inside the ring"),
    DescriptorField("tcdm_stride_1", 6, 0, 32, "TCDM bytes from run to run, less than the ring's size"),
    DescriptorField(
        "tcdm_stride_2", 7, 0, 32, "TCDM bytes from one first run to the next, less than the ring's size"
    ),
    DescriptorField("fold", 8, 0, 16, "scattered: bytes of a run before the slow stride, at least 1"),
    DescriptorField(
        "fast_stride", 8, 16, 16, "scattered: TCDM bytes from byte to byte, less than the ring's size; 1 in stores"
    ),
    DescriptorField("slow_stride", 9, 0, 32, "scattered: TCDM bytes from fold to fold, less than the ring's size"),
)


@dataclass(frozen=True)
class Ring:
    """A part of the TCDM in which addresses wrap: bytes ``end - size`` up to ``end``, both multiples of 4."""

    end: int
    size: int

    def __post_init__(self) -> None:
        if self.end % WORD_BYTES or self.size % WORD_BYTES or not 0 < self.size <= self.end:
            raise DescriptorError(
                f"ring: expected 0 < size <= end, multiples of 4, got end {self.end}, size {self.size}"
            )

    @property
    def start(self) -> int:
        """Lowest address."""
        return self.end - self.size

    def wrap(self, address: Places) -> Places:
        """The address in the ring that is a multiple of the size away, of one or of many addresses.

        Below the start nothing is defined.
        """
        return self.start + (address - self.start) % self.size


class TransferArithmetic:
    """What the fields of a transfer say: its runs, its segments, and the TCDM address of every byte.

    The fields are those of `FIELDS`, by name. Addresses in the TCDM are linear: they wrap in the ring afterwards.
    """

    length: int
    dram_address: int
    tcdm_address: int
    count_1: int
    count_2: int
    dram_stride_1: int
    dram_stride_2: int
    tcdm_stride_1: int
    tcdm_stride_2: int
    scattered: bool
    continues: bool
    fold: int
    fast_stride: int
    slow_stride: int

    @property
    def bytes(self) -> int:
        """Bytes that are moved."""
        return self.length * self.count_1 * self.count_2

    @property
    def dram_end(self) -> int:
        """The address after the last DRAM byte."""
        return (
            self.dram_address
            + (self.count_1 - 1) * self.dram_stride_1
            + (self.count_2 - 1) * self.dram_stride_2
            + self.length
        )

    @property
    def words(self) -> int:
        """Words of the descriptor."""
        return SCATTERED_WORDS if self.scattered else PACKED_WORDS

    @property
    def apart(self) -> bool:
        """Whether its bytes are not contiguous in the TCDM, so that each is written by itself."""
        return self.scattered and self.fast_stride != 1

    def runs(self) -> Iterator[tuple[int, int]]:
        """DRAM and TCDM address of every run, in order; the latter before it wraps."""
        for i in range(self.count_2):
            for j in range(self.count_1):
                yield (
                    self.dram_address + i * self.dram_stride_2 + j * self.dram_stride_1,
                    self.tcdm_address + i * self.tcdm_stride_2 + j * self.tcdm_stride_1,
                )

    def offsets(self) -> list[int]:
        """Offsets of the bytes of a run in the TCDM from the address of the run, before they wrap."""
        if not self.scattered:
            return list(range(self.length))
        return [b % self.fold * self.fast_stride + b // self.fold * self.slow_stride for b in range(self.length)]

    def joined_runs(self) -> Iterator[tuple[int, int, bool]]:
        """DRAM and TCDM address of every run, and whether the next one begins in DRAM where it ends."""
        starts = list(self.runs())
        for (dram, tcdm), (following, _) in zip(starts, [*starts[1:], (-1, 0)], strict=True):
            yield dram, tcdm, following == dram + self.length or (following < 0 and self.continues)

    def segments(self) -> Iterator[tuple[int, int, int, bool]]:
        """DRAM and TCDM address and bytes of what is contiguous on both sides, and whether the next one follows in
        DRAM. Of a run whose bytes are `apart` there is one segment, which is contiguous in DRAM only."""
        size = self.fold if self.scattered and not self.apart else self.length
        for dram, tcdm, joins in self.joined_runs():
            for number, start in enumerate(range(0, self.length, size)):
                bytes_left = self.length - start
                yield (
                    dram + start,
                    tcdm + number * self.slow_stride,
                    min(size, bytes_left),
                    joins or bytes_left > size,
                )


@dataclass(frozen=True)
class Descriptor(TransferArithmetic):
    """One transfer; the fields are those of `FIELDS`, by name.

    What is scattered needs a ring. A store's fast stride is 1, and nothing continues it.
    """

    length: int
    tag: OperandTag
    ring: RingSelect
    dram_address: int
    tcdm_address: int
    count_1: int = 1
    count_2: int = 1
    dram_stride_1: int = 0
    dram_stride_2: int = 0
    tcdm_stride_1: int = 0
    tcdm_stride_2: int = 0
    scattered: bool = field(default=False, kw_only=True)
    continues: bool = field(default=False, kw_only=True)
    fold: int = field(default=1, kw_only=True)
    fast_stride: int = field(default=0, kw_only=True)
    slow_stride: int = field(default=0, kw_only=True)

    def __post_init__(self) -> None:
        for entry in FIELDS:
            value = int(getattr(self, entry.name))
            if not 0 <= value < 1 << entry.width:
                raise DescriptorError(f"{entry.name}: expected 0 to {(1 << entry.width) - 1}, got {value}")
        for name in ("length", "count_1", "count_2", "fold"):
            if getattr(self, name) == 0:
                raise DescriptorError(f"{name}: expected at least 1, got 0")
        if self.scattered and self.ring == RingSelect.FIXED:
            raise DescriptorError("scattered: expected a ring, got FIXED")

    def check_ring(self, ring: Ring | None) -> None:
        """Refuse addresses outside of the ring; ``None`` is for FIXED, where only the window limits them."""
        if (ring is None) != (self.ring == RingSelect.FIXED):
            raise DescriptorError(f"ring: expected that of {self.ring.name}, got {ring}")
        if ring is None:
            return
        if not ring.start <= self.tcdm_address < ring.end:
            raise DescriptorError(
                f"tcdm_address: expected {ring.start} to {ring.end - 1}, inside the ring, got {self.tcdm_address}"
            )
        for name in ("tcdm_stride_1", "tcdm_stride_2", "fast_stride", "slow_stride"):
            if getattr(self, name) >= ring.size:
                raise DescriptorError(f"{name}: expected less than the ring's {ring.size}, got {getattr(self, name)}")

    def encode(self) -> tuple[int, ...]:
        """The words."""
        words = [0] * self.words
        for entry in FIELDS:
            if entry.word < len(words):
                words[entry.word] |= int(getattr(self, entry.name)) << entry.low
        return tuple(words)

    @classmethod
    def decode(cls, words: Sequence[int]) -> "Descriptor":
        """The descriptor that these words are; raises `DescriptorError`."""
        if len(words) not in (PACKED_WORDS, SCATTERED_WORDS):
            raise DescriptorError(f"words: expected {PACKED_WORDS} or {SCATTERED_WORDS}, got {len(words)}")
        values = {
            entry.name: words[entry.word] >> entry.low & ((1 << entry.width) - 1)
            for entry in FIELDS
            if entry.word < len(words)
        }
        if (len(words) == SCATTERED_WORDS) != bool(values["scattered"]):
            raise DescriptorError(f"words: {len(words)} do not go with scattered {values['scattered']}")
        kinds = {"tag": OperandTag, "ring": RingSelect, "scattered": bool, "continues": bool}
        try:
            return cls(**{name: kinds.get(name, int)(value) for name, value in values.items()})
        except ValueError as error:
            raise DescriptorError(f"words: {error}") from None
