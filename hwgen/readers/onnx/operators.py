"""What importing a quantised model knows of ONNX operators: which are refused, and which work on single elements."""

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
