"""Operators of ONNX: which a quantised model may not have, which work on single elements; as messages and back."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hwgen.ir.network.kinds import Operation

__all__ = [
    "ACTIVE",
    "AFFINE",
    "ELEMENTWISE",
    "MOVEMENTS",
    "NESTED",
    "OWN_DOMAINS",
    "REFUSED",
    "SAME",
    "STANDARD_DOMAINS",
    "attributes_of",
    "evaluate",
    "operation_of",
    "proto_of",
]


STANDARD_DOMAINS = ("", "ai.onnx")
OWN_DOMAINS = (*STANDARD_DOMAINS, "com.microsoft")

NESTED = dict.fromkeys(("If", "Loop", "Scan", "SequenceMap"), "a graph inside the graph")

REFUSED: dict[str, str] = {
    "Quant": "expected QuantizeLinear and DequantizeLinear (Brevitas writes them with export_onnx_qcdq)",
    "BipolarQuant": "expected QuantizeLinear and DequantizeLinear of int8 or uint8",
    "Trunc": "expected QuantizeLinear and DequantizeLinear of int8 or uint8",
    "DynamicQuantizeLinear": "scales are computed at run time: expected static ones (quantize_static)",
    "DynamicQuantizeMatMul": "scales are computed at run time: expected static ones (quantize_static)",
    "DynamicQuantizeLSTM": "scales are computed at run time: expected static ones (quantize_static)",
    **NESTED,
}
"""Operators with which a model is refused, and why."""

AFFINE = ("Add", "Sub", "Mul", "Div", "BatchNormalization")
"""Operators that are a factor and an offset where one operand is constant."""

ELEMENTWISE = frozenset(
    (
        "Abs", "Add", "Atan", "Ceil", "Celu", "Clip", "Cos", "Div", "Elu", "Erf", "Exp", "Floor",
        "Gelu", "HardSigmoid", "HardSwish", "Identity", "LeakyRelu", "Log", "Max", "Min", "Mish",
        "Mul", "Neg", "PRelu", "Pow", "Reciprocal", "Relu", "Round", "Selu", "Shrink", "Sigmoid",
        "Sign", "Sin", "Softplus", "Softsign", "Sqrt", "Sub", "Sum", "Swish", "Tanh",
        "ThresholdedRelu",
    )
)  # fmt: skip
"""Operators whose output elements follow from one element of each input."""

MOVEMENTS = frozenset(
    (
        "DepthToSpace", "Expand", "Flatten", "Gather", "Pad", "Reshape", "Resize", "Slice",
        "SpaceToDepth", "Split", "Squeeze", "Tile", "Transpose", "Unsqueeze", "Upsample",
    )
)  # fmt: skip
"""Operators whose output elements are elements of the first input, or a constant."""

SAME = ("Identity", "Dropout")
"""Operators that change nothing."""

ACTIVE = frozenset(("Conv", "ConvTranspose", "Gemm"))
"""Operators whose weights must be constant: they are refused otherwise."""


# --- messages ---

NORMALISES = 15
"""The version before which the reference implementation of BatchNormalization takes mean and variance from its input.
What else changed from version 13 to this one are types that may be used."""
DOMAINS = ("", "ai.onnx", "com.microsoft", "com.ms.internal.nhwc")
"""Those whose operators go by their names alone."""


def attributes_of(proto: Any) -> dict[str, Any]:
    """The attributes of a node (`onnx.NodeProto`) by name; text is text. A file may leave out their types."""
    import onnx

    found = {}
    for one in proto.attribute:
        given = (value for field, value in one.ListFields() if field.name not in ("name", "doc_string"))
        found[one.name] = _decoded(onnx.helper.get_attribute_value(one) if one.type else next(given, None))
    return found


def _decoded(value: Any) -> Any:
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    return [_decoded(one) for one in value] if hasattr(value, "__len__") else value


def operation_of(proto: Any) -> Operation:
    """The operator of a node (`onnx.NodeProto`)."""
    label = proto.op_type if proto.domain in DOMAINS else f"{proto.domain}.{proto.op_type}"
    inputs, outputs = tuple(proto.input), tuple(proto.output)
    return Operation(proto.op_type, inputs, outputs, attributes_of(proto), proto.name, proto.domain, label)


def proto_of(operation: Operation) -> Any:
    """The node (`onnx.NodeProto`) of an operator."""
    import onnx

    operator, domain = operation.operator.removeprefix(f"{operation.domain}."), operation.domain
    made = onnx.helper.make_node(operator, operation.inputs, operation.outputs, operation.name, domain=domain)
    for name, value in operation.attributes.items():
        if value is None or value == []:
            kind = onnx.AttributeProto.UNDEFINED if value is None else onnx.AttributeProto.INTS
            made.attribute.add(name=name, type=kind)
        else:
            made.attribute.append(onnx.helper.make_attribute(name, value))
    return made


def evaluate(
    nodes: Sequence[Operation], given: Mapping[str, NDArray], outputs: Sequence[str], opset: int
) -> Sequence[NDArray]:
    """Outputs of some operators."""
    import onnx
    from onnx.reference import ReferenceEvaluator

    graph = onnx.helper.make_graph(
        [proto_of(node) for node in nodes],
        "part",
        [onnx.helper.make_value_info(name, onnx.TypeProto()) for name in given],
        [onnx.helper.make_value_info(name, onnx.TypeProto()) for name in outputs],
    )
    version = max(opset, NORMALISES)
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", version)])
    with np.errstate(all="ignore"):  # a table has entries that no activation takes
        found: Sequence[NDArray] = ReferenceEvaluator(model).run(list(outputs), dict(given))
    return found
