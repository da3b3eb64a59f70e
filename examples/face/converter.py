"""Conversion from TFLite to ONNX of the operators of BlazeFace.

Maps [rows, columns, channels] become [channels, rows, columns]; what comes out of the model is unchanged. A kind of
operator is one entry of `OPERATORS`.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from examples.face.graph import FlatGraph, FlatOperator

__all__ = ["converted", "same_padding"]

OPSET = 17
TO_PLANES, FROM_PLANES = (0, 3, 1, 2), (0, 2, 3, 1)
"""Orders of the axes for a transposition."""


def converted(graph: FlatGraph, name: str) -> Any:
    """The graph as a model; raises ValueError for an operator or an activation that is not known here."""
    conversion = _Conversion(graph)
    for operator in graph.operators:
        if operator.kind not in OPERATORS:
            raise ValueError(f"{name}: {operator.kind}: expected one of {', '.join(OPERATORS)}")
        OPERATORS[operator.kind](conversion, operator)

    def value(tensor: str) -> Any:
        return helper.make_tensor_value_info(tensor, TensorProto.FLOAT, conversion.shape(tensor))

    made = helper.make_graph(
        conversion.nodes, name, [value(one) for one in graph.inputs], [value(one) for one in graph.outputs],
        conversion.constants,
    )  # fmt: skip
    model = helper.make_model(made, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=8)
    onnx.checker.check_model(model, full_check=True)
    return model


def same_padding(size: int, kernel: int, stride: int) -> tuple[int, int]:
    """TensorFlow's padding `SAME` before and after: the odd one of an odd number is after."""
    whole = max((-(-size // stride) - 1) * stride + kernel - size, 0)
    return whole // 2, whole - whole // 2


class _Conversion:
    """The model as far as it is written. ``values`` are tensors that are known, in TensorFlow's order of axes."""

    def __init__(self, graph: FlatGraph) -> None:
        self.graph = graph
        self.values = dict(graph.constants)
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def shape(self, tensor: str) -> tuple[int, ...]:
        """The shape of a tensor, as the model has it."""
        shape = self.graph.shapes[tensor]
        return tuple(shape[axis] for axis in TO_PLANES) if len(shape) == 4 else shape

    def constant(self, values: NDArray, name: str) -> str:
        """A new constant; its name."""
        self.constants.append(numpy_helper.from_array(np.ascontiguousarray(values), name))
        return name

    def add(self, kind: str, inputs: Sequence[str], output: str, **attributes: Any) -> str:
        """A new node; the name of its output."""
        self.nodes.append(helper.make_node(kind, inputs, [output], output, **attributes))
        return output

    def activated(self, kind: str, inputs: Sequence[str], operator: FlatOperator, **attributes: Any) -> None:
        """A new node, with the operator's own activation after it."""
        (output,) = operator.outputs
        match operator.activation:
            case "NONE":
                self.add(kind, inputs, output, **attributes)
            case "RELU":
                self.add("Relu", [self.add(kind, inputs, f"{output}/sum", **attributes)], output)
            case other:
                raise ValueError(f"{output}: activation {other}: expected NONE or RELU")

    def window(self, operator: FlatOperator, kernel: Sequence[int]) -> dict[str, Any]:
        """Attributes of a window over the operator's first input."""
        window, sizes = operator.window, self.graph.shapes[operator.inputs[0]][1:3]
        assert window is not None, operator.kind
        if window.dilation != (1, 1):
            raise ValueError(f"{operator.outputs[0]}: dilation: expected none, got {window.dilation}")
        pads = [(0, 0), (0, 0)]
        if window.same:
            pads = [same_padding(*one) for one in zip(sizes, kernel, window.stride, strict=True)]
        before, after = zip(*pads, strict=True)
        return {"kernel_shape": list(kernel), "strides": list(window.stride), "pads": [*before, *after]}


def _dequantised(conversion: _Conversion, operator: FlatOperator) -> None:
    """Weights that the file keeps in 16 bits."""
    conversion.values[operator.outputs[0]] = conversion.values[operator.inputs[0]].astype(np.float32)


def _convolution(conversion: _Conversion, operator: FlatOperator) -> None:
    given, named, bias = operator.inputs
    values = conversion.values[named]  # [outputs, rows, columns, inputs], depthwise [1, rows, columns, channels]
    depthwise = operator.kind == "DEPTHWISE_CONV_2D"
    weights = conversion.constant(values.transpose(3, 0, 1, 2) if depthwise else values.transpose(TO_PLANES), named)
    inputs = [given, weights, conversion.constant(conversion.values[bias], bias)]
    attributes = conversion.window(operator, values.shape[1:3])
    conversion.activated("Conv", inputs, operator, group=values.shape[3] if depthwise else 1, **attributes)


def _pool(conversion: _Conversion, operator: FlatOperator) -> None:
    assert operator.window is not None
    attributes = conversion.window(operator, operator.window.kernel)
    conversion.activated("MaxPool", operator.inputs, operator, **attributes)


def _pad(conversion: _Conversion, operator: FlatOperator) -> None:
    given, widths = operator.inputs
    before, after = conversion.values[widths][list(TO_PLANES)].T
    pads = conversion.constant(np.array([*before, *after], np.int64), f"{operator.outputs[0]}/widths")
    conversion.add("Pad", [given, pads], operator.outputs[0])


def _rectified(conversion: _Conversion, operator: FlatOperator) -> None:
    conversion.add("Relu", operator.inputs, operator.outputs[0])


def _reshape(conversion: _Conversion, operator: FlatOperator) -> None:
    given, (output,) = operator.inputs[0], operator.outputs
    if len(conversion.graph.shapes[given]) == 4:  # the order of the elements is TensorFlow's
        given = conversion.add("Transpose", [given], f"{output}/pixels", perm=FROM_PLANES)
    shape = conversion.constant(np.array(conversion.shape(output), np.int64), f"{output}/shape")
    conversion.add("Reshape", [given, shape], output)


def _concatenation(conversion: _Conversion, operator: FlatOperator) -> None:
    axis, shape = operator.axis, conversion.graph.shapes[operator.outputs[0]]
    if len(shape) == 4:
        axis = TO_PLANES.index(axis % 4)
    conversion.activated("Concat", operator.inputs, operator, axis=axis)


OPERATORS: dict[str, Callable[[_Conversion, FlatOperator], None]] = {
    "ADD": lambda conversion, operator: conversion.activated("Add", operator.inputs, operator),
    "CONCATENATION": _concatenation,
    "CONV_2D": _convolution,
    "DEPTHWISE_CONV_2D": _convolution,
    "DEQUANTIZE": _dequantised,
    "MAX_POOL_2D": _pool,
    "PAD": _pad,
    "RELU": _rectified,
    "RESHAPE": _reshape,
}
