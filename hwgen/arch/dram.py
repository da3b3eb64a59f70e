"""The DRAM: its blocks and rows, and the AXI port to it.

`Dram` is the one type of its timing; the hardware files have it under ``dram``, so it is defined with them.

Which access misses is one rule in three forms: `OpenRows` for an address, `opens_row` for kernels, `row_misses` for
runs. Row r is in bank r mod banks, and a stream keeps the row of each bank open that it used last. The load, the
store and the program stream have open rows of their own, so that misses do not depend on timing.
"""

from dataclasses import dataclass, field
from typing import Self

import numpy as np
from numpy.typing import NDArray

from hwgen.arch.bus import beat_bytes, burst_window
from hwgen.ir.hardware import BLOCK_BYTES, Cluster, Dram

__all__ = ["BLOCK_BYTES", "TICKS", "Dram", "DramPort", "OpenRows", "closed_rows", "opens_row", "row_misses", "ticks"]

Ints = NDArray[np.int64]

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
    """The row that each bank holds open for one stream of accesses."""

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


def closed_rows(dram: Dram, *streams: int) -> Ints:
    """The rows that are open in each bank, of one stream or of a number of them: none, which is -1."""
    return np.full((*streams, dram.banks), -1, np.int64)


def opens_row(rows: Ints, stream: int, row: int) -> bool:
    """Access a row; whether another one was open in its bank, or none. ``rows`` : see `closed_rows`; is changed.

    For kernels, which compile it.
    """
    bank = row % rows.shape[1]
    missed: bool = rows[stream, bank] != row
    rows[stream, bank] = row
    return missed


def row_misses(start: Ints, stop: Ints, dram: Dram, open_rows: Ints) -> tuple[Ints, Ints]:
    """Row misses of each run of a stream, and the rows that are open after the last.

    ``start``, ``stop`` : first byte address of each run, and the one after its last. ``open_rows`` : before them.
    """
    banks = len(open_rows)
    first, last = start // dram.row_bytes, (stop - 1) // dram.row_bytes
    numbers = last - first + 1
    run = np.repeat(np.arange(len(first)), numbers)
    row = np.arange(len(run)) - np.repeat(np.cumsum(numbers) - numbers, numbers) + first[run]
    turns = np.append(True, row[1:] != row[:-1])
    run, row = run[turns], row[turns]
    opened = np.flatnonzero(open_rows >= 0)
    bank = np.concatenate([opened, row % banks])
    row, run = np.concatenate([open_rows[opened], row]), np.concatenate([np.full(len(opened), -1), run])
    order = np.argsort(bank, kind="stable")
    bank, row, run = bank[order], row[order], run[order]
    begins = np.append(True, bank[1:] != bank[:-1])
    missed = (begins | np.append(True, row[1:] != row[:-1])) & (run >= 0)
    left = open_rows.copy()
    left[bank] = row  # the last row of each bank stays open
    misses: Ints = np.bincount(run[missed], minlength=len(first))
    return misses, left
