"""Weights in the order in which a nest first fetches them: sizes, places, and the blocks at regular distances; lines.

Weights are dense ``[m][c][k][l]`` in DRAM. In the TCDM they are in fetch order: the tiles at W's local marker one
after the other, each on a word of W's port, and inside a tile in the order of first use: densely, or, with lanes
along c, in lines of what one operation reads (`WeightLines`). Loops over the map use the same weights again and
leave no trace in this order.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Self

import numpy as np
from numpy.lib.stride_tricks import as_strided
from numpy.typing import NDArray

from hwgen.arch.bus import WORD_BYTES
from hwgen.arch.strided import Axis, StridedBlock, Transfer, transfers_of
from hwgen.ir.lanes import Lanes
from hwgen.ir.layer import WEIGHT_DIMS
from hwgen.ir.schedule import Schedule

__all__ = ["OrderedWeights", "PackedWeights", "WeightLines", "pack_weights", "packed_size", "unpack_weights"]


@dataclass(frozen=True)
class WeightLines:
    """A line holds the weights of one operation: channel lane by channel lane, those of lanes along m side by side.

    In the shared memory each line begins on a word of the weights' port and ends with the last word of its last
    channel lane; an operation at an edge, with fewer output channels than lanes, leaves gaps that are not fetched. In
    the HWC's memory each line has its full length, so that an operation reads one line and nothing has to be shifted.

    Members
    -------
    outputs, channels : lanes along m and c.
    bits : of a weight.
    word : bytes of a word of the port.
    """

    outputs: int
    channels: int
    bits: int = 8
    word: int = WORD_BYTES

    @classmethod
    def of(cls, lanes: Lanes, bits: int = 8, word: int = WORD_BYTES) -> Self | None:
        """The lines of a datapath with these lanes; None where weights are packed densely."""
        return cls(lanes.m, lanes.c, bits, word) if lanes.lie_along_c and lanes.k == lanes.l == 1 else None

    @property
    def stored(self) -> int:
        """Bytes of a line in the HWC's memory."""
        return max(WORD_BYTES, self._bytes(self.outputs * self.channels))

    @property
    def pitch(self) -> int:
        """Bytes from one channel lane to the next."""
        return self._bytes(self.outputs)

    @property
    def word_weights(self) -> int:
        """Weights in a word of the port."""
        return self.word * 8 // self.bits

    def first_of(self, byte: int) -> int:
        """Which weight of a row of bytes begins in one of them, or goes on there."""
        return byte * 8 // self.bits

    def _bytes(self, weights: int) -> int:
        return -(-weights * self.bits // 8)

    @property
    def lane_words(self) -> int:
        """Words of a channel lane: 1 where several lanes share one."""
        return max(1, self.pitch // self.word)

    @property
    def word_lanes(self) -> int:
        """Channel lanes of which a word has weights."""
        return max(1, self.word // self.pitch)

    def packed(self, channels: int) -> int:
        """Bytes of a line of ``channels`` input channels in the shared memory."""
        return -(-channels * self.pitch // self.word) * self.word

    def words(self, outputs: int, channels: int) -> int:
        """Accesses that fetch a line of ``outputs`` output and ``channels`` input channels."""
        return len({byte // self.word for byte in self.used(outputs, channels)})

    def used(self, outputs: int, channels: int) -> list[int]:
        """The bytes of a line that hold weights of ``outputs`` output and ``channels`` input channels."""
        return [channel * self.pitch + byte for channel in range(channels) for byte in range(self._bytes(outputs))]


Sizes = tuple[int, ...]


class PackedWeights:
    """The weights of a schedule below some loop, packed.

    Parameters
    ----------
    schedule
        Whose nest it is.
    depth
        Loops around: what is packed is (a part of) one iteration of ``schedule.loops[depth - 1]``.
    """

    def __init__(self, schedule: Schedule, depth: int) -> None:
        marked = schedule.marked_loop("W")
        loops = schedule.loops
        inner = len(loops) if marked is None else marked + 1
        self._loops: tuple[tuple[int, int], ...] = tuple(
            (WEIGHT_DIMS.index(loop.dim), loop.step) for loop in loops[depth:] if loop.dim in WEIGHT_DIMS
        )
        self._tile_loops = sum(loop.dim in WEIGHT_DIMS for loop in loops[depth:inner])
        self._element = schedule.bits.W // 8
        self._word = schedule.ports.weight_bytes
        self._lines = WeightLines.of(schedule.lanes, schedule.bits.W, self._word)
        if self._lines:
            self._tile_loops = len(self._loops)
        extents = schedule.layer.extents
        rows = self._element * extents["k"] * extents["l"]
        self._dram = (rows * extents["c"], rows, self._element * extents["l"], self._element)
        self.size = lru_cache(maxsize=None)(self._size)

    def _size(self, sizes: Sizes, at: int = 0) -> int:
        """Bytes of a tile of these sizes over m, c, k, l, which the loops from the ``at``-th on cut further."""
        if at >= self._tile_loops and self._lines:
            return self._lines.packed(sizes[1])
        if at >= self._tile_loops:
            elements = sizes[0] * sizes[1] * sizes[2] * sizes[3]
            return -(-elements * self._element // self._word) * self._word
        return sum(number * self.size(part, at + 1) for number, part in self._parts(sizes, at))

    def _parts(self, sizes: Sizes, at: int) -> list[tuple[int, Sizes]]:
        """How many iterations of a loop cover how much: full ones, and what is left."""
        dim, step = self._loops[at]
        full, rest = divmod(sizes[dim], step)
        return [
            (number, (*sizes[:dim], extent, *sizes[dim + 1 :]))
            for number, extent in ((full, step), (int(rest > 0), rest))
            if number
        ]

    def place(self, low: Sizes, whole: Sizes, sizes: Sizes) -> tuple[int, int]:
        """Where a tile at W's marker begins in a tile of the sizes ``whole``, and its bytes without padding.

        ``low`` is its beginning over m, c, k, l, ``sizes`` its own sizes.
        """
        return self.offset(low, whole, self._tile_loops), sizes[0] * sizes[1] * sizes[2] * sizes[3] * self._element

    def offset(self, low: Sizes, sizes: Sizes, loops: int) -> int:
        """The offset of the part at ``low`` that the first ``loops`` loops over weights cut out of a tile."""
        total = 0
        for at in range(loops):
            dim, step = self._loops[at]
            number, inside = divmod(low[dim], step)
            whole = (*sizes[:dim], min(step, sizes[dim]), *sizes[dim + 1 :])
            total += number * self.size(whole, at + 1)
            extent = min(step, sizes[dim] - number * step)
            sizes = (*sizes[:dim], extent, *sizes[dim + 1 :])
            low = (*low[:dim], inside, *low[dim + 1 :])
        return total

    def transfers(self, sizes: Sizes) -> tuple[Transfer, ...]:
        """The transfers that load a tile of these sizes; offsets are relative to the tile."""
        return tuple(transfers_of(self.blocks(sizes)))

    def runs(self, sizes: Sizes) -> tuple[tuple[int, int], ...]:
        """The runs of a tile of these sizes, in their order: first byte in DRAM, from the tile's first one on, and
        bytes."""
        return tuple((dram, one.length) for one in self.transfers(sizes) for dram, _ in one.runs())

    def dma_words(self, sizes: Sizes) -> int:
        """Accesses with which the DMA writes a tile of these sizes to the TCDM.

        A fold of contiguous bytes takes its words, any other fold one access for each byte.
        """
        total = 0
        for one in self.transfers(sizes):
            for _, first, size, _ in one.segments():
                total += size if one.apart else (first + size - 1) // WORD_BYTES - first // WORD_BYTES + 1
        return total

    def blocks(self, sizes: Sizes) -> Iterator[StridedBlock]:
        """A packed tile of these sizes as blocks of bytes at regular distances; offsets are relative to the tile."""
        yield from self._blocks(StridedBlock(0, 0, ()), sizes, 0)

    def _blocks(self, piece: StridedBlock, sizes: Sizes, at: int) -> Iterator[StridedBlock]:
        if at == len(self._loops):
            yield replace(piece, axes=(*piece.axes, *self._lane_axes(sizes), Axis(self._element, 1, 1)))
            return
        dim, step = self._loops[at]
        begin = piece
        for number, part in self._parts(sizes, at):
            # Inside a tile at the marker there is no padding.
            inner = part[0] * part[1] * part[2] * part[3] * self._element
            pitch = self.size(part, at + 1) if at < self._tile_loops else inner
            stride = self._dram[dim] * step
            yield from self._blocks(replace(begin, axes=(*begin.axes, Axis(number, stride, pitch))), part, at + 1)
            begin = replace(begin, dram=begin.dram + number * stride, tcdm=begin.tcdm + number * pitch)

    def _lane_axes(self, sizes: Sizes) -> tuple[Axis, ...]:
        """What the lanes of one iteration read, of these sizes: those along m side by side, others around them."""
        lanes = self._lines.outputs if self._lines else sizes[0]
        axes, pitch = [Axis(sizes[0], self._dram[0], self._element)], lanes * self._element
        for dim in (3, 2, 1):
            if sizes[dim] > 1:
                axes.insert(0, Axis(sizes[dim], self._dram[dim], pitch))
                pitch *= sizes[dim]
        return tuple(axes)


class OrderedWeights:
    """All weights of a schedule packed (`pack_weights`), as tiles that loops around cut: each is contiguous.

    Parameters
    ----------
    schedule
        Whose nest it is.
    depth
        Loops around a tile.
    """

    def __init__(self, schedule: Schedule, depth: int) -> None:
        self._packed, self._extents = PackedWeights(schedule, 0), _extents(schedule)
        self._around = sum(loop.dim in WEIGHT_DIMS for loop in schedule.loops[:depth])

    def place(self, low: Sizes, sizes: Sizes) -> tuple[int, int]:
        """Where a tile begins, and its bytes; ``low`` is its beginning over m, c, k, l."""
        return self._packed.offset(low, self._extents, self._around), self._packed.size(sizes, self._around)


def packed_size(schedule: Schedule) -> int:
    """Bytes of all weights of a schedule, packed."""
    return PackedWeights(schedule, 0).size(_extents(schedule))


def pack_weights(schedule: Schedule, weights: NDArray[np.signedinteger]) -> NDArray[np.int8]:
    """The bytes of weights [M, C/groups, R, S] in fetch order."""
    packed = np.zeros(packed_size(schedule), np.int8)
    for into, out_of in _blocks_of(schedule, packed, np.ascontiguousarray(weights).view(np.int8).reshape(-1)):
        into[...] = out_of
    return packed


def unpack_weights(schedule: Schedule, packed: NDArray[np.int8]) -> NDArray[np.signedinteger]:
    """The weights [M, C/groups, R, S] whose bytes in fetch order these are."""
    layer = schedule.layer
    shape = (layer.output_channels, layer.channels_per_group, *layer.weight_kernel)
    weights = np.zeros(shape, f"int{schedule.bits.W}")
    for out_of, into in _blocks_of(schedule, packed, weights.view(np.int8).reshape(-1)):
        into[...] = out_of
    return weights


def _blocks_of(
    schedule: Schedule, packed: NDArray[np.int8], dense: NDArray[np.int8]
) -> Iterator[tuple[NDArray[np.int8], NDArray[np.int8]]]:
    """The same weights in packed and in dense bytes, block by block."""
    for block in PackedWeights(schedule, 0).blocks(_extents(schedule)):
        yield (
            _strided(packed, block.tcdm, [(axis.count, axis.tcdm) for axis in block.axes]),
            _strided(dense, block.dram, [(axis.count, axis.dram) for axis in block.axes]),
        )


def _extents(schedule: Schedule) -> Sizes:
    extents = schedule.layer.extents
    return tuple(extents[dim] for dim in WEIGHT_DIMS)


def _strided(array: NDArray[np.int8], start: int, axes: Sequence[tuple[int, int]]) -> NDArray[np.int8]:
    """The bytes from one on at these counts and distances, none of them outside of the array."""
    assert start + sum((count - 1) * stride for count, stride in axes) < array.size
    return as_strided(array[start:], [count for count, _ in axes], [stride for _, stride in axes])
