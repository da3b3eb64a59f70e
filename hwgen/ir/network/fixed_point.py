"""The arithmetic of TFLite's integer kernels, bit for bit: factors of 31 bits, rounded twice.

A `hwgen.ir.requantisation.Scale` that rounds twice does the same with 16 bits: results differ where a value is next
to the middle of two integers, by one step.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import frexp

import numpy as np
from numpy.typing import NDArray

from hwgen.ir.requantisation import HALF_UP, MOST_MULTIPLIER, ROUNDINGS, Scale

__all__ = ["Factor", "average", "equal_scale"]

Int64 = NDArray[np.int64]
UNIT = 1 << 31
MOST_ROOM = 32
TRIED = 4
"""Multipliers on each side of the nearest one that are tried."""


@dataclass(frozen=True, slots=True)
class Factor:
    """A real factor as TFLite has it: ``multiplier * 2 ** (shift - 31)``; the multiplier has 31 bits, or is 0."""

    multiplier: int
    shift: int

    @classmethod
    def of(cls, real: float) -> "Factor":
        """The nearest one."""
        part, shift = frexp(real)
        multiplier = round(part * UNIT)
        if multiplier == UNIT:
            multiplier, shift = multiplier // 2, shift + 1
        return cls(0, 0) if shift < -31 else cls(multiplier, shift)

    def by(self, count: int) -> "Factor":
        """The factor by a number of elements, as the kernel of a mean has it."""
        room = min(count.bit_length() - 1, MOST_ROOM, 31 + self.shift)
        return Factor((self.multiplier << room) // count, self.shift - room)

    def times(self, values: Int64) -> Int64:
        """Integers of 32 bits by the factor: rounded to the upper half of the product, then to the result."""
        products = (values << max(self.shift, 0)) * self.multiplier
        upper = _divided(products + np.where(products < 0, 1 - (UNIT >> 1), UNIT >> 1), UNIT)
        bits = max(-self.shift, 0)
        return np.asarray(np.sign(upper) * ((np.abs(upper) + (1 << bits >> 1)) >> bits))


def average(sums: Int64, count: int) -> Int64:
    """Sums of ``count`` elements by their number, halves away from zero, as the kernel of an average pool has it."""
    return _divided(sums + np.where(sums > 0, count // 2, -(count // 2)), count)


def _divided(values: Int64, by: int) -> Int64:
    """Quotients, rounded towards zero."""
    return np.asarray(np.sign(values) * (np.abs(values) // by))


def equal_scale(factor: float, sums: Int64, kernel: Callable[[Int64], Int64]) -> tuple[Scale, bool]:
    """The scale near a factor with which most of the sums become what a kernel makes of them, and whether all do.

    Raises ValueError for a factor that no scale comes near to.
    """
    nearest, wanted = Scale.nearest(factor), kernel(sums)
    best, least = nearest, sums.size + 1
    for step in sorted(range(-TRIED, TRIED + 1), key=abs):
        if not 0 < nearest.multiplier + step <= MOST_MULTIPLIER:
            continue
        scale = replace(nearest, multiplier=nearest.multiplier + step)
        wrong = int(np.count_nonzero(ROUNDINGS[HALF_UP].shifted(sums * scale.multiplier, scale.shift) != wanted))
        if wrong < least:
            best, least = scale, wrong
    return best, least == 0
