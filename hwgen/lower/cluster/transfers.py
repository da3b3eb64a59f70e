"""Descriptors of the DMA for parts of operands."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from itertools import pairwise

from hwgen.arch.descriptor import Descriptor, DescriptorError, OperandTag, Ring, RingSelect
from hwgen.arch.dma import DESCRIPTORS_AHEAD
from hwgen.arch.strided import Axis, StridedBlock, Transfer, transfers_of
from hwgen.model.cluster.tile_order import Spans

__all__ = ["Side", "descriptors_of", "joined", "planar_blocks"]


@dataclass(frozen=True)
class Side:
    """The common fields of the descriptors of a part: its tag, its ring, and its base addresses.

    ``ring`` is None for a fixed place in the TCDM. ``tcdm`` is a linear address where there is a ring.
    """

    tag: OperandTag
    select: RingSelect
    ring: Ring | None
    dram: int
    tcdm: int


def planar_blocks(axes: Sequence[Spans], dram: Sequence[int], tcdm: Sequence[int]) -> Iterator[StridedBlock]:
    """Descriptors of a product of three axes (channels, rows, columns) with the given strides in DRAM and TCDM.

    Offsets are relative to coordinate 0 on all axes, except for channels in the TCDM: resident channels are
    consecutive there, wherever they are in DRAM.
    """
    before = 0
    pieces: list[list[StridedBlock]] = [[], [], []]
    for start, length, count, stride in _progressions(axes[0]):
        inner, outer = Axis(length, dram[0], tcdm[0]), Axis(count, stride * dram[0], length * tcdm[0])
        pieces[0].append(StridedBlock(start * dram[0], before * tcdm[0], (inner, outer)))
        before += length * count
    for i in (1, 2):
        for start, length, count, stride in _progressions(axes[i]):
            inner, outer = Axis(length, dram[i], tcdm[i]), Axis(count, stride * dram[i], stride * tcdm[i])
            pieces[i].append(StridedBlock(start * dram[i], start * tcdm[i], (inner, outer)))
    for channels in pieces[0]:
        for rows in pieces[1]:
            for columns in pieces[2]:
                yield StridedBlock(
                    channels.dram + rows.dram + columns.dram,
                    channels.tcdm + rows.tcdm + columns.tcdm,
                    (*channels.axes, *rows.axes, *columns.axes),
                )


def _progressions(segments: Spans) -> Iterator[tuple[int, int, int, int]]:
    """Ranges as (start, length, count, stride): ranges of equal length and distance are merged."""
    at = 0
    while at < len(segments):
        start, stop = segments[at]
        count, stride = 1, 0
        while at + count < len(segments):
            low, high = segments[at + count]
            if high - low != stop - start or (stride and low != start + count * stride):
                break
            stride = low - start if count == 1 else stride
            count += 1
        yield start, stop - start, count, stride
        at += count


def descriptors_of(blocks: Iterable[StridedBlock], side: Side) -> list[Descriptor]:
    """Descriptors of tiles whose bytes are scattered, in ascending order of DRAM addresses."""
    scatters, folds = side.tag is OperandTag.W, side.select is not RingSelect.FIXED
    return [_descriptor(transfer, side) for transfer in transfers_of(blocks, scatters=scatters, folds=folds)]


def joined(descriptors: Sequence[Descriptor], window: int) -> list[Descriptor]:
    """Mark the loads of one part that the next one continues in DRAM, so that they share bursts.

    No burst crosses a multiple of ``window`` bytes. Raises `DescriptorError` if more descriptors share a burst than
    the DMA can hold: all descriptors of a burst must have been read before its data arrive.
    """
    result = [
        *(replace(one, continues=one.dram_end == following.dram_address) for one, following in pairwise(descriptors)),
        *descriptors[-1:],
    ]
    sharing, burst, goes_on = 0, -1, False
    for one in result:
        first, last = one.dram_address // window, (one.dram_end - 1) // window
        sharing = sharing + 1 if goes_on and first == burst else 1
        if sharing > DESCRIPTORS_AHEAD:
            raise DescriptorError(
                f"nest: {one.tag.name}: a tile's loads are in more than {DESCRIPTORS_AHEAD} pieces inside one burst; "
                "choose steps that divide"
            )
        in_one_run = one.bytes == one.dram_end - one.dram_address
        sharing, burst, goes_on = sharing if in_one_run and first == last else 1, last, one.continues
    return result


def _descriptor(transfer: Transfer, side: Side) -> Descriptor:
    tcdm = side.tcdm + transfer.tcdm_address
    values = {entry.name: getattr(transfer, entry.name) for entry in fields(transfer)}
    if not transfer.scattered:
        values |= {"fold": 1, "fast_stride": 0, "slow_stride": 0}
    values |= {
        "tag": side.tag,
        "ring": side.select,
        "dram_address": side.dram + transfer.dram_address,
        "tcdm_address": tcdm if side.ring is None else side.ring.wrap(side.ring.start + tcdm),
    }
    return Descriptor(**values)
