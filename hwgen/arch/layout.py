"""Where tensors are stored: alignment, row pitch, and the regions of a layer in the shared memory."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hwgen.arch.bus import AXI_WIDTHS, SUM_BYTES, WORD_BYTES
from hwgen.arch.weight_packing import pack_weights, packed_size
from hwgen.ir.layer import REDUCTION_DIMS
from hwgen.ir.schedule import Schedule

__all__ = [
    "ALIGNMENT",
    "LEAST_RING",
    "STREAM_ALIGNMENT",
    "MemoryLayout",
    "Region",
    "aligned",
    "consecutive",
    "element_type",
    "layout_of",
    "row_pitch",
]

ALIGNMENT = 64
"""Regions and rings of the TCDM begin at a multiple of it."""
LEAST_RING = 2 * max(AXI_WIDTHS) // 8
"""Bytes of a ring of the TCDM, at least: two beats of the widest AXI port, so that a DMA write wraps at most once."""
STREAM_ALIGNMENT = 16
"""Feature maps and streams of a pipeline begin in DRAM at a multiple of it."""
Elements = NDArray[np.signedinteger]
Words = NDArray[np.uint32]


@dataclass(frozen=True)
class Region:
    """A part of the memory: byte address of its beginning, and its size in bytes (a multiple of 4)."""

    base: int
    size: int

    @property
    def end(self) -> int:
        """The byte address after its end."""
        return self.base + self.size


@dataclass(frozen=True)
class MemoryLayout:
    """The regions of one layer.

    Input and output are planar ``[channel][row][column]`` with rows rounded up to words; weights are packed in the
    order in which the schedule fetches them, every tile starting on a word; biases and partial sums are 32-bit words.
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


def aligned(size: int, unit: int = ALIGNMENT) -> int:
    """Bytes, rounded up to a multiple of ``unit``."""
    return -(-size // unit) * unit


def consecutive(sizes: Mapping[str, int], unit: int) -> tuple[dict[str, int], int]:
    """Where regions of these bytes begin, each after the one before at a multiple of ``unit``; and where another one
    would."""
    bases, at = {}, 0
    for name, size in sizes.items():
        bases[name] = at
        at = aligned(at + size, unit)
    return bases, at


def row_pitch(width: int, bits: int) -> int:
    """Bytes from row to row of ``width`` elements of ``bits`` bits, rounded up to words."""
    return aligned(width * bits // 8, WORD_BYTES)


def layout_of(schedule: Schedule) -> MemoryLayout:
    """Regions one after the other, each aligned, in the order input, weights, bias, output, partial sums."""
    layer, bits = schedule.layer, schedule.bits
    sizes = {
        "input": layer.input_channels * layer.input_height * row_pitch(layer.input_width, bits.I),
        "weights": packed_size(schedule),
        "bias": SUM_BYTES * layer.output_channels,
        "output": layer.output_channels * layer.output_height * row_pitch(layer.output_width, bits.O),
        "partial": SUM_BYTES * layer.output_elements if spills(schedule) else 0,
    }
    bases, _ = consecutive(sizes, ALIGNMENT)
    return MemoryLayout(schedule=schedule, **{name: Region(bases[name], size) for name, size in sizes.items()})


def spills(schedule: Schedule) -> bool:
    """Whether partial sums leave the local buffer: some reduction loop around O's loop has several iterations."""
    marked = schedule.marked_loop("O")
    left = dict(schedule.layer.extents)
    for loop in schedule.loops[: len(schedule.loops) if marked is None else marked]:
        if loop.dim in REDUCTION_DIMS and loop.step < left[loop.dim]:
            return True
        left[loop.dim] = loop.step
    return False
