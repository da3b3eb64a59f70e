"""A TFLite file as plain values, through the package ``tflite``: read whole, or refused in one line."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hwgen.ir.builtin import how_to_install
from hwgen.ir.document import InputError

__all__ = ["FlatGraph", "FlatOperator", "FlatQuantisation", "FlatTensor", "read_file"]

IDENTIFIER = b"TFL3"
MOST_RANK = 8


@dataclass(frozen=True, eq=False)
class FlatQuantisation:
    """Scales and zero points of a tensor: one, or one for each index of ``axis``."""

    scales: NDArray[np.float32]
    zeros: NDArray[np.int64]
    axis: int

    @property
    def of_one(self) -> tuple[float, int]:
        """The scale and the zero point of a tensor that has one."""
        return float(self.scales[0]), int(self.zeros[0])


@dataclass(frozen=True, eq=False)
class FlatTensor:
    """One tensor.

    Members
    -------
    name : once in the graph.
    shape : as the file has it: of maps images, rows, columns, channels.
    dtype : as NumPy calls it.
    data : of a constant.
    """

    name: str
    shape: tuple[int, ...]
    dtype: str
    quantisation: FlatQuantisation | None = None
    data: NDArray | None = None


@dataclass(frozen=True, eq=False)
class FlatOperator:
    """One operator.

    Members
    -------
    kind : as TensorFlow calls it, `CONV_2D` for instance.
    inputs, outputs : numbers of tensors; -1: absent.
    activation : that follows, as TensorFlow calls it.
    same : of a window: outputs are inputs by stride, rounded up, with padding as needed; else there is no padding.
    stride, dilation : of a window: rows, columns.
    kernel : of a pool; that of a convolution is in its weights.
    axis : of a concatenation.
    keeps : whether reduced axes remain, with one index.
    beta : factor of the inputs of a softmax.
    """

    kind: str
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    activation: str = "NONE"
    same: bool = False
    stride: tuple[int, int] = (1, 1)
    dilation: tuple[int, int] = (1, 1)
    kernel: tuple[int, int] = (1, 1)
    axis: int = 0
    keeps: bool = False
    beta: float = 1.0


@dataclass(frozen=True, eq=False)
class FlatGraph:
    """Operators in the order in which they run, tensors by number; inputs and outputs of the model."""

    tensors: Sequence[FlatTensor]
    operators: Sequence[FlatOperator]
    inputs: Sequence[int]
    outputs: Sequence[int]


def read_file(path: Path) -> FlatGraph:
    """The graph of a file. Raises `InputError`, in one line, for what is no TFLite model or is not whole."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from None
    if content[4:8] != IDENTIFIER:
        raise InputError(f"{path}: expected a TFLite model: bytes 4 to 7 are not TFL3")
    try:
        import tflite
    except ImportError:
        raise InputError(f"{path}: reading TFLite needs tflite ({how_to_install('tflite')})") from None
    try:
        return _Reading(tflite, content, path).graph()
    except InputError:
        raise
    except Exception:  # offsets that lead anywhere raise whatever reading there raises
        raise InputError(f"{path}: expected a TFLite model (is the file whole?): an offset leads nowhere") from None


def _numbered(numbers: Any) -> dict[int, str]:
    return {number: name for name, number in vars(numbers).items() if isinstance(number, int)}


class _Reading:
    """One file. Every number of elements that it gives is checked against its size."""

    def __init__(self, tflite: Any, content: bytes, path: Path) -> None:
        self._tflite, self._path, self._size = tflite, path, len(content)
        self._model = tflite.Model.GetRootAsModel(content, 0)
        self._kinds, self._types = _numbered(tflite.BuiltinOperator), _numbered(tflite.TensorType)
        self._activations = _numbered(tflite.ActivationFunctionType)

    def graph(self) -> FlatGraph:
        """The only subgraph."""
        if self._model.SubgraphsLength() != 1:
            raise InputError(f"{self._path}: expected one subgraph, got {self._model.SubgraphsLength()}")
        graph = self._model.Subgraphs(0)
        given = [graph.Tensors(at) for at in range(self._count(graph.TensorsLength()))]
        tensors = [self._tensor(*one) for one in zip(given, self._names(given), strict=True)]
        operators = [self._operator(graph.Operators(at)) for at in range(self._count(graph.OperatorsLength()))]
        found = FlatGraph(tensors, operators, self._numbers(graph, "Inputs"), self._numbers(graph, "Outputs"))
        if not operators or not found.inputs or not found.outputs:
            raise InputError(f"{self._path}: expected operators, inputs and outputs")
        self._check_order(found)
        return found

    def _check_order(self, graph: FlatGraph) -> None:
        """Raise `InputError` unless each operator reads what is there before it, and makes what is not."""
        there = {at for at, tensor in enumerate(graph.tensors) if tensor.data is not None} | {-1}
        for at in graph.inputs:
            if at in there or not 0 <= at < len(graph.tensors):
                raise InputError(f"{self._path}: input {at}: expected the number of a tensor without contents")
            there.add(at)
        for operator in graph.operators:
            if not set(operator.inputs) <= there or not operator.outputs:
                raise InputError(f"{self._path}: {operator.kind}: it reads a tensor that nothing before it makes")
            for at in operator.outputs:
                if at in there or not 0 <= at < len(graph.tensors):
                    raise InputError(f"{self._path}: {operator.kind}: output {at}: expected a tensor of its own")
                there.add(at)
        if not set(graph.outputs) <= there - {-1}:
            raise InputError(f"{self._path}: an output is a tensor that nothing makes")

    def _count(self, number: int) -> int:
        if not 0 <= number <= self._size:
            raise InputError(f"{self._path}: expected a TFLite model (is the file whole?): {number} elements")
        return number

    def _numbers(self, table: Any, field: str) -> tuple[int, ...]:
        """A vector of integers."""
        count = self._count(getattr(table, f"{field}Length")())
        return tuple(int(getattr(table, field)(at)) for at in range(count))

    def _tensor(self, tensor: Any, name: str) -> FlatTensor:
        shape, kind = self._numbers(tensor, "Shape"), self._types.get(tensor.Type(), "an unknown type")
        if len(shape) > MOST_RANK or min(shape, default=1) < 1:
            raise InputError(f"{self._path}: tensor {name}: expected a fixed shape, got {'x'.join(map(str, shape))}")
        dtype = kind.lower()
        content, data = self._content(tensor), None
        if content:
            if dtype not in np.sctypeDict:
                raise InputError(f"{self._path}: tensor {name}: constants of {kind} are not read")
            if len(content) != prod(shape) * np.dtype(dtype).itemsize:
                raise InputError(f"{self._path}: tensor {name}: {len(content)} bytes do not fill its shape")
            data = np.frombuffer(content, dtype).reshape(shape)
        return FlatTensor(name, shape, dtype, self._quantisation(tensor, name, shape), data)

    def _names(self, tensors: Sequence[Any]) -> list[str]:
        """A name of its own for each: the first of those that semicolons separate, of fused operators, if it is free.

        Constants come last: files call them as what is made with them.
        """
        whole = [(one.Name() or b"").decode() or f"tensor_{at}" for at, one in enumerate(tensors)]
        found = dict.fromkeys(range(len(tensors)), "")
        taken: set[str] = set()
        for at in sorted(found, key=lambda at: bool(self._content(tensors[at]))):
            names = (whole[at].partition(";")[0], whole[at], f"{whole[at]}_{at}")
            found[at] = next(one for one in names if one and one not in taken)
            taken.add(found[at])
        return list(found.values())

    def _content(self, tensor: Any) -> bytes:
        """The bytes of a constant; none of any other tensor."""
        buffer = self._model.Buffers(tensor.Buffer())
        return bytes(buffer.DataAsNumpy()) if buffer is not None and self._count(buffer.DataLength()) else b""

    def _quantisation(self, tensor: Any, name: str, shape: Sequence[int]) -> FlatQuantisation | None:
        table = tensor.Quantization()
        if table is None or not table.ScaleLength():
            return None
        count, axis = self._count(table.ScaleLength()), table.QuantizedDimension()
        scales = np.array([table.Scale(one) for one in range(count)], np.float32)
        zeros = np.array(self._numbers(table, "ZeroPoint") or [0] * count, np.int64)
        fits = count == 1 or (0 <= axis < len(shape) and shape[axis] == count)
        if not fits or zeros.size != count or not np.all(np.isfinite(scales) & (scales > 0)):
            raise InputError(
                f"{self._path}: tensor {name}: expected scales above 0 and zero points, one or one for each channel"
            )
        return FlatQuantisation(scales, zeros, axis if count > 1 else 0)

    def _operator(self, operator: Any) -> FlatOperator:
        code = self._model.OperatorCodes(operator.OpcodeIndex())
        number = max(code.BuiltinCode(), code.DeprecatedBuiltinCode())
        kind = self._kinds.get(number, f"operator {number}")
        if kind == "CUSTOM":
            raise InputError(f"{self._path}: custom operator {code.CustomCode()!r}: expected TFLite's own")
        inputs, outputs = self._numbers(operator, "Inputs"), self._numbers(operator, "Outputs")
        options, table = _OPTIONS.get(kind), operator.BuiltinOptions()
        if options is None or table is None:
            return FlatOperator(kind, inputs, outputs)
        found = getattr(self._tflite, options)()
        found.Init(table.Bytes, table.Pos)

        def of(field: str, otherwise: Any = 0) -> Any:
            return getattr(found, field)() if hasattr(found, field) else otherwise

        return FlatOperator(
            kind,
            inputs,
            outputs,
            self._activations.get(of("FusedActivationFunction"), "of an unknown number"),
            hasattr(found, "Padding") and of("Padding") == self._tflite.Padding.SAME,
            (of("StrideH", 1), of("StrideW", 1)),
            (of("DilationHFactor", 1), of("DilationWFactor", 1)),
            (of("FilterHeight", 1), of("FilterWidth", 1)),
            of("Axis"),
            bool(of("KeepDims")),
            float(of("Beta", 1.0)),
        )


_OPTIONS = {
    "ADD": "AddOptions",
    "AVERAGE_POOL_2D": "Pool2DOptions",
    "CONCATENATION": "ConcatenationOptions",
    "CONV_2D": "Conv2DOptions",
    "DEPTHWISE_CONV_2D": "DepthwiseConv2DOptions",
    "FULLY_CONNECTED": "FullyConnectedOptions",
    "MAX_POOL_2D": "Pool2DOptions",
    "MEAN": "ReducerOptions",
    "SOFTMAX": "SoftmaxOptions",
}
"""The table with an operator's settings."""
