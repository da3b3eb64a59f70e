"""Operators on integers (QOperator form) as the operators on numbers that they stand for, between QuantizeLinear and
DequantizeLinear: both forms of quantised models become one.

A kind of operator is one entry of `LIFTED`.
"""

import sys
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from hwgen.ir.network.kinds import Operation
from hwgen.readers.onnx.protos import MOVEMENTS

__all__ = ["EQUIVALENTS", "LIFTED", "QUANTISERS", "lifted", "plain"]

QUANTISERS = ("QuantizeLinear", "DequantizeLinear")
Parameters = tuple[str, str]
"""Names of a scale and a zero point; no zero point: empty."""


class _Writer:
    """Operators that are made in place of one, and have its name."""

    def __init__(self, node: Operation) -> None:
        self.node = node
        self.made: list[Operation] = []

    def fresh(self, role: str) -> str:
        """A name of a tensor that the model cannot have."""
        return f"{self.node.outputs[0]}::{role}"

    def dequantised(self, tensor: str, parameters: Parameters, role: str, axis: int | None = None) -> str:
        """A tensor of integers as numbers."""
        name = self.fresh(role)
        more = {} if axis is None else {"axis": axis}
        self.add("DequantizeLinear", [tensor, *(one for one in parameters if one)], [name], **more)
        return name

    def add(self, operator: str, inputs: Sequence[str], outputs: Sequence[str], **attributes: Any) -> None:
        """A standard operator."""
        self.made.append(Operation(operator, tuple(inputs), tuple(outputs), attributes, self.node.name))

    def operator(self, operator: str, inputs: Sequence[str], output: str, keep: Sequence[str]) -> None:
        """A standard operator with some of the attributes of the one here; maps have their channels first."""
        last = self.node.attributes.get("channels_last", 0)
        given, made = list(inputs), self.fresh("channels_first") if last else output
        if last:
            given[0] = self.fresh("turned")
            self.add("Transpose", [inputs[0]], [given[0]], perm=[0, 3, 1, 2])
        kept = {name: value for name, value in self.node.attributes.items() if name in keep}
        self.add(operator, given, [made], **kept)
        if last:
            self.add("Transpose", [made], [output], perm=[0, 2, 3, 1])

    def zero(self, parameters: Parameters, role: str) -> str:
        """The number that the integer 0 stands for; nothing where that is 0."""
        if not parameters[1]:
            return ""
        integer = self.fresh(f"{role}_integer")
        self.add("Sub", [parameters[1], parameters[1]], [integer])
        return self.dequantised(integer, parameters, role)


_WINDOW = ("auto_pad", "ceil_mode", "count_include_pad", "dilations", "group", "kernel_shape", "pads", "strides")
_GEMM = ("alpha", "transA", "transB")


@dataclass(frozen=True)
class _Lifting:
    """How one kind of operator on integers is written in numbers.

    Members
    -------
    operator : the standard one that it stands for.
    data : places of its operands among the inputs; each has its scale and its zero point after it.
    output : where the output's scale is, with its zero point after it.
    keep : attributes.
    bias : where the bias is, if there is one; it has the scale of the products.
    weights_axis : axis of the weights' scales; None: the second operand is no weights.
    """

    operator: str
    data: Sequence[int]
    output: int
    keep: Sequence[str] = ()
    bias: int | None = None
    weights_axis: int | None = None

    @property
    def places(self) -> Sequence[int]:
        """Where data are among the inputs."""
        return self.data if self.bias is None else (*self.data, self.bias)

    def write(self, writer: _Writer) -> None:
        """Write the nodes."""
        node, axis = writer.node, self.weights_axis
        if "transB" in self.keep:
            axis = 0 if node.attributes.get("transB", 0) else 1
        names = [*node.inputs, ""]
        inputs = []
        for at in self.data[: max(len(node.inputs) // 3, 2)]:
            role = f"data{at}" if axis is None else "weights" if at else "data"
            parameters = (names[at + 1], names[at + 2])
            inputs.append(writer.dequantised(names[at], parameters, role, axis if at else None))
        if self.bias is not None and node.input(self.bias):
            inputs.append(self._bias(writer))
        made = writer.fresh("numbers")
        writer.operator(self.operator, inputs, made, self.keep)
        of_output = [name for name in names[self.output : self.output + 2] if name]
        writer.add("QuantizeLinear", [made, *of_output], node.outputs)

    def _bias(self, writer: _Writer) -> str:
        """The bias in numbers."""
        names, scale = writer.node.inputs, writer.fresh("bias_scale")
        writer.add("Mul", [names[1], names[4]], [scale])
        alpha = writer.node.attributes.get("alpha", 1.0)
        if "alpha" in self.keep and alpha != 1:  # the bias is added before the factor
            factor, product = writer.fresh("alpha"), scale
            scale = writer.fresh("bias_scale_alpha")
            writer.add("Constant", [], [factor], value_float=alpha)
            writer.add("Mul", [product, factor], [scale])
        return writer.dequantised(writer.node.input(self.bias or 0), (scale, ""), "bias", 0)


class _Sums(_Lifting):
    """Integer sums without a scale, as numbers whose scales are 1: data and weights, then their zero points."""

    def write(self, writer: _Writer) -> None:
        names = [*writer.node.inputs, "", ""]
        one = writer.fresh("one")
        writer.add("Constant", [], [one], value_float=1.0)
        data = writer.dequantised(names[0], (one, names[2]), "data")
        weights = writer.dequantised(names[1], (one, names[3]), "weights", 0)
        writer.operator(self.operator, [data, weights], writer.node.outputs[0], self.keep)


LIFTED: Mapping[str, _Lifting] = {
    "QLinearConv": _Lifting("Conv", (0, 3), 6, _WINDOW, bias=8, weights_axis=0),
    "QLinearMatMul": _Lifting("MatMul", (0, 3), 6, weights_axis=1),
    "QGemm": _Lifting("Gemm", (0, 3), 7, _GEMM, bias=6, weights_axis=1),
    "ConvInteger": _Sums("Conv", (0, 1), 0, _WINDOW),
    "MatMulInteger": _Sums("MatMul", (0, 1), 0),
    "QLinearAdd": _Lifting("Add", (0, 3), 6),
    "QLinearMul": _Lifting("Mul", (0, 3), 6),
    "QLinearConcat": _Lifting("Concat", range(2, sys.maxsize, 3), 0, ("axis",)),
    "QLinearAveragePool": _Lifting("AveragePool", (0,), 3, _WINDOW),
    "QLinearGlobalAveragePool": _Lifting("GlobalAveragePool", (0,), 3),
    "QLinearReduceMean": _Lifting("ReduceMean", (0,), 3, ("axes", "keepdims")),
    "QLinearLeakyRelu": _Lifting("LeakyRelu", (0,), 3, ("alpha",)),
    "QLinearSigmoid": _Lifting("Sigmoid", (0,), 3),
    "QLinearSoftmax": _Lifting("Softmax", (0,), 3, ("axis",)),
}
"""Operators on integers, and how each is written in numbers."""

FUSED: Mapping[str, tuple[str, int]] = {
    "FusedConv": ("Conv", 4),
    "FusedGemm": ("Gemm", 3),
    "MatMulIntegerToFloat": ("MatMul", 2),
    "DynamicQuantizeMatMul": ("MatMul", 2),
    "QuickGelu": ("Swish", 1),
}
"""Other operators that stand for a standard one: which, and how many of their inputs are data."""

EQUIVALENTS = {name: one.operator for name, one in LIFTED.items()} | {name: one for name, (one, _) in FUSED.items()}
"""The standard operator that a quantised or fused one stands for, for shapes and work."""

SUMS = ("ConvInteger", "MatMulInteger")
"""Operators whose outputs are sums, which models then cast."""

DIRECT = MOVEMENTS | {"MaxPool", "Concat", "Clip", "Relu"}
"""Standard operators that models apply to integers as they are."""


def plain(node: Operation) -> Operation:
    """An operator as what it stands for, on its data alone: for shapes and work."""
    if node.label not in EQUIVALENTS:
        return replace(node, operator=node.label)
    places = LIFTED[node.label].places if node.label in LIFTED else range(FUSED[node.label][1])
    data = tuple(name for at, name in enumerate(node.inputs) if at in places)
    return replace(node, operator=EQUIVALENTS[node.label], inputs=data, domain="")


def lifted(
    nodes: Sequence[Operation], parameters: Mapping[str, Parameters], outputs: Collection[str]
) -> list[Operation]:
    """The operators of a model without those on integers, but for quantisers.

    ``parameters``: scale and zero point of the model's inputs that are integers. ``outputs``: names of its outputs.
    """
    known, integers = dict(parameters), set[str]()
    readers = Counter(name for node in nodes for name in node.inputs)
    found: list[Operation] = []
    for node in nodes:
        if node.operator in LIFTED:
            writer = _Writer(node)
            LIFTED[node.operator].write(writer)
            made = writer.made
            if node.operator in SUMS:
                integers.update(node.outputs)
        elif node.operator == "Cast" and node.inputs[0] in integers:
            made = [replace(node, operator="Identity", attributes={})]  # integer sums are numbers already
        elif node.operator in DIRECT and node.inputs[0] in known:
            quantiser = next((one for one in found if one.outputs[0] == node.inputs[0]), None)
            alone = readers[node.inputs[0]] == 1 and node.inputs[0] not in outputs
            if node.operator == "Clip" and alone and quantiser is not None and quantiser.operator == "QuantizeLinear":
                found.remove(quantiser)
                made = _clipped(node, quantiser, known)
            else:
                made = _direct(node, known)
        else:
            made = [replace(node, domain="") if node.operator in QUANTISERS else node]
        for one in made:
            if one.operator == "QuantizeLinear":
                known[one.outputs[0]] = (one.inputs[1], one.inputs[2] if len(one.inputs) > 2 else "")
        found += made
    return found


def _clipped(node: Operation, quantiser: Operation, known: Mapping[str, Parameters]) -> list[Operation]:
    """A clip of integers that alone reads a QuantizeLinear: a clip of numbers before it."""
    writer, parameters = _Writer(node), known[node.inputs[0]]
    bounds = [
        writer.dequantised(name, parameters, f"bound{at}") if name else "" for at, name in enumerate(node.inputs[1:])
    ]
    made = writer.fresh("numbers")
    writer.add("Clip", [quantiser.inputs[0], *bounds], [made])
    writer.add("QuantizeLinear", [made, *quantiser.inputs[1:]], list(node.outputs))
    return writer.made


def _direct(node: Operation, known: Mapping[str, Parameters]) -> list[Operation]:
    """An operator on integers between quantisers of its first operand's scale, which all operands have here."""
    writer, parameters = _Writer(node), known[node.inputs[0]]
    operator, inputs = node.operator, list(node.inputs)
    for at, name in enumerate(node.inputs):
        data = at == 0 or operator in ("Clip", "Concat") or (operator == "Pad" and at == 2)
        if data and name:
            inputs[at] = writer.dequantised(name, parameters, f"data{at}")
    if operator == "Relu":  # of integers: none below 0
        operator = "Clip"
        inputs.append(writer.zero(parameters, "bound"))
    elif operator == "Pad" and not node.input(2):  # with integers that are 0
        inputs = [*inputs[:2], *[""] * (2 - len(inputs)), writer.zero(parameters, "fill"), *inputs[3:]]
    outputs = [name for name in node.outputs if name]
    made = tuple(f"{name}::numbers" if name else "" for name in node.outputs)
    writer.made.append(replace(node, operator=operator, inputs=tuple(inputs), outputs=made))
    for name in outputs if operator == "Split" else outputs[:1]:
        writer.add("QuantizeLinear", [f"{name}::numbers", *(one for one in parameters if one)], [name])
    return writer.made
