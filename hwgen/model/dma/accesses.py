"""DRAM accesses of the DMA's transfers, in closed form for each run."""

from collections import defaultdict
from collections.abc import Iterable

from hwgen.arch.descriptor import Descriptor, OperandTag
from hwgen.arch.dram import BLOCK_BYTES, DramPort, OpenRows
from hwgen.ir.counts import Access

__all__ = ["transfer_accesses"]


def transfer_accesses(moves: Iterable[Descriptor], port: DramPort) -> dict[OperandTag, Access]:
    """The accesses of one channel's transfers, in their order, by what they are counted as. An element is a byte.

    The channel has open rows of its own. None of the transfers is continued by another.
    """
    rows, end = OpenRows(port.dram), -1
    found: dict[OperandTag, Access] = defaultdict(Access)
    for move in moves:
        for first, size in _contiguous(move):
            last = first + size - 1
            beats, bursts, blocks = (
                last // unit - first // unit + 1 for unit in (port.beat_bytes, port.burst_window, BLOCK_BYTES)
            )
            misses = sum(
                rows.misses(block * BLOCK_BYTES) for block in range(first // BLOCK_BYTES, last // BLOCK_BYTES + 1)
            )
            found[move.tag] += Access(
                size, size, beats=beats, axi_bursts=bursts, blocks=blocks, jumps=first != end, row_misses=misses
            )
            end = last + 1
    return dict(found)


def _contiguous(move: Descriptor) -> Iterable[tuple[int, int]]:
    """First byte and size of what is contiguous in the DRAM."""
    begin = -1
    for dram, _, joins in move.joined_runs():
        begin = dram if begin < 0 else begin
        if not joins:
            yield begin, dram + move.length - begin
            begin = -1
