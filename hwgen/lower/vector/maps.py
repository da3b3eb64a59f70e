"""Where feature maps are, in the DRAM or in the TCDM, and parts of them."""

from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray

__all__ = ["FeatureMap", "Part"]


@dataclass(frozen=True)
class FeatureMap:
    """An int8 feature map in a memory.

    Parameters
    ----------
    base : byte address of its first element.
    channels, rows, columns : its extents.
    pitch, plane : bytes from row to row and from channel to channel.
    resident : in the TCDM; else in the DRAM.
    """

    base: int
    channels: int
    rows: int
    columns: int
    pitch: int
    plane: int
    resident: bool = False

    @classmethod
    def dense(cls, base: int, channels: int, rows: int, columns: int, *, resident: bool = False) -> Self:
        """A map without gaps."""
        return cls(base, channels, rows, columns, columns, rows * columns, resident)

    @property
    def is_dense(self) -> bool:
        """Whether there are no gaps."""
        rows_follow = self.rows == 1 or self.pitch == self.columns
        return rows_follow and (self.channels == 1 or self.plane == self.rows * self.columns)

    @property
    def elements(self) -> int:
        """How many, which are bytes."""
        return self.channels * self.rows * self.columns

    def flat(self, rows: int = 1) -> "FeatureMap":
        """The same elements as so many rows of one channel; only of a map without gaps."""
        columns = self.elements // rows
        return replace(self, channels=1, rows=rows, columns=columns, pitch=columns, plane=self.elements)

    @property
    def addresses(self) -> NDArray[np.int64]:
        """The addresses of its elements, [channels, rows, columns]."""
        channel, row, column = np.ix_(*map(np.arange, (self.channels, self.rows, self.columns)))
        found: NDArray[np.int64] = self.base + channel * self.plane + row * self.pitch + column
        return found

    def content(self, memory: NDArray[np.unsignedinteger]) -> NDArray[np.int8]:
        """Its elements, [channels, rows, columns], in a memory given as words."""
        elements: NDArray[np.int8] = np.ascontiguousarray(memory).view(np.int8)[self.addresses]
        return elements

    def at(self, part: "Part") -> int:
        """Address of the first element of a part."""
        return self.base + part.channels[0] * self.plane + part.rows[0] * self.pitch + part.columns[0]


@dataclass(frozen=True)
class Part:
    """A part of a map: its first channel and the one after its last, its rows and columns likewise."""

    channels: tuple[int, int]
    rows: tuple[int, int]
    columns: tuple[int, int]

    @property
    def extents(self) -> tuple[int, int, int]:
        """Channels, rows, columns."""
        (a, b), (c, d), (e, f) = self.channels, self.rows, self.columns
        return b - a, d - c, f - e

    @property
    def elements(self) -> int:
        """How many."""
        channels, rows, columns = self.extents
        return channels * rows * columns
