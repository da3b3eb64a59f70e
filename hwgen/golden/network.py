"""Integer reference of a connected network, row by row: the maps that depth-first hardware must write, bit for bit.

Every map is int8 [channels, rows, columns]. Each operation is defined here and nowhere else:

- *conv, depthwise_conv, fc*: `hwgen.golden.convolution.convolve`, then `hwgen.golden.requantisation.requantise` with
  the row's bias and requantisation; fc over the channels of its operand, pixel by pixel in each.
- *deconv*: every input is multiplied by the whole kernel and added to the outputs that the kernel then lies over, the
  input i at the outputs stride i - padding and after; then requantised as a convolution is.
- *add*: the sum of all operands, exact, then requantised: half of the shifted-out range added, shifted right, ReLU
  when set, clipped to int8. With shift 0 it is a saturating add.
- *max pool*: over the pixels of the map; padding is never the maximum.
- *average pool*: padding counts as zeros and the divisor is the kernel's area everywhere. The division is a
  multiplication by `average_scale`, rounded half up; a global pool does the same over the whole map.
- *pixel_shuffle*: output channel c, row f y + i, column f x + j is input channel c f f + i f + j, row y, column x.
- *concat*: the operands' channels one after the other.
- *lookup*: element v is entry v + 128 of its channel's table, which its row's data have as a node (`kinds.Lookup`).

A row that stands for a node of an integer graph (`hwgen.ir.network.kinds`) does what that node does
(`hwgen.golden.quantised`): scaled sums, zero points.

Activations are those of `hwgen.ir.requantisation.ACTIVATIONS`; others do not run at all.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from hwgen.golden.convolution import convolve
from hwgen.golden.quantised.execution import REFERENCES
from hwgen.golden.requantisation import requantise
from hwgen.ir.document import InputError
from hwgen.ir.layer_set import CONVOLUTIONS, Network, Node
from hwgen.ir.network import kinds
from hwgen.ir.requantisation import UNCHANGED, Requantisation, Scale

__all__ = ["RowData", "average_scale", "execute", "row_output", "row_requantisation", "row_sums"]

Int8 = NDArray[np.int8]

NO_BIAS = np.zeros(1, np.int32)
BITS = 8
"""Width of an element of a map."""


@dataclass(frozen=True)
class RowData:
    """The data of a row: what it computes with beside its operands.

    Members
    -------
    weights : int8 [M, C/groups, R, S]; empty for rows without weights.
    bias : int32 [M]; zero for rows without weights.
    requantisation : of the sums of convolutions and adds; of a pool its clip alone counts.
    quantised : the node of an integer graph that the row stands for, whose arithmetic it then has; weights, bias and
        requantisation of a convolution are the node's.
    """

    weights: Int8 = field(default_factory=lambda: np.zeros((0, 0, 0, 0), np.int8))
    bias: NDArray[np.int32] = field(default_factory=lambda: NO_BIAS)
    requantisation: Requantisation = UNCHANGED
    quantised: kinds.Node | None = None


def row_requantisation(node: Node) -> Requantisation:
    """What a row does to its sums, as it says or as follows from its shape; of other rows the clip.

    Adds that say nothing shift nothing. Raises `InputError` for an activation that is not in `ACTIVATIONS`.
    """
    clip = UNCHANGED.activated(node.activation, node.name)
    if node.operator.schedulable:
        return node.layer().requantisation_at(BITS)
    given = node.given_requantisation
    if not node.operator.requantises or given is None:
        return clip
    return given.model_copy(update={"shift": given.shift or 0}).complete(1, BITS)


def average_scale(area: int) -> Scale:
    """The scale that divides by a pool's area; exact for powers of two."""
    shift = 15 + (area - 1).bit_length()
    return Scale(((1 << shift) + area // 2) // area, shift)


def execute(network: Network, inputs: Int8, rows: Mapping[str, RowData]) -> dict[str, Int8]:
    """Every map of a connected network by name, its input included."""
    assert network.input is not None
    maps = {network.input.name: inputs}
    for node in network.layers:
        maps[node.name] = row_output(node, rows.get(node.name, RowData()), [maps[name] for name in node.inputs])
    return maps


def row_output(node: Node, data: RowData, operands: Sequence[Int8]) -> Int8:
    """The map that a row makes of its operands, which are in the order of its inputs."""
    if data.quantised is None:
        made = _reference(node).output(node, data, operands)
    else:
        made = _quantised(data.quantised, operands)
    assert made.shape == (node.output_channels, node.output_height, node.output_width)
    return made


def row_sums(node: Node, data: RowData, operands: Sequence[Int8]) -> NDArray[np.int32]:
    """The sums of a convolution or an add before they are requantised."""
    reference = _reference(node)
    assert isinstance(reference, _Sums)
    return reference.sums(node, data, operands)


def _quantised(node: kinds.Node, operands: Sequence[Int8]) -> Int8:
    """The map that a node of an integer graph makes; one of a whole map's elements reads them channel by channel."""
    whole = isinstance(node, kinds.Product)
    given = [operand.reshape(1, -1) if whole else operand[None] for operand in operands]
    made: Int8 = REFERENCES[type(node)](node, given)
    return made.reshape(-1, *(made.shape[2:] if made.ndim == 4 else (1, 1)))


# --- operations, a class each ---


class _Reference(ABC):
    """One operation on integers."""

    @abstractmethod
    def output(self, node: Node, data: RowData, operands: Sequence[Int8]) -> Int8:
        """The map that it makes."""


class _Sums(_Reference):
    """An operation that requantises exact sums."""

    @abstractmethod
    def sums(self, node: Node, data: RowData, operands: Sequence[Int8]) -> NDArray[np.int32]:
        """Its sums, wrapped at 32 bits."""

    def output(self, node: Node, data: RowData, operands: Sequence[Int8]) -> Int8:
        sums = self.sums(node, data, operands)
        return requantise(sums, data.bias, data.requantisation).astype(np.int8)


class _Convolution(_Sums):
    def sums(self, node: Node, data: RowData, operands: Sequence[Int8]) -> NDArray[np.int32]:
        shape = (node.input_channels, node.input_height, node.input_width)  # flattened for fc
        return convolve(node.layer(), operands[0].reshape(shape), data.weights)


class _TransposedConvolution(_Sums):
    def sums(self, node: Node, data: RowData, operands: Sequence[Int8]) -> NDArray[np.int32]:
        (down, right), (rows, columns), (top, left, _, _) = node.stride, node.kernel, node.padding
        height, width = node.output_height, node.output_width
        size = height + node.padding[0] + node.padding[2], width + node.padding[1] + node.padding[3]
        sums = np.zeros((node.output_channels, *size), np.int64)
        given = operands[0].reshape(node.groups, -1, node.input_height * node.input_width).astype(np.int64)
        weights = data.weights.reshape(node.groups, -1, *data.weights.shape[1:]).astype(np.int64)
        for row in range(rows):
            for column in range(columns):
                made = (weights[..., row, column] @ given).reshape(-1, node.input_height, node.input_width)
                ends = row + (node.input_height - 1) * down + 1, column + (node.input_width - 1) * right + 1
                sums[:, row : ends[0] : down, column : ends[1] : right] += made
        return sums[:, top : top + height, left : left + width].astype(np.int32)


class _Add(_Sums):
    def sums(self, node: Node, data: RowData, operands: Sequence[Int8]) -> NDArray[np.int32]:
        sums: NDArray[np.int32] = np.sum(np.array(operands, np.int32), axis=0, dtype=np.int32)
        return sums


class _Pool(_Reference):
    def output(self, node: Node, data: RowData, operands: Sequence[Int8]) -> Int8:
        average = node.pool == "avg"
        top, left, bottom, right = node.padding
        padded = np.pad(operands[0], ((0, 0), (top, bottom), (left, right)), constant_values=0 if average else -128)
        windows = sliding_window_view(padded, node.kernel, axis=(1, 2))[:, :: node.stride[0], :: node.stride[1]]
        scale = average_scale(node.kernel[0] * node.kernel[1]) if average else Scale()
        values = windows.sum(axis=(3, 4), dtype=np.int64) if average else windows.max(axis=(3, 4))
        return requantise(values, NO_BIAS, replace(data.requantisation, scales=(scale,))).astype(np.int8)


class _Concatenation(_Reference):
    def output(self, node: Node, data: RowData, operands: Sequence[Int8]) -> Int8:
        return np.concatenate(operands)


class _PixelShuffle(_Reference):
    def output(self, node: Node, data: RowData, operands: Sequence[Int8]) -> Int8:
        (operand,), factor = operands, node.factor or 1
        channels, height, width = operand.shape
        split = operand.reshape(channels // factor**2, factor, factor, height, width)
        return split.transpose(0, 3, 1, 4, 2).reshape(channels // factor**2, height * factor, width * factor)


class _Lookup(_Reference):
    def output(self, node: Node, data: RowData, operands: Sequence[Int8]) -> Int8:
        raise InputError(f"{node.name}: lookup: expected its tables, got none")


_REFERENCES: dict[str, _Reference] = {
    **dict.fromkeys(CONVOLUTIONS, _Convolution()),
    "deconv": _TransposedConvolution(),
    "add": _Add(),
    "pool": _Pool(),
    "concat": _Concatenation(),
    "lookup": _Lookup(),
    "pixel_shuffle": _PixelShuffle(),
}


def _reference(node: Node) -> _Reference:
    reference = _REFERENCES.get(node.op)
    if reference is None:
        raise InputError(f"{node.name}: op: expected one that depth-first hardware has, got {node.op}")
    return reference
