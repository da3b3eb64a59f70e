"""What a DMA moves, and how fast the memory is: a descriptor's fields, its runs, the DRAM's times."""

from collections.abc import Iterator
from dataclasses import dataclass

__all__ = ["BLOCK_BYTES", "DmaTiming", "DramTiming", "Move"]

BLOCK_BYTES = 128
PACKED_WORDS, SCATTERED_WORDS = 8, 10


@dataclass(frozen=True)
class DramTiming:
    """The DRAM: cycles from an address to its first beat, of a row miss, and of a block; bytes of a row, banks."""

    latency: int = 0
    miss_cycles: int = 0
    block_cycles: float = 0.0
    row_bytes: int = 2048
    banks: int = 8

    @property
    def immediate(self) -> bool:
        """A beat in every cycle."""
        return self.miss_cycles == 0 and self.block_cycles == 0


@dataclass(frozen=True)
class DmaTiming:
    """What a DMA was generated for, as far as its cycles depend on it: see `DmaParameters`."""

    beat_bytes: int = 8
    outstanding: int = 16
    beats_ahead: int = 128

    @property
    def window(self) -> int:
        """Bursts end at multiples of so many bytes."""
        return min(4096, 256 * self.beat_bytes)

    @property
    def scattered_bytes(self) -> int:
        """Bytes that are written in one cycle where they lie apart."""
        return min(2, self.beat_bytes // 4)


@dataclass(frozen=True)
class Move:
    """A descriptor: fields of `hwgen.arch.descriptor.Descriptor` of the same names."""

    length: int
    dram_address: int
    tcdm_address: int
    count_1: int = 1
    count_2: int = 1
    dram_stride_1: int = 0
    dram_stride_2: int = 0
    tcdm_stride_1: int = 0
    tcdm_stride_2: int = 0
    scattered: bool = False
    continues: bool = False
    fold: int = 1
    fast_stride: int = 0
    slow_stride: int = 0

    @property
    def words(self) -> int:
        """Words of the descriptor."""
        return SCATTERED_WORDS if self.scattered else PACKED_WORDS

    @property
    def apart(self) -> bool:
        """Whether its bytes are written one by one."""
        return self.scattered and self.fast_stride != 1

    def runs(self) -> Iterator[tuple[int, int, bool]]:
        """DRAM and TCDM address of each run, and whether the next one begins where it ends."""
        starts = [
            (
                self.dram_address + i * self.dram_stride_2 + j * self.dram_stride_1,
                self.tcdm_address + i * self.tcdm_stride_2 + j * self.tcdm_stride_1,
            )
            for i in range(self.count_2)
            for j in range(self.count_1)
        ]
        for (dram, tcdm), (following, _) in zip(starts, [*starts[1:], (-1, 0)], strict=True):
            yield dram, tcdm, following == dram + self.length or (following < 0 and self.continues)

    def segments(self) -> Iterator[tuple[int, int, int, bool]]:
        """DRAM and TCDM address and bytes of what lies together; whether the next one follows in DRAM."""
        size = self.fold if self.scattered and not self.apart else self.length
        for dram, tcdm, joins in self.runs():
            for number, start in enumerate(range(0, self.length, size)):
                bytes_left = self.length - start
                yield (
                    dram + start,
                    tcdm + number * self.slow_stride,
                    min(size, bytes_left),
                    joins or bytes_left > size,
                )
