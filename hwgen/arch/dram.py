"""The DRAM: its blocks and rows, and the AXI port to it.

`Dram` is the one type of its timing; the hardware files have it under ``dram``, so it is defined with them.
"""

from dataclasses import dataclass, field
from typing import Self

from hwgen.arch.bus import beat_bytes, burst_window
from hwgen.ir.hardware import BLOCK_BYTES, Cluster, Dram

__all__ = ["BLOCK_BYTES", "TICKS", "Dram", "DramPort", "OpenRows", "ticks"]

TICKS = 256
"""Time units in a cycle: the hardware counts the time of a block in fractions of a cycle."""


def ticks(cycles: float) -> int:
    """Cycles in these time units, rounded."""
    return round(cycles * TICKS)


@dataclass(frozen=True)
class DramPort:
    """A DRAM and the AXI port to it: what beats, bursts, blocks and row misses depend on.

    Parameters
    ----------
    axi_bits
        Width of the port's data.
    dram
        The DRAM. Only its rows and banks matter for counts.
    """

    axi_bits: int = 64
    dram: Dram = field(default_factory=Dram)

    @classmethod
    def of(cls, cluster: Cluster) -> Self:
        """The port of a cluster."""
        return cls(cluster.axi_bits, cluster.dram or Dram())

    @property
    def beat_bytes(self) -> int:
        """Bytes of an AXI beat."""
        return beat_bytes(self.axi_bits)

    @property
    def burst_window(self) -> int:
        """Bytes: bursts end at multiples of it."""
        return burst_window(self.axi_bits)


class OpenRows:
    """The row that each bank holds open for one stream of accesses. Row r is in bank r mod banks.

    The load, the store and the program stream have open rows of their own, so that misses do not depend on timing.
    """

    def __init__(self, dram: Dram) -> None:
        self._dram = dram
        self._rows: dict[int, int] = {}

    def misses(self, address: int) -> bool:
        """Access an address; whether another row was open in its bank, or none."""
        row = address // self._dram.row_bytes
        bank = row % self._dram.banks
        missed = self._rows.get(bank) != row
        self._rows[bank] = row
        return missed
