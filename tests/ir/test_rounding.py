"""Ways of rounding against exact fractions; each has its hardware."""

from fractions import Fraction
from math import floor

import numpy as np

from hwgen.gateware.lib.rounding import ROUNDERS
from hwgen.ir.requantisation import HALF_UP, ROUNDINGS


def test_halves_go_up() -> None:
    values = np.arange(-40, 41)
    for shift in range(6):
        found = ROUNDINGS[HALF_UP].shifted(values, shift).tolist()
        assert found == [floor(Fraction(int(value), 1 << shift) + Fraction(1, 2)) for value in values]


def test_every_way_has_its_hardware() -> None:
    assert ROUNDERS.keys() == ROUNDINGS.keys()
