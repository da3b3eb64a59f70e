"""A LeNet for digits of 28 x 28 pixels (after LeCun et al. 1998), trained in numpy and written as ONNX.

Maps are [images, channels, rows, columns] of float32; gradients are of the loss, summed over the images of a batch.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, Protocol

import numpy as np
import onnx
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

__all__ = ["LeNet", "as_onnx"]

Floats = NDArray[np.float32]
OPSET = 17


class Stage(Protocol):
    """A step of the network; ``backward`` may be called once after each ``forward``."""

    def forward(self, given: Floats) -> Floats:
        """The output; remembers what the gradient needs."""

    def backward(self, gradient: Floats) -> Floats:
        """The input's gradient from the output's; remembers that of the weights."""


class Convolution:
    """5 x 5, stride 1, with the same padding all around. ``gradients`` are those of ``weights`` and ``bias``."""

    def __init__(self, rng: np.random.Generator, inputs: int, outputs: int, padding: int) -> None:
        self.weights = _initial(rng, (outputs, inputs, 5, 5))
        self.bias = np.zeros(outputs, np.float32)
        self.padding = padding
        self.gradients: list[Floats] = []

    def forward(self, given: Floats) -> Floats:
        """The output."""
        self._shape, around = given.shape, [(0, 0)] * 2 + [(self.padding, self.padding)] * 2
        windows = sliding_window_view(np.pad(given, around), (5, 5), axis=(2, 3))
        images, channels, rows, columns = windows.shape[:4]
        self._unrolled = windows.transpose(0, 2, 3, 1, 4, 5).reshape(-1, channels * 25)
        sums = self._unrolled @ self.weights.reshape(len(self.bias), -1).T + self.bias
        return np.ascontiguousarray(sums.reshape(images, rows, columns, -1).transpose(0, 3, 1, 2))

    def backward(self, gradient: Floats) -> Floats:
        """The input's gradient."""
        images, outputs, rows, columns = gradient.shape
        rowwise = gradient.transpose(0, 2, 3, 1).reshape(-1, outputs)
        self.gradients = [(rowwise.T @ self._unrolled).reshape(self.weights.shape), rowwise.sum(0)]
        unrolled = (rowwise @ self.weights.reshape(outputs, -1)).reshape(images, rows, columns, -1, 5, 5)
        _, channels, height, width = self._shape
        padded = np.zeros((images, channels, height + 2 * self.padding, width + 2 * self.padding), np.float32)
        for row in range(5):
            for column in range(5):
                part = unrolled[..., row, column].transpose(0, 3, 1, 2)
                padded[:, :, row : row + rows, column : column + columns] += part
        return padded[:, :, self.padding : self.padding + height, self.padding : self.padding + width]


class Dense:
    """Every output of every input."""

    def __init__(self, rng: np.random.Generator, inputs: int, outputs: int) -> None:
        self.weights = _initial(rng, (outputs, inputs))
        self.bias = np.zeros(outputs, np.float32)
        self.gradients: list[Floats] = []

    def forward(self, given: Floats) -> Floats:
        """The output."""
        self._given = given
        return given @ self.weights.T + self.bias

    def backward(self, gradient: Floats) -> Floats:
        """The input's gradient."""
        self.gradients = [gradient.T @ self._given, gradient.sum(0)]
        return gradient @ self.weights


class Relu:
    """What is below zero becomes zero."""

    def forward(self, given: Floats) -> Floats:
        """The output."""
        self._above = given > 0
        return given * self._above

    def backward(self, gradient: Floats) -> Floats:
        """The input's gradient."""
        return gradient * self._above


class MaxPool:
    """The greatest of each 2 x 2 pixels; equal ones share the gradient."""

    def forward(self, given: Floats) -> Floats:
        """The output."""
        corners = [given[:, :, row::2, column::2] for row in (0, 1) for column in (0, 1)]
        greatest: Floats = np.maximum(np.maximum(corners[0], corners[1]), np.maximum(corners[2], corners[3]))
        self._chosen = [corner == greatest for corner in corners]
        return greatest

    def backward(self, gradient: Floats) -> Floats:
        """The input's gradient."""
        images, channels, rows, columns = gradient.shape
        spread = np.empty((images, channels, rows * 2, columns * 2), np.float32)
        shared = gradient / np.sum(self._chosen, axis=0, dtype=np.float32)
        for corner, chosen in enumerate(self._chosen):
            spread[:, :, corner // 2 :: 2, corner % 2 :: 2] = chosen * shared
        return spread


class Flatten:
    """Maps as vectors."""

    def forward(self, given: Floats) -> Floats:
        """The output."""
        self._shape = given.shape
        return given.reshape(len(given), -1)

    def backward(self, gradient: Floats) -> Floats:
        """The input's gradient."""
        return gradient.reshape(self._shape)


class LeNet:
    """6 and 16 channels of 5 x 5, each with a pool, then layers of these ``neurons``, and 10."""

    def __init__(self, rng: np.random.Generator, neurons: Sequence[int] = (120, 84)) -> None:
        self.stages: list[Stage] = [
            Convolution(rng, 1, 6, padding=2), Relu(), MaxPool(),
            Convolution(rng, 6, 16, padding=0), Relu(), MaxPool(), Flatten(),
        ]  # fmt: skip
        for inputs, outputs in pairwise((400, *neurons, 10)):
            self.stages += [Dense(rng, inputs, outputs), Relu()]
        self.stages.pop()  # the last one has none

    @property
    def trained(self) -> list[Convolution | Dense]:
        """The stages with weights."""
        return [stage for stage in self.stages if isinstance(stage, Convolution | Dense)]

    def forward(self, given: Floats) -> Floats:
        """Ten numbers for each image; the greatest is the answer's."""
        for stage in self.stages:
            given = stage.forward(given)
        return given

    def backward(self, gradient: Floats) -> None:
        """Leaves the gradients in the stages with weights."""
        for stage in reversed(self.stages):
            gradient = stage.backward(gradient)


def _initial(rng: np.random.Generator, shape: tuple[int, ...]) -> Floats:
    """Random weights whose sums stay as large as their inputs through a Relu (He et al. 2015)."""
    weights: Floats = (rng.normal(size=shape) * np.sqrt(2 / np.prod(shape[1:]))).astype(np.float32)
    return weights


def as_onnx(network: LeNet) -> Any:
    """The network as a model of floats, for any number of images: ``digits`` to ``answers``."""
    nodes: list[Any] = []
    constants: list[Any] = []
    last = "digits"

    def add(operator: str, *more: str, **attributes: Any) -> None:
        nonlocal last
        made = "answers" if stage is network.stages[-1] else f"t{len(nodes)}"
        nodes.append(helper.make_node(operator, [last, *more], [made], f"{operator}{len(nodes)}", **attributes))
        last = made

    def constant(values: Floats, name: str) -> str:
        constants.append(numpy_helper.from_array(values, name))
        return name

    for number, stage in enumerate(network.stages):
        match stage:
            case Convolution() | Dense():
                named = constant(stage.weights, f"weights{number}"), constant(stage.bias, f"bias{number}")
                if isinstance(stage, Convolution):
                    add("Conv", *named, kernel_shape=[5, 5], pads=[stage.padding] * 4)
                else:
                    add("Gemm", *named, transB=1)
            case Relu():
                add("Relu")
            case MaxPool():
                add("MaxPool", kernel_shape=[2, 2], strides=[2, 2])
            case Flatten():
                add("Flatten")
    graph = helper.make_graph(
        nodes, "lenet",
        [helper.make_tensor_value_info("digits", TensorProto.FLOAT, ["images", 1, 28, 28])],
        [helper.make_tensor_value_info("answers", TensorProto.FLOAT, ["images", 10])],
        constants,
    )  # fmt: skip
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=8)
    onnx.checker.check_model(model, full_check=True)
    return model
