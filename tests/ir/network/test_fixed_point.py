"""TFLite's factors against exact integers of Python."""

from fractions import Fraction

import numpy as np
import pytest

from hwgen.ir.network.fixed_point import Factor, average, equal_scale
from hwgen.ir.requantisation import HALF_UP, ROUNDINGS, Scale, moved


def away(value: Fraction) -> int:
    """The nearest whole number, halves away from zero."""
    size = int(abs(value) + Fraction(1, 2))
    return size if value >= 0 else -size


def literal(factor: Factor, value: int) -> int:
    """As the kernel computes it: the upper half of the product, rounded half up; then the shift."""
    product = (value << max(factor.shift, 0)) * factor.multiplier
    upper = (product + (1 << 30)) >> 31
    return away(Fraction(upper, 1 << max(-factor.shift, 0)))


@pytest.mark.parametrize("real", [0.0007, 0.013, 0.25, 0.4999999, 0.5, 0.98, 1.0, 1.7, 6.0])
def test_products_round_twice(real: float) -> None:
    factor = Factor.of(real)
    assert Fraction(factor.multiplier, 1 << 31) * Fraction(2) ** factor.shift == pytest.approx(real, rel=2**-30)
    values = np.random.default_rng(1).integers(-(1 << 20), 1 << 20, 400)
    assert factor.times(values).tolist() == [literal(factor, int(value)) for value in values]


def test_a_scale_that_rounds_twice_is_a_factor_of_16_bits() -> None:
    rng = np.random.default_rng(2)
    for shift in (17, 18, 20, 26):
        multiplier = int(rng.integers(1 << 15, 1 << 16))
        scale = Scale(multiplier, shift, twice=True)
        values = rng.integers(-(1 << shift >> 8), 1 << shift >> 8, 2000)
        factor = Factor(multiplier << 15, 16 - shift)
        made = ROUNDINGS[HALF_UP].shifted(moved(values * multiplier, scale.further), shift)
        np.testing.assert_array_equal(made, factor.times(values))


def test_averages_are_away_from_zero_and_a_scale_that_rounds_up_makes_them() -> None:
    assert average(np.array([5, -5, 6, -6, 7, -7, 0]), 4).tolist() == [1, -1, 2, -2, 2, -2, 0]
    for count in (1, 2, 9, 49, 64, 100, 125, 196, 256, 324):
        sums = np.arange(-128 * count, 127 * count + 1)
        scale, equal = equal_scale(1 / count, sums, lambda sums, count=count: average(sums, count))
        assert equal
        assert (scale.multiplier, scale.shift) != (0, 0)
        wanted = [away(Fraction(int(total), count)) for total in sums[::7]]
        assert ROUNDINGS[HALF_UP].shifted(sums[::7] * scale.multiplier, scale.shift).tolist() == wanted


def test_a_scale_that_rounds_twice_shifts_by_more_than_16() -> None:
    with pytest.raises(ValueError, match="shift: expected 17 to 47, got 16"):
        Scale(1, 16, twice=True)
    assert Scale(40000, 16).as_tflite() == Scale(40000, 16)
    assert Scale(40000, 17).as_tflite() == Scale(40000, 17, twice=True)
