"""The kinds of nodes of an integer graph: one class each.

What is `integer` has the arithmetic of the integer reference (`hwgen.golden.quantised`): sums that are requantised
by a multiplier and a shift, and tables of 256 entries. The rest is the host's. Feature maps are [1, channels, rows,
columns], or [1, channels, columns]: one row.
"""

from abc import ABC
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import prod
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hwgen.ir.network.fixed_point import Factor
from hwgen.ir.network.tensors import Int8
from hwgen.ir.requantisation import HALF_UP, Requantisation, Scale

__all__ = [
    "Addition",
    "AveragePool",
    "Concatenation",
    "Convolution",
    "Dequantise",
    "FixedMean",
    "HostOperator",
    "Lookup",
    "MaxPool",
    "Movement",
    "Node",
    "Operation",
    "Product",
    "Quantise",
    "View",
    "Window",
    "dense_weights",
    "undilated",
    "zero_share",
]

Int32 = NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class Operation:
    """One operator of ONNX on numbers, between quantisers or without them.

    Members
    -------
    operator : its standard name.
    inputs, outputs : names of tensors; an absent one is empty.
    attributes : by name; text is text.
    label : the operator as the file has it, where that is another name for it.
    """

    operator: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: Mapping[str, Any] = field(default_factory=dict)
    name: str = ""
    domain: str = ""
    label: str = ""

    @property
    def called(self) -> str:
        """Its name, or that of its first output."""
        return self.name or self.outputs[0]

    def ints(self, name: str, default: Sequence[int] = ()) -> list[int]:
        """An attribute that is a list of integers."""
        return [int(one) for one in self.attributes.get(name, default)]

    def input(self, at: int) -> str:
        """The name of an input; empty if it is absent."""
        return self.inputs[at] if len(self.inputs) > at else ""


@dataclass(frozen=True, eq=False, kw_only=True)
class Node(ABC):
    """One node.

    Members
    -------
    name : once in the graph.
    inputs, outputs : names of tensors; it has one output of its own name if nothing else is said.
    covers : names of the model's nodes that it stands for.
    shape : of its first output.
    """

    name: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...] = ()
    covers: tuple[str, ...]
    shape: tuple[int, ...]

    kind: ClassVar[str]
    integer: ClassVar[bool] = True
    """Whether it has the arithmetic of the integer reference; which of these hardware runs, a plan says."""
    moves: ClassVar[bool] = True
    """Whether elements are read and written at all."""

    def __post_init__(self) -> None:
        if not self.outputs:
            object.__setattr__(self, "outputs", (self.name,))

    @property
    def output(self) -> str:
        """The first output."""
        return self.outputs[0]

    @property
    def label(self) -> str:
        """What it is, for tables."""
        return self.kind

    @property
    def macs(self) -> int:
        """Multiply-accumulates."""
        return 0

    @property
    def parameter_bytes(self) -> int:
        """Bytes of weights, biases and tables."""
        return 0


@dataclass(frozen=True, slots=True)
class Window:
    """A window over rows and columns.

    Members
    -------
    kernel, stride, dilation : rows, columns.
    padding : top, left, bottom, right.
    """

    kernel: tuple[int, int]
    stride: tuple[int, int] = (1, 1)
    padding: tuple[int, int, int, int] = (0, 0, 0, 0)
    dilation: tuple[int, int] = (1, 1)


@dataclass(frozen=True, eq=False, kw_only=True)
class _Weighted(Node):
    """Sums of products with weights, requantised.

    Members
    -------
    bias : has the input's zero point folded in.
    own_macs : multiply-accumulates of the model's operator, where weights were added to it that are mostly zeros;
        None: all weights are its own.
    bias_loss : the most that a bias lost when it became a whole number of sums.
    """

    weights: Int8
    bias: Int32
    requantisation: Requantisation
    bias_loss: float = 0.0
    own_macs: int | None = None

    @property
    def all_macs(self) -> int:
        """Multiply-accumulates with all weights."""
        raise NotImplementedError

    @property
    def macs(self) -> int:
        """Multiply-accumulates of the model's operator."""
        return self.all_macs if self.own_macs is None else self.own_macs

    @property
    def parameter_bytes(self) -> int:
        """Weights, biases, and four bytes of requantisation for each channel."""
        return self.weights.size + 8 * self.bias.size


@dataclass(frozen=True, eq=False, kw_only=True)
class Convolution(_Weighted):
    """weights[M, C/groups, k, l]; padding reads as the input's zero point."""

    kind = "conv"
    window: Window
    groups: int = 1

    @property
    def label(self) -> str:
        """The label, with what is special about it."""
        channels = self.weights.shape[1] * self.groups
        name = "depthwise conv" if self.groups > 1 and self.groups == channels else self.kind
        return f"dilated {name}" if self.window.dilation != (1, 1) else name

    @property
    def all_macs(self) -> int:
        """Each weight once for each pixel of the output."""
        return self.weights.size * prod(self.shape[2:])


@dataclass(frozen=True, eq=False, kw_only=True)
class Product(_Weighted):
    """weights[M, K]: rows of K elements become rows of M, along the last axis."""

    kind = "product"

    @property
    def all_macs(self) -> int:
        """Each weight once for each row."""
        return self.weights.size * (prod(self.shape) // self.shape[-1])


@dataclass(frozen=True, eq=False, kw_only=True)
class Addition(Node):
    """The sum of (operand - zero) * multiplier over all operands, shifted right with rounding, zero point, clip.

    Members
    -------
    scales : one for each operand, all with one shift.
    zeros : zero points of the operands.
    """

    kind = "add"
    scales: tuple[Scale, ...]
    zeros: tuple[int, ...]
    zero_out: int
    low: int
    high: int
    rounding: str = HALF_UP


@dataclass(frozen=True, eq=False, kw_only=True)
class Concatenation(Node):
    """Operands one after the other along an axis, each through its table first; None: as it is."""

    kind = "concat"
    axis: int
    tables: tuple[Int8 | None, ...]

    @property
    def parameter_bytes(self) -> int:
        """Tables."""
        return sum(table.size for table in self.tables if table is not None)


@dataclass(frozen=True, eq=False, kw_only=True)
class MaxPool(Node):
    """The greatest of each window, then through a table that never falls. Padding is never the greatest."""

    kind = "max pool"
    window: Window
    table: Int8 | None = None

    @property
    def parameter_bytes(self) -> int:
        """The table."""
        return 0 if self.table is None else self.table.size


@dataclass(frozen=True, eq=False, kw_only=True)
class AveragePool(Node):
    """The sum of x - zero_in over each window, scaled by the scale for the elements that count in it.

    Members
    -------
    counted : rows and columns of padding that count, as zeros: top, left, bottom, right.
    scales : by the number of elements that count.
    """

    kind = "average pool"
    window: Window
    counted: tuple[int, int, int, int]
    scales: Mapping[int, Scale]
    zero_in: int
    zero_out: int
    low: int
    high: int
    rounding: str = HALF_UP


@dataclass(frozen=True, eq=False, kw_only=True)
class FixedMean(Node):
    """The mean of whole maps where a `Scale` does not give what TFLite's kernel gives: by its own factor."""

    kind = "mean"
    factor: Factor
    zero_in: int
    zero_out: int


@dataclass(frozen=True, eq=False, kw_only=True)
class Lookup(Node):
    """Every element through a table: tables[1, 256] for all, or tables[C, 256] for each channel (axis 1)."""

    kind = "table"
    tables: Int8

    @property
    def parameter_bytes(self) -> int:
        """The tables."""
        return self.tables.size


@dataclass(frozen=True, eq=False, kw_only=True)
class View(Node):
    """The same elements in the same order, in another shape."""

    kind = "view"
    moves = False


@dataclass(frozen=True, eq=False, kw_only=True)
class Movement(Node):
    """Elements in another order or number.

    Members
    -------
    operator : what the model has.
    index : for each element of the output the flat index of the input's; -1: ``fill``.
    """

    kind = "move"
    operator: str
    index: NDArray[np.int64]
    fill: int = 0

    @property
    def label(self) -> str:
        """The operator, too."""
        return f"{self.kind} ({self.operator})"


@dataclass(frozen=True, eq=False, kw_only=True)
class Quantise(Node):
    """Numbers to int8."""

    kind = "quantise"
    integer = False


@dataclass(frozen=True, eq=False, kw_only=True)
class Dequantise(Node):
    """int8 to numbers. ``scale``, ``zero``: as this reader has them."""

    kind = "dequantise"
    integer = False
    scale: float
    zero: int


@dataclass(frozen=True, eq=False, kw_only=True)
class HostOperator(Node):
    """An operator of the model that the host runs as it is, in numbers.

    Members
    -------
    reason : why it is not for the hardware.
    constants : its inputs that are constant, by name.
    opset : version of the standard operators.
    work : multiply-accumulates.
    """

    kind = "host"
    integer = False
    operation: Operation
    reason: str
    constants: Mapping[str, NDArray]
    opset: int
    work: int = 0

    @property
    def operator(self) -> str:
        """Its name."""
        return self.operation.operator

    @property
    def label(self) -> str:
        """The operator."""
        return self.operator

    @property
    def macs(self) -> int:
        """Multiply-accumulates."""
        return self.work

    @property
    def parameter_bytes(self) -> int:
        """Constants."""
        return sum(array.nbytes for array in self.constants.values())


def undilated(node: Convolution) -> Convolution:
    """The same convolution with a dense kernel: tap t of a direction is at t times its dilation, zeros between.

    Its sums are the same to the bit, its kernel has (taps - 1) * dilation + 1 rows or columns, and each zero is one
    more multiplication for each pixel. A node that is not dilated is returned as it is.
    """
    window = node.window
    if window.dilation == (1, 1):
        return node
    rows, columns = ((taps - 1) * apart + 1 for taps, apart in zip(window.kernel, window.dilation, strict=True))
    outputs, channels = node.weights.shape[:2]
    dense = np.zeros((outputs, channels, rows, columns), np.int8)
    dense[:, :, :: window.dilation[0], :: window.dilation[1]] = node.weights
    return replace(node, weights=dense, window=replace(window, kernel=(rows, columns), dilation=(1, 1)))


def zero_share(node: Convolution | Product) -> float:
    """The part of the multiplications that the model's operator does not have.

    They are by the zeros between the taps of a dilated kernel, or by weights that were added (`own_macs`).
    """
    return 1 - node.macs * node.weights.size / (node.all_macs * dense_weights(node).size)


def dense_weights(node: Convolution | Product) -> Int8:
    """The weights as hardware whose taps are neighbours has them."""
    return node.weights if isinstance(node, Product) else undilated(node).weights
