"""Real factors as multipliers of 16 bits and shifts, as exactly as these allow."""

from collections.abc import Sequence
from math import frexp, isfinite

from hwgen.ir.requantisation import Scale

__all__ = ["common_scales", "nearest_scale"]

MULTIPLIER_BITS = 16
LEAST_SHIFT, MOST_SHIFT = 1, 47


def nearest_scale(factor: float) -> Scale:
    """The scale nearest to a factor: within 2**-17 of it, relatively, from 2**-32 up.

    Raises ValueError for a factor that is not above 0, or above what a multiplier and a shift of 1 give.
    """
    return common_scales([factor])[0]


def common_scales(factors: Sequence[float]) -> tuple[Scale, ...]:
    """Scales with one shift for all, so that the greatest factor's multiplier uses all bits."""
    greatest = max(factors)
    if not isfinite(greatest) or min(factors) <= 0:
        raise ValueError(f"scale: expected factors above 0, got {min(factors):g} to {greatest:g}")
    shift = min(MULTIPLIER_BITS - frexp(greatest)[1], MOST_SHIFT)
    if round(greatest * 2.0**shift) >= 1 << MULTIPLIER_BITS:
        shift -= 1
    if shift < LEAST_SHIFT:
        raise ValueError(f"scale: expected a factor below {1 << (MULTIPLIER_BITS - LEAST_SHIFT)}, got {greatest:g}")
    return tuple(Scale(round(factor * 2.0**shift), shift) for factor in factors)
