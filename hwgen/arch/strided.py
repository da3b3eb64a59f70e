"""Bytes at regular distances, and the transfers of the DMA that move them, in ascending order of DRAM addresses.

A transfer moves runs of consecutive DRAM bytes under two counts. In the TCDM a run is folded: a number of bytes
at one distance, the next fold at another distance. What is contiguous in DRAM beyond that is cut into runs.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from hwgen.arch.descriptor import TransferArithmetic

__all__ = ["Axis", "StridedBlock", "Transfer", "transfers_of"]


@dataclass(frozen=True, slots=True)
class Axis:
    """A number of bytes, or of groups of bytes, and their distances in bytes in DRAM and in the TCDM."""

    count: int
    dram: int
    tcdm: int


@dataclass(frozen=True, slots=True)
class StridedBlock:
    """Bytes at regular distances on both sides, from these offsets on."""

    dram: int
    tcdm: int
    axes: tuple[Axis, ...]


@dataclass(frozen=True)
class Transfer(TransferArithmetic):
    """What one descriptor moves: its fields of the same names, but for addresses, which are offsets here.

    No field has a limit. ``scattered`` says that a run is folded, or its bytes are apart, in the TCDM.
    """

    dram_address: int
    tcdm_address: int
    length: int
    count_1: int
    count_2: int
    dram_stride_1: int
    dram_stride_2: int
    tcdm_stride_1: int
    tcdm_stride_2: int
    scattered: bool
    fold: int
    fast_stride: int
    slow_stride: int
    continues: bool = False


ELEMENT = Axis(1, 1, 1)
ONCE = Axis(1, 0, 0)


def transfers_of(blocks: Iterable[StridedBlock], *, scatters: bool = True, folds: bool = True) -> Iterator[Transfer]:
    """The transfers that move these blocks, which have no byte in common.

    Unless it ``scatters``, the bytes of a fold are contiguous in the TCDM, as stores need them. Unless it ``folds``,
    which needs a ring, what is contiguous in DRAM alone is a run each time.
    """
    for block in _ordered([replace(block, axes=_joined(block.axes)) for block in blocks]):
        yield from _transfers(block, scatters, folds)


def _joined(axes: Iterable[Axis]) -> tuple[Axis, ...]:
    """Innermost in DRAM first, axes that go on where the one before ends joined with it."""
    result: list[Axis] = []
    for axis in sorted((axis for axis in axes if axis.count > 1), key=lambda axis: axis.dram):
        last = result[-1] if result else None
        if last and axis.dram == last.dram * last.count and axis.tcdm == last.tcdm * last.count:
            result[-1] = Axis(last.count * axis.count, last.dram, last.tcdm)
        else:
            result.append(axis)
    return tuple(result)


def _ordered(blocks: list[StridedBlock]) -> Iterator[StridedBlock]:
    """Blocks in ascending order; those that interleave are split along their outermost axis."""
    blocks = sorted(blocks, key=lambda block: block.dram)
    at = 0
    while at < len(blocks):
        end, reach = at + 1, _end(blocks[at])
        while end < len(blocks) and blocks[end].dram < reach:
            reach = max(reach, _end(blocks[end]))
            end += 1
        if end == at + 1:
            yield blocks[at]
        else:
            yield from _ordered([piece for block in blocks[at:end] for piece in _peeled(block)])
        at = end


def _end(block: StridedBlock) -> int:
    return block.dram + sum((axis.count - 1) * axis.dram for axis in block.axes) + 1


def _peeled(block: StridedBlock) -> Iterator[StridedBlock]:
    """The iterations of the outermost axis."""
    if not block.axes:
        yield block
        return
    *inner, outermost = block.axes
    for i in range(outermost.count):
        yield StridedBlock(block.dram + i * outermost.dram, block.tcdm + i * outermost.tcdm, tuple(inner))


def _transfers(block: StridedBlock, scatters: bool, folds: bool) -> Iterator[Transfer]:
    """The transfers of one block: the innermost axes are the run and the two counts of each transfer."""
    begins = bool(block.axes) and block.axes[0].dram == 1 and (scatters or block.axes[0].tcdm == 1)
    axes = block.axes if begins else (ELEMENT, *block.axes)
    run, fold, outer = axes[0], ONCE, axes[1:]
    if folds and outer and outer[0].dram == run.count:
        fold, outer = outer[0], outer[1:]
    if len(outer) > 2:
        for piece in _peeled(block):
            yield from _transfers(piece, scatters, folds)
        return
    one, two = (*outer, ONCE, ONCE)[:2]
    yield Transfer(
        dram_address=block.dram,
        tcdm_address=block.tcdm,
        length=run.count * fold.count,
        count_1=one.count,
        count_2=two.count,
        dram_stride_1=one.dram,
        dram_stride_2=two.dram,
        tcdm_stride_1=one.tcdm,
        tcdm_stride_2=two.tcdm,
        scattered=run.tcdm != 1 or fold.count != 1,
        fold=run.count,
        fast_stride=run.tcdm,
        slow_stride=fold.tcdm,
    )
