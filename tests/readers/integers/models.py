"""Quantised models that are written by hand, node by node."""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

FLOAT, UINT8, INT8 = TensorProto.FLOAT, TensorProto.UINT8, TensorProto.INT8


class Draft:
    """A model that is being written.

    `quantised` and `numbers` add the two quantisers; what they return are names of tensors.
    """

    def __init__(self, shape: list[int], kind: int = FLOAT, opset: int = 17) -> None:
        self.inputs = [helper.make_tensor_value_info("x", kind, shape)]
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self.opset = opset

    def constant(self, values: Any, dtype: Any = np.float32) -> str:
        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.asarray(values, dtype), name))
        return name

    def node(self, operator: str, *inputs: str, output: str = "", domain: str = "", **attributes: Any) -> str:
        output = output or f"t{len(self.nodes)}"
        self.nodes.append(
            helper.make_node(operator, inputs, [output], f"n{len(self.nodes)}", domain=domain, **attributes)
        )
        return output

    def quantised(self, tensor: str, scale: float, zero: int, dtype: Any = np.uint8) -> str:
        return self.node("QuantizeLinear", tensor, self.constant(scale), self.constant(zero, dtype))

    def numbers(self, tensor: str, scale: Any, zero: Any = 0, dtype: Any = np.uint8, **attributes: Any) -> str:
        zeros = np.broadcast_to(zero, np.shape(scale))
        return self.node("DequantizeLinear", tensor, self.constant(scale), self.constant(zeros, dtype), **attributes)

    def both(self, tensor: str, scale: float, zero: int, dtype: Any = np.uint8) -> str:
        """Numbers that went through integers."""
        return self.numbers(self.quantised(tensor, scale, zero, dtype), scale, zero, dtype)

    def weights(self, values: Any, scale: Any, axis: int = 0, dtype: Any = np.int8, zero: int = 0) -> str:
        return self.numbers(self.constant(values, dtype), scale, zero, dtype, axis=axis)

    def write(self, path: Path, output: str, shape: list[int] | None = None, kind: int = FLOAT) -> Path:
        graph = helper.make_graph(
            self.nodes, "draft", self.inputs, [helper.make_tensor_value_info(output, kind, shape)], self.constants
        )
        opsets = [helper.make_opsetid("", self.opset), helper.make_opsetid("com.microsoft", 1)]
        onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=8), path)
        return path


def small(path: Path) -> Path:
    """A convolution of 2 to 3 channels, 1 x 2 x 5 x 6, from uint8 to uint8, as numbers outside."""
    draft = Draft([1, 2, 5, 6])
    weights = draft.weights(np.arange(54).reshape(3, 2, 3, 3) - 20, [0.01, 0.02, 0.005])
    made = draft.node("Conv", draft.both("x", 0.05, 100), weights, kernel_shape=[3, 3], pads=[1, 1, 1, 1])
    return draft.write(path, draft.both(made, 0.103, 7), [1, 3, 5, 6])
