"""Weights in lines: what one operation reads of them, where the datapath has lanes along c."""

from dataclasses import dataclass
from typing import Self

from hwgen.arch.bus import WORD_BYTES
from hwgen.ir.lanes import Lanes

__all__ = ["WeightLines"]


@dataclass(frozen=True)
class WeightLines:
    """A line holds the weights of one operation: channel lane by channel lane, those of lanes along m side by side.

    In the shared memory each line begins on a word of the weights' port and ends with the last word of its last
    channel lane; an operation at an edge, with fewer output channels than lanes, leaves gaps that are not fetched. In
    the HWC's memory each line has its full length, so that an operation reads one line and nothing has to be shifted.

    Members
    -------
    outputs, channels : lanes along m and c.
    bits : of a weight.
    word : bytes of a word of the port.
    """

    outputs: int
    channels: int
    bits: int = 8
    word: int = WORD_BYTES

    @classmethod
    def of(cls, lanes: Lanes, bits: int = 8, word: int = WORD_BYTES) -> Self | None:
        """The lines of a datapath with these lanes; None where weights are packed densely."""
        return cls(lanes.m, lanes.c, bits, word) if lanes.lie_along_c and lanes.k == lanes.l == 1 else None

    @property
    def stored(self) -> int:
        """Bytes of a line in the HWC's memory."""
        return max(WORD_BYTES, self._bytes(self.outputs * self.channels))

    @property
    def pitch(self) -> int:
        """Bytes from one channel lane to the next."""
        return self._bytes(self.outputs)

    @property
    def word_weights(self) -> int:
        """Weights in a word of the port."""
        return self.word * 8 // self.bits

    def first_of(self, byte: int) -> int:
        """Which weight of a row of bytes begins in one of them, or goes on there."""
        return byte * 8 // self.bits

    def _bytes(self, weights: int) -> int:
        return -(-weights * self.bits // 8)

    @property
    def lane_words(self) -> int:
        """Words of a channel lane: 1 where several lanes share one."""
        return max(1, self.pitch // self.word)

    @property
    def word_lanes(self) -> int:
        """Channel lanes of which a word has weights."""
        return max(1, self.word // self.pitch)

    def packed(self, channels: int) -> int:
        """Bytes of a line of ``channels`` input channels in the shared memory."""
        return -(-channels * self.pitch // self.word) * self.word

    def words(self, outputs: int, channels: int) -> int:
        """Accesses that fetch a line of ``outputs`` output and ``channels`` input channels."""
        return len({byte // self.word for byte in self.used(outputs, channels)})

    def used(self, outputs: int, channels: int) -> list[int]:
        """The bytes of a line that hold weights of ``outputs`` output and ``channels`` input channels."""
        return [channel * self.pitch + byte for channel in range(channels) for byte in range(self._bytes(outputs))]
