"""What a DMA is generated for, and how deep its queues are."""

from dataclasses import dataclass

from hwgen.arch.bus import AXI_WIDTHS, WORD_BYTES, beat_bytes, burst_window
from hwgen.arch.dram import BLOCK_BYTES
from hwgen.arch.parameter_error import ParameterError

__all__ = ["CHANNELS", "CHUNKS_AHEAD", "CHUNK_BYTES", "DESCRIPTORS_AHEAD", "LINES_AHEAD", "DmaParameters"]

CHANNELS = ("load", "store", "program")
"""What moves data by itself: each has a state and an error of its own."""
SCATTERED_BYTES = 2
"""Bytes of a scattered run that are written in one cycle, at most: a port each."""
DESCRIPTORS_AHEAD = 16
"""Descriptors between the first burst of one and the last run of another, and so as many as may continue each other
inside a burst: the depth of the queue in `hwgen.gateware.dma.descriptor_front`."""
LINES_AHEAD = 8
"""Outstanding lines of the store channel, enough to cover the round trip to the TCDM: the depth of the queues in
`hwgen.gateware.dma.gather`."""
CHUNK_BYTES = BLOCK_BYTES
"""Bytes. A program starts at a multiple of it and is fetched in bursts of it; the last one may be shorter."""
CHUNKS_AHEAD = 2
"""Chunks of the program that there is room for in `hwgen.gateware.dma.program_fetch`."""


@dataclass(frozen=True)
class DmaParameters:
    """Generation-time parameters of a DMA.

    Parameters
    ----------
    axi_bits
        Width of the AXI port's data: 32, 64 or 128. There is a TCDM port for each 32 bits, per channel.
    tcdm_address_bits
        Width of a TCDM byte address.
    outstanding
        Bursts of a channel that may be unanswered at a time.
    beats_ahead
        The load channel requests no further burst while this many beats are outstanding. So a request of another ID
        waits at most for these beats and one more burst.
    """

    axi_bits: int = 64
    tcdm_address_bits: int = 20
    outstanding: int = 16
    beats_ahead: int = 128

    def __post_init__(self) -> None:
        if self.axi_bits not in AXI_WIDTHS:
            raise ParameterError(f"axi_bits: expected 32, 64 or 128, got {self.axi_bits}")
        if not 10 <= self.tcdm_address_bits <= 31:
            raise ParameterError(f"tcdm_address_bits: expected 10 to 31, got {self.tcdm_address_bits}")
        if not 2 <= self.outstanding <= 64:
            raise ParameterError(f"outstanding: expected 2 to 64, got {self.outstanding}")
        if not 1 <= self.beats_ahead <= 4096:
            raise ParameterError(f"beats_ahead: expected 1 to 4096, got {self.beats_ahead}")

    @property
    def beat_bytes(self) -> int:
        """Bytes of an AXI beat."""
        return beat_bytes(self.axi_bits)

    @property
    def burst_window(self) -> int:
        """Bytes: bursts end at multiples of it."""
        return burst_window(self.axi_bits)

    @property
    def ports(self) -> int:
        """TCDM ports of one channel."""
        return self.beat_bytes // WORD_BYTES

    @property
    def scattered_bytes(self) -> int:
        """Bytes of a scattered run that are written in one cycle, at most."""
        return min(self.ports, SCATTERED_BYTES)
