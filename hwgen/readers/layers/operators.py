"""What becomes of every ONNX operator: taken as a row, ignored because it carries no work, or refused by name.

An operator that is in none of the tables is refused: whether it carries work is not known.
"""

from dataclasses import dataclass
from enum import Enum

from hwgen.readers.onnx.protos import NESTED

__all__ = ["ACTIVATIONS", "IGNORED", "REFUSED", "TAKEN", "Passing", "ignored_group"]


class Passing(Enum):
    """What an operator without a row does to the connection between the rows before it and after it."""

    SAME = "the same elements in the same order: the rows stay connected"
    ACTIVATION = "the activation of the row before it, if it is that row's only reader"
    SCALE = "folded into the weights of the row before it, if it is that row's only reader"
    PADDING = "zeros around a map become padding of the convolution that follows"
    ENDS = "no row expresses it: what reads it is not connected"


@dataclass(frozen=True, slots=True)
class Group:
    """Operators without work of one kind.

    Members
    -------
    why : why they carry no work.
    passing : what they do to the connection of rows.
    names : ONNX names.
    """

    why: str
    passing: Passing
    names: tuple[str, ...]


TAKEN: dict[str, str] = {
    "Conv": "`conv`, or `depthwise_conv` with a group for each channel; of one dimension: with height 1",
    "ConvTranspose": "`deconv`",
    "Gemm": "`fc`; a `conv` of 1 x 1 if it has several rows",
    "MatMul": "`fc`; a `conv` of 1 x 1 if it has several rows, with a group for each of several matrices",
    "MaxPool": "`pool`",
    "AveragePool": "`pool`",
    "GlobalMaxPool": "`pool`",
    "GlobalAveragePool": "`pool`",
    "ReduceMean": "`pool`, if it is over height and width",
    "ReduceMax": "`pool`, if it is over height and width",
    "Add": "`add`, if it is of maps of one shape; with a constant it is a bias, and ignored",
    "Sum": "`add`, if it is of maps of one shape",
    "Concat": "`concat`, if it is along the channels",
    "LRN": "`lrn`",
    "DepthToSpace": "`pixel_shuffle`",
}
"""Operators that become rows, and which."""

ACTIVATIONS: dict[str, str] = {
    "Relu": "relu",
    "LeakyRelu": "leaky_relu",
    "PRelu": "prelu",
    "Selu": "selu",
    "Clip": "clip",
    "Elu": "elu",
    "Celu": "celu",
    "Sigmoid": "sigmoid",
    "HardSigmoid": "hard_sigmoid",
    "Tanh": "tanh",
    "HardSwish": "hard_swish",
    "Swish": "silu",
    "Mish": "mish",
    "Gelu": "gelu",
    "FastGelu": "gelu",
    "BiasGelu": "gelu",
    "Softplus": "softplus",
    "Softsign": "softsign",
    "ThresholdedRelu": "thresholded_relu",
    "Shrink": "shrink",
}
"""Activations, and the value of a row's key ``activation``; Clip from 0 to 6 is relu6, and from 0 alone relu."""

IGNORED: tuple[Group, ...] = (
    Group("an activation: no multiply-accumulates", Passing.ACTIVATION, tuple(ACTIVATIONS)),
    Group(
        "a batch normalisation: folded into the weights, or element-wise", Passing.SCALE, ("BatchNormalization",)
    ),
    Group("element-wise with a constant: folded into the weights", Passing.SCALE, ("Mul", "Div", "Sub")),
    Group(
        "a change of the number format",
        Passing.SAME,
        ("QuantizeLinear", "DequantizeLinear", "DynamicQuantizeLinear", "Cast", "CastLike"),
    ),
    Group("a copy", Passing.SAME, ("Identity", "Dropout", "Optional", "OptionalGetElement")),
    Group("another shape of the same elements", Passing.SAME, ("Reshape", "Flatten", "Squeeze", "Unsqueeze")),
    Group("zeros or copies around a map", Passing.PADDING, ("Pad",)),
    Group(
        "moves elements",
        Passing.ENDS,
        (
            "Transpose", "Slice", "Split", "Gather", "GatherElements", "GatherND", "Scatter", "ScatterElements",
            "ScatterND", "Expand", "Tile", "SpaceToDepth", "ReverseSequence", "Compress", "Col2Im", "CenterCropPad",
            "Trilu", "EyeLike", "OneHot", "TensorScatter", "ConcatFromSequence", "SequenceAt", "SequenceConstruct",
            "SequenceEmpty", "SequenceErase", "SequenceInsert", "SequenceLength", "SplitToSequence",
            "OptionalHasElement",
        ),
    ),
    Group(
        "element-wise: no multiply-accumulates",
        Passing.ENDS,
        (
            "Abs", "Acos", "Acosh", "And", "Asin", "Asinh", "Atan", "Atanh", "BitShift", "BitwiseAnd", "BitwiseNot",
            "BitwiseOr", "BitwiseXor", "BitCast", "Ceil", "Cos", "Cosh", "Equal", "Erf", "Exp", "Floor", "Greater",
            "GreaterOrEqual", "IsInf", "IsNaN", "Less", "LessOrEqual", "Log", "Max", "Mean", "Min", "Mod", "Neg",
            "Not", "Or", "Pow", "Reciprocal", "Round", "Sign", "Sin", "Sinh", "Sqrt", "SwiGLU", "Tan", "Where",
            "Xor",
        ),
    ),
    Group(
        "a normalisation at run time: no multiply-accumulates with weights",
        Passing.ENDS,
        (
            "InstanceNormalization", "LayerNormalization", "GroupNormalization", "RMSNormalization",
            "MeanVarianceNormalization", "LpNormalization", "SkipLayerNormalization", "SimplifiedLayerNormalization",
            "EmbedLayerNormalization",
        ),
    ),
    Group("a softmax: no multiply-accumulates", Passing.ENDS, ("Softmax", "LogSoftmax", "Hardmax")),
    Group(
        "a reduction: no multiply-accumulates",
        Passing.ENDS,
        (
            "ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceMin", "ReduceProd", "ReduceSum",
            "ReduceSumSquare", "CumSum", "CumProd", "ArgMax", "ArgMin",
        ),
    ),
    Group(
        "a pool that no row expresses: no multiply-accumulates",
        Passing.ENDS,
        ("LpPool", "GlobalLpPool", "MaxUnpool", "MaxRoiPool", "RoiAlign"),
    ),
    Group(
        "an interpolation without weights",
        Passing.ENDS,
        ("Resize", "Upsample", "GridSample", "AffineGrid"),
    ),
    Group(
        "a selection: no multiply-accumulates",
        Passing.ENDS,
        ("NonMaxSuppression", "NonZero", "TopK", "Unique"),
    ),
    Group(
        "a constant, or arithmetic on shapes",
        Passing.ENDS,
        ("Constant", "ConstantOfShape", "ConstantFill", "Range", "Shape", "Size", "Det"),
    ),
    Group(
        "random numbers",
        Passing.ENDS,
        (
            "Bernoulli", "Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike",
            "BlackmanWindow", "HammingWindow", "HannWindow", "MelWeightMatrix",
        ),
    ),
    Group(
        "text or images in files: no multiply-accumulates",
        Passing.ENDS,
        ("ImageDecoder", "RegexFullMatch", "StringConcat", "StringNormalizer", "StringSplit", "TfIdfVectorizer"),
    ),
)  # fmt: skip
"""Operators without work, by kind."""

REFUSED: dict[str, str] = {
    "LSTM": "a recurrent layer",
    "GRU": "a recurrent layer",
    "RNN": "a recurrent layer",
    "Einsum": "a product that no row expresses",
    "DeformConv": "a convolution with offsets that are computed",
    "Attention": "products of computed matrices",
    "MultiHeadAttention": "products of computed matrices",
    "GroupQueryAttention": "products of computed matrices",
    "QAttention": "products of computed matrices",
    "LinearAttention": "products of computed matrices",
    "CausalConvWithState": "a convolution with a state",
    "RotaryEmbedding": "products that no row expresses",
    "DFT": "a transform that no row expresses",
    "STFT": "a transform that no row expresses",
    **NESTED,
}
"""Operators with work that no row expresses. With them: a `Conv` that is dilated, of three dimensions or with weights
that are computed, a product of two computed matrices, and every operator that is in none of these tables."""

_GROUPS = {name: group for group in IGNORED for name in group.names}


def ignored_group(name: str) -> Group | None:
    """The group of an operator without work; None if it is not one."""
    return _GROUPS.get(name)
