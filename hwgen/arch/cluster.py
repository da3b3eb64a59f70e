"""What a cluster is generated for."""

from dataclasses import dataclass

from hwgen.arch.bus import WORD_BITS
from hwgen.arch.commands import MAX_HWCS
from hwgen.arch.dma import DmaParameters
from hwgen.arch.hwc import HwcParameters
from hwgen.arch.parameter_error import ParameterError
from hwgen.arch.tcdm import TcdmParameters

__all__ = ["HWC_PORTS", "SHARED_PORTS", "ClusterParameters"]

HWC_PORTS = ("i", "w", "o")
SHARED_PORTS = ("i", "w")
"""The ports at which several HWCs may read together."""


@dataclass(frozen=True)
class ClusterParameters:
    """Generation-time parameters of a cluster.

    Parameters
    ----------
    hwc
        Each of its HWCs; one that is generated for a cluster.
    hwcs
        How many.
    tcdm_bytes, tcdm_banks
        The shared memory, see `TcdmParameters`.
    axi_bits
        Width of the AXI port's data.
    multicast
        Whether a program may let HWCs read I or W together, see `hwgen.arch.commands`.
    load_words, compute_words, store_words
        Words that each queue of commands holds; a command takes one more than it has.
    """

    hwc: HwcParameters
    hwcs: int = 4
    tcdm_bytes: int = 1 << 18
    tcdm_banks: int = 16
    axi_bits: int = 64
    multicast: bool = False
    load_words: int = 128
    compute_words: int = 256
    store_words: int = 128

    def __post_init__(self) -> None:
        if not self.hwc.cluster:
            raise ParameterError("hwc: expected one that is generated for a cluster")
        if not 1 <= self.hwcs <= MAX_HWCS:
            raise ParameterError(f"hwcs: expected 1 to {MAX_HWCS}, got {self.hwcs}")
        for name in ("load_words", "compute_words", "store_words"):
            if not 16 <= getattr(self, name) <= 4096:
                raise ParameterError(f"{name}: expected 16 to 4096, got {getattr(self, name)}")
        assert self.dma
        assert self.tcdm

    @property
    def dma(self) -> DmaParameters:
        """Its DMA."""
        bits = max(10, (self.tcdm_bytes - 1).bit_length())
        return DmaParameters(axi_bits=self.axi_bits, tcdm_address_bits=bits)

    @property
    def tcdm(self) -> TcdmParameters:
        """Its shared memory."""
        return TcdmParameters(
            masters=len(self.masters), banks=self.tcdm_banks, size=self.tcdm_bytes, words=self.words
        )

    @property
    def words(self) -> tuple[int, ...]:
        """Words of 32 bits that an access of each master moves; those of the DMA move one each."""
        ports = self.hwc.ports
        of_hwc = [getattr(ports, port.upper()) // WORD_BITS for port in HWC_PORTS]
        return (*(self.hwcs * of_hwc), *(2 * self.dma.ports * (1,)))

    @property
    def masters(self) -> tuple[str, ...]:
        """Those who share the memory, in the order of its ports."""
        hwcs = [f"hwc{i}_{port}" for i in range(self.hwcs) for port in HWC_PORTS]
        moves = [f"{channel}_{i}" for channel in ("load", "store") for i in range(self.dma.ports)]
        return (*hwcs, *moves)
