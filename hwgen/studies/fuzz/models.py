"""Small quantised networks as ONNX models, written node by node."""

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

__all__ = ["FLOAT", "INT8", "NODES", "UINT8", "Chain", "Draft"]

FLOAT, UINT8, INT8 = TensorProto.FLOAT, TensorProto.UINT8, TensorProto.INT8


class Draft:
    """A model that is being written.

    `quantised` and `numbers` add the two quantisers; what they return are names of tensors.
    """

    def __init__(self, shape: Sequence[int], kind: int = FLOAT, opset: int = 17) -> None:
        self.inputs = [helper.make_tensor_value_info("x", kind, shape)]
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self.opset = opset

    def constant(self, values: Any, dtype: Any = np.float32) -> str:
        """A tensor of constants."""
        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.asarray(values, dtype), name))
        return name

    def node(self, operator: str, *inputs: str, output: str = "", domain: str = "", **attributes: Any) -> str:
        """The output of a new node."""
        output = output or f"t{len(self.nodes)}"
        self.nodes.append(
            helper.make_node(operator, inputs, [output], f"n{len(self.nodes)}", domain=domain, **attributes)
        )
        return output

    def quantised(self, tensor: str, scale: float, zero: int, dtype: Any = np.uint8) -> str:
        """A tensor as integers."""
        return self.node("QuantizeLinear", tensor, self.constant(scale), self.constant(zero, dtype))

    def numbers(self, tensor: str, scale: Any, zero: Any = 0, dtype: Any = np.uint8, **attributes: Any) -> str:
        """Integers as numbers."""
        zeros = np.broadcast_to(zero, np.shape(scale))
        return self.node("DequantizeLinear", tensor, self.constant(scale), self.constant(zeros, dtype), **attributes)

    def both(self, tensor: str, scale: float, zero: int, dtype: Any = np.uint8) -> str:
        """Numbers that went through integers."""
        return self.numbers(self.quantised(tensor, scale, zero, dtype), scale, zero, dtype)

    def weights(self, values: Any, scale: Any, axis: int = 0, dtype: Any = np.int8, zero: int = 0) -> str:
        """Constants that are integers."""
        return self.numbers(self.constant(values, dtype), scale, zero, dtype, axis=axis)

    def write(self, path: Path, output: str, shape: Sequence[int] | None = None, kind: int = FLOAT) -> Path:
        """Write the file."""
        graph = helper.make_graph(
            self.nodes, "draft", self.inputs, [helper.make_tensor_value_info(output, kind, shape)], self.constants
        )
        opsets = [helper.make_opsetid("", self.opset), helper.make_opsetid("com.microsoft", 1)]
        onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=8), path)
        return path


class Chain:
    """A quantised network that grows by one node after the other; each reads the last map, some an earlier one, too.

    Parameters
    ----------
    shape : channels, rows and columns of the input.
    signed, symmetric : activations are int8, not uint8; their zero points are 0.
    per_channel : each output channel of a layer has a scale.
    seed : of weights, scales and zero points.
    """

    def __init__(
        self, shape: tuple[int, int, int], *, signed: bool, symmetric: bool, per_channel: bool, seed: int
    ) -> None:
        self.rng = np.random.default_rng(seed)
        self.draft = Draft([1, *shape])
        self.dtype = np.int8 if signed else np.uint8
        self.symmetric, self.per_channel = symmetric, per_channel
        self.maps: list[tuple[str, tuple[int, ...]]] = []
        self._keep("x", shape, 4.0)

    @property
    def last(self) -> tuple[str, tuple[int, ...]]:
        """The last map, and its shape without the image's axis."""
        return self.maps[-1]

    def grow(self, kind: str) -> None:
        """Add a node of `NODES`, or nothing where the last map is too small for it."""
        NODES[kind](self)

    def write(self, path: Path) -> None:
        """Write the file."""
        tensor, shape = self.last
        self.draft.write(path, tensor, [1, *shape])

    def conv(
        self, outputs: int, kernel: tuple[int, int], *, stride: tuple[int, int] = (1, 1),
        pads: tuple[int, int, int, int] = (0, 0, 0, 0), groups: int = 1, dilation: int = 1, clip: str = "",
    ) -> None:  # fmt: skip
        """A convolution; without an effect on a map that is too small, or has other groups."""
        tensor, (channels, *sizes) = self.last
        groups = channels if groups == 0 else groups
        reach = [(taps - 1) * dilation + 1 for taps in kernel]
        padded = [size + pads[at] + pads[at + 2] for at, size in enumerate(sizes)]
        if len(sizes) != 2 or channels % groups or any(a < b for a, b in zip(padded, reach, strict=True)):
            return
        made = self.draft.node(
            "Conv", tensor, *self._weights((outputs * groups, channels // groups, *kernel)), pads=pads, group=groups,
            strides=stride, dilations=[dilation] * 2, kernel_shape=kernel,
        )  # fmt: skip
        size = [(a - b) // step + 1 for a, b, step in zip(padded, reach, stride, strict=True)]
        self._keep(self._clipped(made, clip), (outputs * groups, *size))

    def pool(
        self, operator: str, kernel: tuple[int, int], stride: tuple[int, int] = (1, 1),
        pads: tuple[int, int, int, int] = (0, 0, 0, 0),
    ) -> None:  # fmt: skip
        """A pool; without an effect on a map that is too small."""
        tensor, (channels, *sizes) = self.last
        padded = [size + pads[at] + pads[at + 2] for at, size in enumerate(sizes)]
        if len(sizes) == 2 and all(a >= b for a, b in zip(padded, kernel, strict=True)):
            made = self.draft.node(operator, tensor, kernel_shape=kernel, strides=stride, pads=pads)
            size = [(a - b) // step + 1 for a, b, step in zip(padded, kernel, stride, strict=True)]
            self._keep(made, (channels, *size))

    def join(self, operator: str) -> None:
        """A sum with, or a concatenation to, the first map of the same size before the last one; else to itself."""
        tensor, shape = self.last
        other = next(name for name, size in self.maps if size == shape)
        attributes: dict[str, Any] = {"axis": 1} if operator == "Concat" else {}
        made = self.draft.node(operator, tensor, other, **attributes)
        self._keep(made, (2 * shape[0], *shape[1:]) if operator == "Concat" else shape)

    def each(self, operator: str, *constants: Any, **attributes: Any) -> None:
        """An operator that keeps the shape."""
        tensor, shape = self.last
        self._keep(self.draft.node(operator, tensor, *map(self.draft.constant, constants), **attributes), shape)

    def moved(self, operator: str, shape: tuple[int, ...], *constants: Any, **attributes: Any) -> None:
        """An operator that makes another shape of the same elements, or of copies of them."""
        inputs = [one if isinstance(one, str) else self.draft.constant(*one) for one in constants]
        self._keep(self.draft.node(operator, self.last[0], *inputs, **attributes), shape)

    def product(self, outputs: int) -> None:
        """A product with a matrix, of the flattened map."""
        tensor, shape = self.last
        size = math.prod(shape)
        flat = self.draft.node("Flatten", tensor) if len(shape) > 1 else tensor
        weights, bias = self._weights((outputs, size))
        self._keep(self.draft.node("Gemm", flat, weights, bias, transB=1), (outputs,))

    def _weights(self, shape: tuple[int, ...]) -> tuple[str, str]:
        """Weights and biases as integers, of which the first axis is that of output channels."""
        outputs = shape[0]
        scale = self.rng.uniform(0.004, 0.02, outputs) if self.per_channel else np.full((), 0.01)
        axis: dict[str, Any] = {"axis": 0} if self.per_channel else {}
        values = self.rng.integers(-127, 128, shape)
        bias = self.rng.integers(-2000, 2000, outputs)
        found = self.draft.numbers(self.draft.constant(values, np.int8), scale, 0, np.int8, **axis)
        of_sums = np.float32(scale) * np.float32(self.scale)
        return found, self.draft.numbers(self.draft.constant(bias, np.int32), of_sums, 0, np.int32, **axis)

    def _clipped(self, tensor: str, clip: str) -> str:
        if clip == "Clip":
            return self.draft.node("Clip", tensor, self.draft.constant(0.0), self.draft.constant(6.0))
        return self.draft.node(clip, tensor) if clip else tensor

    def _keep(self, tensor: str, shape: Sequence[int], most: float = 12.0) -> None:
        """The last map is this one, quantised with a scale and a zero point of its own."""
        self.scale = float(np.float32(self.rng.uniform(0.5, 1) * most / 128))
        low, high = np.iinfo(self.dtype).min, np.iinfo(self.dtype).max
        zero = (low + high + 1) // 2 if self.symmetric else int(self.rng.integers(low, high + 1))
        self.maps.append((self.draft.both(tensor, self.scale, zero, self.dtype), tuple(shape)))


def _shape(chain: Chain) -> tuple[int, ...]:
    return chain.last[1]


def _resize(chain: Chain) -> None:
    channels, *sizes = _shape(chain)
    if len(sizes) == 2:
        chain.moved("Resize", (channels, 2 * sizes[0], sizes[1]), "", ([1.0, 1, 2, 1],), mode="nearest",
                    coordinate_transformation_mode="asymmetric", nearest_mode="floor")  # fmt: skip


def _square(chain: Chain) -> None:
    channels, *sizes = _shape(chain)
    if len(sizes) == 2 and channels % 4 == 0:
        chain.moved("DepthToSpace", (channels // 4, 2 * sizes[0], 2 * sizes[1]), blocksize=2, mode="CRD")


def _pad(chain: Chain) -> None:
    channels, *sizes = _shape(chain)
    if len(sizes) == 2:
        chain.moved("Pad", (channels, sizes[0] + 1, sizes[1] + 2), ([0, 0, 1, 0, 0, 0, 0, 2], np.int64))


def _turned(chain: Chain) -> None:
    channels, *sizes = _shape(chain)
    if len(sizes) == 2:
        chain.moved("Transpose", (channels, sizes[1], sizes[0]), perm=[0, 1, 3, 2])


def _mean(chain: Chain) -> None:
    if len(_shape(chain)) == 3:
        chain.moved("GlobalAveragePool", (_shape(chain)[0], 1, 1))


NODES: dict[str, Callable[[Chain], None]] = {
    "conv1": lambda chain: chain.conv(3, (1, 1)),
    "conv3": lambda chain: chain.conv(4, (3, 3), pads=(1, 1, 1, 1), clip="Relu"),
    "strided": lambda chain: chain.conv(5, (3, 2), stride=(2, 1), pads=(0, 1, 2, 0)),
    "sparse": lambda chain: chain.conv(2, (1, 1), stride=(3, 2)),
    "depthwise": lambda chain: chain.conv(1, (3, 3), pads=(1, 1, 1, 1), groups=0, clip="Clip"),
    "doubling": lambda chain: chain.conv(2, (2, 3), pads=(1, 0, 0, 1), groups=0),
    "groups": lambda chain: chain.conv(3, (3, 1), pads=(2, 0, 0, 0), groups=2),
    "dilated": lambda chain: chain.conv(3, (2, 3), pads=(1, 2, 1, 2), dilation=2),
    "wide": lambda chain: chain.conv(19, (1, 1), clip="Relu"),
    "max_pool": lambda chain: chain.pool("MaxPool", (2, 2), (2, 2)),
    "odd_max_pool": lambda chain: chain.pool("MaxPool", (3, 2), (1, 2), (1, 0, 1, 1)),
    "average_pool": lambda chain: chain.pool("AveragePool", (2, 3), (2, 1), (0, 1, 1, 1)),
    "mean": _mean,
    "add": lambda chain: chain.join("Add"),
    "concat": lambda chain: chain.join("Concat"),
    "sigmoid": lambda chain: chain.each("Sigmoid"),
    "leaky": lambda chain: chain.each("LeakyRelu", alpha=0.1),
    "hard_swish": lambda chain: chain.each("HardSwish"),
    "shifted": lambda chain: chain.each("Add", 0.7),
    "resize": _resize,
    "square": _square,
    "pad": _pad,
    "turned": _turned,
    "product": lambda chain: chain.product(7),
    "softmax": lambda chain: chain.each("Softmax", axis=1),
}
"""What may come next in a network."""
