"""The networks of MLPerf Tiny in floats, in the shapes of its reference models, with random weights.

Banbury et al., "MLPerf Tiny Benchmark", 2021. Batch normalisations are folded, as in the published models.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from examples.quantising import quantise

__all__ = ["NETWORKS", "network", "quantised_network"]

OPSET = 17
CALIBRATING = 8
"""Inputs that a network is calibrated with."""
Build = Callable[["Draft"], None]


class Draft:
    """A model as far as it is written; every operator reads what the last one made.

    Members
    -------
    last : name of the last tensor.
    channels, sizes : of the last map; of a vector its elements, and none.
    """

    def __init__(self, seed: int, shape: Sequence[int]) -> None:
        self._rng = np.random.default_rng(seed)
        self._nodes: list[Any] = []
        self._constants: list[Any] = []
        self.shape = tuple(shape)
        self.last, self.channels, self.sizes = "input", shape[1], tuple(shape[2:])

    def _weights(self, *shape: int) -> list[str]:
        """Weights whose sums stay as large as their inputs through a ReLU (He et al. 2015), and biases."""
        names = []
        kernel = self._rng.normal(size=shape) * np.sqrt(2 / np.prod(shape[1:]))
        for array in (kernel, self._rng.normal(size=shape[0]) * 0.1):
            names.append(f"constant{len(self._constants)}")
            self._constants.append(numpy_helper.from_array(array.astype(np.float32), names[-1]))
        return names

    def add(self, operator: str, *inputs: str, **settings: Any) -> None:
        """An operator."""
        made = f"t{len(self._nodes)}"
        self._nodes.append(helper.make_node(operator, inputs or [self.last], [made], made, **settings))
        self.last = made

    def convolution(
        self, outputs: int, kernel: tuple[int, int], stride: int = 1, *, depthwise: bool = False, relu: bool = True
    ) -> None:
        """A convolution with TensorFlow's padding SAME."""
        inputs = 1 if depthwise else self.channels
        weights = self._weights(outputs, inputs, *kernel)
        self.add("Conv", self.last, *weights, kernel_shape=kernel, strides=[stride] * 2, auto_pad="SAME_UPPER",
                 group=self.channels if depthwise else 1)  # fmt: skip
        self.channels, self.sizes = outputs, tuple(-(-size // stride) for size in self.sizes)
        if relu:
            self.add("Relu")

    def separable(self, outputs: int, stride: int = 1) -> None:
        """A depthwise convolution and one of 1 x 1."""
        self.convolution(self.channels, (3, 3), stride, depthwise=True)
        self.convolution(outputs, (1, 1))

    def averaged(self) -> None:
        """The average of each channel."""
        self.add("AveragePool", kernel_shape=self.sizes)
        self.add("Flatten")

    def dense(self, outputs: int, *, relu: bool = False) -> None:
        """A product with weights."""
        self.add("Gemm", self.last, *self._weights(outputs, self.channels), transB=1)
        self.channels = outputs
        if relu:
            self.add("Relu")

    def model(self, name: str) -> Any:
        """All of it, from ``input`` to the last tensor."""
        made = [1, self.channels]
        graph = helper.make_graph(
            self._nodes, name, [helper.make_tensor_value_info("input", TensorProto.FLOAT, self.shape)],
            [helper.make_tensor_value_info(self.last, TensorProto.FLOAT, made)], self._constants,
        )  # fmt: skip
        whole = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=8)
        onnx.checker.check_model(whole, full_check=True)
        return whole


def _resnet(draft: Draft) -> None:
    draft.convolution(16, (3, 3))
    for outputs, stride in ((16, 1), (32, 2), (64, 2)):
        before, channels, sizes = draft.last, draft.channels, draft.sizes
        draft.convolution(outputs, (3, 3), stride)
        draft.convolution(outputs, (3, 3), relu=False)
        main = draft.last
        if stride > 1:
            draft.last, draft.channels, draft.sizes = before, channels, sizes
            draft.convolution(outputs, (1, 1), stride, relu=False)
            before = draft.last
        draft.add("Add", main, before)
        draft.add("Relu")
    draft.averaged()
    draft.dense(10)
    draft.add("Softmax")


def _keywords(draft: Draft) -> None:
    draft.convolution(64, (10, 4), 2)
    for _ in range(4):
        draft.separable(64)
    draft.averaged()
    draft.dense(12)
    draft.add("Softmax")


def _mobilenet(draft: Draft) -> None:
    draft.convolution(8, (3, 3), 2)
    for outputs, stride in (
        (16, 1),
        (32, 2),
        (32, 1),
        (64, 2),
        (64, 1),
        (128, 2),
        *[(128, 1)] * 5,
        (256, 2),
        (256, 1),
    ):
        draft.separable(outputs, stride)
    draft.averaged()
    draft.dense(2)
    draft.add("Softmax")


def _autoencoder(draft: Draft) -> None:
    for outputs in (128, 128, 128, 128, 8, 128, 128, 128, 128):
        draft.dense(outputs, relu=True)
    draft.dense(640)


NETWORKS: Mapping[str, tuple[tuple[int, ...], Build]] = {
    "ResNet-8": ((1, 3, 32, 32), _resnet),
    "DS-CNN": ((1, 1, 49, 10), _keywords),
    "MobileNetV1 0.25": ((1, 3, 96, 96), _mobilenet),
    "autoencoder": ((1, 640), _autoencoder),
}
"""Shape of the input, and what builds it, by the name of the network."""


def network(name: str, seed: int) -> Any:
    """A network of `NETWORKS` as a model of floats."""
    shape, build = NETWORKS[name]
    draft = Draft(seed, shape)
    build(draft)
    return draft.model(name)


def quantised_network(name: str, seed: int, path: Path) -> Path:
    """Write a network of `NETWORKS` with random weights, calibrated with normal numbers."""
    shape, _ = NETWORKS[name]
    inputs = np.random.default_rng(seed).normal(size=(CALIBRATING, *shape)).astype(np.float32)
    return quantise(network(name, seed), path, [{"input": one} for one in inputs])
