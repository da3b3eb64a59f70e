"""Energies and areas: the printed points, what is between them, what is beyond."""

import pytest

from hwgen.ir.memory.yang_2016 import AREA_WITHOUT_MEMORY, area, energy_per_byte

KIB = 1024


def of_16_bits(size: int | None, width: int = 64) -> float:
    return 2 * energy_per_byte(size, width)


def test_printed_points() -> None:
    """Corners and a point within of Table 3, and the DRAM's row."""
    assert of_16_bits(1 * KIB, 64) == 1.20
    assert of_16_bits(1 * KIB, 512) == 0.57
    assert of_16_bits(64 * KIB, 128) == 7.51
    assert of_16_bits(1024 * KIB, 64) == 36.32
    assert of_16_bits(1024 * KIB, 512) == 25.22
    assert of_16_bits(None) == of_16_bits(16384 * KIB + 1) == 320


def test_between_two_sizes_both_logarithms_are_linear() -> None:
    # The geometric mean of two sizes has the geometric mean of their energies: 1448 bytes are 1 KiB * sqrt(2).
    assert of_16_bits(1448) == pytest.approx((1.20 * 1.54) ** 0.5, rel=1e-4)
    assert of_16_bits(6 * KIB) == pytest.approx(2.11 * (3.19 / 2.11) ** 0.5849625, rel=1e-6)


def test_beyond_the_printed_sizes() -> None:
    assert of_16_bits(16384 * KIB) == pytest.approx(4 * 36.32)
    assert of_16_bits(512) == pytest.approx(0.60)
    assert of_16_bits(16, 256) == pytest.approx(0.69 / 64)
    assert of_16_bits(1) == of_16_bits(8)


@pytest.mark.parametrize("width", [64, 128, 256, 512])
def test_a_larger_memory_never_takes_less(width: int) -> None:
    sizes = [2**exponent + odd for exponent in range(2, 26) for odd in (0, 1, 2 ** (exponent - 1))]
    energies = [of_16_bits(size, width) for size in sizes]
    assert energies == sorted(energies)


def test_areas_of_the_two_designs_of_the_text() -> None:
    assert AREA_WITHOUT_MEMORY + area(8 << 20) == pytest.approx(45)
    assert AREA_WITHOUT_MEMORY + area(1 << 20) == pytest.approx(6)
