"""Where tensors are stored: alignment, row pitch, and the regions of a layer in the shared memory."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hwgen.arch.bus import AXI_WIDTHS, SUM_BYTES, WORD_BYTES
from hwgen.arch.layer_forms import network_inputs, network_weights, run_inputs, run_weights
from hwgen.arch.requantisation import bias_records, record_bytes, records_content
from hwgen.arch.weights import pack_weights, packed_size, unpack_weights
from hwgen.ir.lanes import Ports
from hwgen.ir.layer import REDUCTION_DIMS
from hwgen.ir.requantisation import Scale
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
    "operand_type",
    "row_pitch",
    "sum_pitch",
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

    Input and output are planar ``[channel][row][column]`` with rows rounded up to words of the wider of their ports;
    weights are packed in the order in which the schedule fetches them, every tile starting on a word of their port;
    biases and partial sums are 32-bit words; a bias comes with its channel's scale where sums are scaled: see
    `hwgen.arch.requantisation.bias_records`.
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
        return max(region.end for region in self.regions.values())

    @property
    def regions(self) -> dict[str, Region]:
        """The regions by name."""
        return {name: getattr(self, name) for name in ("input", "weights", "bias", "output", "partial")}

    def image(
        self,
        inputs: Elements,
        weights: Elements,
        bias: NDArray[np.int32],
        scales: tuple[Scale, ...] = (),
        zero: int = 0,
    ) -> Words:
        """The memory before the layer runs, as 32-bit words from address 0.

        ``inputs`` [C, H, W] and ``weights`` [M, C/groups, R, S] are those of the network's layer, int8 or int16, as
        the schedule says; ``bias`` is int32 [M]. ``scales``, ``zero`` : see `packed`.
        """
        memory = np.zeros(self.size, dtype=np.int8)
        for region, operand in (("input", inputs), ("weights", weights), ("bias", bias)):
            content = self.packed(region, operand, scales, zero)
            base = self.regions[region].base
            memory[base : base + content.size] = content
        return memory.view("<u4")

    def packed(
        self, region: str, operand: Elements, scales: tuple[Scale, ...] = (), zero: int = 0
    ) -> NDArray[np.int8]:
        """The bytes of such an operand, from the beginning of its region on.

        Biases bring the ``scales`` of their channels along, where these are in memory: one for all, or one for each;
        without any, the layer's. ``zero`` : the zero point of the input.
        """
        dtype, shape = operand_type(self.schedule, region)
        _require(operand, dtype, shape, region)
        if region == "weights":
            return pack_weights(self.schedule, run_weights(self.schedule.layer, operand))
        if region == "bias":
            scales = scales or self.schedule.layer.requantisation_at(self.schedule.bits.O).scales
            return bias_records(operand.astype(np.int32), scales, self.schedule.requantisation)
        operand = run_inputs(self.schedule.layer, operand, zero)
        rows = np.zeros((*operand.shape[:2], self._input_row(dtype)), dtype=dtype)
        rows[:, :, : operand.shape[2]] = operand
        return rows.reshape(-1).view(np.int8)

    def unpacked(self, region: str, content: NDArray[np.int8]) -> Elements:
        """The operand that such bytes are: the inverse of `packed`."""
        dtype, _ = operand_type(self.schedule, region)
        if region == "weights":
            return network_weights(self.schedule.layer, unpack_weights(self.schedule, content))
        if region == "bias":
            bias: Elements = records_content(content, self.schedule.requantisation)[0]
            return bias
        layer = self.schedule.layer
        rows = content.view(dtype).reshape(layer.input_channels, layer.input_height, self._input_row(dtype))
        return network_inputs(layer, rows[:, :, : layer.input_width].copy())

    def _input_row(self, dtype: np.dtype[np.signedinteger]) -> int:
        """Elements from row to row of the input."""
        return row_pitch(self.schedule.layer.input_width, self.schedule.bits.I, self.schedule.ports) // dtype.itemsize

    def output_of(self, words: Words) -> Elements:
        """The output [M, E, F] that a run left in the memory, int8 or int16."""
        layer, bits = self.schedule.layer, self.schedule.bits
        dtype = element_type(bits.O)
        in_row = row_pitch(layer.output_width, bits.O, self.schedule.ports) // dtype.itemsize
        shape = (layer.output_channels, layer.output_height, in_row)
        first = self.output.base // WORD_BYTES
        rows = np.ascontiguousarray(words[first : first + self.output.size // WORD_BYTES]).view(dtype)
        return rows[: int(np.prod(shape))].reshape(shape)[:, :, : layer.output_width]


def operand_type(schedule: Schedule, region: str) -> tuple[np.dtype[np.signedinteger], tuple[int, ...]]:
    """Type and shape of the operand in the region ``input``, ``weights`` or ``bias``, as the network has it."""
    layer, bits = schedule.layer.of_network, schedule.bits
    match region:
        case "input":
            return element_type(bits.I), (layer.input_channels, layer.input_height, layer.input_width)
        case "weights":
            return element_type(bits.W), (layer.output_channels, layer.channels_per_group, *layer.kernel)
        case _:
            return np.dtype(np.int32), (layer.output_channels,)


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


def sum_pitch(width: int, ports: Ports) -> int:
    """Bytes from row to row of ``width`` partial sums, rounded up to words of the output's port."""
    return aligned(SUM_BYTES * width, ports.output_bytes)


def row_pitch(width: int, bits: int, ports: Ports) -> int:
    """Bytes from row to row of ``width`` elements of ``bits`` bits, rounded up to words of the wider map port."""
    return aligned(width * bits // 8, ports.map_bytes)


def layout_of(schedule: Schedule) -> MemoryLayout:
    """Regions one after the other, each aligned, in the order input, weights, bias, output, partial sums."""
    layer, bits = schedule.layer, schedule.bits
    rows = layer.output_channels * layer.output_height
    sizes = {
        "input": layer.input_channels * layer.input_height * row_pitch(layer.input_width, bits.I, schedule.ports),
        "weights": packed_size(schedule),
        "bias": record_bytes(schedule.requantisation) * layer.output_channels,
        "output": rows * row_pitch(layer.output_width, bits.O, schedule.ports),
        "partial": sum_pitch(layer.output_width, schedule.ports) * rows if spills(schedule) else 0,
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
