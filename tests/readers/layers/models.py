"""Small ONNX models, node by node, each in three forms: float, QDQ and QOperator."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import onnx
from onnx import TensorProto, helper

__all__ = ["FORMS", "Form", "Graph"]

Form = Literal["float", "qdq", "qoperator"]
FORMS: tuple[Form, ...] = ("float", "qdq", "qoperator")
MICROSOFT = "com.microsoft"


class Graph:
    """A model under construction: each method adds what one operator is in the form, and gives its output."""

    def __init__(self, form: Form, shape: Sequence[int | str], inputs: Sequence[str] = ("image",)) -> None:
        self.form: Form = form
        self.nodes: list[onnx.NodeProto] = []
        self._inputs = [helper.make_tensor_value_info(one, TensorProto.FLOAT, list(shape)) for one in inputs]
        self._tensors: list[onnx.TensorProto] = []
        self._count = 0
        if form != "float":
            self.constant("scale", TensorProto.FLOAT, [], [0.5])
            self.constant("zero", TensorProto.INT8, [], [0])
        self.entry = inputs[0]
        if form == "qoperator":
            self.entry = self.node("QuantizeLinear", [self.entry, "scale", "zero"])

    def node(self, op: str, inputs: Sequence[str], name: str = "", domain: str = "", **attributes: Any) -> str:
        """Any operator."""
        self._count += 1
        output = f"t{self._count}"
        self.nodes.append(helper.make_node(op, list(inputs), [output], name=name, domain=domain, **attributes))
        return output

    def constant(self, name: str, kind: int, dims: Sequence[int], values: Sequence[float] | None = None) -> str:
        """A constant, zeros if no values are given."""
        if values is None:
            values = [0] * math.prod(dims)
        self._tensors.append(helper.make_tensor(name, kind, list(dims), values))
        return name

    def weights(self, dims: Sequence[int]) -> str:
        """A weight tensor, quantised where the form has it so."""
        self._count += 1
        name = f"w{self._count}"
        if self.form == "float":
            return self.constant(name, TensorProto.FLOAT, dims)
        self.constant(name, TensorProto.INT8, dims)
        return name if self.form == "qoperator" else self.node("DequantizeLinear", [name, "scale", "zero"])

    def quantised(self, tensor: str) -> str:
        """Through a quantisation and back, in the QDQ form."""
        if self.form != "qdq":
            return tensor
        rounded = self.node("QuantizeLinear", [tensor, "scale", "zero"])
        return self.node("DequantizeLinear", [rounded, "scale", "zero"])

    def conv(self, given: str, dims: Sequence[int], name: str = "", **attributes: Any) -> str:
        """A convolution with weights of these sizes."""
        weights = self.weights(dims)
        if self.form == "qoperator":
            operands = [given, "scale", "zero", weights, "scale", "zero", "scale", "zero"]
            return self.node("QLinearConv", operands, name, **attributes)
        return self.quantised(self.node("Conv", [given, weights], name, **attributes))

    def product(self, given: str, dims: Sequence[int], name: str = "") -> str:
        """A matrix product with weights of these sizes."""
        weights = self.weights(dims)
        if self.form == "qoperator":
            operands = [given, "scale", "zero", weights, "scale", "zero", "scale", "zero"]
            return self.node("QLinearMatMul", operands, name)
        return self.quantised(self.node("MatMul", [given, weights], name))

    def add(self, one: str, other: str, name: str = "") -> str:
        """The sum of two maps."""
        if self.form == "qoperator":
            operands = [one, "scale", "zero", other, "scale", "zero", "scale", "zero"]
            return self.node("QLinearAdd", operands, name, MICROSOFT)
        return self.quantised(self.node("Add", [one, other], name))

    def concat(self, *maps: str, name: str = "") -> str:
        """The channels of maps."""
        if self.form == "qoperator":
            operands = ["scale", "zero", *(part for one in maps for part in (one, "scale", "zero"))]
            return self.node("QLinearConcat", operands, name, MICROSOFT, axis=1)
        return self.quantised(self.node("Concat", maps, name, axis=1))

    def mean(self, given: str, name: str = "") -> str:
        """The mean of a whole map."""
        if self.form == "qoperator":
            operands = [given, "scale", "zero", "scale", "zero"]
            return self.node("QLinearGlobalAveragePool", operands, name, MICROSOFT, channels_last=0)
        return self.quantised(self.node("GlobalAveragePool", [given], name))

    def model(self, *outputs: str) -> onnx.ModelProto:
        """The model with these results; the last tensor if none is named."""
        results = outputs or (self.nodes[-1].output[0],)
        values = [helper.make_tensor_value_info(one, TensorProto.FLOAT, None) for one in results]
        graph = helper.make_graph(self.nodes, "g", self._inputs, values, self._tensors)
        opsets = [helper.make_opsetid("", 17), helper.make_opsetid(MICROSOFT, 1)]
        return helper.make_model(graph, opset_imports=opsets, ir_version=8)

    def save(self, path: Path, *outputs: str) -> str:
        """Write it; its file name."""
        onnx.save(self.model(*outputs), str(path))
        return str(path)
