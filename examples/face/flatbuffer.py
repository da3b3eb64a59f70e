"""TFLite files as graphs, through the package ``tflite``."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import tflite

from examples.face.graph import FlatGraph, FlatOperator, FlatWindow

__all__ = ["read"]

_TYPES = {
    tflite.TensorType.FLOAT32: np.float32,
    tflite.TensorType.FLOAT16: np.float16,
    tflite.TensorType.INT32: np.int32,
}
_OPTIONS = {
    "CONV_2D": tflite.Conv2DOptions,
    "DEPTHWISE_CONV_2D": tflite.DepthwiseConv2DOptions,
    "ADD": tflite.AddOptions,
    "MAX_POOL_2D": tflite.Pool2DOptions,
    "CONCATENATION": tflite.ConcatenationOptions,
}


def _names(numbers: Any) -> dict[int, str]:
    return {number: name for name, number in vars(numbers).items() if isinstance(number, int)}


_KINDS, _ACTIVATIONS = _names(tflite.BuiltinOperator), _names(tflite.ActivationFunctionType)


def read(path: Path) -> FlatGraph:
    """The file's first subgraph; raises ValueError for constants of types that are not expected."""
    model = tflite.Model.GetRootAsModel(path.read_bytes(), 0)
    graph = model.Subgraphs(0)
    tensors = [graph.Tensors(number) for number in range(graph.TensorsLength())]
    names = [tensor.Name().decode() for tensor in tensors]
    shapes = [tuple(int(tensor.Shape(axis)) for axis in range(tensor.ShapeLength())) for tensor in tensors]
    constants = {}
    for tensor, name, shape in zip(tensors, names, shapes, strict=True):
        buffer = model.Buffers(tensor.Buffer())
        if buffer.DataLength():
            if tensor.Type() not in _TYPES:
                raise ValueError(f"{path}: tensor {name}: expected float32, float16 or int32")
            constants[name] = buffer.DataAsNumpy().view(_TYPES[tensor.Type()]).reshape(shape)
    operators = [_operator(model, graph.Operators(number), names) for number in range(graph.OperatorsLength())]
    inputs, outputs = ([names[at] for at in ends] for ends in (graph.InputsAsNumpy(), graph.OutputsAsNumpy()))
    return FlatGraph(operators, inputs, outputs, dict(zip(names, shapes, strict=True)), constants)


def _operator(model: Any, operator: Any, names: Sequence[str]) -> FlatOperator:
    code = model.OperatorCodes(operator.OpcodeIndex())
    kind = _KINDS[max(code.BuiltinCode(), code.DeprecatedBuiltinCode())]
    inputs, outputs = ([names[at] for at in ends] for ends in (operator.InputsAsNumpy(), operator.OutputsAsNumpy()))
    if kind not in _OPTIONS:
        return FlatOperator(kind, inputs, outputs)
    options, table = _OPTIONS[kind](), operator.BuiltinOptions()
    options.Init(table.Bytes, table.Pos)
    activation = _ACTIVATIONS[options.FusedActivationFunction()]
    window = _window(options) if hasattr(options, "StrideH") else None
    return FlatOperator(kind, inputs, outputs, activation, window, options.Axis() if hasattr(options, "Axis") else 0)


def _window(options: Any) -> FlatWindow:
    kernel = dilation = (1, 1)
    if hasattr(options, "FilterHeight"):
        kernel = (options.FilterHeight(), options.FilterWidth())
    else:
        dilation = (options.DilationHFactor(), options.DilationWFactor())
    same = options.Padding() == tflite.Padding.SAME
    return FlatWindow((options.StrideH(), options.StrideW()), same, kernel, dilation)
