"""Operators on integers (QOperator form) as the operators on numbers that they stand for, between QuantizeLinear and
DequantizeLinear: both forms of quantised models become one.

A kind of operator is one class here, found through `LIFTED`.
"""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from hwgen.readers.onnx.operators import MOVEMENTS, STANDARD_DOMAINS

__all__ = ["LIFTED", "lifted"]

QUANTISERS = ("QuantizeLinear", "DequantizeLinear")
Parameters = tuple[str, str]
"""Names of a scale and a zero point; no zero point: empty."""


class _Writer:
    """Nodes that are made in place of one."""

    def __init__(self, node: Any) -> None:
        import onnx

        self._make, self.node = onnx.helper.make_node, node
        self.made: list[Any] = []

    def fresh(self, role: str) -> str:
        """A name of a tensor that the model cannot have."""
        return f"{self.node.output[0]}::{role}"

    def dequantised(self, tensor: str, parameters: Parameters, role: str, axis: int | None = None) -> str:
        """A tensor of integers as numbers."""
        name = self.fresh(role)
        more = {} if axis is None else {"axis": axis}
        self.add("DequantizeLinear", [tensor, *(one for one in parameters if one)], [name], **more)
        return name

    def add(self, operator: str, inputs: Sequence[str], outputs: Sequence[str], **attributes: Any) -> None:
        """A standard node that has the name of the one that it replaces."""
        self.made.append(self._make(operator, inputs, outputs, name=self.node.name, **attributes))

    def operator(self, operator: str, inputs: Sequence[str], output: str, keep: Sequence[str]) -> None:
        """A standard node with some of the attributes of the one that it replaces; maps have their channels first."""
        last = self.attribute("channels_last", 0)
        given, made = list(inputs), self.fresh("channels_first") if last else output
        if last:
            given[0] = self.fresh("turned")
            self.add("Transpose", [inputs[0]], [given[0]], perm=[0, 3, 1, 2])
        self.add(operator, given, [made])
        self.made[-1].attribute.extend(one for one in self.node.attribute if one.name in keep)
        if last:
            self.add("Transpose", [made], [output], perm=[0, 2, 3, 1])

    def zero(self, parameters: Parameters, role: str) -> str:
        """The number that the integer 0 stands for; nothing where that is 0."""
        if not parameters[1]:
            return ""
        integer = self.fresh(f"{role}_integer")
        self.add("Sub", [parameters[1], parameters[1]], [integer])
        return self.dequantised(integer, parameters, role)

    def attribute(self, name: str, default: Any) -> Any:
        """The value of an attribute."""
        import onnx

        found = [one for one in self.node.attribute if one.name == name]
        return onnx.helper.get_attribute_value(found[0]) if found else default


_WINDOW = ("auto_pad", "ceil_mode", "count_include_pad", "dilations", "group", "kernel_shape", "pads", "strides")
_GEMM = ("alpha", "transA", "transB")


class _Lifting(ABC):
    """How one kind of operator on integers is written in numbers."""

    @abstractmethod
    def write(self, writer: _Writer) -> None:
        """Write the nodes."""


class _Weighted(_Lifting):
    """A product with weights: data, weights, output and bias, each at its place among the inputs."""

    def __init__(self, operator: str, output: int, keep: Sequence[str], bias: int = 8, weights_axis: int = 0) -> None:
        self.operator, self.output, self.keep = operator, output, keep
        self.bias, self.weights_axis = bias, weights_axis

    def write(self, writer: _Writer) -> None:
        names = list(writer.node.input)
        data = writer.dequantised(names[0], (names[1], names[2]), "data")
        axis = self.weights_axis
        if "transB" in self.keep:
            axis = 0 if writer.attribute("transB", 0) else 1
        weights = writer.dequantised(names[3], (names[4], names[5]), "weights", axis)
        made = writer.fresh("numbers")
        inputs = [data, weights]
        if len(names) > self.bias and names[self.bias]:
            scale = writer.fresh("bias_scale")
            writer.add("Mul", [names[1], names[4]], [scale])
            alpha = writer.attribute("alpha", 1.0)
            if "alpha" in self.keep and alpha != 1:  # the bias is added before the factor
                factor, product = writer.fresh("alpha"), scale
                scale = writer.fresh("bias_scale_alpha")
                writer.add("Constant", [], [factor], value_float=alpha)
                writer.add("Mul", [product, factor], [scale])
            inputs.append(writer.dequantised(names[self.bias], (scale, ""), "bias", 0))
        writer.operator(self.operator, inputs, made, self.keep)
        writer.add("QuantizeLinear", [made, names[self.output], names[self.output + 1]], list(writer.node.output))


class _Simple(_Lifting):
    """Operands of three inputs each (integers, scale, zero point), then scale and zero point of the output."""

    def __init__(self, operator: str, operands: int, keep: Sequence[str] = ()) -> None:
        self.operator, self.operands, self.keep = operator, operands, keep

    def write(self, writer: _Writer) -> None:
        names = [*writer.node.input, ""]
        data = [
            writer.dequantised(names[at], (names[at + 1], names[at + 2]), f"data{at}")
            for at in range(0, 3 * self.operands, 3)
        ]
        made, out = writer.fresh("numbers"), 3 * self.operands
        writer.operator(self.operator, data, made, self.keep)
        parameters = [name for name in names[out : out + 2] if name]
        writer.add("QuantizeLinear", [made, *parameters], list(writer.node.output))


class _Concatenation(_Lifting):
    """Scale and zero point of the output, then three inputs for each operand."""

    def write(self, writer: _Writer) -> None:
        names = list(writer.node.input)
        data = [
            writer.dequantised(names[at], (names[at + 1], names[at + 2]), f"data{at}")
            for at in range(2, len(names), 3)
        ]
        made = writer.fresh("numbers")
        writer.operator("Concat", data, made, ("axis",))
        writer.add("QuantizeLinear", [made, names[0], names[1]], list(writer.node.output))


class _Sums(_Lifting):
    """Integer sums without a scale: numbers whose scales are 1."""

    def __init__(self, operator: str, keep: Sequence[str] = ()) -> None:
        self.operator, self.keep = operator, keep

    def write(self, writer: _Writer) -> None:
        names = [*writer.node.input, "", ""]
        one = writer.fresh("one")
        writer.add("Constant", [], [one], value_float=1.0)
        data = writer.dequantised(names[0], (one, names[2]), "data")
        weights = writer.dequantised(names[1], (one, names[3]), "weights", 0)
        writer.operator(self.operator, [data, weights], writer.node.output[0], self.keep)


LIFTED: Mapping[str, _Lifting] = {
    "QLinearConv": _Weighted("Conv", 6, _WINDOW),
    "QLinearMatMul": _Weighted("MatMul", 6, (), weights_axis=1),
    "QGemm": _Weighted("Gemm", 7, _GEMM, bias=6),
    "ConvInteger": _Sums("Conv", _WINDOW),
    "MatMulInteger": _Sums("MatMul"),
    "QLinearAdd": _Simple("Add", 2),
    "QLinearMul": _Simple("Mul", 2),
    "QLinearConcat": _Concatenation(),
    "QLinearAveragePool": _Simple("AveragePool", 1, _WINDOW),
    "QLinearGlobalAveragePool": _Simple("GlobalAveragePool", 1),
    "QLinearReduceMean": _Simple("ReduceMean", 1, ("axes", "keepdims")),
    "QLinearLeakyRelu": _Simple("LeakyRelu", 1, ("alpha",)),
    "QLinearSigmoid": _Simple("Sigmoid", 1),
    "QLinearSoftmax": _Simple("Softmax", 1, ("axis",)),
}
"""Operators on integers, and how each is written in numbers."""

SUMS = ("ConvInteger", "MatMulInteger")
"""Operators whose outputs are sums, which models then cast."""

DIRECT = MOVEMENTS | {"MaxPool", "Concat", "Clip", "Relu"}
"""Standard operators that models apply to integers as they are."""


def lifted(nodes: Sequence[Any], parameters: Mapping[str, Parameters], outputs: Collection[str]) -> list[Any]:
    """The nodes of a model without operators on integers, but for quantisers.

    ``parameters``: scale and zero point of the model's inputs that are integers. ``outputs``: names of its outputs.
    """
    known, integers = dict(parameters), set[str]()
    readers = Counter(name for node in nodes for name in node.input)
    found: list[Any] = []
    for node in nodes:
        if node.op_type in LIFTED:
            writer = _Writer(node)
            LIFTED[node.op_type].write(writer)
            made = writer.made
            if node.op_type in SUMS:
                integers.update(node.output)
        elif node.op_type == "Cast" and node.input[0] in integers:
            made = _same(node)
        elif node.op_type in DIRECT and node.input[0] in known:
            quantiser = next((one for one in found if one.output[0] == node.input[0]), None)
            alone = readers[node.input[0]] == 1 and node.input[0] not in outputs
            if node.op_type == "Clip" and alone and quantiser is not None and quantiser.op_type == "QuantizeLinear":
                found.remove(quantiser)
                made = _clipped(node, quantiser, known)
            else:
                made = _direct(node, known)
        else:
            made = [_standard(node)]
        for one in made:
            if one.op_type == "QuantizeLinear":
                known[one.output[0]] = (one.input[1], one.input[2] if len(one.input) > 2 else "")
        found += made
    return found


def _same(node: Any) -> list[Any]:
    """Integer sums are numbers already."""
    writer = _Writer(node)
    writer.add("Identity", node.input, node.output)
    return writer.made


def _clipped(node: Any, quantiser: Any, known: Mapping[str, Parameters]) -> list[Any]:
    """A clip of integers that alone reads a QuantizeLinear: a clip of numbers before it."""
    writer, parameters = _Writer(node), known[node.input[0]]
    bounds = [
        writer.dequantised(name, parameters, f"bound{at}") if name else "" for at, name in enumerate(node.input[1:])
    ]
    made = writer.fresh("numbers")
    writer.add("Clip", [quantiser.input[0], *bounds], [made])
    writer.add("QuantizeLinear", [made, *quantiser.input[1:]], list(node.output))
    return writer.made


def _standard(node: Any) -> Any:
    """Quantisers of com.microsoft are the standard ones."""
    import onnx

    if node.domain in STANDARD_DOMAINS or node.op_type not in QUANTISERS:
        return node
    copy = onnx.NodeProto()
    copy.CopyFrom(node)
    copy.domain = ""
    return copy


def _direct(node: Any, known: Mapping[str, Parameters]) -> list[Any]:
    """An operator on integers between quantisers of its first operand's scale, which all operands have here."""
    import onnx

    writer, parameters = _Writer(node), known[node.input[0]]
    copy = onnx.NodeProto()
    copy.CopyFrom(node)
    for at, name in enumerate(node.input):
        data = at == 0 or (node.op_type in ("Clip", "Concat")) or (node.op_type == "Pad" and at == 2)
        if data and name:
            copy.input[at] = writer.dequantised(name, parameters, f"data{at}")
    if node.op_type == "Relu":  # of integers: none below 0
        copy.op_type = "Clip"
        copy.input.append(writer.zero(parameters, "bound"))
    elif node.op_type == "Pad" and not any(node.input[2:3]):  # with integers that are 0
        copy.input.extend([""] * (3 - len(copy.input)))
        copy.input[2] = writer.zero(parameters, "fill")
    for at, name in enumerate(node.output):
        if name:
            copy.output[at] = f"{name}::numbers"
    outputs = [name for name in node.output if name]
    writer.made.append(copy)
    for name in outputs if node.op_type == "Split" else outputs[:1]:
        writer.add("QuantizeLinear", [f"{name}::numbers", *(one for one in parameters if one)], [name])
    return writer.made
