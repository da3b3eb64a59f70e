"""Small TFLite files, written through the package ``tflite``, and random ones of every operator that is read."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import flatbuffers
import numpy as np
import tflite
from numpy.typing import NDArray

TYPES = {
    "float32": tflite.TensorType.FLOAT32,
    "float16": tflite.TensorType.FLOAT16,
    "int8": tflite.TensorType.INT8,
    "uint8": tflite.TensorType.UINT8,
    "int16": tflite.TensorType.INT16,
    "int32": tflite.TensorType.INT32,
}
VERSIONS = {
    "CONV_2D": 3,
    "DEPTHWISE_CONV_2D": 3,
    "FULLY_CONNECTED": 4,
    **dict.fromkeys(
        (
            "ADD",
            "AVERAGE_POOL_2D",
            "CONCATENATION",
            "DEQUANTIZE",
            "MAX_POOL_2D",
            "MEAN",
            "PAD",
            "QUANTIZE",
            "RELU",
            "RELU6",
            "SOFTMAX",
        ),
        2,
    ),
}
"""Versions of the operators, as int8 needs them; 1 for all others."""
Quantisation = tuple[float, int]


@dataclass
class Writer:
    """A model as it is written; tensors and operators by number."""

    tensors: list[dict[str, Any]] = field(default_factory=list)
    operators: list[tuple[str, Sequence[int], Sequence[int], str, dict[str, Any]]] = field(default_factory=list)

    def tensor(
        self,
        shape: Sequence[int],
        dtype: str = "int8",
        scales: Sequence[float] = (),
        zeros: Sequence[int] = (0,),
        *,
        axis: int = 0,
        data: NDArray | None = None,
        name: str = "",
    ) -> int:
        """A tensor; with contents a constant."""
        given = {"shape": shape, "dtype": dtype, "scales": scales, "zeros": zeros, "axis": axis, "data": data}
        self.tensors.append({**given, "name": name or f"t{len(self.tensors)}"})
        return len(self.tensors) - 1

    def constant(self, data: NDArray, scales: Sequence[float] = (), axis: int = 0, zero: int = 0) -> int:
        """A constant."""
        zeros = [zero] * max(len(scales), 1)
        return self.tensor(data.shape, data.dtype.name, scales, zeros, axis=axis, data=data)

    def add(self, kind: str, inputs: Sequence[int], output: int, table: str = "", **settings: Any) -> int:
        """An operator; its output."""
        self.operators.append((kind, inputs, [output], table, settings))
        return output

    def write(self, path: Path, inputs: Sequence[int], outputs: Sequence[int]) -> Path:
        """Write the file."""
        builder = flatbuffers.Builder(1024)
        codes = sorted({kind for kind, *_ in self.operators})
        buffers = [_buffer(builder, None)]
        tensors = [_tensor(builder, one, buffers) for one in self.tensors]
        operators = [_operator(builder, codes.index(one[0]), *one) for one in self.operators]
        lists = [_numbers(builder, one) for one in (inputs, outputs)]
        parts = [_offsets(builder, tensors), _offsets(builder, operators)]
        tflite.SubGraphStart(builder)
        tflite.SubGraphAddTensors(builder, parts[0])
        tflite.SubGraphAddInputs(builder, lists[0])
        tflite.SubGraphAddOutputs(builder, lists[1])
        tflite.SubGraphAddOperators(builder, parts[1])
        graph = tflite.SubGraphEnd(builder)
        whole = [_offsets(builder, one) for one in ([graph], [_code(builder, kind) for kind in codes], buffers)]
        tflite.ModelStart(builder)
        tflite.ModelAddVersion(builder, 3)
        tflite.ModelAddSubgraphs(builder, whole[0])
        tflite.ModelAddOperatorCodes(builder, whole[1])
        tflite.ModelAddBuffers(builder, whole[2])
        builder.Finish(tflite.ModelEnd(builder), b"TFL3")
        path.write_bytes(bytes(builder.Output()))
        return path


def _offsets(builder: Any, offsets: Sequence[int]) -> int:
    builder.StartVector(4, len(offsets), 4)
    for one in reversed(offsets):
        builder.PrependUOffsetTRelative(one)
    return int(builder.EndVector())


def _numbers(builder: Any, numbers: Sequence[int], dtype: str = "int32") -> int:
    return int(builder.CreateNumpyVector(np.array(numbers, dtype)))


def _buffer(builder: Any, data: NDArray | None) -> int:
    content = None if data is None else builder.CreateByteVector(np.ascontiguousarray(data).tobytes())
    tflite.BufferStart(builder)
    if content is not None:
        tflite.BufferAddData(builder, content)
    return int(tflite.BufferEnd(builder))


def _tensor(builder: Any, one: dict[str, Any], buffers: list[int]) -> int:
    buffer = 0
    if one["data"] is not None:
        buffer = len(buffers)
        buffers.append(_buffer(builder, one["data"]))
    name, shape, quantisation = builder.CreateString(one["name"]), _numbers(builder, one["shape"]), None
    if len(one["scales"]):
        scales, zeros = _numbers(builder, one["scales"], "float32"), _numbers(builder, one["zeros"], "int64")
        tflite.QuantizationParametersStart(builder)
        tflite.QuantizationParametersAddScale(builder, scales)
        tflite.QuantizationParametersAddZeroPoint(builder, zeros)
        tflite.QuantizationParametersAddQuantizedDimension(builder, one["axis"])
        quantisation = tflite.QuantizationParametersEnd(builder)
    tflite.TensorStart(builder)
    tflite.TensorAddShape(builder, shape)
    tflite.TensorAddType(builder, TYPES[one["dtype"]])
    tflite.TensorAddBuffer(builder, buffer)
    tflite.TensorAddName(builder, name)
    if quantisation is not None:
        tflite.TensorAddQuantization(builder, quantisation)
    return int(tflite.TensorEnd(builder))


def _code(builder: Any, kind: str) -> int:
    number = getattr(tflite.BuiltinOperator, kind)
    tflite.OperatorCodeStart(builder)
    tflite.OperatorCodeAddDeprecatedBuiltinCode(builder, min(number, 127))
    tflite.OperatorCodeAddVersion(builder, VERSIONS.get(kind, 1))
    tflite.OperatorCodeAddBuiltinCode(builder, number)
    return int(tflite.OperatorCodeEnd(builder))


def _operator(
    builder: Any,
    code: int,
    kind: str,
    inputs: Sequence[int],
    outputs: Sequence[int],
    table: str,
    settings: dict[str, Any],
) -> int:
    del kind
    lists, options = [_numbers(builder, one) for one in (inputs, outputs)], None
    if table:
        getattr(tflite, f"{table}Start")(builder)
        for name, value in settings.items():
            getattr(tflite, f"{table}Add{name}")(builder, value)
        options = getattr(tflite, f"{table}End")(builder)
    tflite.OperatorStart(builder)
    tflite.OperatorAddOpcodeIndex(builder, code)
    tflite.OperatorAddInputs(builder, lists[0])
    tflite.OperatorAddOutputs(builder, lists[1])
    if options is not None:
        tflite.OperatorAddBuiltinOptionsType(builder, getattr(tflite.BuiltinOptions, table))
        tflite.OperatorAddBuiltinOptions(builder, options)
    return int(tflite.OperatorEnd(builder))


ACTIVATIONS = (
    tflite.ActivationFunctionType.NONE,
    tflite.ActivationFunctionType.RELU,
    tflite.ActivationFunctionType.RELU6,
    tflite.ActivationFunctionType.RELU_N1_TO_1,
)


class Drawn:
    """A random quantised model: a chain of operators on one map, with branches for what has two operands."""

    def __init__(self, seed: int) -> None:
        self._rng = np.random.default_rng(seed)
        self.writer = Writer()
        shape = (1, *(int(one) for one in self._rng.integers(4, 10, 2)), int(self._rng.choice([1, 2, 3, 5, 8])))
        self.input = self._made(shape, self._quantisation())
        self._at = self.input

    def write(self, path: Path, kinds: Sequence[str]) -> Path:
        """Write the model of these operators, one after the other."""
        for kind in kinds:
            getattr(self, f"_{kind}")()
        return self.writer.write(path, [self.input], [self._at])

    def draw(self, number: int) -> list[str]:
        """Names of some operators on maps, with what may end a network."""
        inner = [
            "convolution",
            "depthwise",
            "sum",
            "pool",
            "pad",
            "concatenation",
            "requantise",
            "constant",
            "rectify",
        ]
        ends = [
            ["mean", "product", "softmax"],
            ["reshape", "product"],
            ["mean"],
            ["average", "reshape", "product"],
            [],
        ]
        return [*self._rng.choice(inner, number), *ends[int(self._rng.integers(len(ends)))]]

    def _quantisation(self) -> Quantisation:
        return float(self._rng.uniform(0.01, 0.2)), int(self._rng.integers(-128, 128))

    def _made(self, shape: Sequence[int], quantisation: Quantisation) -> int:
        return self.writer.tensor(shape, "int8", [quantisation[0]], [quantisation[1]])

    def _of(self, at: int) -> Quantisation:
        one = self.writer.tensors[at]
        return one["scales"][0], one["zeros"][0]

    @property
    def _shape(self) -> tuple[int, ...]:
        return tuple(self.writer.tensors[self._at]["shape"])

    def _weights(
        self, shape: Sequence[int], axis: int, terms: int, *, biased: bool = False
    ) -> tuple[int, list[int], Quantisation]:
        """Weights, biases, and a quantisation of outputs that uses much of their range."""
        rng, channels = self._rng, shape[axis]
        scales = rng.uniform(0.002, 0.02, channels if rng.integers(3) else 1).astype(np.float32)
        kernel = self.writer.constant(rng.integers(-127, 128, shape).astype(np.int8), list(scales), axis)
        given = np.float32(self._of(self._at)[0])
        bias = rng.integers(-3000, 3000, channels).astype(np.int32)
        biases = [self.writer.constant(bias, list(scales * given))] if biased or rng.integers(4) else []
        spread = float(given) * float(scales.mean()) * 70 * 70 * np.sqrt(terms)
        return kernel, biases, (spread / float(rng.uniform(40, 90)), int(rng.integers(-128, 60)))

    def _window(self) -> tuple[dict[str, int], int, int]:
        rng, (_, rows, columns, _) = self._rng, self._shape
        kernel = [int(rng.integers(1, min(size, 4) + 1)) for size in (rows, columns)]
        same, stride = bool(rng.integers(2)), [int(one) for one in rng.integers(1, 3, 2)]
        sizes = [
            -(-size // step) if same else (size - taps) // step + 1
            for size, taps, step in zip((rows, columns), kernel, stride, strict=True)
        ]
        padding = tflite.Padding.SAME if same else tflite.Padding.VALID
        self._kernel = kernel
        return {"Padding": padding, "StrideH": stride[0], "StrideW": stride[1]}, sizes[0], sizes[1]

    def _activation(self) -> dict[str, int]:
        return {"FusedActivationFunction": int(self._rng.choice(ACTIVATIONS))}

    def _convolution(self) -> None:
        window, rows, columns = self._window()
        outputs, inputs = int(self._rng.integers(1, 9)), self._shape[3]
        kernel, bias, made = self._weights((outputs, *self._kernel, inputs), 0, inputs * self._kernel[0], biased=True)
        output = self._made((1, rows, columns, outputs), made)
        self._at = self.writer.add(
            "CONV_2D", [self._at, kernel, *bias], output, "Conv2DOptions", DilationHFactor=1, DilationWFactor=1,
            **window, **self._activation(),
        )  # fmt: skip

    def _depthwise(self) -> None:
        window, rows, columns = self._window()
        times, inputs = int(self._rng.integers(1, 3)), self._shape[3]
        kernel, bias, made = self._weights((1, *self._kernel, inputs * times), 3, self._kernel[0], biased=True)
        output = self._made((1, rows, columns, inputs * times), made)
        self._at = self.writer.add(
            "DEPTHWISE_CONV_2D", [self._at, kernel, *bias], output, "DepthwiseConv2DOptions", DepthMultiplier=times,
            DilationHFactor=1, DilationWFactor=1, **window, **self._activation(),
        )  # fmt: skip

    def _sum(self) -> None:
        one = self._at
        self._requantise()
        output = self._made(self._shape, self._quantisation())
        self._at = self.writer.add("ADD", [one, self._at], output, "AddOptions", **self._activation())

    def _constant(self) -> None:
        """A sum with a constant for each channel."""
        values = self._rng.integers(-128, 128, self._shape[3:]).astype(np.int8)
        scale, zero = self._quantisation()
        constant, output = (
            self.writer.constant(values, [scale], 0, zero),
            self._made(self._shape, self._quantisation()),
        )
        self._at = self.writer.add("ADD", [self._at, constant], output, "AddOptions", **self._activation())

    def _requantise(self) -> None:
        self._at = self.writer.add("QUANTIZE", [self._at], self._made(self._shape, self._quantisation()))

    def _rectify(self) -> None:
        kind = str(self._rng.choice(["RELU", "RELU6", "RELU_N1_TO_1"]))
        self._at = self.writer.add(kind, [self._at], self._made(self._shape, self._of(self._at)))

    def _pool(self) -> None:
        self._pooled(str(self._rng.choice(["AVERAGE_POOL_2D", "MAX_POOL_2D"])), *self._window())

    def _average(self) -> None:
        """An average of the whole map."""
        self._kernel = list(self._shape[1:3])
        self._pooled("AVERAGE_POOL_2D", {"Padding": tflite.Padding.VALID, "StrideH": 1, "StrideW": 1}, 1, 1)

    def _pooled(self, kind: str, window: dict[str, int], rows: int, columns: int) -> None:
        output = self._made((1, rows, columns, self._shape[3]), self._of(self._at))
        self._at = self.writer.add(
            kind, [self._at], output, "Pool2DOptions", FilterHeight=self._kernel[0], FilterWidth=self._kernel[1],
            **window, **self._activation(),
        )  # fmt: skip

    def _pad(self) -> None:
        widths = self._rng.integers(0, 3, (4, 2)).astype(np.int32)
        widths[[0, 3] if self._rng.integers(2) else [0]] = 0
        shape = [size + int(more.sum()) for size, more in zip(self._shape, widths, strict=True)]
        output = self._made(shape, self._of(self._at))
        self._at = self.writer.add("PAD", [self._at, self.writer.constant(widths)], output, "PadOptions")

    def _concatenation(self) -> None:
        axis = int(self._rng.integers(1, 4))
        shape = list(self._shape)
        shape[axis] *= 2
        output = self._made(shape, self._of(self._at))
        self._at = self.writer.add("CONCATENATION", [self._at] * 2, output, "ConcatenationOptions", Axis=axis)

    def _mean(self) -> None:
        keeps, (images, _, _, channels) = bool(self._rng.integers(2)), self._shape
        made = self._of(self._at) if self._rng.integers(2) else self._quantisation()
        output = self._made((images, 1, 1, channels) if keeps else (images, channels), made)
        axes = self.writer.constant(np.array([1, 2], np.int32))
        self._at = self.writer.add("MEAN", [self._at, axes], output, "ReducerOptions", KeepDims=keeps)

    def _reshape(self) -> None:
        shape = (1, int(np.prod(self._shape)))
        output = self._made(shape, self._of(self._at))
        self._at = self.writer.add("RESHAPE", [self._at, self.writer.constant(np.array(shape, np.int32))], output)

    def _product(self) -> None:
        inputs, outputs = int(np.prod(self._shape)), int(self._rng.integers(2, 12))
        kernel, bias, made = self._weights((outputs, inputs), 0, inputs)
        output = self._made((1, outputs), made)
        self._at = self.writer.add(
            "FULLY_CONNECTED", [self._at, kernel, *bias], output, "FullyConnectedOptions", **self._activation()
        )

    def _softmax(self) -> None:
        output = self._made(self._shape, (1 / 256, -128))
        self._at = self.writer.add("SOFTMAX", [self._at], output, "SoftmaxOptions", Beta=1.0)

    def _dequantise(self) -> None:
        output = self.writer.tensor(self._shape, "float32")
        self._at = self.writer.add("DEQUANTIZE", [self._at], output)
