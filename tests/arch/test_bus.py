"""Bursts against the limits that AXI4 sets them."""

import pytest

from hwgen.arch.bus import AXI_WIDTHS, beat_bytes, burst_window


@pytest.mark.parametrize("axi_bits", AXI_WIDTHS)
def test_a_burst_inside_the_window_keeps_the_limits_of_axi(axi_bits: int) -> None:
    window, beat = burst_window(axi_bits), beat_bytes(axi_bits)
    assert 4096 % window == 0
    for first in (0, 1, beat - 1, window - 1):
        assert (window - 1) // beat - first // beat + 1 <= 256
    assert window == {32: 1024, 64: 2048, 128: 4096}[axi_bits]
