"""What a cluster is generated for, and its shared memory; what a system of several clusters is generated for."""

from dataclasses import dataclass
from functools import cached_property

from hwgen.arch.bus import WORD_BITS, WORD_BYTES, master_bits
from hwgen.arch.commands import MAX_HWCS
from hwgen.arch.dma import DmaParameters
from hwgen.arch.hwc import HwcParameters
from hwgen.arch.parameter_error import ParameterError
from hwgen.arch.vector.job import VECTOR_PORTS
from hwgen.arch.vector.shape import VectorShape

__all__ = [
    "HWC_PORTS",
    "REMEMBERED",
    "SHARED_PORTS",
    "START_AFTER_START",
    "START_ANSWERED",
    "WINDOW_BYTES",
    "ClusterParameters",
    "SystemParameters",
    "TcdmParameters",
]


HWC_PORTS = ("i", "w", "o")
SHARED_PORTS = ("i", "w")
"""The ports at which several HWCs may read together."""
REMEMBERED = 3
"""Accesses of a port for which it is remembered that it waited for a channel of the DMA narrower than itself."""


@dataclass(frozen=True)
class TcdmParameters:
    """What a memory of banks is generated for.

    Parameters
    ----------
    masters
        Ports.
    banks
        A power of two, at least 2.
    size
        Bytes in all: a multiple of a word in each bank, at least two of them.
    words
        For each port, the words of 32 bits that one access moves: a power of two, at most as many as there are banks.
        Without them one each.
    steady
        Ports whose waits nothing makes up for, since what they are connected to moves as much in a cycle as they do:
        those of the DMA. They go before the others.
    steady_words
        Words that steady ports move together in a cycle: those of one channel of the DMA.
    """

    masters: int
    banks: int = 16
    size: int = 1 << 18
    words: tuple[int, ...] = ()
    steady: frozenset[int] = frozenset()
    steady_words: int = 1

    def __post_init__(self) -> None:
        if self.masters < 1:
            raise ParameterError(f"masters: expected at least 1, got {self.masters}")
        if self.banks < 2 or self.banks & (self.banks - 1):
            raise ParameterError(f"banks: expected a power of two from 2 on, got {self.banks}")
        line = WORD_BYTES * self.banks
        if self.size % line or not 2 * line <= self.size <= 1 << 31:
            raise ParameterError(f"size: expected a multiple of {line} bytes, at least two, got {self.size}")
        if self.words and len(self.words) != self.masters:
            raise ParameterError(f"words: expected {self.masters} numbers, got {len(self.words)}")
        if max(self.words_of) > self.banks:
            raise ParameterError(
                f"ports: expected at most {WORD_BITS * self.banks} bits with {self.banks} banks, "
                f"got {WORD_BITS * max(self.words_of)}"
            )

    @property
    def words_of(self) -> tuple[int, ...]:
        """Words that one access of each port moves."""
        return self.words or (1,) * self.masters

    @property
    def depth(self) -> int:
        """Words of a bank."""
        return self.size // WORD_BYTES // self.banks


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
    vector
        Whether there is a vector unit: the last bit of a command's mask that is used, after those of the HWCs.
    vector_elements
        See `VectorShape`.
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
    vector: bool = False
    vector_elements: int = 1

    def __post_init__(self) -> None:
        if not self.hwc.cluster:
            raise ParameterError("hwc: expected one that is generated for a cluster")
        if not 1 <= self.hwcs <= MAX_HWCS:
            raise ParameterError(f"hwcs: expected 1 to {MAX_HWCS}, got {self.hwcs}")
        if self.units > MAX_HWCS:
            raise ParameterError(f"hwcs: expected 1 to {MAX_HWCS - 1} beside a vector unit, got {self.hwcs}")
        for name in ("load_words", "compute_words", "store_words"):
            if not 16 <= getattr(self, name) <= 4096:
                raise ParameterError(f"{name}: expected 16 to 4096, got {getattr(self, name)}")
        assert self.vector_shape
        assert self.dma
        assert self.tcdm

    @cached_property
    def vector_shape(self) -> VectorShape:
        """How much the vector unit does in a cycle, if there is one."""
        return VectorShape(self.vector_elements)

    @property
    def units(self) -> int:
        """Bits of a command's mask: the HWCs, then the vector unit."""
        return self.hwcs + self.vector

    @cached_property
    def dma(self) -> DmaParameters:
        """Its DMA."""
        bits = max(10, (self.tcdm_bytes - 1).bit_length())
        return DmaParameters(axi_bits=self.axi_bits, tcdm_address_bits=bits)

    @cached_property
    def tcdm(self) -> TcdmParameters:
        """Its shared memory."""
        first, moves = len(HWC_PORTS) * self.hwcs, 2 * self.dma.ports
        return TcdmParameters(
            masters=len(self.masters), banks=self.tcdm_banks, size=self.tcdm_bytes, words=self.words,
            steady=frozenset(range(first, first + moves)), steady_words=self.dma.ports,
        )  # fmt: skip

    @cached_property
    def words(self) -> tuple[int, ...]:
        """Words of 32 bits that an access of each master moves; those of the DMA one each."""
        ports, vector = self.hwc.ports, self.vector_shape.word_bytes // WORD_BYTES
        of_hwc = [getattr(ports, port.upper()) // WORD_BITS for port in HWC_PORTS]
        return (*(self.hwcs * of_hwc), *(2 * self.dma.ports * (1,)), *(self.vector * len(VECTOR_PORTS) * (vector,)))

    @cached_property
    def masters(self) -> tuple[str, ...]:
        """Those who share the memory, in the order of its ports."""
        hwcs = [f"hwc{i}_{port}" for i in range(self.hwcs) for port in HWC_PORTS]
        moves = [f"{channel}_{i}" for channel in ("load", "store") for i in range(self.dma.ports)]
        vector = [f"vector_{port}" for port in VECTOR_PORTS if self.vector]
        return (*hwcs, *moves, *vector)


# --- several clusters ---

START_ANSWERED = 1
"""Cycles from the grant of the write that starts a cluster to its answer on the configuration port."""
START_AFTER_START = 4
"""Cycles from the start of a cluster to that of the next one: a write on the configuration port each."""
WINDOW_BYTES = 4096
"""Bytes of the configuration port's addresses that each cluster has, from those of cluster 0 up: a page each, so that
an operating system can give every cluster to another process."""


@dataclass(frozen=True)
class SystemParameters:
    """Generation-time parameters of a system.

    Parameters
    ----------
    cluster
        Each of its clusters.
    clusters
        How many: 2 to 16.
    """

    cluster: ClusterParameters
    clusters: int

    def __post_init__(self) -> None:
        try:
            master_bits(self.clusters)
        except ParameterError as error:
            raise ParameterError(str(error).replace("masters", "clusters")) from None
