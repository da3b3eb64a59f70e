"""Factors as multipliers and shifts."""

import numpy as np
import pytest

from hwgen.ir.requantisation import Scale
from hwgen.quantised.scales import common_scales, nearest_scale


def value(scale: Scale) -> float:
    return scale.multiplier / 2.0**scale.shift


@pytest.mark.parametrize(
    ("factor", "scale"),
    [
        (1.0, Scale(32768, 15)),
        (0.5, Scale(32768, 16)),
        (1 / 3, Scale(43691, 17)),
        (65535 / 65536, Scale(65535, 16)),
        (65535.6 / 65536, Scale(32768, 15)),
        (32767.4, Scale(65535, 1)),
        (2.0**-40, Scale(128, 47)),
    ],
)
def test_factors_by_hand(factor: float, scale: Scale) -> None:
    assert nearest_scale(factor) == scale


def test_every_scale_is_within_half_a_step_of_sixteen_bits() -> None:
    factors = 2.0 ** np.random.default_rng(0).uniform(-31, 14.9, 2000)
    scales = [nearest_scale(float(factor)) for factor in factors]
    assert all(1 << 15 <= scale.multiplier < 1 << 16 for scale in scales)
    off = [abs(value(scale) / factor - 1) for scale, factor in zip(scales, factors, strict=True)]
    assert 2.0**-18 < max(off) <= 2.0**-16


def test_common_scales_have_the_shift_of_the_greatest() -> None:
    assert common_scales([0.75, 0.001]) == (Scale(49152, 16), Scale(66, 16))


@pytest.mark.parametrize("factors", [[0.0], [-1.0], [32768.0], [float("nan")], [1.0, 0.0]])
def test_what_no_scale_expresses_is_refused(factors: list[float]) -> None:
    with pytest.raises(ValueError, match="scale: expected"):
        common_scales(factors)
