"""Bursts against the limits that AXI4 sets them."""

import pytest

from hwgen.arch.bus import AXI_WIDTHS, MOST_MASTERS, beat_bytes, burst_window, master_bits
from hwgen.arch.parameter_error import ParameterError


@pytest.mark.parametrize("axi_bits", AXI_WIDTHS)
def test_a_burst_inside_the_window_keeps_the_limits_of_axi(axi_bits: int) -> None:
    window, beat = burst_window(axi_bits), beat_bytes(axi_bits)
    assert 4096 % window == 0
    for first in (0, 1, beat - 1, window - 1):
        assert (window - 1) // beat - first // beat + 1 <= 256
    assert window == {32: 1024, 64: 2048, 128: 4096}[axi_bits]


@pytest.mark.parametrize("masters", [1, MOST_MASTERS + 1])
def test_numbers_of_masters_that_are_refused(masters: int) -> None:
    with pytest.raises(ParameterError, match=f"^masters: expected 2 to {MOST_MASTERS}, got {masters}$"):
        master_bits(masters)
