"""Where the tensors of a layer lie in the shared memory, and how weights are packed in fetch order."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hwgen.arch.bus import SUM_BYTES, WORD_BYTES
from hwgen.ir.schedule import Loop, Schedule

__all__ = ["MemoryLayout", "Region", "element_type", "layout_of", "row_pitch"]

ALIGNMENT = 64
Elements = NDArray[np.signedinteger]
Words = NDArray[np.uint32]


@dataclass(frozen=True)
class Region:
    """A part of the memory: byte address of its beginning, and its size in bytes (a multiple of 4)."""

    base: int
    size: int

    @property
    def end(self) -> int:
        """The byte address behind it."""
        return self.base + self.size


@dataclass(frozen=True)
class MemoryLayout:
    """The regions of one layer.

    Input and output are planar ``[channel][row][column]`` with rows rounded up to words; weights are packed in the
    order in which the schedule fetches them, every box starting on a word; biases and partial sums are 32-bit words.
    """

    schedule: Schedule
    input: Region
    weights: Region
    bias: Region
    output: Region
    partial: Region

    @property
    def size(self) -> int:
        """Bytes from address 0 to the end of the last region."""
        return self.partial.end

    @property
    def regions(self) -> dict[str, Region]:
        """The regions by name."""
        return {name: getattr(self, name) for name in ("input", "weights", "bias", "output", "partial")}

    def image(self, inputs: Elements, weights: Elements, bias: NDArray[np.int32]) -> Words:
        """The memory before the layer runs, as 32-bit words from address 0.

        ``inputs`` [C, H, W] and ``weights`` [M, C/groups, R, S] are int8 or int16, as the schedule says; ``bias`` is
        int32 [M].
        """
        layer, bits = self.schedule.layer, self.schedule.bits
        expected = (layer.input_channels, layer.input_height, layer.input_width)
        _require(inputs, element_type(bits.I), expected, "inputs")
        shape = (layer.output_channels, layer.channels_per_group, *layer.kernel)
        _require(weights, element_type(bits.W), shape, "weights")
        _require(bias, np.dtype(np.int32), (layer.output_channels,), "bias")
        memory = np.zeros(self.size, dtype=np.int8)
        in_row = row_pitch(layer.input_width, bits.I) // inputs.itemsize
        rows = np.zeros((*expected[:2], in_row), dtype=inputs.dtype)
        rows[:, :, : layer.input_width] = inputs
        memory[self.input.base : self.input.base + rows.nbytes] = rows.reshape(-1).view(np.int8)
        packed = pack_weights(self.schedule, weights)
        memory[self.weights.base : self.weights.base + packed.size] = packed
        memory[self.bias.base : self.bias.base + SUM_BYTES * bias.size] = bias.astype("<i4").view(np.int8)
        return memory.view("<u4")

    def output_of(self, words: Words) -> Elements:
        """The output [M, E, F] that a run left in the memory, int8 or int16."""
        layer, bits = self.schedule.layer, self.schedule.bits
        dtype = element_type(bits.O)
        in_row = row_pitch(layer.output_width, bits.O) // dtype.itemsize
        shape = (layer.output_channels, layer.output_height, in_row)
        first = self.output.base // WORD_BYTES
        rows = np.ascontiguousarray(words[first : first + self.output.size // WORD_BYTES]).view(dtype)
        return rows[: int(np.prod(shape))].reshape(shape)[:, :, : layer.output_width]


def element_type(bits: int) -> np.dtype[np.signedinteger]:
    """The array type of operands of 8 or 16 bits."""
    return np.dtype(f"int{bits}")


def _require(array: NDArray[np.generic], dtype: np.dtype[np.signedinteger], shape: Sequence[int], name: str) -> None:
    if array.dtype != dtype or array.shape != tuple(shape):
        raise ValueError(f"{name}: expected {dtype} {list(shape)}, got {array.dtype} {list(array.shape)}")


def row_pitch(width: int, bits: int) -> int:
    """Bytes from row to row: so many elements of these bits, rounded up to words."""
    return -(-width * bits // 8 // WORD_BYTES) * WORD_BYTES


def layout_of(schedule: Schedule) -> MemoryLayout:
    """Regions one after the other, each aligned, in the order input, weights, bias, output, partial sums."""
    layer, bits = schedule.layer, schedule.bits
    sizes = {
        "input": layer.input_channels * layer.input_height * row_pitch(layer.input_width, bits.I),
        "weights": _packed_size(schedule),
        "bias": SUM_BYTES * layer.output_channels,
        "output": layer.output_channels * layer.output_height * row_pitch(layer.output_width, bits.O),
        "partial": SUM_BYTES * layer.output_elements if spills(schedule) else 0,
    }
    regions, at = {}, 0
    for name, size in sizes.items():
        regions[name] = Region(at, size)
        at = -(-(at + size) // ALIGNMENT) * ALIGNMENT
    return MemoryLayout(schedule=schedule, **regions)


def spills(schedule: Schedule) -> bool:
    """Whether partial sums leave the local buffer: some reduction loop around O's loop has several iterations."""
    marked = schedule.marked_loop("O")
    left = dict(schedule.layer.extents)
    for loop in schedule.loops[: len(schedule.loops) if marked is None else marked]:
        if loop.dim in "ckl" and loop.step < left[loop.dim]:
            return True
        left[loop.dim] = loop.step
    return False


# --- weights in fetch order ---

Ranges = dict[str, tuple[NDArray[np.int32], NDArray[np.int32]]]


def _split(ranges: Ranges, loop: Loop) -> tuple[Ranges, NDArray[np.int64]]:
    """Every range replaced by its iterations, in order; and the number of iterations of each."""
    start, stop = ranges[loop.dim]
    numbers = -(-(stop - start) // loop.step)
    if numbers.size and numbers.max() == 1:
        return ranges, numbers
    offset = np.arange(numbers.sum()) - np.repeat(np.cumsum(numbers) - numbers, numbers)
    result = {dim: (np.repeat(low, numbers), np.repeat(high, numbers)) for dim, (low, high) in ranges.items()}
    begin = (result[loop.dim][0] + offset * loop.step).astype(np.int32)
    result[loop.dim] = (begin, np.minimum(begin + loop.step, result[loop.dim][1]))
    return result, numbers


def _fetch_boxes(schedule: Schedule) -> tuple[Ranges, tuple[Loop, ...]]:
    """The boxes of W in the order of their first fetch, and the loops inside them that run over weights."""
    extents = schedule.layer.extents
    ranges: Ranges = {d: (np.zeros(1, np.int32), np.array([extents[d]], np.int32)) for d in ("m", "c", "k", "l")}
    marked = schedule.marked_loop("W")
    inner = len(schedule.loops) if marked is None else marked + 1
    for loop in schedule.loops[:inner]:
        if loop.dim in ranges:
            ranges, _ = _split(ranges, loop)
    return ranges, tuple(loop for loop in schedule.loops[inner:] if loop.dim in ranges)


def _box_sizes(ranges: Ranges) -> NDArray[np.int64]:
    sizes = np.ones(1, np.int64)
    for start, stop in ranges.values():
        sizes = sizes * (stop - start)
    return sizes


def _packed_size(schedule: Schedule) -> int:
    sizes = _box_sizes(_fetch_boxes(schedule)[0])
    return int((-(-sizes * (schedule.bits.W // 8) // WORD_BYTES) * WORD_BYTES).sum())


def pack_weights(schedule: Schedule, weights: Elements) -> NDArray[np.int8]:
    """The bytes of weights [M, C/groups, R, S] in fetch order.

    Boxes begin on word boundaries and are in the order of first use inside.
    """
    ranges, inner = _fetch_boxes(schedule)
    sizes = _box_sizes(ranges)
    in_word = WORD_BYTES // weights.itemsize
    padded = -(-sizes // in_word) * in_word
    begin = np.cumsum(padded) - padded
    for loop in (*inner, Loop("m", 1)):  # the lanes along m come last
        ranges, _ = _split(ranges, loop)
    order = [ranges[dim][0] for dim in ("m", "c", "k", "l")]
    within = np.arange(int(sizes.sum())) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    packed = np.zeros(int(padded.sum()), weights.dtype)
    packed[np.repeat(begin, sizes) + within] = weights[tuple(order)]
    return packed.view(np.int8)
