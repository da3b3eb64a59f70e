"""The bytes between a host and a design on a board, and where what they reach is: one map of 32-bit addresses.

A request is a byte of `Ask`, the address (4 bytes), the number of words (2 bytes), and for a write the words. Numbers
and words have their lowest byte first. The answer to a read is the words, then a byte of `Told` and the sum of the
bytes of all words, modulo 256; that to a write is the last two. The line has 8 data bits, no parity, one stop bit. A
break, a line that is low for longer than a byte, makes the design forget a request that it has in part.
"""

from enum import IntEnum

from hwgen.arch.bus import WORD_BYTES

__all__ = [
    "BAUD",
    "BLOCK_RAM_BYTES",
    "DESIGN_IDENTITY",
    "DESIGN_WORDS",
    "DIVISOR_BITS",
    "HEADER_BYTES",
    "LEAST_DIVISOR",
    "MOST_WORDS",
    "Ask",
    "Room",
    "Told",
    "divisor_of",
]


class Ask(IntEnum):
    """The first byte of a request."""

    NOTHING = 0x00
    READ = 0x72
    WRITE = 0x77


class Told(IntEnum):
    """How a request ended: all of it was done; a word was refused; the first byte was none of `Ask`."""

    DONE = 0x4B
    REFUSED = 0x45
    UNKNOWN = 0x3F


class Room(IntEnum):
    """The two highest bits of an address: what it is in. Both halves of the memory's room are one."""

    MEMORY = 0
    REGISTERS = 2
    DESIGN = 3

    @property
    def base(self) -> int:
        """The first address of the room."""
        return self.value << ROOM_SHIFT


ROOM_SHIFT = 30
HEADER_BYTES = 6
"""Bytes of a request after the first: address and number of words."""
MOST_WORDS = (1 << 16) - 1
"""Words of a request, at most."""
DESIGN_IDENTITY = 0x48574231
"""The first word of the room `DESIGN`: "HWB1"."""
DESIGN_WORDS = ("identity", "digest", "memory_bytes")
"""The words of that room, in order: what it is, what it was generated from, what its memory has."""
DIVISOR_BITS = 16
"""Bits of the number of clock cycles that a bit of the line takes."""
LEAST_DIVISOR = 4
"""The smallest such number with which each bit is sampled well inside."""
BAUD = 1_000_000
"""Bits of the line in a second, as near as the clock comes."""
BLOCK_RAM_BYTES = 2048
"""Bytes of the memory that a block RAM of 18 Kibit holds: its parity bits are not used."""
assert HEADER_BYTES == WORD_BYTES + 2


def divisor_of(mhz: float) -> int:
    """Cycles of a clock in a bit of the line."""
    return max(LEAST_DIVISOR, round(mhz * 1e6 / BAUD))
