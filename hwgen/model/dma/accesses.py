"""DRAM accesses of the DMA's transfers, in closed form for each run."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import fields

import numpy as np

from hwgen.arch.bus import WORD_BYTES
from hwgen.arch.descriptor import Descriptor, OperandTag
from hwgen.arch.dram import DramPort
from hwgen.ir.counts import Access
from hwgen.model.dram.streams import Stream

__all__ = ["transfer_accesses", "transfer_words"]


def transfer_accesses(
    moves: Iterable[Descriptor], port: DramPort, stream: Stream | None = None
) -> dict[OperandTag, Access]:
    """The accesses of one channel's transfers, in their order, by what they are counted as. An element is a byte.

    The channel has open rows of its own. None of the transfers is continued by another. ``stream``: what the channel
    has moved before; continued.
    """
    runs = [(first, first + size, move.tag) for move in moves for first, size in _contiguous(move)]
    if not runs:
        return {}
    start, stop, tags = (np.array(column, np.int64) for column in zip(*runs, strict=True))
    counted = (stream or Stream(port)).counted(start, stop)
    found: dict[OperandTag, Access] = {}
    for tag in sorted(set(tags.tolist())):
        values = {entry.name: int(getattr(counted, entry.name)[tags == tag].sum()) for entry in fields(counted)}
        found[OperandTag(tag)] = Access(elements=values["bytes"], **values)
    return found


def transfer_words(moves: Iterable[Descriptor]) -> dict[OperandTag, int]:
    """The words of the TCDM that these transfers access: those of each piece that is contiguous on both sides."""
    found: dict[OperandTag, int] = defaultdict(int)
    for move in moves:
        for _, at, size, _ in move.segments():
            found[move.tag] += (at + size - 1) // WORD_BYTES - at // WORD_BYTES + 1
    return dict(found)


def _contiguous(move: Descriptor) -> Iterable[tuple[int, int]]:
    """First byte and size of what is contiguous in the DRAM."""
    begin = -1
    for dram, _, joins in move.joined_runs():
        begin = dram if begin < 0 else begin
        if not joins:
            yield begin, dram + move.length - begin
            begin = -1
