"""The operations that a row of a layer table may have: for each, its shape rules and what of its input it reads.

An operation is one class here, or one entry of `OPERATORS` where it differs from another one in its name only.
Nothing else asks for an operation's name to learn its shapes.
"""

from collections.abc import Sequence
from enum import Enum
from typing import TYPE_CHECKING, Literal, Protocol

if TYPE_CHECKING:
    from hwgen.ir.layer_set import Node

__all__ = ["OPERATORS", "Axis", "Operator", "Reading", "Window"]

Axis = Literal[0, 1]
"""Height, width."""


class Reading(Enum):
    """What of a map a row reads for one pixel of its output."""

    WINDOW = "a window that moves with the stride"
    TRANSPOSED = "the pixels that a transposed window spreads to it"
    SQUARE = "the pixel whose channels become a square of output pixels"
    PIXEL = "the pixel at the same place, of a map that waits for the row's other operands"
    SAME = "the pixel at the same place"
    ACCUMULATED = "a window that is the whole map, into an accumulator"
    FLATTENED = "the whole map, its pixels read as channels"


class Window(Protocol):
    """What of a row the size of its output follows from, beside sizes, kernel and padding."""

    @property
    def stride(self) -> tuple[int, int]: ...

    @property
    def output_padding(self) -> tuple[int, int]: ...

    @property
    def factor(self) -> int | None: ...


class Operator:
    """An operation of a row. Sizes are pixels; channels count over all groups."""

    weighted = False
    """Whether it has weights."""
    windowed = False
    """Whether it has a kernel, which its row must say."""
    schedulable = False
    """Whether a schedule can be made for it: it is a convolution."""
    requantises = False
    """Whether its outputs are sums that are requantised."""
    several_inputs = False
    """Whether it reads two maps or more; else exactly one."""
    flattens = False
    """Whether it reads all pixels of its input as channels of one pixel."""
    tables = False
    """Whether each element goes through a table that its row has: one, or with groups one for each channel."""
    group_each = False
    """Whether each input channel is a group."""

    def __init__(self, name: str, meaning: str) -> None:
        self.name, self.meaning = name, meaning

    def check(self, node: "Node") -> None:
        """Raise ValueError unless the row's output follows from its input."""
        raise NotImplementedError

    def reading(self, node: "Node") -> Reading:
        """What a pixel of the output is made from."""
        raise NotImplementedError

    def positions(self, node: "Node") -> int:
        """Pixels for which every weight is multiplied once."""
        return node.output_height * node.output_width

    def channels_read(self, given: Sequence[int]) -> int:
        """The input channels of a row whose operands have ``given`` channels."""
        return given[0]

    def channels_made(self, channels: int, factor: int | None) -> int | None:
        """The output channels, where they follow from those of the input."""
        return None

    def output_size(self, window: Window, axis: Axis, size: int, kernel: int, pads: int) -> int:
        """The output's size along an axis; ValueError if the input is too small."""
        return size

    def same_padding(self, window: Window, axis: Axis, size: int, kernel: int) -> int:
        """Padding of an axis with which the output has a pixel for each stride of the input, as TensorFlow has it."""
        return 0


def _expect(node: "Node", key: str, expected: int) -> None:
    if getattr(node, key) != expected:
        raise ValueError(f"{key}: expected {expected} for {node.op}, got {getattr(node, key)}")


class _Windowed(Operator):
    """Windows over the input."""

    windowed = True

    def check(self, node: "Node") -> None:
        node.check_window()

    def reading(self, node: "Node") -> Reading:
        return Reading.ACCUMULATED if node.global_pool else Reading.WINDOW

    def output_size(self, window: Window, axis: Axis, size: int, kernel: int, pads: int) -> int:
        if size + pads < kernel:
            raise ValueError(f"an input of {size} pixels is too small for its kernel of {kernel}")
        return (size + pads - kernel) // window.stride[axis] + 1

    def same_padding(self, window: Window, axis: Axis, size: int, kernel: int) -> int:
        stride = window.stride[axis]
        return max((-(-size // stride) - 1) * stride + kernel - size, 0)


class _Convolution(_Windowed):
    weighted = True
    schedulable = True
    requantises = True


class _Depthwise(_Convolution):
    group_each = True

    def channels_made(self, channels: int, factor: int | None) -> int | None:
        return channels


class _Pool(_Windowed):
    def channels_made(self, channels: int, factor: int | None) -> int | None:
        return channels

    def check(self, node: "Node") -> None:
        if node.pool is None:
            raise ValueError("pool: missing key (max or avg)")
        _expect(node, "output_channels", node.input_channels)
        node.check_window()


class _FullyConnected(Operator):
    weighted = True
    schedulable = True
    requantises = True
    flattens = True

    def check(self, node: "Node") -> None:
        sizes = (node.input_height, node.input_width, *node.kernel, node.output_height, node.output_width)
        if sizes != (1,) * 6 or node.groups != 1:
            raise ValueError("fc: expected flattened channels: 1x1 input, kernel and output, 1 group")

    def reading(self, node: "Node") -> Reading:
        return Reading.FLATTENED


class _Deconvolution(Operator):
    weighted = True
    windowed = True
    requantises = True

    def check(self, node: "Node") -> None:
        top, left, bottom, right = node.padding
        _expect(node, "output_height", self.output_size(node, 0, node.input_height, node.kernel[0], top + bottom))
        _expect(node, "output_width", self.output_size(node, 1, node.input_width, node.kernel[1], left + right))

    def reading(self, node: "Node") -> Reading:
        return Reading.TRANSPOSED

    def positions(self, node: "Node") -> int:
        return node.input_height * node.input_width

    def output_size(self, window: Window, axis: Axis, size: int, kernel: int, pads: int) -> int:
        return (size - 1) * window.stride[axis] - pads + kernel + window.output_padding[axis]

    def same_padding(self, window: Window, axis: Axis, size: int, kernel: int) -> int:
        pads = kernel + window.output_padding[axis] - window.stride[axis]
        if pads < 0:
            raise ValueError(
                f"padding: same: expected a kernel of at least the stride ({window.stride[axis]}), got {kernel}"
            )
        return pads


class _Pointwise(Operator):
    """An output of the input's shape."""

    def channels_made(self, channels: int, factor: int | None) -> int | None:
        return channels

    def check(self, node: "Node") -> None:
        for key in ("channels", "height", "width"):
            _expect(node, f"output_{key}", getattr(node, f"input_{key}"))

    def reading(self, node: "Node") -> Reading:
        return Reading.SAME


class _Join(_Pointwise):
    several_inputs = True
    requantises = True

    def reading(self, node: "Node") -> Reading:
        return Reading.PIXEL


class _Concatenation(_Join):
    requantises = False

    def channels_read(self, given: Sequence[int]) -> int:
        return sum(given)


class _Lookup(_Pointwise):
    tables = True

    def check(self, node: "Node") -> None:
        super().check(node)
        if node.groups not in (1, node.input_channels):
            raise ValueError(f"groups: expected 1 or {node.input_channels} for lookup, got {node.groups}")


class _PixelShuffle(Operator):
    def check(self, node: "Node") -> None:
        if node.factor is None:
            raise ValueError("factor: missing key")
        if node.input_channels % node.factor**2:
            raise ValueError(f"input_channels: expected a multiple of {node.factor**2}, got {node.input_channels}")
        _expect(node, "output_channels", node.input_channels // node.factor**2)
        _expect(node, "output_height", node.input_height * node.factor)
        _expect(node, "output_width", node.input_width * node.factor)

    def reading(self, node: "Node") -> Reading:
        return Reading.SQUARE

    def output_size(self, window: Window, axis: Axis, size: int, kernel: int, pads: int) -> int:
        return size * (window.factor or 1)

    def channels_made(self, channels: int, factor: int | None) -> int | None:
        return channels // factor**2 if factor else None


OPERATORS = {
    operator.name: operator
    for operator in (
        _Convolution("conv", "convolution"),
        _Depthwise("depthwise_conv", "convolution with a group for each input channel"),
        _FullyConnected("fc", "fully connected layer: every output from all elements of its input"),
        _Deconvolution("deconv", "transposed convolution"),
        _Pool("pool", "maximum or average of each window, or of a whole feature map"),
        _Join("add", "sum of two or more feature maps"),
        _Concatenation("concat", "channels of two or more feature maps, one map after the other"),
        _Lookup("lookup", "each element through a table: one, or with `groups` one for each channel"),
        _Pointwise("lrn", "local response normalisation"),
        _PixelShuffle("pixel_shuffle", "the channels of a pixel become a square of pixels"),
    )
}
"""Every operation, by its name in a table; what it says of itself is in the documents, too."""
