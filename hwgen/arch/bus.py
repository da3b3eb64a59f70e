"""Widths of words and sums, and the AXI4 bursts of the DMA.

A word is what one access of a 32-bit TCDM port moves. A burst has at most `BURST_BEATS` beats and does not cross a
multiple of `PAGE_BYTES`, as AXI4 demands of INCR bursts. The DMA cuts what it moves at multiples of `burst_window`
bytes, which keeps both limits, whatever the address.
"""

from enum import IntEnum

from hwgen.arch.parameter_error import ParameterError

__all__ = [
    "AXI_WIDTHS",
    "BURST_BEATS",
    "ID_BITS",
    "MOST_MASTERS",
    "PAGE_BYTES",
    "SUM_BYTES",
    "WORD_BITS",
    "WORD_BYTES",
    "WRITES_IN_ORDER",
    "WriteAnswers",
    "beat_bytes",
    "burst_window",
    "master_bits",
]

WORD_BYTES = 4
"""Bytes of a word of the TCDM, and of a register."""
WORD_BITS = 8 * WORD_BYTES
SUM_BYTES = 4
"""Bytes of a partial sum and of a bias."""
AXI_WIDTHS = (32, 64, 128)
"""Bits of the AXI port's data."""
BURST_BEATS = 256
"""Most beats of an AXI4 burst."""
ID_BITS = 2
"""Bits of the AXI4 IDs of one master; after an interconnect there are `master_bits` more, above them."""
MOST_MASTERS = 16
"""Masters that an AXI4 interconnect joins, at most."""
WRITES_IN_ORDER = 16
"""Write bursts that the slave of an AXI4 interconnect has accepted and whose data have not ended, at most."""
PAGE_BYTES = 4096
"""No AXI4 burst crosses a multiple of it. Regions of the DRAM begin on one."""


class WriteAnswers(IntEnum):
    """What is known of a memory: whether it answers writes, all of them or none but those that fail."""

    UNKNOWN = 0
    GIVEN = 1
    NOT_GIVEN = 2


def beat_bytes(axi_bits: int) -> int:
    """Bytes of one beat of an AXI port of this width in bits."""
    return axi_bits // 8


def burst_window(axi_bits: int) -> int:
    """Bytes. Bursts end at multiples of it, so none has more than 256 beats or crosses a 4 KiB boundary."""
    return min(PAGE_BYTES, BURST_BEATS * beat_bytes(axi_bits))


def master_bits(masters: int) -> int:
    """Bits of the number of a master, above its own ID in the IDs at the slave of an interconnect.

    Raises `ParameterError` for more masters than an interconnect joins, or fewer than two.
    """
    if not 2 <= masters <= MOST_MASTERS:
        raise ParameterError(f"masters: expected 2 to {MOST_MASTERS}, got {masters}")
    return (masters - 1).bit_length()
