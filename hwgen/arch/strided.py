"""Bytes at regular distances, and the transfers of the DMA that move them, in ascending order of DRAM addresses.

A transfer moves runs of consecutive DRAM bytes under two counts. In the TCDM a run lies in folds: so many bytes at
one distance, the next fold at another one. What stays contiguous in DRAM beyond that is cut into runs.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from hwgen.arch.descriptor import TransferArithmetic

__all__ = ["Axis", "StridedBox", "Transfer", "transfers_of"]


@dataclass(frozen=True, slots=True)
class Axis:
    """So many bytes or groups of bytes, at these distances in bytes in DRAM and in the TCDM."""

    count: int
    dram: int
    tcdm: int


@dataclass(frozen=True, slots=True)
class StridedBox:
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


def transfers_of(boxes: Iterable[StridedBox], *, scatters: bool = True) -> Iterator[Transfer]:
    """The transfers that move these boxes, which have no byte in common.

    Unless it ``scatters`` the bytes of a fold lie side by side in the TCDM, as stores want them.
    """
    for box in _ordered([replace(box, axes=_joined(box.axes)) for box in boxes]):
        yield from _transfers(box, scatters)


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


def _ordered(boxes: list[StridedBox]) -> Iterator[StridedBox]:
    """Boxes in ascending order; those that interleave are taken apart along their outermost axis."""
    boxes = sorted(boxes, key=lambda box: box.dram)
    at = 0
    while at < len(boxes):
        end, reach = at + 1, _end(boxes[at])
        while end < len(boxes) and boxes[end].dram < reach:
            reach = max(reach, _end(boxes[end]))
            end += 1
        if end == at + 1:
            yield boxes[at]
        else:
            yield from _ordered([piece for box in boxes[at:end] for piece in _peeled(box)])
        at = end


def _end(box: StridedBox) -> int:
    return box.dram + sum((axis.count - 1) * axis.dram for axis in box.axes) + 1


def _peeled(box: StridedBox) -> Iterator[StridedBox]:
    """The iterations of the outermost axis."""
    if not box.axes:
        yield box
        return
    *inner, outermost = box.axes
    for i in range(outermost.count):
        yield StridedBox(box.dram + i * outermost.dram, box.tcdm + i * outermost.tcdm, tuple(inner))


def _transfers(box: StridedBox, scatters: bool) -> Iterator[Transfer]:
    """One box: its innermost axes are the run and the two counts, of the others one transfer for each."""
    begins = bool(box.axes) and box.axes[0].dram == 1 and (scatters or box.axes[0].tcdm == 1)
    axes = box.axes if begins else (ELEMENT, *box.axes)
    run, folds, outer = axes[0], ONCE, axes[1:]
    if outer and outer[0].dram == run.count:
        folds, outer = outer[0], outer[1:]
    if len(outer) > 2:
        for piece in _peeled(box):
            yield from _transfers(piece, scatters)
        return
    one, two = (*outer, ONCE, ONCE)[:2]
    yield Transfer(
        dram_address=box.dram,
        tcdm_address=box.tcdm,
        length=run.count * folds.count,
        count_1=one.count,
        count_2=two.count,
        dram_stride_1=one.dram,
        dram_stride_2=two.dram,
        tcdm_stride_1=one.tcdm,
        tcdm_stride_2=two.tcdm,
        scattered=run.tcdm != 1 or folds.count != 1,
        fold=run.count,
        fast_stride=run.tcdm,
        slow_stride=folds.tcdm,
    )
